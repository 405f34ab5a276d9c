/* What lies in a file, shared by the writer and the reader; docs/format.md is
 * its description. All numbers are little-endian. */
#ifndef TRACE_FORMAT_H
#define TRACE_FORMAT_H

#include <stdint.h>

#include "trace/event.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "files are read and written as they lie in memory");

#define FORMAT_VERSION 2           /* raised with each new coding or flag; older ones are read */
#define FORMAT_MAGIC "ARGUSTRC"
#define FORMAT_MARKER "\xa5" "Chunk\r\n"   /* begins each chunk; not to be found in text */
#define FORMAT_TRAILER "ARGUSEND"

/* Bounds that the writer keeps and the reader insists on. */
#define FORMAT_HEAD_LIMIT (1u << 20)       /* bytes of a file's head */
#define FORMAT_CHUNK_HEAD_LIMIT (1u << 20) /* bytes of a chunk's head */
#define FORMAT_CHUNK_LIMIT (4u << 20)      /* bytes of a payload, packed and unpacked */
#define FORMAT_COUNT_LIMIT 65536u          /* events of a chunk */

struct file_head {
	char magic[8];
	uint32_t version;
	uint32_t head_bytes;       /* this and the event table behind it */
	uint64_t recording;        /* random; the same in all files of a ring */
	uint64_t sequence;         /* of the file in its ring */
	uint64_t created_wall_ns;
	uint64_t floor_ns;         /* events before it are not complete over all processors; 0 none */
	uint32_t processors;       /* that are recorded, numbered from 0; 0 not told */
	uint32_t reserved[2];
	uint32_t crc;              /* of all head_bytes with this field as 0 */
};
_Static_assert(sizeof(struct file_head) == 64, "file head");

enum chunk_flags {
	CHUNK_INDEX = 1,           /* the payload is heads of chunks */
	CHUNK_STORED = 2,          /* the payload is not compressed */
	CHUNK_FLAGS = 3            /* all that are known */
};

struct chunk_head {
	unsigned char marker[8];
	uint32_t head_crc;         /* of the head from here to its end */
	uint32_t head_bytes;       /* this and what follows it before the payload */
	uint32_t payload_bytes;
	uint32_t raw_bytes;        /* of the payload, unpacked */
	uint32_t payload_crc;      /* of the payload as it lies in the file */
	uint32_t count;            /* events, of all types */
	uint64_t first_ns, last_ns;
	uint32_t state_count;      /* of these, STATE and META */
	uint16_t cpu;
	uint16_t flags;
	uint64_t stream_before;    /* events of this processor in the file's chunks before: a jump tells of missing ones */
	uint32_t sequence;         /* of the chunk in its file */
	uint32_t reserved;
};
_Static_assert(sizeof(struct chunk_head) == 72, "chunk head");

struct file_trailer {
	char magic[8];
	uint64_t index_at;         /* file offset of the first index chunk */
	uint32_t index_chunks;
	uint32_t reserved;
	uint32_t reserved2;
	uint32_t crc;              /* of all before it */
};
_Static_assert(sizeof(struct file_trailer) == 32, "file trailer");

/* How a column is coded. */
enum column_coding {
	COLUMN_ZERO,       /* all 0; nothing follows. The others: a varint of the bytes that follow, then */
	COLUMN_CONSTANT,   /* a varint */
	COLUMN_FIXED,      /* a byte: width; then the lowest byte of all values, the next of all, ... */
	COLUMN_VARINT,     /* a varint each */
	COLUMN_DELTA,      /* a varint each: zigzag of the difference to the one before (at first to 0) */
	COLUMN_INDEX8,     /* varint n, n varints (zigzag differences): values; then a byte each: place among them */
	COLUMN_INDEX16,    /* the same with two bytes each: all low bytes, then all high ones */
	COLUMN_SPLIT,      /* the lowest byte of all values, then a varint each of what is above it */
	COLUMN_KEYED,      /* byte n, n bytes: fields; byte: field + 1, 0 none; then a column: zigzag differences to guesses (predict.h) */
	COLUMN_CODINGS
};

#endif
