/* Events of one processor to the head and the payload of a chunk. */
#ifndef TRACE_ENCODE_H
#define TRACE_ENCODE_H

#include "trace/column.h"
#include "trace/format.h"
#include "trace/predict.h"

#define ENCODE_COUNT_LIMIT 8192u  /* events that the writer puts into a chunk */

/* An event as it waits for its chunk: this, the payload struct, the tail, padding to 8. */
struct entry {
	uint64_t time_ns;
	uint32_t tid;
	uint16_t type;
	uint16_t tail_length;
};

static inline const void *entry_data(const struct entry *entry)
{
	return entry + 1;
}

static inline const char *entry_tail(const struct entry *entry)
{
	return (const char *)(entry + 1) + event_infos[entry->type].bytes;
}

/* Which threads the file has named already. */
#define THREAD_LIMIT (4u << 20) /* the kernel's own bound of tids */

struct thread_marks {
	uint64_t seen[THREAD_LIMIT / 64];
	uint64_t placed[THREAD_LIMIT / 64];  /* its process is told too */
	uint64_t ended[THREAD_LIMIT / 64];
};

#define ENCODE_WORDS 32u  /* of a payload struct */

struct encoder {
	struct column_coder coder;
	struct column_hint hints[EVENT_MAX][EVENT_MAX_FIELDS + 1], time_hint, tid_hint; /* behind the fields: texts' lengths */
	uint64_t words[ENCODE_WORDS][ENCODE_COUNT_LIMIT]; /* of all payloads of one type */
	uint64_t values[ENCODE_COUNT_LIMIT], tids[ENCODE_COUNT_LIMIT];
	uint64_t steps[ENCODE_COUNT_LIMIT];
	uint32_t hashes[ENCODE_COUNT_LIMIT];
	uint64_t guesses[PREDICT_SLOTS];
	unsigned char types[ENCODE_COUNT_LIMIT];
	const struct entry *by_type[ENCODE_COUNT_LIMIT];
};

struct encode_input {
	const struct entry *const *entries;  /* by time */
	uint32_t count;
	const uint32_t *counts;              /* by type, EVENT_MAX */
	uint16_t cpu;
};

/* Bytes that a payload takes at most, for entries of so many bytes. */
#define ENCODE_PAYLOAD_ROOM(entry_bytes) ((size_t)(entry_bytes) + ENCODE_COUNT_LIMIT * 24 + EVENT_MAX * EVENT_MAX_FIELDS * 64)
/* Bytes that a head takes at most: a few numbers for each event. */
#define ENCODE_HEAD_ROOM (sizeof(struct chunk_head) + ENCODE_COUNT_LIMIT * 64 + EVENT_MAX * 16)

/* Both return the place behind what they wrote. The head's part behind the
 * fixed struct: types with counts, threads that are new, gaps and clocks. */
unsigned char *encode_payload(struct encoder *encoder, const struct encode_input *input, unsigned char *at);
unsigned char *encode_head_rest(struct thread_marks *marks, const struct encode_input *input, unsigned char *at);

#endif
