/* One file: its head, and its chunks by the index at its end or, without a
 * good one, from head to head. After damage the next chunk is found by its
 * marker. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "trace/crc32c.h"
#include "trace/reader.h"

#define HEAD_GUESS 512u          /* most heads of chunks are shorter */
#define SCAN_BLOCK (64u * 1024)

bool trace_file_read(const struct trace_file *file, uint64_t at, void *to, size_t size)
{
	size_t done = 0;

	if (at > file->bytes || size > file->bytes - at)
		return false;
	while (done < size) {
		ssize_t n = pread(file->fd, (char *)to + done, size - done, (off_t)(at + done));

		if (n > 0)
			done += (size_t)n;
		else if (n == 0 || errno != EINTR)
			return false;
	}
	return true;
}

/* ---- the head ---- */

static int read_descriptors(struct trace_file *file)
{
	unsigned char *bytes;
	int status = -EBADMSG;

	if (file->head.head_bytes < sizeof(file->head) || file->head.head_bytes > FORMAT_HEAD_LIMIT)
		return -EBADMSG;
	bytes = mem_alloc(file->head.head_bytes);
	if (trace_file_read(file, 0, bytes, file->head.head_bytes)) {
		memset(bytes + offsetof(struct file_head, crc), 0, sizeof(file->head.crc));
		if (crc32c(0, bytes, file->head.head_bytes) == file->head.crc)
			status = describe_get(bytes + sizeof(file->head), bytes + file->head.head_bytes, file->plans);
	}
	free(bytes);
	return status;
}

static int refuse_version(const struct trace_file *file, struct err *err)
{
	return err_set(err, -EPROTONOSUPPORT, "'%s' has format %" PRIu32 ", as a newer Argus writes; this one reads formats up to %d",
		       file->path, file->head.version, FORMAT_VERSION);
}

static int read_file_head(struct trace *trace, struct trace_file *file, struct err *err)
{
	file->plans = arena_array(&trace->arena, struct event_plan, DESCRIBE_NUMBERS);
	if (!file->bytes)
		return err_set(err, -ENODATA, "'%s' is empty: nothing was recorded", file->path);
	if (!trace_file_read(file, 0, &file->head, file->bytes < sizeof(file->head) ? file->bytes : sizeof(file->head)))
		return err_sys(err, -EIO, "reading '%s'", file->path);
	if (memcmp(file->head.magic, FORMAT_MAGIC, file->bytes < 8 ? file->bytes : 8))
		return err_set(err, -EBADMSG, "'%s' is not a trace of Argus", file->path);
	if (file->bytes < sizeof(file->head))
		return err_set(err, -ENODATA, "'%s' ends within its head: nothing was recorded", file->path);
	if (read_descriptors(file)) {
		if (file->head.version > FORMAT_VERSION && file->head.version < 1000)
			return refuse_version(file, err);
		/* The chunks speak for themselves; they are read as this version writes them. */
		describe_own(file->plans);
		file->head = (struct file_head){ .head_bytes = sizeof(file->head) };
		trace->summary.damaged_heads++;
	} else if (!file->head.version || file->head.version > FORMAT_VERSION) {
		return refuse_version(file, err);
	}
	return 0;
}

/* ---- the index ---- */

/* Unpacks an index chunk into *ret_raw (malloc'ed); its size, 0 when it is bad. */
static size_t read_index_chunk(const struct trace_file *file, uint64_t *at, unsigned char **ret_raw)
{
	unsigned char fixed[sizeof(struct chunk_head)], *packed, *raw;
	struct chunk_head head;
	size_t raw_bytes = 0;

	if (!trace_file_read(file, *at, fixed, sizeof(fixed)) || !chunk_head_good(fixed, sizeof(fixed), &head) ||
	    !(head.flags & CHUNK_INDEX))
		return 0;
	packed = mem_alloc(head.payload_bytes);
	raw = mem_alloc(head.raw_bytes);
	if (trace_file_read(file, *at + head.head_bytes, packed, head.payload_bytes) &&
	    crc32c(0, packed, head.payload_bytes) == head.payload_crc) {
		if (head.flags & CHUNK_STORED)
			memcpy(raw, packed, head.raw_bytes);
		if (head.flags & CHUNK_STORED || ZSTD_decompress(raw, head.raw_bytes, packed, head.payload_bytes) == head.raw_bytes)
			raw_bytes = head.raw_bytes;
	}
	free(packed);
	*ret_raw = raw;
	*at += (uint64_t)head.head_bytes + head.payload_bytes;
	return raw_bytes;
}

/* Chunks that one index chunk tells of, each behind the one before: *end is the
 * end of the last one. So there are never more of them than the file has room for. */
static bool take_indexed(struct trace *trace, uint32_t number, const unsigned char *raw, size_t bytes, uint64_t *end)
{
	const struct trace_file *file = &trace->files.items[number];

	while (bytes > 8) {
		struct chunk_head head;
		uint64_t at;

		memcpy(&at, raw, 8);
		if (!chunk_head_good(raw + 8, bytes - 8, &head) || at < *end || at > file->bytes ||
		    (uint64_t)head.head_bytes + head.payload_bytes > file->bytes - at || !chunk_take(trace, number, at, raw + 8))
			return false;
		*end = at + head.head_bytes + head.payload_bytes;
		raw += 8 + head.head_bytes;
		bytes -= 8 + head.head_bytes;
	}
	return bytes == 0;
}

/* False when there is no good index; then nothing of it has been taken. */
static bool load_index(struct trace *trace, uint32_t number)
{
	const struct trace_file *file = &trace->files.items[number];
	struct trace before = *trace;
	struct file_trailer trailer;
	uint64_t at, end = file->bytes - sizeof(trailer), chunks_end = sizeof(struct file_head);
	bool good;

	if (file->bytes < sizeof(trailer) || !trace_file_read(file, end, &trailer, sizeof(trailer)) ||
	    memcmp(trailer.magic, FORMAT_TRAILER, sizeof(trailer.magic)) ||
	    crc32c(0, &trailer, offsetof(struct file_trailer, crc)) != trailer.crc || trailer.index_at > end)
		return false;
	at = trailer.index_at;
	good = true;
	for (uint32_t i = 0; good && i < trailer.index_chunks; i++) {
		unsigned char *raw = NULL;
		size_t bytes = read_index_chunk(file, &at, &raw);

		good = bytes && take_indexed(trace, number, raw, bytes, &chunks_end);
		free(raw);
	}
	if (good && at == end)
		return true;
	/* Lists only grow, so that their lengths before are all there is to restore;
	 * threads named twice count once. */
	trace->summary = before.summary;
	trace->chunks.length = before.chunks.length;
	trace->gaps.length = before.gaps.length;
	trace->clocks.length = before.clocks.length;
	trace->reused_threads = before.reused_threads;
	return false;
}

/* ---- from head to head ---- */

struct walk {
	unsigned char *head;     /* FORMAT_CHUNK_HEAD_LIMIT of it */
	uint64_t wasted;         /* bytes of heads that turned out bad: a hostile file has many */
};

/* Reads and checks the head at a place; fills walk->head. */
static bool read_head(const struct trace_file *file, struct walk *walk, uint64_t at, struct chunk_head *ret_head)
{
	size_t left = file->bytes - at < HEAD_GUESS ? (size_t)(file->bytes - at) : HEAD_GUESS;

	if (!trace_file_read(file, at, walk->head, left) || !chunk_head_fixed(walk->head, left, ret_head))
		return false;
	if (ret_head->head_bytes > left && !trace_file_read(file, at, walk->head, ret_head->head_bytes))
		return false;
	if (chunk_head_good(walk->head, ret_head->head_bytes, ret_head))
		return true;
	walk->wasted += ret_head->head_bytes;
	return false;
}

/* The next good head behind a place, or the file's end. */
static uint64_t find_head(const struct trace_file *file, struct walk *walk, uint64_t at)
{
	unsigned char *block = mem_alloc(SCAN_BLOCK);
	struct chunk_head head;
	uint64_t found = file->bytes;

	while (found == file->bytes && at + sizeof(head) <= file->bytes && walk->wasted <= 2 * file->bytes + FORMAT_CHUNK_LIMIT) {
		size_t size = file->bytes - at < SCAN_BLOCK ? (size_t)(file->bytes - at) : SCAN_BLOCK;
		const unsigned char *hit = block;

		if (!trace_file_read(file, at, block, size))
			break;
		while ((hit = memmem(hit, size - (size_t)(hit - block), FORMAT_MARKER, 8))) {
			if (read_head(file, walk, at + (uint64_t)(hit - block), &head)) {
				found = at + (uint64_t)(hit - block);
				break;
			}
			hit++;
		}
		at += size - 7; /* a marker may lie across blocks */
	}
	free(block);
	return found;
}

static void walk_chunks(struct trace *trace, uint32_t number)
{
	const struct trace_file *file = &trace->files.items[number];
	struct walk walk = { mem_alloc(FORMAT_CHUNK_HEAD_LIMIT), 0 };
	struct chunk_head head;
	uint64_t at = file->head.head_bytes;

	while (at < file->bytes) {
		uint64_t next;

		if (read_head(file, &walk, at, &head)) {
			if ((uint64_t)head.head_bytes + head.payload_bytes > file->bytes - at)
				break; /* torn: nothing follows */
			if (!(head.flags & CHUNK_INDEX) && !chunk_take(trace, number, at, walk.head))
				trace->summary.damaged_chunks++;
			at += (uint64_t)head.head_bytes + head.payload_bytes;
			continue;
		}
		if (file->bytes - at == sizeof(struct file_trailer))
			at = file->bytes;
		next = at < file->bytes ? find_head(file, &walk, at + 1) : at;
		if (next == file->bytes)
			break;
		trace->summary.damaged_stretches++;
		trace->summary.damaged_bytes += next - at;
		at = next;
	}
	trace->summary.truncated_bytes += file->bytes - at;
	free(walk.head);
}

int trace_file_load(struct trace *trace, const char *path, int fd, struct err *err)
{
	struct trace_file file = { .fd = fd, .path = arena_strdup(&trace->arena, path) };
	uint32_t number = (uint32_t)trace->files.length;
	struct stat st;
	int status;

	if (fstat(fd, &st)) {
		status = err_sys(err, -errno, "'%s'", path);
		close(fd);
		return status;
	}
	file.bytes = (uint64_t)st.st_size;
	status = read_file_head(trace, &file, err);
	if (status) {
		close(fd);
		return status;
	}
	vec_push(&trace->files, file);
	trace->files.items[number].complete = load_index(trace, number);
	if (!trace->files.items[number].complete)
		walk_chunks(trace, number);
	trace->summary.bytes += file.bytes;
	return 0;
}
