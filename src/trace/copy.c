/* See copy.h. */
#include "trace/copy.h"

#include <string.h>

#include "trace/crc32c.h"
#include "trace/reader.h"

struct copy {
	const struct trace *trace;
	struct writer *writer;
	uint64_t from_ns;
	bool *own_table;             /* of each file: its events are described as ours */
	struct decoded decoded;
	struct vec(unsigned char) bytes;
};

static bool has_own_table(const struct trace_file *file)
{
	unsigned char *own = mem_zalloc(DESCRIBE_ROOM), *theirs = NULL;
	size_t size = (size_t)(describe_put(own) - own);
	bool same = file->head.head_bytes == sizeof(file->head) + size;

	if (same) {
		theirs = mem_alloc(size);
		same = trace_file_read(file, sizeof(file->head), theirs, size) && !memcmp(own, theirs, size);
	}
	free(own);
	free(theirs);
	return same;
}

static int add_gap(struct copy *copy, struct trace_gap gap, uint16_t cpu, struct err *err)
{
	if (gap.to_ns < copy->from_ns)
		return 0;
	return writer_add_gap(copy->writer, gap.cpu == UINT32_MAX ? cpu : gap.cpu, gap.from_ns > copy->from_ns ? gap.from_ns : copy->from_ns,
			      gap.to_ns, gap.lost, gap.reason, err);
}

static int add_bad(struct copy *copy, const struct chunk *chunk, unsigned reason, struct err *err)
{
	return add_gap(copy, (struct trace_gap){ chunk->first_ns, chunk->last_ns, chunk->count, chunk->cpu, reason },
		       chunk->cpu, err);
}

/* Of types that this version does not know nothing can be written. */
static int add_events(struct copy *copy, const struct chunk *chunk, struct err *err)
{
	const struct decoded *decoded = &copy->decoded;
	struct trace_filter all = { 0 };
	int r = 0;

	memset(all.types, 0xff, sizeof(all.types));
	r = chunk_decode(copy->trace, chunk, &all, &copy->decoded);
	if (r)
		return add_bad(copy, chunk, chunk_gap_reason(r), err);
	for (uint32_t i = 0; !r && i < decoded->count; i++) {
		struct event e = { .time = decoded->times[i], .cpu = chunk->cpu, .type = decoded->types[i], .tid = decoded->tids[i], .tail = "" };

		if (e.time < copy->from_ns || e.type >= EVENT_MAX)
			continue;
		e.data = decoded->places[i] == PLACE_NONE ? NULL : decoded->data + decoded->places[i];
		if (decoded->texts) {
			e.tail = decoded->texts + decoded->tails[i];
			e.tail_length = decoded->tail_lengths[i];
		}
		r = writer_add_event(copy->writer, &e, err);
	}
	return r;
}

static int add_whole(struct copy *copy, const struct chunk *chunk, struct err *err)
{
	size_t size = (size_t)chunk->head_bytes + chunk->payload_bytes;
	struct chunk_head head;

	vec_reserve(&copy->bytes, size);
	if (!trace_file_read(&copy->trace->files.items[chunk->file], chunk->at, copy->bytes.items, size) ||
	    !chunk_head_good(copy->bytes.items, size, &head) || head.head_bytes + head.payload_bytes != size ||
	    crc32c(0, copy->bytes.items + head.head_bytes, head.payload_bytes) != head.payload_crc)
		return add_bad(copy, chunk, GAP_REASON_damaged, err);
	return writer_add_chunk(copy->writer, copy->bytes.items, err);
}

static int add_chunk(struct copy *copy, const struct chunk *chunk, struct err *err)
{
	unsigned bad = atomic_load_explicit(&chunk->bad, memory_order_relaxed);

	if (chunk->gap)
		return add_gap(copy, *chunk->hole, chunk->cpu, err);
	if (chunk->last_ns < copy->from_ns)
		return 0;
	if (chunk->refused || bad)
		return add_bad(copy, chunk, bad ? bad : GAP_REASON_damaged, err);
	if (chunk->first_ns >= copy->from_ns && copy->own_table[chunk->file])
		return add_whole(copy, chunk, err);
	return add_events(copy, chunk, err);
}

int trace_copy(const struct trace *trace, uint64_t from_ns, struct writer *writer, struct err *err)
{
	struct copy copy = { .trace = trace, .writer = writer, .from_ns = from_ns > trace->floor_ns ? from_ns : trace->floor_ns };
	int r = 0;

	copy.own_table = mem_alloc(trace->files.length * sizeof(*copy.own_table));
	for (size_t i = 0; i < trace->files.length; i++)
		copy.own_table[i] = has_own_table(&trace->files.items[i]);
	for (size_t i = 0; !r && i < trace->chunks.length; i++)
		r = add_chunk(&copy, &trace->chunks.items[i], err);
	free(copy.own_table);
	vec_done(&copy.bytes);
	decoded_done(&copy.decoded);
	return r;
}

uint64_t trace_copy_begin(const struct trace *trace, uint64_t events)
{
	uint64_t held = 0, begin = 0;

	for (size_t i = trace->chunks.length; i-- > 0;) {
		const struct chunk *chunk = &trace->chunks.items[i];

		held += chunk->gap ? 0 : chunk->count - chunk->state_count;
		if (held > events)
			return begin;
		begin = chunk->first_ns;
	}
	return 0;
}
