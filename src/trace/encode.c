/* See encode.h. The layout of a payload: types, times, threads, then for each
 * type its fields and tails; each part a column. */
#include "trace/encode.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "trace/varint.h"

static unsigned char *put_types(struct encoder *encoder, const struct encode_input *input, unsigned char *at)
{
	unsigned codes[EVENT_MAX] = { 0 }, code = 0;

	for (unsigned type = 0; type < EVENT_MAX; type++)
		if (input->counts[type])
			codes[type] = code++;
	for (uint32_t i = 0; i < input->count; i++)
		encoder->values[i] = codes[input->entries[i]->type];
	return column_put(&encoder->coder, at, encoder->values, input->count);
}

static unsigned char *put_times(struct encoder *encoder, const struct encode_input *input, unsigned char *at)
{
	uint64_t before = input->entries[0]->time_ns;

	for (uint32_t i = 0; i < input->count; i++) {
		encoder->values[i] = input->entries[i]->time_ns - before;
		before = input->entries[i]->time_ns;
	}
	return column_put(&encoder->coder, at, encoder->values, input->count);
}

/* A processor's events happen in the thread that its last switch brought on;
 * what differs from that is told. */
static unsigned char *put_tids(struct encoder *encoder, const struct encode_input *input, unsigned char *at)
{
	uint32_t running = input->entries[0]->tid;

	at = varint_put(at, running);
	for (uint32_t i = 0; i < input->count; i++) {
		const struct entry *entry = input->entries[i];

		encoder->values[i] = entry->tid == running ? 0 : (uint64_t)entry->tid + 1;
		if (entry->type == EVENT_switch)
			running = ((const struct event_switch *)entry_data(entry))->next;
	}
	return column_put(&encoder->coder, at, encoder->values, input->count);
}

static void gather(uint64_t *values, const struct entry *const *entries, uint32_t n, unsigned offset, unsigned bytes)
{
	switch (bytes) {
	case 1:
		for (uint32_t i = 0; i < n; i++)
			values[i] = ((const unsigned char *)entry_data(entries[i]))[offset];
		break;
	case 2:
		for (uint32_t i = 0; i < n; i++) {
			uint16_t value;

			memcpy(&value, (const char *)entry_data(entries[i]) + offset, 2);
			values[i] = value;
		}
		break;
	case 4:
		for (uint32_t i = 0; i < n; i++) {
			uint32_t value;

			memcpy(&value, (const char *)entry_data(entries[i]) + offset, 4);
			values[i] = value;
		}
		break;
	default:
		for (uint32_t i = 0; i < n; i++)
			memcpy(&values[i], (const char *)entry_data(entries[i]) + offset, 8);
	}
}

/* Fields told by others (predict.h): of a type, the field, the fields that tell
 * it, the field that is added to the guess. */
#define STEP_NONE 255u
#define PREDICT_LEAST 64u /* events for which it is worth the table */
#define PREDICT_LENGTH_BYTES 3u
#define AT(type, field) offsetof(struct event_##type, field)
static const struct prediction {
	uint8_t type, offset, key_count, keys[PREDICT_KEYS_MOST], step;
} predictions[] = {
	{ EVENT_message, AT(message, channel), 2, { AT(message, object), AT(message, flags) }, STEP_NONE },
	{ EVENT_message, AT(message, argument), 2, { AT(message, object), AT(message, flags) }, STEP_NONE },
	{ EVENT_message, AT(message, peer), 2, { AT(message, object), AT(message, flags) }, STEP_NONE },
	{ EVENT_message, AT(message, position), 2, { AT(message, object), AT(message, flags) }, AT(message, bytes) },
};
#undef AT

static const struct prediction *prediction_of(const struct event_info *info, const struct field_info *field)
{
	for (size_t i = 0; i < sizeof(predictions) / sizeof(predictions[0]); i++)
		if (&event_infos[predictions[i].type] == info && predictions[i].offset == field->offset)
			return &predictions[i];
	return NULL;
}

static const struct field_info *field_at(const struct event_info *info, unsigned offset)
{
	const struct field_info *field = info->fields;

	while (field->offset != offset)
		field++;
	return field;
}

static void gather_field(uint64_t *values, const struct entry *const *entries, uint32_t n, const struct field_info *field)
{
	gather(values, entries, n, field->offset, field->bytes);
}

/* The column by what differs from the guesses; NULL when that is too much. The
 * values are in `values`, and are lost then. */
static unsigned char *put_predicted(struct encoder *encoder, const struct event_info *info, const struct prediction *p,
				    const struct entry *const *entries, uint32_t n, unsigned char *at)
{
	unsigned char *begin = at, *nested;
	uint32_t wrong = 0;
	size_t bytes;

	for (unsigned i = 0; i < p->key_count; i++) {
		gather_field(encoder->others, entries, n, field_at(info, p->keys[i]));
		predict_key(encoder->hashes, encoder->others, n, !i);
	}
	if (p->step != STEP_NONE)
		gather_field(encoder->others, entries, n, field_at(info, p->step));
	memset(encoder->guesses, 0, sizeof(encoder->guesses));
	for (uint32_t i = 0; i < n; i++) {
		uint64_t *guess = predict_slot(encoder->guesses, encoder->hashes[i]), value = encoder->values[i];

		encoder->values[i] = zigzag(value - *guess);
		wrong += value != *guess;
		*guess = value + (p->step != STEP_NONE ? encoder->others[i] : 0);
	}
	if (wrong > n / 2)
		return NULL;
	/* its length stands before it: room for the longest is kept */
	*at++ = COLUMN_KEYED;
	at += PREDICT_LENGTH_BYTES;
	nested = at;
	*at++ = p->key_count;
	for (unsigned i = 0; i < p->key_count; i++)
		*at++ = (unsigned char)(field_at(info, p->keys[i]) - info->fields);
	*at++ = (unsigned char)(p->step != STEP_NONE ? field_at(info, p->step) - info->fields + 1 : 0);
	at = column_put(&encoder->coder, at, encoder->values, n);
	bytes = (size_t)(at - nested);
	for (unsigned i = 0; i < PREDICT_LENGTH_BYTES; i++)
		begin[1 + i] = (unsigned char)((bytes >> (7 * i) & 0x7f) | (i + 1 < PREDICT_LENGTH_BYTES ? 0x80 : 0));
	return at;
}

static unsigned char *put_field(struct encoder *encoder, const struct event_info *info, const struct field_info *field,
				const struct entry *const *entries, uint32_t n, unsigned char *at)
{
	const struct prediction *prediction = n >= PREDICT_LEAST ? prediction_of(info, field) : NULL;
	unsigned char *end;

	gather_field(encoder->values, entries, n, field);
	if (n == 1)
		return column_put_constant(at, encoder->values[0]);
	if (prediction) {
		end = put_predicted(encoder, info, prediction, entries, n, at);
		if (end)
			return end;
		gather_field(encoder->values, entries, n, field);
	}
	return column_put(&encoder->coder, at, encoder->values, n);
}

/* Fields that are the same in all events cost no gathering: one pass over the
 * structs finds which bytes differ at all. */
static unsigned char *put_fields(struct encoder *encoder, const struct event_info *info,
				 const struct entry *const *entries, uint32_t n, unsigned char *at)
{
	uint64_t differ[32] = { 0 };
	const uint64_t *first = entry_data(entries[0]);
	unsigned words = info->bytes / 8;

	for (uint32_t i = 1; i < n; i++) {
		const uint64_t *data = entry_data(entries[i]);

		for (unsigned word = 0; word < words; word++)
			differ[word] |= data[word] ^ first[word];
	}
	for (const struct field_info *field = info->fields; field < info->fields + info->field_count; field++) {
		uint64_t differs = 0;

		memcpy(&differs, (const char *)differ + field->offset, field->bytes);
		at = put_field(encoder, info, field, entries, differs ? n : 1, at);
	}
	return at;
}

static unsigned char *put_tails(struct encoder *encoder, const struct entry *const *entries, uint32_t n, unsigned char *at)
{
	for (uint32_t i = 0; i < n; i++)
		encoder->values[i] = entries[i]->tail_length;
	at = column_put(&encoder->coder, at, encoder->values, n);
	for (uint32_t i = 0; i < n; i++) {
		memcpy(at, entry_tail(entries[i]), entries[i]->tail_length);
		at += entries[i]->tail_length;
	}
	return at;
}

unsigned char *encode_payload(struct encoder *encoder, const struct encode_input *input, unsigned char *at)
{
	uint32_t starts[EVENT_MAX], fill[EVENT_MAX], start = 0;

	at = put_types(encoder, input, at);
	at = put_times(encoder, input, at);
	at = put_tids(encoder, input, at);
	for (unsigned type = 0; type < EVENT_MAX; type++) {
		starts[type] = fill[type] = start;
		start += input->counts[type];
	}
	for (uint32_t i = 0; i < input->count; i++)
		encoder->by_type[fill[input->entries[i]->type]++] = input->entries[i];
	for (unsigned type = 0; type < EVENT_MAX; type++) {
		if (!input->counts[type])
			continue;
		at = put_fields(encoder, &event_infos[type], encoder->by_type + starts[type], input->counts[type], at);
		at = put_tails(encoder, encoder->by_type + starts[type], input->counts[type], at);
	}
	return at;
}

/* ---- the head's rest ---- */

static bool marked(const uint64_t *marks, uint32_t tid)
{
	return marks[tid / 64] >> (tid % 64) & 1;
}

static void mark(uint64_t *marks, uint32_t tid)
{
	marks[tid / 64] |= 1ull << (tid % 64);
}

static void unmark(uint64_t *marks, uint32_t tid)
{
	marks[tid / 64] &= ~(1ull << (tid % 64));
}

struct thread_list {
	struct thread_marks *marks;
	unsigned char *at;
	uint32_t count;
};

/* Tells of a thread once, and once more when its process becomes known (pid 0:
 * not known here) or when its number is used again. */
static void tell_thread(struct thread_list *list, uint32_t tid, uint32_t pid, bool again)
{
	if (tid == 0 || tid >= THREAD_LIMIT)
		return;
	if (!again && marked(list->marks->seen, tid) && (!pid || marked(list->marks->placed, tid)))
		return;
	mark(list->marks->seen, tid);
	if (pid)
		mark(list->marks->placed, tid);
	list->at = varint_put(list->at, tid);
	list->at = varint_put(list->at, (uint64_t)pid << 1 | again);
	list->count++;
}

static void tell_threads_of(struct thread_list *list, const struct entry *entry)
{
	const void *data = entry_data(entry);

	tell_thread(list, entry->tid, entry->type == EVENT_task ? ((const struct event_task *)data)->pid : 0, false);
	if (entry->type == EVENT_switch) {
		tell_thread(list, ((const struct event_switch *)data)->next, 0, false);
	} else if (entry->type == EVENT_wake) {
		tell_thread(list, ((const struct event_wake *)data)->target, 0, false);
	} else if (entry->type == EVENT_fork) {
		const struct event_fork *fork = data;
		bool again = fork->child < THREAD_LIMIT && marked(list->marks->ended, fork->child);

		if (again)
			unmark(list->marks->ended, fork->child);
		tell_thread(list, fork->child, fork->child_pid, again);
	} else if (entry->type == EVENT_exit && entry->tid < THREAD_LIMIT) {
		mark(list->marks->ended, entry->tid);
	}
}

unsigned char *encode_head_rest(struct encoder *encoder, const struct encode_input *input, unsigned char *at)
{
	/* The count stands before the list: five bytes are kept for it, written in full. */
	struct thread_list list = { &encoder->marks, NULL, 0 };
	uint32_t types = 0, notes = input->counts[EVENT_gap] + input->counts[EVENT_clock];
	unsigned char *count_at;

	for (unsigned type = 0; type < EVENT_MAX; type++)
		types += input->counts[type] != 0;
	at = varint_put(at, types);
	for (unsigned type = 0; type < EVENT_MAX; type++)
		if (input->counts[type])
			at = varint_put(varint_put(at, type), input->counts[type]);
	count_at = at;
	list.at = at + 5;
	for (uint32_t i = 0; i < input->count; i++)
		tell_threads_of(&list, input->entries[i]);
	for (unsigned i = 0; i < 5; i++)
		count_at[i] = (unsigned char)((list.count >> (7 * i) & 0x7f) | (i < 4 ? 0x80 : 0));
	at = varint_put(list.at, notes);
	for (uint32_t i = 0; notes && i < input->count; i++) {
		const struct entry *entry = input->entries[i];
		unsigned bytes = event_infos[entry->type].bytes;

		if (entry->type != EVENT_gap && entry->type != EVENT_clock)
			continue;
		at = varint_put(varint_put(varint_put(at, entry->type), entry->time_ns - input->entries[0]->time_ns), bytes);
		memcpy(at, entry_data(entry), bytes);
		at += bytes;
	}
	return at;
}
