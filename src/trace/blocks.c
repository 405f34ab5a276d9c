/* See blocks.h. */
#include "trace/blocks.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/search.h"
#include "trace/blocks_own.h"
#include "trace/blocks_pack.h"
#include "trace/crc32c.h"
#include "trace/reader.h"

#define BLOCK_WEIGHT 65536u
#define KEY_BLOCKS 32              /* what stands is packed against a block at most so far before */
#define NOTE_ALONE 4096            /* bytes of a note that is worth packing */
#define FAR_BLOCKS 128             /* from what is known: some eight million events, a third of a second */

/* ---- where they begin ---- */

/* The block that begins with the chunk, and, where blocks are smaller than chunks, those
 * within it. Returns when the last one begins. */
static uint64_t add_blocks(struct blocks *b, const struct chunk *chunk, uint64_t weight_before)
{
	uint64_t parts = chunk->weight / b->block_weight + !(chunk->weight / b->block_weight), last_ns = 0;

	for (uint64_t i = 0; i < parts; i++) {
		uint64_t from_ns = chunk->first_ns + (uint64_t)((double)(chunk->last_ns - chunk->first_ns) * (double)i / (double)parts);

		if (i && from_ns <= last_ns)
			continue;
		last_ns = from_ns;
		vec_push(&b->entries, ((struct entry){ .block = { .from_ns = from_ns, .before = chunk->before + chunk->count * i / parts,
								  .weight_before = weight_before + chunk->weight * i / parts,
								  .file = chunk->file } }));
	}
	return last_ns;
}

/* When each file begins: with its floor, or a little before with the chunk that was written
 * first. What tells of long before (a loss of the whole recording, told at its end) is no beginning. */
static uint64_t *file_begins(const struct trace *trace)
{
	uint64_t *begins = mem_zalloc(arena_array_bytes(sizeof(*begins), trace->files.length + 1));
	uint64_t *at = mem_zalloc(arena_array_bytes(sizeof(*at), trace->files.length + 1));

	for (size_t i = 0; i < trace->files.length; i++) {
		begins[i] = trace->files.items[i].head.floor_ns;
		at[i] = UINT64_MAX;
	}
	for (size_t i = 0; i < trace->chunks.length; i++) {
		const struct chunk *chunk = &trace->chunks.items[i];

		if (chunk->gap || chunk->at >= at[chunk->file])
			continue;
		at[chunk->file] = chunk->at;
		begins[chunk->file] = trace->files.items[chunk->file].head.floor_ns;
		if (chunk->first_ns < begins[chunk->file])
			begins[chunk->file] = chunk->first_ns;
	}
	free(at);
	return begins;
}

static void find_blocks(struct blocks *b)
{
	const struct trace *trace = b->trace;
	uint64_t *weights = mem_zalloc(arena_array_bytes(sizeof(*weights), trace->files.length + 1)), before = 0;
	uint64_t *file_from = file_begins(trace);
	bool *begun = mem_zalloc(trace->files.length + 1);
	uint64_t last_ns = 0;
	uint32_t current = 0;

	for (size_t i = 0; i < trace->chunks.length; i++) {
		const struct chunk *chunk = &trace->chunks.items[i];
		bool begins = !begun[chunk->file] && (!b->entries.length || chunk->file >= current);

		if (chunk->gap)
			continue;
		if (chunk->first_ns < file_from[chunk->file]) {
			before += chunk->weight;
			continue;
		}
		begun[chunk->file] = true;
		begins |= weights[chunk->file] >= b->block_weight && chunk->file == current;
		weights[chunk->file] += chunk->weight;
		before += chunk->weight;
		if (!begins || (b->entries.length && chunk->first_ns <= last_ns))
			continue;
		last_ns = add_blocks(b, chunk, before - chunk->weight);
		weights[chunk->file] = chunk->weight;
		current = chunk->file;
	}
	free(weights);
	free(file_from);
	free(begun);
	/* Of a ring's oldest file nothing is told before the floor. */
	while (b->entries.length > 1 && b->entries.items[1].block.from_ns <= trace->floor_ns)
		memmove(b->entries.items, b->entries.items + 1, --b->entries.length * sizeof(*b->entries.items));
	if (!b->entries.length)
		vec_push(&b->entries, (struct entry){ 0 });
	if (b->entries.items[0].block.from_ns < trace->floor_ns)
		b->entries.items[0].block.from_ns = trace->floor_ns;
	if (b->entries.items[0].block.from_ns > trace->summary.start_ns)
		b->entries.items[0].block.from_ns = trace->summary.start_ns;
	b->entries.items[0].block.known = true; /* nothing is known to stand at the beginning */
}

size_t blocks_count(const struct blocks *b)
{
	return b->entries.length;
}

const struct block *blocks_at(const struct blocks *b, size_t i)
{
	return &b->entries.items[i].block;
}

size_t blocks_find(const struct blocks *b, uint64_t time_ns)
{
	size_t low = 0, high = b->entries.length;

	SEARCH(low, high, middle, b->entries.items[middle].block.from_ns <= time_ns);
	return low ? low - 1 : 0;
}

uint64_t blocks_end_ns(const struct blocks *b, size_t i)
{
	return i + 1 < b->entries.length ? b->entries.items[i + 1].block.from_ns - 1 : UINT64_MAX;
}

int blocks_save(struct blocks *b, struct err *err)
{
	int r = 0;

	pthread_mutex_lock(&b->lock);
	for (uint32_t i = 0; !r && !b->no_index && i < b->trace->files.length; i++)
		if (blocks_any_unsaved(b, i))
			r = blocks_save_index(b, i, err);
	pthread_mutex_unlock(&b->lock);
	return r;
}

void blocks_keep_to_itself(struct blocks *b)
{
	b->no_index = true;
}

void blocks_be_frugal(struct blocks *b)
{
	b->is_frugal = true;
}

int blocks_open(const struct trace *trace, const struct blocks_options *options, struct blocks **ret_blocks, struct err *err)
{
	struct blocks *b = mem_zalloc(sizeof(*b));

	(void)err;
	pthread_mutex_init(&b->lock, NULL);
	pthread_mutex_init(&b->past_lock, NULL);
	pthread_mutex_init(&b->frames_lock, NULL);
	pthread_cond_init(&b->found, NULL);
	arena_init(&b->arena);
	b->trace = trace;
	b->block_weight = options && options->weight ? options->weight : BLOCK_WEIGHT;
	b->folder = options && options->folder ? arena_strdup(&b->arena, options->folder) : NULL;
	b->no_index = options && options->no_index;
	find_blocks(b);
	b->index_fds = arena_array(&b->arena, int, trace->files.length);
	for (uint32_t i = 0; i < trace->files.length; i++)
		b->index_fds[i] = -1;
	for (uint32_t i = 0; !b->no_index && i < trace->files.length; i++)
		blocks_load_index(b, i);
	*ret_blocks = b;
	return 0;
}

void blocks_close(struct blocks *b)
{
	struct err err;

	if (!b)
		return;
	blocks_save(b, &err);
	for (size_t i = 0; i < b->trace->files.length; i++)
		if (b->index_fds[i] >= 0)
			close(b->index_fds[i]);
	for (size_t i = 0; i < b->entries.length; i++)
		if (b->entries.items[i].standing)
			free(b->entries.items[i].standing->bytes);
	vec_done(&b->entries);
	arena_done(&b->arena);
	blocks_past_free(b);
	blocks_frames_free(b);
	pthread_cond_destroy(&b->found);
	pthread_mutex_destroy(&b->lock);
	pthread_mutex_destroy(&b->past_lock);
	pthread_mutex_destroy(&b->frames_lock);
	free(b);
}

/* ---- what stands ---- */

/* Numbers count from the oldest file on: where that has gone since, they are less, and
 * events that went with it have none. */
static void renumber(struct standing_events *events, uint64_t was_before, uint64_t before)
{
	for (uint32_t i = 0; i < events->count && was_before != before; i++) {
		struct event *e = &events->events[i];

		e->number = e->number + before > was_before ? e->number + before - was_before : 0;
	}
}

/* What a block's was packed against. */
static const struct entry *key_of(const struct blocks *b, const struct entry *entry)
{
	size_t i = (size_t)(entry - b->entries.items);
	const struct entry *key = entry->standing->key <= i ? entry - entry->standing->key : NULL;

	return key && key != entry && key->standing && !key->standing->key && key->block.file == entry->block.file ? key : NULL;
}

/* The block that what stands at this one can be packed against; itself, where there is none. */
static const struct entry *key_for(const struct blocks *b, const struct entry *entry)
{
	for (size_t i = (size_t)(entry - b->entries.items), back = 1; back <= KEY_BLOCKS && back <= i; back++)
		if (entry[-(ptrdiff_t)back].standing && !entry[-(ptrdiff_t)back].standing->key && entry[-(ptrdiff_t)back].block.file == entry->block.file)
			return entry - back;
	return entry;
}

/* What stands there, as it was packed; size 0 where the index is wrong. */
static struct blob raw_standing(const struct blocks *b, const struct entry *entry, struct arena *arena)
{
	const struct known *known = entry->standing;
	const struct entry *key = known->key ? key_of(b, entry) : NULL;
	struct blob against = key ? raw_standing(b, key, arena) : (struct blob){ 0 };
	unsigned char *raw = arena_alloc(arena, (size_t)known->raw_size + 1, 1);
	const unsigned char *bytes = blocks_bytes(b, entry, known, arena);

	if (!bytes || (known->key && !against.size) || blocks_unpack(raw, known->raw_size, (struct blob){ bytes, known->size }, against))
		return (struct blob){ 0 };
	return (struct blob){ raw, known->raw_size };
}

static int unpack_standing(struct blocks *b, const struct entry *entry, struct arena *arena, struct standing_events *ret_events)
{
	struct arena own;
	struct blob raw;
	int r;

	arena_init(&own);
	pthread_mutex_lock(&b->lock);
	raw = entry->standing ? raw_standing(b, entry, &own) : (struct blob){ 0 };
	pthread_mutex_unlock(&b->lock);
	r = raw.size ? standing_get(arena, raw.at, raw.size, ret_events) : -EBADMSG;
	arena_done(&own);
	if (!r)
		renumber(ret_events, entry->standing->before, entry->block.before);
	return r;
}

bool blocks_is_known(struct blocks *b, size_t block)
{
	bool known;

	pthread_mutex_lock(&b->lock);
	known = b->entries.items[block].block.known;
	pthread_mutex_unlock(&b->lock);
	return known;
}

void blocks_keep_standing(struct blocks *b, size_t block, const struct standing_events *events)
{
	struct entry *entry = &b->entries.items[block];
	struct known known = { .before = entry->block.before };
	struct blob raw, against = { 0 }, packed;
	const struct entry *key;
	struct arena arena;
	unsigned char *to;

	arena_init(&arena);
	pthread_mutex_lock(&b->lock);
	key = key_for(b, entry);
	if (key != entry)
		against = raw_standing(b, key, &arena);
	pthread_mutex_unlock(&b->lock);
	to = arena_alloc(&arena, standing_bytes(events), 1);
	raw = (struct blob){ to, standing_put(events, to) };
	packed = blocks_pack(&arena, raw, against);
	if (packed.size && raw.size <= RECORD_LIMIT && packed.size <= RECORD_LIMIT) {
		known.size = (uint32_t)packed.size;
		known.raw_size = (uint32_t)raw.size;
		known.crc = crc32c(0, packed.at, packed.size);
		known.key = against.size ? (uint32_t)(entry - key) : 0;
		pthread_mutex_lock(&b->lock);
		if (!entry->block.known) {
			known.bytes = memcpy(mem_alloc(packed.size), packed.at, packed.size);
			blocks_add(b, entry, RECORD_standing, known);
		}
		pthread_mutex_unlock(&b->lock);
	}
	arena_done(&arena);
}

/* The last block before it, or itself, of which it is known what stands. */
static size_t last_known(const struct blocks *b, size_t i)
{
	const struct entry *entries = b->entries.items;

	while (i && !entries[i].block.known && !(b->from_heads && entries[i].block.file != entries[i - 1].block.file))
		i--;
	return i;
}

bool blocks_begin_at_head(struct blocks *b, size_t i)
{
	pthread_mutex_lock(&b->lock);
	if (!b->from_heads && i - last_known(b, i) > FAR_BLOCKS) {
		b->from_heads = true;
		blocks_keep_to_itself(b);
	}
	pthread_mutex_unlock(&b->lock);
	return b->from_heads;
}

static void read_through(struct blocks *b, size_t from, size_t to, size_t step, const struct standing_events *standing)
{
	struct trace *part = trace_part(b->trace, b->entries.items[from].block.from_ns, blocks_end_ns(b, to), standing);
	struct blocks_watch *watch = blocks_watch_steps(b, from, to, step);
	struct trace_filter filter = { 0 };
	struct trace_cursor *cursor;

	for (unsigned type = 0; type < EVENT_MAX; type++)
		if (standing_ever(type))
			trace_filter_add(&filter, type);
	cursor = trace_cursor_new(part, &filter);
	for (const struct event *e; !blocks_watch_is_through(watch) && (e = trace_cursor_next(cursor)); )
		blocks_watch_see(watch, e);
	blocks_watch_go_through(watch);
	blocks_watch_end(watch);
	trace_cursor_free(cursor);
	trace_close(part);
}

/* The last block up to this one of which is known what stands; nobody is about to find
 * out of a later one. */
static size_t last_found(struct blocks *b, size_t i)
{
	size_t known;

	pthread_mutex_lock(&b->lock);
	while ((known = last_known(b, i)) != i && blocks_is_awaited(b, i))
		pthread_cond_wait(&b->found, &b->lock);
	pthread_mutex_unlock(&b->lock);
	return known;
}

/* What the index says of it is wrong: found out anew. */
static void forget(struct blocks *b, struct entry *entry)
{
	pthread_mutex_lock(&b->lock);
	entry->standing = NULL;
	entry->block.known = false;
	pthread_mutex_unlock(&b->lock);
}

static int find_standing(struct blocks *b, size_t i, size_t step, struct arena *arena, struct standing_events *ret_events, struct err *err)
{
	*ret_events = (struct standing_events){ 0 };
	for (;;) {
		size_t known = last_found(b, i);
		struct entry *entry = &b->entries.items[known];
		struct standing_events events = { 0 };
		struct arena own;
		int r = 0;

		if (known == i && !entry->standing)
			return 0; /* the trace's beginning, or the file's */
		if (known == i) {
			r = unpack_standing(b, entry, arena, ret_events);
			if (!r)
				return 0;
		}
		arena_init(&own);
		if (!r && entry->standing)
			r = unpack_standing(b, entry, &own, &events);
		if (!r)
			read_through(b, known, i, step, &events);
		arena_done(&own);
		if (!r)
			continue;
		if (!known)
			return err_set(err, r, "the index of '%s' is damaged", trace_path(b->trace));
		forget(b, entry);
	}
}

int blocks_standing(struct blocks *b, size_t i, struct arena *arena, struct standing_events *ret_events, struct err *err)
{
	return find_standing(b, i, 1, arena, ret_events, err);
}

int blocks_find_standing(struct blocks *b, size_t i, size_t step, struct err *err)
{
	struct standing_events events;
	struct arena arena;
	int r;

	arena_init(&arena);
	r = find_standing(b, i, step, &arena, &events, err);
	arena_done(&arena);
	return r;
}

int blocks_part(struct blocks *b, size_t first, size_t last, uint64_t to_ns, struct arena *arena, struct trace **ret_part, struct err *err)
{
	struct standing_events *standing = arena_new(arena, struct standing_events);
	uint64_t end_ns = blocks_end_ns(b, last);
	int r = blocks_standing(b, first, arena, standing, err);

	if (r)
		return r;
	if (to_ns > end_ns)
		to_ns = end_ns;
	*ret_part = trace_part(b->trace, b->entries.items[first].block.from_ns, to_ns, standing);
	blocks_share_frames(b, first, to_ns, *ret_part);
	return 0;
}

/* ---- notes ---- */

void blocks_note(struct blocks *b, size_t block, uint32_t kind, const void *bytes, size_t size)
{
	struct known note = { .raw_size = (uint32_t)size, .kind = kind, .before = b->entries.items[block].block.before };
	struct blob keep = { bytes, size }, packed = { 0 };
	struct arena arena;

	if (size > RECORD_LIMIT)
		return;
	arena_init(&arena);
	if (size >= NOTE_ALONE)
		packed = blocks_pack(&arena, keep, (struct blob){ 0 });
	if (packed.size && packed.size < size)
		keep = packed;
	note.size = (uint32_t)keep.size;
	note.crc = crc32c(0, keep.at, keep.size);
	pthread_mutex_lock(&b->lock);
	note.bytes = arena_memdup(&b->arena, keep.at, keep.size);
	blocks_add(b, &b->entries.items[block], RECORD_note, note);
	pthread_mutex_unlock(&b->lock);
	arena_done(&arena);
}

/* As it was noted; what is packed is unpacked once. */
static const void *note_bytes(struct blocks *b, const struct entry *entry, struct known *note)
{
	unsigned char *raw;

	if (!note->raw) {
		note->raw = blocks_bytes(b, entry, note, &b->arena);
		if (note->raw && note->raw_size != note->size) {
			raw = arena_alloc(&b->arena, (size_t)note->raw_size + 1, 1);
			note->raw = blocks_unpack(raw, note->raw_size, (struct blob){ note->raw, note->size }, (struct blob){ 0 }) ? NULL : raw;
		}
	}
	return note->raw;
}

const void *blocks_noted(struct blocks *b, size_t block, uint32_t kind, size_t *ret_size)
{
	const struct entry *entry = &b->entries.items[block];
	const void *bytes = NULL;

	pthread_mutex_lock(&b->lock);
	for (struct known *note = entry->notes; note; note = note->next)
		if (note->kind == kind) {
			bytes = note_bytes(b, entry, note);
			*ret_size = note->raw_size;
			break;
		}
	pthread_mutex_unlock(&b->lock);
	return bytes;
}
