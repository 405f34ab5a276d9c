/* The index files of blocks: a head, then records that are only appended, each with its sum; a torn or
 * strange one ends what is believed. */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/blocks_own.h"
#include "trace/crc32c.h"
#include "trace/reader.h"

#define INDEX_MAGIC "ARGUSIDX"
#define INDEX_VERSION 5u
#define INDEX_LIMIT (512u << 20)   /* bytes of an index file that are read */

struct index_head {
	char magic[8];
	uint32_t version;
	uint32_t shape;           /* of events: what stands is kept as they lie in memory */
	uint64_t recording, sequence, created_ns; /* the file's */
	uint64_t block_weight;
	uint64_t reserved;
	uint32_t reserved0, crc;
};
_Static_assert(sizeof(struct index_head) == 64, "no holes");

struct record_head {
	uint64_t from_ns;         /* of the block */
	uint64_t before;          /* as it was when the record was written */
	uint32_t kind;            /* RECORD_ in the low 8 bits, a note's kind above */
	uint32_t bytes, raw_bytes;
	uint32_t key;             /* packed against the block so many before; 0: alone, or not packed */
	uint32_t bytes_crc, crc;  /* of the bytes behind it; of the head before it */
};
_Static_assert(sizeof(struct record_head) == 40, "no holes");

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

const char *blocks_folder(const struct blocks *b, struct arena *arena)
{
	const char *path = b->trace->files.length ? b->trace->files.items[0].path : "", *slash = strrchr(path, '/');

	if (b->folder)
		return b->folder;
	return slash ? arena_strndup(arena, path, (size_t)(slash - path) + 1) : ".";
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
				   .sequence = file->head.sequence, .created_ns = file->head.created_wall_ns, .block_weight = b->block_weight };

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
				    .bytes = known->size, .raw_bytes = known->raw_size, .bytes_crc = known->crc, .key = known->key };

	head.crc = crc32c(0, &head, offsetof(struct record_head, crc));
	return head;
}

void blocks_add(struct blocks *b, struct entry *entry, uint32_t kind, struct known add)
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


const unsigned char *blocks_bytes(const struct blocks *b, const struct entry *entry, const struct known *known, struct arena *arena)
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
			blocks_add(b, entry, head.kind & 0xff, (struct known){ .at = at, .size = head.bytes, .raw_size = head.raw_bytes,
				  .crc = head.bytes_crc, .kind = head.kind >> 8, .key = head.key, .before = head.before, .saved = true });
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

void blocks_load_index(struct blocks *b, uint32_t number)
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
	off_t end;
	int r;

	if (known->saved)
		return 0;
	r = write_all(fd, &head, sizeof(head));
	if (!r)
		r = write_all(fd, known->bytes, known->size);
	end = r ? 0 : lseek(fd, 0, SEEK_END);
	known->at = end > (off_t)known->size ? (uint64_t)end - known->size : 0;
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

/* Whether what was written there can be read from now on; the descriptor is taken where there was none. */
static bool reads_from(struct blocks *b, uint32_t number, int fd)
{
	struct stat now, before;

	if (b->index_fds[number] < 0)
		b->index_fds[number] = fd;
	if (b->index_fds[number] == fd)
		return true;
	return !fstat(fd, &now) && !fstat(b->index_fds[number], &before) && now.st_dev == before.st_dev && now.st_ino == before.st_ino;
}

/* What stands at a long trace's blocks is tens of megabytes: it lies in the file now. */
static void let_go(struct blocks *b, uint32_t number)
{
	for (size_t i = 0; i < b->entries.length; i++) {
		struct known *standing = b->entries.items[i].block.file == number ? b->entries.items[i].standing : NULL;

		if (standing && standing->saved && standing->at) {
			free(standing->bytes);
			standing->bytes = NULL;
		}
	}
}

/* What could not all be written is not there. */
static void write_again(struct blocks *b, uint32_t number)
{
	for (size_t i = 0; i < b->entries.length; i++) {
		struct entry *entry = &b->entries.items[i];

		if (entry->block.file != number)
			continue;
		if (entry->standing && entry->standing->bytes)
			entry->standing->saved = false;
		for (struct known *note = entry->notes; note; note = note->next)
			note->saved &= !note->bytes;
	}
}

bool blocks_any_unsaved(const struct blocks *b, uint32_t file)
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

int blocks_save_index(struct blocks *b, uint32_t number, struct err *err)
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
	if (r)
		write_again(b, number);
	else if (reads_from(b, number, fd))
		let_go(b, number);
	if (b->index_fds[number] == fd)
		flock(fd, LOCK_UN);
	else
		close(fd);
	return r ? err_sys(err, r, "writing the index '%s'", path) : 0;
}
