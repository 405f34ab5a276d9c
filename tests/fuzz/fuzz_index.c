/* The index of a trace in blocks: records with right sums and arbitrary contents behind a
 * right head, as random bytes never pass those; then what stands at each block, the part
 * that begins there and its scene are asked for. */
#include <fcntl.h>
#include <sys/stat.h>
#include <zstd.h>

#include "diagnose/scene.h"
#include "fuzz_session.h"
#include "trace/blocks.h"
#include "trace/crc32c.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define HEAD_BYTES 64
#define BLOCK_EVENTS 4

struct index_record {
	uint64_t from_ns, before;
	uint32_t kind, bytes, raw_bytes, key, bytes_crc, crc;
};

static struct blocks_options options = { .weight = BLOCK_EVENTS };

static const char *index_path(void)
{
	static char path[96];

	snprintf(path, sizeof(path), "%s.index", fuzz_session_path());
	return path;
}

static void remove_index(void)
{
	unlink(index_path());
}

/* The head that an index of this trace has. */
static const unsigned char *good_head(const struct trace *trace)
{
	static unsigned char head[HEAD_BYTES];
	struct blocks *blocks;
	struct standing_events events;
	struct arena arena;
	struct err err;
	int fd;

	if (head[0])
		return head;
	arena_init(&arena);
	unlink(index_path());
	blocks_open(trace, &options, &blocks, &err);
	for (size_t i = 0; i < blocks_count(blocks); i++)
		blocks_standing(blocks, i, &arena, &events, &err);
	blocks_close(blocks);
	arena_done(&arena);
	fd = open(index_path(), O_RDONLY | O_CLOEXEC);
	if (fd < 0 || read(fd, head, sizeof(head)) != sizeof(head))
		abort();
	close(fd);
	atexit(remove_index);
	return head;
}

static uint64_t take(const uint8_t **data, size_t *size, size_t bytes)
{
	uint64_t value = 0;

	bytes = bytes < *size ? bytes : *size;
	memcpy(&value, *data, bytes);
	*data += bytes;
	*size -= bytes;
	return value;
}

static void write_index(const struct trace *trace, const struct blocks *blocks, const uint8_t *data, size_t size)
{
	FILE *file = fopen(index_path(), "w");

	if (!file || fchmod(fileno(file), 0600))
		abort();
	fwrite(good_head(trace), 1, HEAD_BYTES, file);
	while (size) {
		struct index_record record = { 0 };
		unsigned what = (unsigned)take(&data, &size, 1);
		size_t block = take(&data, &size, 1) % blocks_count(blocks), length;
		unsigned char packed[70000];

		record.from_ns = blocks_at(blocks, block)->from_ns;
		record.before = take(&data, &size, 1);
		record.kind = what & 2 ? 2 | (what & 0xf0) << 4 : 1;
		length = take(&data, &size, 2);
		length = length < size ? length : size;
		record.raw_bytes = (uint32_t)length;
		record.bytes = (uint32_t)(what & 1 ? ZSTD_compress(packed, sizeof(packed), data, length, 1) : length);
		if (!(what & 1))
			memcpy(packed, data, length);
		record.bytes_crc = crc32c(0, packed, record.bytes);
		record.crc = crc32c(0, &record, offsetof(struct index_record, crc));
		fwrite(&record, 1, sizeof(record), file);
		fwrite(packed, 1, record.bytes, file);
		data += length;
		size -= length;
	}
	fclose(file);
}

static void ask(struct blocks *blocks)
{
	for (size_t i = 0; i < blocks_count(blocks); i++) {
		struct arena arena;
		struct trace *part;
		struct scene *scene;
		struct err err;
		size_t bytes;

		arena_init(&arena);
		(void)blocks_noted(blocks, i, (unsigned)i & 15, &bytes);
		if (!blocks_part(blocks, i, blocks_count(blocks) - 1, UINT64_MAX, &arena, &part, &err)) {
			if (!scene_build(part, NULL, &scene, &err))
				scene_free(scene);
			trace_close(part);
		}
		arena_done(&arena);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct trace *trace;
	struct blocks *blocks;
	struct err err;

	if (!trace && trace_open(fuzz_session_path(), &trace, &err))
		abort();
	good_head(trace);
	blocks_open(trace, &(struct blocks_options){ .weight = BLOCK_EVENTS, .no_index = true }, &blocks, &err);
	write_index(trace, blocks, data, size < 60000 ? size : 60000);
	blocks_close(blocks);
	blocks_open(trace, &options, &blocks, &err);
	blocks_keep_to_itself(blocks);
	ask(blocks);
	blocks_close(blocks);
	return 0;
}
