/* A chunk's payload to arrays: columns decoded one by one into the payload
 * structs of this version, laid by type; then each event's place among them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "trace/column.h"
#include "trace/crc32c.h"
#include "trace/predict.h"
#include "trace/reader.h"
#include "trace/varint.h"

enum room { ROOM_PACKED, ROOM_RAW, ROOM_TIMES, ROOM_TIDS, ROOM_TYPES, ROOM_PLACES, ROOM_TAILS, ROOM_DATA, ROOM_TEXTS, ROOM_SCRATCH, ROOM_GUESS };

void decoded_done(struct decoded *decoded)
{
	for (unsigned i = 0; i < sizeof(decoded->room) / sizeof(decoded->room[0]); i++)
		free(decoded->room[i]);
	ZSTD_freeDCtx(decoded->decompressor);
	*decoded = (struct decoded){ 0 };
}

/* Room that is only ever grown; what was in it is lost. */
static void *room(struct decoded *decoded, enum room which, size_t bytes)
{
	if (bytes > decoded->room_bytes[which]) {
		free(decoded->room[which]);
		decoded->room[which] = mem_alloc(bytes);
		decoded->room_bytes[which] = bytes;
	}
	return decoded->room[which];
}

/* What decoding one chunk goes through. */
struct decoding {
	struct decoded *to;
	const struct trace_file *file;
	const struct trace_filter *wanted;
	struct chunk_head head;
	struct chunk_types types;
	const unsigned char *at, *end;     /* of the payload */
	unsigned char *codes;              /* type of each event, in the order of chunk_types */
	uint32_t first_tid;
	const unsigned char *tids;         /* the column, decoded last */
	const unsigned char *next;         /* each switch's `next`: the first one; NULL when there are none */
	size_t next_stride;
	bool unknown;                      /* it is written in a way that this version does not know */
	uint32_t places[DESCRIBE_NUMBERS], words[DESCRIBE_NUMBERS], tails[DESCRIBE_NUMBERS];
	uint16_t own[DESCRIBE_NUMBERS];
};

/* Takes the column that stands next, or passes over it where `target` is NULL. */
static bool take_column(struct decoding *d, const struct column_target *target, size_t n)
{
	d->unknown |= column_unknown(d->at, d->end);
	d->at = target ? column_get(d->at, d->end, *target, n) : column_skip(d->at, d->end);
	return d->at != NULL;
}

/* Reads, checks and unpacks. */
static bool unpack(const struct trace *trace, const struct chunk *chunk, struct decoding *d)
{
	size_t bytes = (size_t)chunk->head_bytes + chunk->payload_bytes;
	unsigned char *packed = room(d->to, ROOM_PACKED, bytes), *raw;
	const unsigned char *payload = packed + chunk->head_bytes;

	d->file = &trace->files.items[chunk->file];
	if (!trace_file_read(d->file, chunk->at, packed, bytes) || !chunk_head_good(packed, bytes, &d->head) ||
	    d->head.head_bytes != chunk->head_bytes || d->head.payload_bytes != chunk->payload_bytes ||
	    d->head.payload_crc != chunk->payload_crc || d->head.count != chunk->count || d->head.raw_bytes != chunk->raw_bytes ||
	    d->head.first_ns != chunk->first_ns || d->head.last_ns != chunk->last_ns ||
	    crc32c(0, payload, d->head.payload_bytes) != d->head.payload_crc ||
	    !chunk_types_get(packed + sizeof(d->head), payload, d->head.count, &d->types))
		return false;
	if (d->head.flags & ~CHUNK_FLAGS) {
		d->unknown = true;
		return false;
	}
	if (d->head.flags & CHUNK_STORED) {
		d->at = payload;
	} else {
		if (!d->to->decompressor)
			d->to->decompressor = ZSTD_createDCtx();
		raw = room(d->to, ROOM_RAW, d->head.raw_bytes);
		if (!d->to->decompressor ||
		    ZSTD_decompressDCtx(d->to->decompressor, raw, d->head.raw_bytes, payload, d->head.payload_bytes) != d->head.raw_bytes)
			return false;
		d->at = raw;
	}
	d->end = d->at + d->head.raw_bytes;
	return true;
}

static bool decode_types(struct decoding *d)
{
	uint32_t counts[256] = { 0 };

	d->codes = room(d->to, ROOM_SCRATCH, d->head.count * 5); /* and the switches' `next` */
	memset(d->codes, 0, d->head.count);
	if (!take_column(d, &(struct column_target){ d->codes, 1, 1 }, d->head.count))
		return false;
	for (uint32_t i = 0; i < d->head.count; i++)
		counts[d->codes[i]]++;
	for (unsigned i = 0; i < d->types.count; i++)
		if (counts[i] != d->types.counts[i])
			return false;
	return true;
}

static bool decode_times(struct decoding *d)
{
	uint64_t *times = room(d->to, ROOM_TIMES, d->head.count * sizeof(*times)), time = d->head.first_ns;
	bool overflow = false;

	memset(times, 0, d->head.count * sizeof(*times));
	if (!take_column(d, &(struct column_target){ times, sizeof(*times), sizeof(*times) }, d->head.count))
		return false;
	for (uint32_t i = 0; i < d->head.count; i++) {
		overflow |= __builtin_add_overflow(time, times[i], &time);
		times[i] = time;
	}
	d->to->times = times;
	return !overflow && times[0] == d->head.first_ns && time == d->head.last_ns;
}

/* Only passes over the column: it is told against the switches' next threads. */
static bool pass_tids(struct decoding *d)
{
	uint64_t first;

	d->at = varint_get(d->at, d->end, &first);
	if (!d->at || first > UINT32_MAX)
		return false;
	d->first_tid = (uint32_t)first;
	d->tids = d->at;
	return take_column(d, NULL, 0);
}

static bool decode_tids(struct decoding *d)
{
	uint32_t *tids = room(d->to, ROOM_TIDS, d->head.count * sizeof(*tids)), running = d->first_tid;
	const unsigned char *next = d->next;
	uint64_t *told;
	unsigned switch_code = 256;

	for (unsigned i = 0; i < d->types.count; i++)
		if (d->types.numbers[i] == EVENT_switch)
			switch_code = i;
	d->to->tids = tids;
	if (d->tids[0] == COLUMN_ZERO) {
		for (uint32_t i = 0; i < d->head.count; i++) {
			tids[i] = running;
			if (d->codes[i] == switch_code) {
				memcpy(&running, next, sizeof(running));
				next += d->next_stride;
			}
		}
		return true;
	}
	told = mem_zalloc(d->head.count * sizeof(*told));
	if (!column_get(d->tids, d->end, (struct column_target){ told, sizeof(*told), sizeof(*told) }, d->head.count)) {
		free(told);
		return false;
	}
	for (uint32_t i = 0; i < d->head.count; i++) {
		tids[i] = told[i] ? (uint32_t)(told[i] - 1) : running;
		if (d->codes[i] == switch_code) {
			memcpy(&running, next, sizeof(running));
			next += d->next_stride;
		}
	}
	free(told);
	return true;
}

/* One field's values for its own sake; false when it cannot be read. */
static bool decode_column(struct decoding *d, const unsigned char *const *columns, unsigned field_count, unsigned field, uint64_t *to,
			  uint32_t n)
{
	memset(to, 0, n * sizeof(*to));
	return field < field_count && columns[field][0] != COLUMN_KEYED &&
	       column_get(columns[field], d->end, (struct column_target){ to, sizeof(*to), sizeof(*to) }, n);
}

/* Guesses set right; a loop for each width. */
static inline __attribute__((always_inline)) void set_right(uint64_t *guesses, const uint32_t *hashes, const uint64_t *codes,
							     const uint64_t *steps, char *to, size_t stride, unsigned width, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++, to += stride) {
		uint64_t *guess = predict_slot(guesses, hashes[i]), value = *guess + unzigzag(codes[i]);

		memcpy(to, &value, width);
		*guess = value + steps[i];
	}
}

/* A column that is told by others of the same type; `columns` has where they
 * begin, *keys the fields that told the column before, whose hashes are still there. */
static bool decode_keyed(struct decoding *d, const unsigned char *column, const unsigned char *const *columns, unsigned field_count,
			 const unsigned char **keys, struct column_target target, uint32_t n)
{
	uint64_t *values = room(d->to, ROOM_GUESS, n * (2 * sizeof(uint64_t) + sizeof(uint32_t)) + PREDICT_SLOTS * sizeof(uint64_t));
	uint64_t *steps = values + n, *guesses = steps + n, bytes = 0;
	uint32_t *hashes = (uint32_t *)(void *)(guesses + PREDICT_SLOTS);
	const unsigned char *at = varint_get(column + 1, d->end, &bytes), *end;

	/* column_skip() has found the length to be within the payload */
	end = at ? at + bytes : NULL;
	if (!at || bytes < 2 || !*at || *at > PREDICT_KEYS_MOST || bytes < 2u + *at)
		return false;
	for (unsigned i = 0; (!*keys || memcmp(*keys, at, 1u + *at)) && i < *at; i++) {
		if (!decode_column(d, columns, field_count, at[1 + i], values, n))
			return false;
		predict_key(hashes, values, n, !i);
	}
	*keys = at;
	at += 1u + *at;
	memset(steps, 0, n * sizeof(*steps));
	if (*at && !decode_column(d, columns, field_count, *at - 1u, steps, n))
		return false;
	at++;
	memset(values, 0, n * sizeof(*values));
	d->unknown |= column_unknown(at, end);
	if (at == end || *at == COLUMN_KEYED ||
	    column_get(at, end, (struct column_target){ values, sizeof(*values), sizeof(*values) }, n) != end)
		return false;
	memset(guesses, 0, PREDICT_SLOTS * sizeof(*guesses));
	switch (target.width) {
	case 1:
		set_right(guesses, hashes, values, steps, target.to, target.stride, 1, n);
		break;
	case 2:
		set_right(guesses, hashes, values, steps, target.to, target.stride, 2, n);
		break;
	case 4:
		set_right(guesses, hashes, values, steps, target.to, target.stride, 4, n);
		break;
	default:
		set_right(guesses, hashes, values, steps, target.to, target.stride, 8, n);
		break;
	}
	return true;
}

/* The fields of one type; `data` NULL: not wanted. */
static bool decode_fields(struct decoding *d, unsigned code, const struct event_plan *plan, uint64_t *data, size_t bytes)
{
	const unsigned char *columns[DESCRIBE_FIELDS], *keys = NULL;
	uint32_t n = d->types.counts[code];
	uint64_t fields = d->wanted->fields && plan->known ? d->wanted->fields[d->types.numbers[code]] : UINT64_MAX;

	for (unsigned i = 0; i < plan->field_count; i++) {
		const struct field_plan *field = &plan->fields[i];
		bool next = d->types.numbers[code] == EVENT_switch && plan->known && !field->skip &&
			    field->offset == offsetof(struct event_switch, next);
		struct column_target target = { data ? (char *)data + field->offset : NULL, bytes, field->bytes };

		if (next && !data) {
			target = (struct column_target){ d->codes + d->head.count, sizeof(uint32_t), sizeof(uint32_t) };
			memset(target.to, 0, n * sizeof(uint32_t));
		}
		if (next) {
			d->next = target.to;
			d->next_stride = target.stride;
		}
		columns[i] = d->at;
		if (target.to && !field->skip && (next || fields >> FIELD_BIT(field->offset) & 1) && d->at < d->end && *d->at != COLUMN_KEYED)
			take_column(d, &target, n);
		else
			take_column(d, NULL, n);
		if (!d->at || (next && *columns[i] == COLUMN_KEYED))
			return false;
	}
	for (unsigned i = 0; data && i < plan->field_count; i++) {
		const struct field_plan *field = &plan->fields[i];
		struct column_target target = { (char *)data + field->offset, bytes, field->bytes };

		if (*columns[i] == COLUMN_KEYED && !field->skip && fields >> FIELD_BIT(field->offset) & 1 &&
		    !decode_keyed(d, columns[i], columns, plan->field_count, &keys, target, n))
			return false;
	}
	return d->types.numbers[code] != EVENT_switch || d->next;
}

/* The tails of one type: their lengths into `lengths` (in the events' order
 * within the type), their bytes, each ended by a NUL, into the texts. */
static bool decode_tails(struct decoding *d, unsigned code, uint32_t *lengths, bool wanted, size_t *texts_used)
{
	uint32_t n = d->types.counts[code];
	const unsigned char *column = d->at;

	if (!take_column(d, NULL, n))
		return false;
	if (column[0] == COLUMN_ZERO)
		return true;
	memset(lengths, 0, n * sizeof(*lengths));
	if (!column_get(column, d->end, (struct column_target){ lengths, sizeof(*lengths), sizeof(*lengths) }, n))
		return false;
	if (wanted && !d->to->texts) {
		d->to->texts = room(d->to, ROOM_TEXTS, (size_t)d->head.raw_bytes + d->head.count + 1);
		d->to->texts[0] = 0; /* place 0 is the empty text */
		*texts_used = 1;
	}
	if (wanted)
		d->tails[code] = (uint32_t)*texts_used;
	for (uint32_t i = 0; i < n; i++) {
		if (lengths[i] > (size_t)(d->end - d->at))
			return false;
		if (wanted) {
			memcpy(d->to->texts + *texts_used, d->at, lengths[i]);
			d->to->texts[*texts_used + lengths[i]] = 0;
			*texts_used += lengths[i] + 1;
		}
		d->at += lengths[i];
	}
	return true;
}

static bool is_wanted(const struct decoding *d, unsigned own)
{
	return own < EVENT_MAX && d->wanted->types[own / 64] >> (own % 64) & 1;
}

static bool decode_all_types(struct decoding *d, uint32_t **ret_lengths)
{
	size_t words = 0, texts_used = 0, seen = 0;
	uint32_t *lengths = room(d->to, ROOM_TAILS, d->head.count * 3 * sizeof(*lengths));

	d->to->texts = NULL;
	for (unsigned i = 0; i < d->types.count; i++) {
		const struct event_plan *plan = &d->file->plans[d->types.numbers[i]];

		if (!plan->described) { /* the table that describes it was damaged */
			d->unknown = true;
			return false;
		}
		d->own[i] = plan->known ? d->types.numbers[i] : EVENT_MAX;
		d->words[i] = is_wanted(d, d->own[i]) ? event_infos[d->own[i]].bytes / 8 : 0;
		d->places[i] = d->words[i] ? (uint32_t)words : PLACE_NONE;
		words += (size_t)d->words[i] * d->types.counts[i];
	}
	d->to->data = room(d->to, ROOM_DATA, words * 8 + 8);
	memset(d->to->data, 0, words * 8);
	for (unsigned i = 0; i < d->types.count; i++) {
		const struct event_plan *plan = &d->file->plans[d->types.numbers[i]];

		if (!decode_fields(d, i, plan, d->words[i] ? d->to->data + d->places[i] : NULL, (size_t)d->words[i] * 8) ||
		    !decode_tails(d, i, lengths + seen, is_wanted(d, d->own[i]), &texts_used))
			return false;
		seen += d->types.counts[i];
	}
	*ret_lengths = lengths;
	return d->at == d->end;
}

/* Each event's place in `data`, counted up within its type. */
static void place_events(struct decoding *d)
{
	struct decoded *to = d->to;

	to->types = room(to, ROOM_TYPES, d->head.count * sizeof(*to->types));
	to->places = room(to, ROOM_PLACES, d->head.count * sizeof(*to->places));
	for (uint32_t i = 0; i < d->head.count; i++) {
		unsigned code = d->codes[i];

		to->types[i] = d->own[code];
		to->places[i] = d->places[code];
		d->places[code] += d->words[code];
	}
}

/* Only for chunks with texts, which are few. */
static void place_tails(struct decoding *d, uint32_t *lengths)
{
	struct decoded *to = d->to;
	uint32_t starts[DESCRIBE_NUMBERS], start = 0;

	to->tails = to->tail_lengths = NULL;
	if (!to->texts)
		return;
	to->tails = lengths + d->head.count;
	to->tail_lengths = lengths + 2 * (size_t)d->head.count;
	for (unsigned i = 0; i < d->types.count; i++) {
		starts[i] = start;
		start += d->types.counts[i];
	}
	for (uint32_t i = 0; i < d->head.count; i++) {
		unsigned code = d->codes[i];

		to->tails[i] = to->tail_lengths[i] = 0;
		if (!d->tails[code])
			continue;
		to->tail_lengths[i] = lengths[starts[code]++];
		to->tails[i] = d->tails[code];
		d->tails[code] += to->tail_lengths[i] + 1;
	}
}

int chunk_decode(const struct trace *trace, const struct chunk *chunk, const struct trace_filter *wanted, struct decoded *decoded)
{
	struct decoding d = { .to = decoded, .wanted = wanted };
	uint32_t *lengths;

	decoded->count = 0;
	if (!unpack(trace, chunk, &d) || !decode_types(&d) || !decode_times(&d) || !pass_tids(&d) ||
	    !decode_all_types(&d, &lengths) || !decode_tids(&d))
		return d.unknown ? -EPROTONOSUPPORT : -EBADMSG;
	place_events(&d);
	place_tails(&d, lengths);
	decoded->count = d.head.count;
	return 0;
}
