/* Heads of chunks: all that a reader knows without unpacking. */
#include <string.h>

#include "trace/crc32c.h"
#include "trace/reader.h"
#include "trace/varint.h"

#define CALLS_OF_WEIGHT 16u     /* system calls that weigh as much as another event */

bool chunk_head_fixed(const unsigned char *head, size_t bytes, struct chunk_head *ret_head)
{
	if (bytes < sizeof(*ret_head))
		return false;
	memcpy(ret_head, head, sizeof(*ret_head));
	if (memcmp(ret_head->marker, FORMAT_MARKER, sizeof(ret_head->marker)) || ret_head->head_bytes < sizeof(*ret_head) ||
	    ret_head->head_bytes > FORMAT_CHUNK_HEAD_LIMIT || ret_head->payload_bytes > FORMAT_CHUNK_LIMIT ||
	    ret_head->raw_bytes > FORMAT_CHUNK_LIMIT || ret_head->count > FORMAT_COUNT_LIMIT)
		return false;
	if (ret_head->flags & CHUNK_STORED && ret_head->raw_bytes != ret_head->payload_bytes)
		return false;
	return ret_head->flags & CHUNK_INDEX || (ret_head->count && ret_head->first_ns <= ret_head->last_ns);
}

bool chunk_head_good(const unsigned char *head, size_t bytes, struct chunk_head *ret_head)
{
	return chunk_head_fixed(head, bytes, ret_head) && ret_head->head_bytes <= bytes &&
	       crc32c(0, head + 12, ret_head->head_bytes - 12) == ret_head->head_crc;
}

const unsigned char *chunk_types_get(const unsigned char *at, const unsigned char *end, uint32_t events,
				     struct chunk_types *ret_types)
{
	uint64_t types, number, count, sum = 0, before = 0;

	at = varint_get(at, end, &types);
	if (!at || !types || types > DESCRIBE_NUMBERS)
		return NULL;
	for (uint64_t i = 0; i < types; i++, before = number) {
		at = varint_get(at, end, &number);
		at = at ? varint_get(at, end, &count) : NULL;
		if (!at || number >= DESCRIBE_NUMBERS || (i && number <= before) || !count || count > events)
			return NULL;
		ret_types->numbers[i] = (uint16_t)number;
		ret_types->counts[i] = (uint32_t)count;
		sum += count;
	}
	ret_types->count = (unsigned)types;
	return sum == events ? at : NULL;
}

static const unsigned char *take_threads(struct trace *trace, const unsigned char *at, const unsigned char *end)
{
	uint64_t count;

	at = varint_get(at, end, &count);
	for (uint64_t i = 0; at && i < count; i++) {
		uint64_t tid, code;

		at = varint_get(at, end, &tid);
		at = at ? varint_get(at, end, &code) : NULL;
		if (!at)
			break;
		if (code & 1)
			trace->reused_threads++;
		tid_table_put(&trace->threads, tid, code >> 1);
		if (code >> 1)
			tid_table_put(&trace->processes, code >> 1, 1);
	}
	return at;
}

static void take_note(struct trace *trace, uint64_t type, uint64_t time_ns, const unsigned char *data, uint64_t bytes)
{
	struct event_gap gap;
	struct event_clock clock;

	if (type == EVENT_gap && bytes == sizeof(gap)) {
		memcpy(&gap, data, sizeof(gap));
		vec_push(&trace->gaps, ((struct trace_gap){ gap.from_ns, gap.to_ns, gap.lost, gap.cpu, gap.reason }));
	} else if (type == EVENT_clock && bytes == sizeof(clock)) {
		memcpy(&clock, data, sizeof(clock));
		vec_push(&trace->clocks, ((struct clock_point){ time_ns, clock.realtime_ns }));
	}
}

static bool take_notes(struct trace *trace, const struct chunk_head *head, const unsigned char *at, const unsigned char *end)
{
	uint64_t count;

	at = varint_get(at, end, &count);
	for (uint64_t i = 0; at && i < count; i++) {
		uint64_t type, delta, bytes;

		at = varint_get(at, end, &type);
		at = at ? varint_get(at, end, &delta) : NULL;
		at = at ? varint_get(at, end, &bytes) : NULL;
		if (!at || bytes > (size_t)(end - at))
			return false;
		take_note(trace, type, head->first_ns + delta, at, bytes);
		at += bytes;
	}
	return at != NULL;
}

static uint32_t weight_of(const struct chunk_types *types, uint32_t events)
{
	uint32_t calls = 0;

	for (unsigned i = 0; i < types->count; i++)
		if (types->numbers[i] == EVENT_syscall)
			calls = types->counts[i];
	return events - calls + calls / CALLS_OF_WEIGHT;
}

/* Counts of a chunk that is whole, by this version's types. */
static void count_types(struct trace *trace, const struct trace_file *file, const struct chunk_types *types, struct chunk *chunk)
{
	for (unsigned i = 0; i < types->count; i++) {
		unsigned number = types->numbers[i];

		if (!file->plans[number].known) {
			trace->summary.unknown_events += types->counts[i];
			continue;
		}
		chunk->types[number / 64] |= 1ull << (number % 64);
		trace->summary.counts[number] += types->counts[i];
		if (event_infos[number].categories & (STATE | META))
			trace->summary.state_events += types->counts[i];
		else
			trace->summary.events += types->counts[i];
	}
}

/* Reads the chunk itself: an index tells of chunks that may since be damaged. */
static bool chunk_good(const struct trace_file *file, uint64_t at, const struct chunk_head *told)
{
	size_t size = (size_t)told->head_bytes + told->payload_bytes;
	unsigned char *bytes = mem_alloc(size);
	struct chunk_head head;
	bool good = trace_file_read(file, at, bytes, size) && chunk_head_good(bytes, size, &head) &&
		    !memcmp(&head, told, sizeof(head)) &&
		    crc32c(0, bytes + head.head_bytes, head.payload_bytes) == head.payload_crc;

	free(bytes);
	return good;
}

/* The GAP_REASON_ why its payload cannot be read, or 0. Codings that are not
 * known come in files of a later version, which are refused, but for those whose
 * head is damaged. */
static unsigned check_chunk(struct trace *trace, const struct chunk *chunk, const struct chunk_head *head)
{
	const struct trace_file *file = &trace->files.items[chunk->file];
	struct trace_filter all = { 0 };
	int status;

	if (!chunk_good(file, chunk->at, head))
		return GAP_REASON_damaged;
	if (!trace->decode && file->head.version)
		return 0;
	if (!trace->scratch)
		trace->scratch = mem_zalloc(sizeof(*trace->scratch));
	memset(all.types, 0xff, sizeof(all.types));
	status = chunk_decode(trace, chunk, &all, trace->scratch);
	return status ? chunk_gap_reason(status) : 0;
}

bool chunk_take(struct trace *trace, uint32_t number, uint64_t at, const unsigned char *bytes)
{
	const struct trace_file *file = &trace->files.items[number];
	struct chunk_types types;
	struct chunk_head head;
	const unsigned char *rest, *end;
	struct chunk chunk;
	unsigned bad;

	memcpy(&head, bytes, sizeof(head));
	end = bytes + head.head_bytes;
	rest = chunk_types_get(bytes + sizeof(head), end, head.count, &types);
	rest = rest ? take_threads(trace, rest, end) : NULL;
	if (!rest || !take_notes(trace, &head, rest, end))
		return false;
	chunk = (struct chunk){
		.at = at, .first_ns = head.first_ns, .last_ns = head.last_ns, .head_bytes = head.head_bytes,
		.payload_bytes = head.payload_bytes, .raw_bytes = head.raw_bytes, .payload_crc = head.payload_crc,
		.count = head.count, .weight = weight_of(&types, head.count), .state_count = head.state_count, .sequence = head.sequence,
		.stream_before = head.stream_before, .file = number, .cpu = head.cpu, .flags = head.flags,
	};
	bad = trace->verify ? check_chunk(trace, &chunk, &head) : 0;
	if (bad) {
		atomic_store_explicit(&chunk.bad, bad, memory_order_relaxed);
		*(bad == GAP_REASON_unknown ? &trace->summary.unknown_chunks : &trace->summary.damaged_chunks) += 1;
		vec_push(&trace->gaps, ((struct trace_gap){ head.first_ns, head.last_ns, head.count, head.cpu, bad }));
	} else {
		count_types(trace, file, &types, &chunk);
		trace->summary.weight += chunk.weight;
	}
	vec_push(&trace->chunks, chunk);
	return true;
}
