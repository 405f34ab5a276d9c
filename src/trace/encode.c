/* See encode.h. The layout of a payload: types, times, threads, then for each
 * type its fields and tails; each part a column. */
#include "trace/encode.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "trace/varint.h"

/* What all events have, in one pass, which also sorts them by type. A processor's
 * events happen in the thread that its last switch brought on; what differs from
 * that is told. `ret_tails`: zeros at first; of which types any event has a tail. */
static unsigned char *put_common(struct encoder *encoder, const struct encode_input *input, const uint32_t *starts,
				 uint16_t *ret_tails, unsigned char *at)
{
	const struct entry *const *entries = input->entries;
	unsigned char codes[EVENT_MAX] = { 0 }, types = 0;
	uint64_t before = entries[0]->time_ns;
	uint32_t running = entries[0]->tid, fill[EVENT_MAX];

	for (unsigned type = 0; type < EVENT_MAX; type++) {
		fill[type] = starts[type];
		if (input->counts[type])
			codes[type] = types++;
	}
	for (uint32_t i = 0; i < input->count; i++) {
		const struct entry *entry = entries[i];
		uint64_t time_ns = entry->time_ns;
		uint32_t tid = entry->tid;
		uint16_t type = entry->type;

		encoder->by_type[fill[type]++] = entry;
		encoder->types[i] = codes[type];
		ret_tails[type] |= entry->tail_length;
		encoder->values[i] = time_ns - before;
		encoder->tids[i] = tid == running ? 0 : (uint64_t)tid + 1;
		before = time_ns;
		if (type == EVENT_switch)
			running = ((const struct event_switch *)entry_data(entry))->next;
	}
	at = types == 1 ? column_put_constant(at, 0) : column_put_bytes(at, encoder->types, input->count);
	at = column_put(&encoder->coder, &encoder->time_hint, at, encoder->values, input->count);
	at = varint_put(at, entries[0]->tid);
	return column_put(&encoder->coder, &encoder->tid_hint, at, encoder->tids, input->count);
}

#define TILE 128u /* events whose payloads fit the nearest cache */

/* The payloads' words, each word of all events behind the other; which of their
 * bits differ. */
static void take_words(struct encoder *encoder, const struct entry *const *entries, uint32_t n, unsigned words, uint64_t *ret_differ)
{
	const uint64_t *first = entry_data(entries[0]);

	for (uint32_t from = 0; from < n; from += TILE) {
		uint32_t count = n - from < TILE ? n - from : TILE;

		for (unsigned word = 0; word < words; word++) {
			uint64_t *to = encoder->words[word] + from, differ = 0;

			for (uint32_t i = 0; i < count; i++) {
				uint64_t value = ((const uint64_t *)entry_data(entries[from + i]))[word];

				to[i] = value;
				differ |= value ^ first[word];
			}
			ret_differ[word] |= differ;
		}
	}
}

/* One field's values, from the word that holds it. */
static void gather(const struct encoder *encoder, uint64_t *values, uint32_t n, const struct field_info *field)
{
	const uint64_t *words = encoder->words[field->offset / 8];
	unsigned shift = field->offset % 8 * 8;
	uint64_t mask = field->bytes == 8 ? UINT64_MAX : (1ull << field->bytes * 8) - 1;

	for (uint32_t i = 0; i < n; i++)
		values[i] = words[i] >> shift & mask;
}

/* Fields told by others (predict.h): of a type, the field, the fields that tell
 * it, the field that is added to the guess. */
#define STEP_NONE 255u
#define PREDICT_LEAST 64u /* events for which it is worth the table */
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

/* Places of the guesses, by the fields that tell. */
static void find_slots(struct encoder *encoder, const struct event_info *info, const struct prediction *p, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		encoder->hashes[i] = 0;
	for (unsigned key = 0; key < p->key_count; key++) {
		gather(encoder, encoder->values, n, field_at(info, p->keys[key]));
		predict_key(encoder->hashes, encoder->values, n, !key);
	}
}

/* The column by what differs from the guesses; NULL when that is too much. The
 * slots are found already. */
static unsigned char *put_predicted(struct encoder *encoder, const struct event_info *info, const struct prediction *p,
				    const struct field_info *field, struct column_hint *hint, uint32_t n, unsigned char *at)
{
	unsigned char *begin = at;
	uint32_t wrong = 0;

	gather(encoder, encoder->values, n, field);
	if (p->step != STEP_NONE)
		gather(encoder, encoder->steps, n, field_at(info, p->step));
	else
		memset(encoder->steps, 0, n * sizeof(encoder->steps[0]));
	memset(encoder->guesses, 0, sizeof(encoder->guesses));
	for (uint32_t i = 0; i < n; i++) {
		uint64_t *guess = predict_slot(encoder->guesses, encoder->hashes[i]), value = encoder->values[i];

		encoder->values[i] = zigzag(value - *guess);
		wrong += value != *guess;
		*guess = value + encoder->steps[i];
	}
	if (wrong > n / 2)
		return NULL;
	at = column_begin_unknown(at, COLUMN_KEYED);
	*at++ = p->key_count;
	for (unsigned i = 0; i < p->key_count; i++)
		*at++ = (unsigned char)(field_at(info, p->keys[i]) - info->fields);
	*at++ = (unsigned char)(p->step != STEP_NONE ? field_at(info, p->step) - info->fields + 1 : 0);
	at = column_put(&encoder->coder, hint, at, encoder->values, n);
	column_end_unknown(begin, at);
	return at;
}

/* Fields that are the same in all events cost no gathering. */
static unsigned char *put_fields(struct encoder *encoder, const struct event_info *info,
				 const struct entry *const *entries, uint32_t n, unsigned char *at)
{
	struct column_hint *hint = encoder->hints[info - event_infos];
	uint64_t differ[ENCODE_WORDS] = { 0 };
	const struct prediction *found = NULL;

	take_words(encoder, entries, n, info->bytes / 8, differ);
	for (const struct field_info *field = info->fields; field < info->fields + info->field_count; field++, hint++) {
		const struct prediction *prediction;
		unsigned char *end = NULL;
		uint64_t differs = 0;

		memcpy(&differs, (const char *)differ + field->offset, field->bytes);
		if (!differs) {
			gather(encoder, encoder->values, 1, field);
			at = column_put_constant(at, encoder->values[0]);
			continue;
		}
		prediction = n >= PREDICT_LEAST ? prediction_of(info, field) : NULL;
		if (prediction) {
			if (!found || memcmp(found->keys, prediction->keys, sizeof(found->keys)))
				find_slots(encoder, info, prediction, n);
			found = prediction;
			end = put_predicted(encoder, info, prediction, field, hint, n, at);
		}
		if (!end) {
			gather(encoder, encoder->values, n, field);
			end = column_put(&encoder->coder, hint, at, encoder->values, n);
		}
		at = end;
	}
	return at;
}

static unsigned char *put_tails(struct encoder *encoder, const struct event_info *info, const struct entry *const *entries,
				uint32_t n, unsigned char *at)
{
	for (uint32_t i = 0; i < n; i++)
		encoder->values[i] = entries[i]->tail_length;
	at = column_put(&encoder->coder, &encoder->hints[info - event_infos][EVENT_MAX_FIELDS], at, encoder->values, n);
	for (uint32_t i = 0; i < n; i++) {
		memcpy(at, entry_tail(entries[i]), entries[i]->tail_length);
		at += entries[i]->tail_length;
	}
	return at;
}

unsigned char *encode_payload(struct encoder *encoder, const struct encode_input *input, unsigned char *at)
{
	uint32_t starts[EVENT_MAX], start = 0;
	uint16_t tails[EVENT_MAX] = { 0 };

	for (unsigned type = 0; type < EVENT_MAX; type++) {
		starts[type] = start;
		start += input->counts[type];
	}
	at = put_common(encoder, input, starts, tails, at);
	for (unsigned type = 0; type < EVENT_MAX; type++) {
		const struct event_info *info = &event_infos[type];

		if (!input->counts[type])
			continue;
		at = put_fields(encoder, info, encoder->by_type + starts[type], input->counts[type], at);
		at = tails[type] ? put_tails(encoder, info, encoder->by_type + starts[type], input->counts[type], at)
				 : column_put_constant(at, 0);
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

/* Types that tell of other threads, or more than their own thread's number. */
static const bool tells[EVENT_MAX] = {
	[EVENT_task] = true, [EVENT_switch] = true, [EVENT_wake] = true, [EVENT_fork] = true, [EVENT_exit] = true,
};

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

unsigned char *encode_head_rest(struct thread_marks *marks, const struct encode_input *input, unsigned char *at)
{
	/* The count stands before the list: five bytes are kept for it, written in full. */
	struct thread_list list = { marks, NULL, 0 };
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
	for (uint32_t i = 0; i < input->count; i++) {
		/* most events are of the thread of the one before, and tell of no other */
		if (i && input->entries[i]->tid == input->entries[i - 1]->tid && !tells[input->entries[i]->type])
			continue;
		tell_threads_of(&list, input->entries[i]);
	}
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
