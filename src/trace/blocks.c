/* See blocks.h. The index file: a head, then records that are only appended, each with its sum; a torn or strange one ends what is believed. */
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
#include <zstd.h>

#include "base/search.h"
#include "trace/crc32c.h"
#include "trace/reader.h"

#define BLOCK_EVENTS 65536u
#define INDEX_MAGIC "ARGUSIDX"
#define INDEX_VERSION 1u
#define RECORD_LIMIT (64u << 20)   /* bytes of one record, packed or not */
#define INDEX_LIMIT (512u << 20)   /* bytes of an index file that are read */

enum { RECORD_standing = 1, RECORD_note = 2 };

struct index_head {
	char magic[8];
	uint32_t version;
	uint32_t shape;           /* of events: what stands is kept as they lie in memory */
	uint64_t recording, sequence, created_ns; /* the file's */
	uint64_t block_events;
	uint64_t reserved;
	uint32_t reserved0, crc;
};
_Static_assert(sizeof(struct index_head) == 64, "no holes");

struct record_head {
	uint64_t from_ns;         /* of the block */
	uint64_t before;          /* as it was when the record was written */
	uint32_t kind;            /* RECORD_ in the low 8 bits, a note's kind above */
	uint32_t bytes, raw_bytes;
	uint32_t bytes_crc, crc;  /* of the bytes behind it; of the head before it */
	uint32_t reserved;
};
_Static_assert(sizeof(struct record_head) == 40, "no holes");

/* Something known of a block. */
struct known {
	unsigned char *bytes;     /* packed; NULL: in the index file */
	uint64_t at;              /* there */
	uint32_t size, raw_size, crc;
	uint32_t kind;
	uint64_t before;
	bool saved;
	struct known *next;
};

struct entry {
	struct block block;
	struct known *standing;
	struct known *notes;      /* one of a kind */
};

struct blocks_watch {
	struct blocks *blocks;
	struct standing *standing;
	size_t next, last;        /* block that begins next; that the walk goes to */
	uint64_t next_ns;
	struct blocks_watch *other; /* of the same blocks */
};

struct blocks {
	const struct trace *trace;
	pthread_mutex_t lock;     /* of what is known and who watches */
	pthread_cond_t found;
	struct blocks_watch *watches;
	struct arena arena;
	struct vec(struct entry) entries;
	int *index_fds;           /* by file; -1 none */
	const char *folder;       /* NULL: beside the files */
	uint64_t block_events;
	bool no_index;
};

/* ---- where they begin ---- */

/* The block that begins with the chunk, and, where blocks are smaller than chunks, those
 * within it. Returns when the last one begins. */
static uint64_t add_blocks(struct blocks *b, const struct chunk *chunk)
{
	uint64_t parts = chunk->count / b->block_events + !(chunk->count / b->block_events), last_ns = 0;

	for (uint64_t i = 0; i < parts; i++) {
		uint64_t from_ns = chunk->first_ns + (uint64_t)((double)(chunk->last_ns - chunk->first_ns) * (double)i / (double)parts);

		if (i && from_ns <= last_ns)
			continue;
		last_ns = from_ns;
		vec_push(&b->entries, ((struct entry){ .block = { .from_ns = from_ns, .before = chunk->before + chunk->count * i / parts,
								  .file = chunk->file } }));
	}
	return last_ns;
}

static void find_blocks(struct blocks *b)
{
	const struct trace *trace = b->trace;
	uint64_t *counts = mem_zalloc(arena_array_bytes(sizeof(*counts), trace->files.length + 1));
	bool *begun = mem_zalloc(trace->files.length + 1);
	uint64_t last_ns = 0;
	uint32_t current = 0;

	for (size_t i = 0; i < trace->chunks.length; i++) {
		const struct chunk *chunk = &trace->chunks.items[i];
		bool begins = !begun[chunk->file] && (!b->entries.length || chunk->file >= current);

		if (chunk->gap)
			continue;
		begun[chunk->file] = true;
		begins |= counts[chunk->file] >= b->block_events && chunk->file == current;
		counts[chunk->file] += chunk->count;
		if (!begins || (b->entries.length && chunk->first_ns <= last_ns))
			continue;
		last_ns = add_blocks(b, chunk);
		counts[chunk->file] = chunk->count;
		current = chunk->file;
	}
	free(counts);
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

/* ---- the index files ---- */

static uint32_t event_shape(void)
{
	uint32_t shape = 0;

	for (unsigned i = 0; i < EVENT_MAX; i++)
		for (unsigned f = 0; event_infos[i].name && f < event_infos[i].field_count; f++) {
			const struct field_info *field = &event_infos[i].fields[f];
			const uint32_t words[4] = { i, (uint32_t)field->kind, field->offset, field->bytes };

			shape = crc32c(shape, words, sizeof(words));
			shape = crc32c(shape, field->name, strlen(field->name));
		}
	return shape;
}

const char *blocks_index_path(struct arena *arena, const char *file, const char *folder)
{
	const char *slash = strrchr(file, '/');

	if (folder)
		return arena_printf(arena, "%s/%s.index", folder, slash ? slash + 1 : file);
	return arena_printf(arena, "%s.index", file);
}

const char *blocks_where(const struct blocks *b, struct arena *arena)
{
	if (b->trace->files.length > 1)
		return b->folder ? b->folder : trace_path(b->trace);
	return blocks_index_path(arena, trace_path(b->trace), b->folder);
}

static struct index_head head_of(const struct blocks *b, const struct trace_file *file)
{
	struct index_head head = { .version = INDEX_VERSION, .shape = event_shape(), .recording = file->head.recording,
				   .sequence = file->head.sequence, .created_ns = file->head.created_wall_ns, .block_events = b->block_events };

	memcpy(head.magic, INDEX_MAGIC, sizeof(head.magic));
	head.crc = crc32c(0, &head, offsetof(struct index_head, crc));
	return head;
}

/* NULL when there is no such block of the file. */
static struct entry *entry_at(struct blocks *b, uint32_t file, uint64_t from_ns)
{
	size_t i = blocks_find(b, from_ns);
	struct entry *entry = &b->entries.items[i];

	return entry->block.from_ns == from_ns && entry->block.file == file ? entry : NULL;
}

static struct record_head record_of(const struct entry *entry, const struct known *known, uint32_t kind)
{
	struct record_head head = { .from_ns = entry->block.from_ns, .before = known->before, .kind = kind | known->kind << 8,
				    .bytes = known->size, .raw_bytes = known->raw_size, .bytes_crc = known->crc };

	head.crc = crc32c(0, &head, offsetof(struct record_head, crc));
	return head;
}

static void add_known(struct blocks *b, struct entry *entry, uint32_t kind, struct known add)
{
	struct known *known = arena_memdup(&b->arena, &add, sizeof(add));

	if (kind == RECORD_standing) {
		entry->standing = known;
		entry->block.known = true;
	} else {
		/* the newest of a kind counts */
		for (struct known **at = &entry->notes; *at; at = &(*at)->next)
			if ((*at)->kind == known->kind) {
				*at = (*at)->next;
				break;
			}
		known->next = entry->notes;
		entry->notes = known;
	}
}

/* The bytes of something known, in the arena; NULL when the index has them no more. */
static const unsigned char *known_bytes(const struct blocks *b, const struct entry *entry, const struct known *known, struct arena *arena)
{
	unsigned char *bytes;

	if (known->bytes)
		return known->bytes;
	bytes = arena_alloc(arena, (size_t)known->size + 1, 1);
	if (pread(b->index_fds[entry->block.file], bytes, known->size, (off_t)known->at) != (ssize_t)known->size ||
	    crc32c(0, bytes, known->size) != known->crc)
		return NULL;
	return bytes;
}

/* The heads alone: what stands at a block is read when that is asked for. */
static void read_records(struct blocks *b, uint32_t file, int fd, uint64_t bytes)
{
	uint64_t at = sizeof(struct index_head);

	while (at + sizeof(struct record_head) <= bytes) {
		struct record_head head;
		struct entry *entry;

		if (pread(fd, &head, sizeof(head), (off_t)at) != (ssize_t)sizeof(head) ||
		    crc32c(0, &head, offsetof(struct record_head, crc)) != head.crc)
			return;
		at += sizeof(head);
		if (head.bytes > bytes - at || head.bytes > RECORD_LIMIT || head.raw_bytes > RECORD_LIMIT)
			return;
		entry = entry_at(b, file, head.from_ns);
		if (entry && ((head.kind & 0xff) == RECORD_standing || (head.kind & 0xff) == RECORD_note))
			add_known(b, entry, head.kind & 0xff, (struct known){ .at = at, .size = head.bytes, .raw_size = head.raw_bytes,
				  .crc = head.bytes_crc, .kind = head.kind >> 8, .before = head.before, .saved = true });
		at += head.bytes;
	}
}

/* Opens an index that the user may believe; -1. */
static int open_index(const char *path, int flags)
{
	int fd = open(path, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY, 0600);
	struct stat st;

	if (fd >= 0 && (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_uid != geteuid() || st.st_mode & (S_IWGRP | S_IWOTH))) {
		close(fd);
		errno = EPERM;
		return -1;
	}
	return fd;
}

static void load_index(struct blocks *b, uint32_t number)
{
	const struct trace_file *file = &b->trace->files.items[number];
	struct index_head want = head_of(b, file), head;
	const char *path = blocks_index_path(&b->arena, file->path, b->folder);
	int fd = open_index(path, O_RDONLY);
	struct stat st;

	if (fd < 0)
		return;
	if (!fstat(fd, &st) && st.st_size <= (off_t)INDEX_LIMIT && pread(fd, &head, sizeof(head), 0) == (ssize_t)sizeof(head) &&
	    !memcmp(&head, &want, sizeof(head))) {
		read_records(b, number, fd, (uint64_t)st.st_size);
		b->index_fds[number] = fd;
	} else {
		close(fd);
	}
}

static int write_all(int fd, const void *bytes, size_t size)
{
	const char *at = bytes;

	while (size) {
		ssize_t n = write(fd, at, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -EIO;
		at += n;
		size -= (size_t)n;
	}
	return 0;
}

static int write_known(int fd, const struct entry *entry, struct known *known, uint32_t kind)
{
	struct record_head head = record_of(entry, known, kind);
	int r;

	if (known->saved)
		return 0;
	r = write_all(fd, &head, sizeof(head));
	if (!r)
		r = write_all(fd, known->bytes, known->size);
	known->saved = !r;
	return r;
}

static int write_entry(int fd, const struct entry *entry)
{
	int r = entry->standing ? write_known(fd, entry, entry->standing, RECORD_standing) : 0;

	for (struct known *note = entry->notes; note && !r; note = note->next)
		r = write_known(fd, entry, note, RECORD_note);
	return r;
}

static bool any_unsaved(const struct blocks *b, uint32_t file)
{
	for (size_t i = 0; i < b->entries.length; i++) {
		const struct entry *entry = &b->entries.items[i];
		bool unsaved = entry->standing && !entry->standing->saved;

		for (const struct known *note = entry->notes; note; note = note->next)
			unsaved |= !note->saved;
		if (entry->block.file == file && unsaved)
			return true;
	}
	return false;
}

static int save_index(struct blocks *b, uint32_t number, struct err *err)
{
	const struct trace_file *file = &b->trace->files.items[number];
	const char *path = blocks_index_path(&b->arena, file->path, b->folder);
	struct index_head want = head_of(b, file), head;
	int fd = access(file->path, F_OK) ? -ENOENT : open_index(path, O_RDWR | O_CREAT | O_APPEND), r = 0;
	off_t before;

	if (fd == -ENOENT)
		return 0; /* a ring's file that has gone meanwhile needs none */
	if (fd < 0)
		return err_sys(err, -errno, "writing the index '%s'", path);
	/* somebody else finds the same out and writes it just now */
	if (flock(fd, LOCK_EX | LOCK_NB)) {
		close(fd);
		return 0;
	}
	/* another build's, or of another trace of this name: begun anew */
	if (pread(fd, &head, sizeof(head), 0) != (ssize_t)sizeof(head) || memcmp(&head, &want, sizeof(head))) {
		if (ftruncate(fd, 0))
			r = -errno;
		if (!r)
			r = write_all(fd, &want, sizeof(want));
	}
	before = lseek(fd, 0, SEEK_END);
	for (size_t i = 0; i < b->entries.length && !r; i++)
		if (b->entries.items[i].block.file == number)
			r = write_entry(fd, &b->entries.items[i]);
	/* half a record would end what is believed of those behind it */
	if (r && before >= 0 && ftruncate(fd, before))
		unlink(path);
	close(fd);
	return r ? err_sys(err, r, "writing the index '%s'", path) : 0;
}

int blocks_save(struct blocks *b, struct err *err)
{
	int r = 0;

	pthread_mutex_lock(&b->lock);
	for (uint32_t i = 0; !r && !b->no_index && i < b->trace->files.length; i++)
		if (any_unsaved(b, i))
			r = save_index(b, i, err);
	pthread_mutex_unlock(&b->lock);
	return r;
}

void blocks_keep_to_itself(struct blocks *b)
{
	b->no_index = true;
}

int blocks_open(const struct trace *trace, const struct blocks_options *options, struct blocks **ret_blocks, struct err *err)
{
	struct blocks *b = mem_zalloc(sizeof(*b));

	(void)err;
	pthread_mutex_init(&b->lock, NULL);
	pthread_cond_init(&b->found, NULL);
	arena_init(&b->arena);
	b->trace = trace;
	b->block_events = options && options->events ? options->events : BLOCK_EVENTS;
	b->folder = options && options->folder ? arena_strdup(&b->arena, options->folder) : NULL;
	b->no_index = options && options->no_index;
	find_blocks(b);
	b->index_fds = arena_array(&b->arena, int, trace->files.length);
	for (uint32_t i = 0; i < trace->files.length; i++)
		b->index_fds[i] = -1;
	for (uint32_t i = 0; !b->no_index && i < trace->files.length; i++)
		load_index(b, i);
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
	vec_done(&b->entries);
	arena_done(&b->arena);
	pthread_cond_destroy(&b->found);
	pthread_mutex_destroy(&b->lock);
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

static int unpack_standing(const struct blocks *b, const struct entry *entry, struct arena *arena, struct standing_events *ret_events)
{
	const struct known *known = entry->standing;
	unsigned char *raw = mem_alloc((size_t)known->raw_size + 1);
	const unsigned char *bytes = known_bytes(b, entry, known, arena);
	int r = -EBADMSG;

	if (bytes && ZSTD_decompress(raw, known->raw_size, bytes, known->size) == known->raw_size)
		r = standing_get(arena, raw, known->raw_size, ret_events);
	free(raw);
	if (!r)
		renumber(ret_events, known->before, entry->block.before);
	return r;
}

static void keep_standing(struct blocks *b, struct entry *entry, const struct standing *standing)
{
	struct known known = { .before = entry->block.before };
	struct standing_events events;
	struct arena arena;
	unsigned char *raw;
	size_t raw_size, size;
	bool known_before;

	pthread_mutex_lock(&b->lock);
	known_before = entry->block.known;
	pthread_mutex_unlock(&b->lock);
	if (known_before)
		return;
	arena_init(&arena);
	standing_take(&arena, standing, &events);
	raw = arena_alloc(&arena, standing_bytes(&events), 1);
	raw_size = standing_put(&events, raw);
	size = ZSTD_compressBound(raw_size);
	known.bytes = arena_alloc(&arena, size, 1);
	size = ZSTD_compress(known.bytes, size, raw, raw_size, 1);
	if (!ZSTD_isError(size) && raw_size <= RECORD_LIMIT && size <= RECORD_LIMIT) {
		known.size = (uint32_t)size;
		known.raw_size = (uint32_t)raw_size;
		known.crc = crc32c(0, known.bytes, size);
		pthread_mutex_lock(&b->lock);
		known.bytes = arena_memdup(&b->arena, known.bytes, size);
		add_known(b, entry, RECORD_standing, known);
		pthread_cond_broadcast(&b->found);
		pthread_mutex_unlock(&b->lock);
	}
	arena_done(&arena);
}

struct blocks_watch *blocks_watch(struct blocks *b, size_t first, size_t last)
{
	struct blocks_watch *watch = mem_zalloc(sizeof(*watch));

	watch->blocks = b;
	watch->standing = standing_new();
	watch->next = first + 1;
	watch->last = last;
	watch->next_ns = blocks_end_ns(b, first);
	pthread_mutex_lock(&b->lock);
	watch->other = b->watches;
	b->watches = watch;
	pthread_mutex_unlock(&b->lock);
	return watch;
}

static void begin_next(struct blocks_watch *watch)
{
	struct blocks *b = watch->blocks;

	keep_standing(b, &b->entries.items[watch->next], watch->standing);
	pthread_mutex_lock(&b->lock);
	watch->next_ns = blocks_end_ns(b, watch->next++);
	pthread_mutex_unlock(&b->lock);
}

void blocks_watch_see(struct blocks_watch *watch, const struct event *e)
{
	while (watch->next <= watch->last && __builtin_expect(e->time > watch->next_ns, 0))
		begin_next(watch);
	if (watch->next <= watch->last)
		standing_see(watch->standing, e);
}

void blocks_watch_end(struct blocks_watch *watch)
{
	if (!watch)
		return;
	pthread_mutex_lock(&watch->blocks->lock);
	for (struct blocks_watch **at = &watch->blocks->watches; *at; at = &(*at)->other)
		if (*at == watch) {
			*at = watch->other;
			break;
		}
	pthread_cond_broadcast(&watch->blocks->found);
	pthread_mutex_unlock(&watch->blocks->lock);
	standing_free(watch->standing);
	free(watch);
}

/* The last block before it, or itself, of which it is known what stands. */
static size_t last_known(const struct blocks *b, size_t i)
{
	while (i && !b->entries.items[i].block.known)
		i--;
	return i;
}

static void read_through(struct blocks *b, size_t from, size_t to, const struct standing_events *standing)
{
	struct trace *part = trace_part(b->trace, b->entries.items[from].block.from_ns, blocks_end_ns(b, to), standing);
	struct trace_cursor *cursor = trace_cursor_new(part, NULL);
	struct blocks_watch *watch = blocks_watch(b, from, to);

	for (const struct event *e; watch->next <= to && (e = trace_cursor_next(cursor)); )
		blocks_watch_see(watch, e);
	while (watch->next <= to)
		begin_next(watch);
	blocks_watch_end(watch);
	trace_cursor_free(cursor);
	trace_close(part);
}

/* Somebody walks over the block's beginning soon. */
static bool is_awaited(const struct blocks *b, size_t i)
{
	for (const struct blocks_watch *watch = b->watches; watch; watch = watch->other)
		if (watch->next <= i && i <= watch->last)
			return true;
	return false;
}

/* The last block up to this one of which is known what stands; nobody is about to find
 * out of a later one. */
static size_t last_found(struct blocks *b, size_t i)
{
	size_t known;

	pthread_mutex_lock(&b->lock);
	while ((known = last_known(b, i)) != i && is_awaited(b, i))
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

int blocks_standing(struct blocks *b, size_t i, struct arena *arena, struct standing_events *ret_events, struct err *err)
{
	*ret_events = (struct standing_events){ 0 };
	for (;;) {
		size_t known = last_found(b, i);
		struct entry *entry = &b->entries.items[known];
		struct standing_events events = { 0 };
		struct arena own;
		int r = 0;

		if (known == i && !entry->standing)
			return 0; /* the trace's beginning */
		if (known == i) {
			r = unpack_standing(b, entry, arena, ret_events);
			if (!r)
				return 0;
		}
		arena_init(&own);
		if (!r && entry->standing)
			r = unpack_standing(b, entry, &own, &events);
		if (!r)
			read_through(b, known, i, &events);
		arena_done(&own);
		if (!r)
			continue;
		if (!known)
			return err_set(err, r, "the index of '%s' is damaged", trace_path(b->trace));
		forget(b, entry);
	}
}

int blocks_part(struct blocks *b, size_t first, size_t last, uint64_t to_ns, struct arena *arena, struct trace **ret_part, struct err *err)
{
	struct standing_events *standing = arena_new(arena, struct standing_events);
	uint64_t end_ns = blocks_end_ns(b, last);
	int r = blocks_standing(b, first, arena, standing, err);

	if (r)
		return r;
	*ret_part = trace_part(b->trace, b->entries.items[first].block.from_ns, to_ns < end_ns ? to_ns : end_ns, standing);
	return 0;
}

/* ---- notes ---- */

void blocks_note(struct blocks *b, size_t block, uint32_t kind, const void *bytes, size_t size)
{
	struct known note = { .size = (uint32_t)size, .raw_size = (uint32_t)size, .kind = kind, .before = b->entries.items[block].block.before };

	if (size > RECORD_LIMIT)
		return;
	note.crc = crc32c(0, bytes, size);
	pthread_mutex_lock(&b->lock);
	note.bytes = arena_memdup(&b->arena, bytes, size);
	add_known(b, &b->entries.items[block], RECORD_note, note);
	pthread_mutex_unlock(&b->lock);
}

const void *blocks_noted(struct blocks *b, size_t block, uint32_t kind, size_t *ret_size)
{
	const struct entry *entry = &b->entries.items[block];
	const void *bytes = NULL;

	pthread_mutex_lock(&b->lock);
	for (struct known *note = entry->notes; note; note = note->next)
		if (note->kind == kind) {
			bytes = known_bytes(b, entry, note, &b->arena);
			*ret_size = note->size;
			break;
		}
	pthread_mutex_unlock(&b->lock);
	return bytes;
}
