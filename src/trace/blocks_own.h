/* What blocks.c and its index files share. */
#ifndef TRACE_BLOCKS_OWN_H
#define TRACE_BLOCKS_OWN_H

#include <pthread.h>

#include "base/arena.h"
#include "base/vec.h"
#include "trace/blocks.h"

#define RECORD_LIMIT (64u << 20)   /* bytes of one record, packed or not */

enum { RECORD_standing = 1, RECORD_note = 2 };

/* Something known of a block. */
struct known {
	unsigned char *bytes;     /* packed; NULL: in the index file. Of what stands it is memory of its own, a note's is in the arena */
	uint64_t at;              /* there */
	uint32_t size, raw_size, crc;
	uint32_t kind, key;
	uint64_t before;
	bool saved;
	const void *raw;          /* a note's, once unpacked */
	struct known *next;
};

struct entry {
	struct block block;
	struct known *standing;
	struct known *notes;      /* one of a kind */
};

struct blocks {
	const struct trace *trace;
	pthread_mutex_t lock;     /* of what is known and who watches */
	pthread_cond_t found;
	struct blocks_watch *watches;
	struct arena arena;
	struct vec(struct entry) entries;
	int *index_fds;           /* by file; -1 none */
	pthread_mutex_t past_lock; /* of what follows */
	struct blocks_past *past; /* NULL: not asked for yet */
	pthread_mutex_t frames_lock; /* of what follows */
	struct blocks_frames *frames; /* NULL: not asked for yet */
	const char *folder;       /* NULL: beside the files */
	uint64_t block_weight;
	bool no_index;
	bool is_frugal;
	bool from_heads;          /* of what stands where a file begins, what that file tells is enough */
};

struct past_block;
struct standing_events;
bool blocks_is_known(struct blocks *b, size_t block);
/* What stands at its beginning; not before it was so of those that it is packed against. */
void blocks_keep_standing(struct blocks *b, size_t block, const struct standing_events *events);
/* Somebody walks over the block's beginning, or will soon; under the lock. */
bool blocks_is_awaited(const struct blocks *b, size_t block);
/* A watch that keeps what stands at the last block and every so many before it, and no past. */
struct blocks_watch *blocks_watch_steps(struct blocks *b, size_t first, size_t last, size_t step);
bool blocks_watch_is_through(const struct blocks_watch *watch);
/* There are no more events. */
void blocks_watch_go_through(struct blocks_watch *watch);
/* The block was read anyway; it takes what the past has. */
void blocks_keep_past(struct blocks *b, size_t block, const struct past_block *past);
void blocks_past_free(struct blocks *b);
void blocks_frames_free(struct blocks *b);
/* A part from that block up to the moment: it gets what its file tells of stacks, where others are read, too. */
void blocks_share_frames(struct blocks *b, size_t first, uint64_t to_ns, struct trace *part);
void blocks_load_index(struct blocks *b, uint32_t file);
int blocks_save_index(struct blocks *b, uint32_t file, struct err *err);
bool blocks_any_unsaved(const struct blocks *b, uint32_t file);
/* `kind`: RECORD_ */
void blocks_add(struct blocks *b, struct entry *entry, uint32_t kind, struct known add);
/* The bytes of something known, in the arena; NULL when the index has them no more. */
const unsigned char *blocks_bytes(const struct blocks *b, const struct entry *entry, const struct known *known, struct arena *arena);

#endif
