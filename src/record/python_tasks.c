#include "record/python_tasks.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "record/python_build.h"
#include "record/python_texts.h"

#define READS_MOST 65536u           /* of a process */
#define READS_COUNTING_MOST 16384u  /* ... until its tasks are counted */
#define EACH_READS 16u              /* as what so many at once count */
#define ENTRIES_MOST 65536u         /* of a dictionary, of a set */
#define LOOPS_MOST 8u
#define TYPES_KEPT 64u              /* powers of two */
#define CODES_KEPT 64u
#define LINES_MOST 8192u
#define BASES_MOST 4u
#define TASK_BYTES_MOST 192u
#define TASK_STATE_WORDS 13u        /* up to a task's state */
#define CHILDREN_MOST 256u

/* Equal in all versions. */
#define OBJECT_TYPE 8u
#define OBJECT_SIZE 16u             /* of what has a length, or is a number */
#define TYPE_NAME 24u
#define TYPE_FLAGS 168u
#define TYPE_BASE 256u
#define TYPE_DICTIONARY 288u
#define TYPE_INLINE_VALUES (1u << 2)
#define TYPE_MANAGED (1u << 4)
#define TYPE_INTEGER (1u << 24)
#define TYPE_TEXT (1u << 28)
#define MODULE_DICTIONARY 16u
#define DICTIONARY_KEYS 32u
#define DICTIONARY_VALUES 40u
#define SET_FILLED 16u
#define SET_MASK 32u
#define SET_SLOTS_EACH 8u           /* at most, of an entry; where there are few, all together */
#define SET_TABLE 40u
#define REFERENCE_OBJECT 16u
#define WRAPPED 16u                 /* what an iterator over something awaitable is of */
#define LIST_ITEMS 24u
#define NUMBER_DIGITS 24u
#define NUMBER_DIGIT_BITS 30
#define TEXT_LENGTH 16u
#define TEXT_STATE 32u
#define BYTES_DATA 32u
#define TASK_LOOP 16u
#define PTHREAD_SELF 16u
#define PTHREAD_TID 720u

enum type {
	TYPE_OTHER,
	TYPE_COROUTINE,             /* has a frame and awaits what is on top of its stack */
	TYPE_GENERATOR,             /* has one, but may be suspended otherwise */
	TYPE_WRAPPER,               /* stands for another */
	TYPE_FUTURE,                /* an iterator over a future, or one */
	TYPE_TASK,
	TYPE_GATHER
};

struct known_type {
	uint64_t address;
	enum type type;
	uint64_t flags;
	uint64_t dictionary;
};

struct known_code {
	uint64_t address;
	uint32_t line, lines_bytes;
	char function[PYTHON_TASK_TEXT_MOST], file[PYTHON_TASK_FILE_MOST];
	uint8_t lines[LINES_MOST];
};

struct known_loop {
	uint64_t loop, running;     /* the task that it runs; 0 none */
	uint32_t thread;            /* 0: it does not run */
};

struct python_tasks {
	const struct python_tasks_memory *memory;
	const struct python_tasks_sink *sink;
	const struct python_offsets *offsets;
	const struct python_task_offsets *o;
	uint32_t version;
	uint32_t reads, reads_most;
	uint32_t told, all;
	uint64_t running_loops[LOOPS_MOST], running[LOOPS_MOST], running_count; /* the tasks that run */
	struct known_loop loops[LOOPS_MOST];
	uint32_t loop_count;
	struct known_type types[TYPES_KEPT];
	struct known_code codes[CODES_KEPT];
	struct buf text;
};

struct python_tasks *python_tasks_new(void)
{
	return mem_zalloc(sizeof(struct python_tasks));
}

void python_tasks_free(struct python_tasks *t)
{
	if (!t)
		return;
	buf_done(&t->text);
	free(t);
}

/* ---- words ---- */

static bool get(struct python_tasks *t, uint64_t address, void *to, size_t bytes)
{
	if (!address || address & 7 || t->reads >= t->reads_most)
		return false;
	t->reads++;
	return t->memory->read(t->memory->data, address, to, bytes);
}

/* 0 where there is none: no pointer that is sought is 0. */
static uint64_t word(struct python_tasks *t, uint64_t address)
{
	uint64_t value = 0;
	return get(t, address, &value, sizeof(value)) ? value : 0;
}

static size_t get_each(struct python_tasks *t, const uint64_t *addresses, size_t count, void *to, size_t bytes)
{
	if (t->reads >= t->reads_most)
		return 0;
	size_t got = t->memory->read_each(t->memory->data, addresses, count, to, bytes);
	/* a call of the system each */
	t->reads += EACH_READS;
	return got;
}

/* ---- classes ---- */

static enum type type_of_name(const char *name)
{
	static const struct { const char *name; enum type type; } names[] = {
		{ "coroutine", TYPE_COROUTINE }, { "async_generator", TYPE_COROUTINE }, { "generator", TYPE_GENERATOR },
		{ "coroutine_wrapper", TYPE_WRAPPER }, { "async_generator_asend", TYPE_WRAPPER },
		{ "async_generator_athrow", TYPE_WRAPPER }, { "_asyncio.FutureIter", TYPE_FUTURE }, { "_asyncio.Future", TYPE_FUTURE },
		{ "_asyncio.Task", TYPE_TASK }, { "_GatheringFuture", TYPE_GATHER },
	};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(name, names[i].name))
			return names[i].type;
	return TYPE_OTHER;
}

static struct known_type *type_at(struct python_tasks *t, uint64_t address)
{
	struct known_type *known = &t->types[address / 16 % TYPES_KEPT];
	uint64_t at = address;

	if (known->address == address)
		return known;
	*known = (struct known_type){ .address = address };
	for (uint32_t i = 0; at && i < BASES_MOST && !known->type; i++, at = word(t, at + TYPE_BASE)) {
		uint64_t text = word(t, at + TYPE_NAME);
		char name[32] = "";
		/* a name of C lies anywhere */
		if (get(t, text & ~7ull, name, sizeof(name) - 1))
			known->type = type_of_name(name + (text & 7));
	}
	known->flags = word(t, address + TYPE_FLAGS);
	known->dictionary = word(t, address + TYPE_DICTIONARY);
	return known;
}

static struct known_type *type_of(struct python_tasks *t, uint64_t object)
{
	return type_at(t, word(t, object + OBJECT_TYPE));
}

/* ---- texts and numbers ---- */

/* As UTF-8, cut to fit; empty where it is none. */
static void copy_text(struct python_tasks *t, uint64_t object, char *to, size_t size)
{
	uint8_t bytes[PYTHON_TASK_FILE_MOST * 4];
	uint64_t head[5];

	to[0] = 0;
	if (!get(t, object, head, sizeof(head)) || !(type_at(t, head[OBJECT_TYPE / 8])->flags & TYPE_TEXT))
		return;
	uint64_t state = head[TEXT_STATE / 8], length = head[TEXT_LENGTH / 8];
	bool ascii = state >> 6 & 1;
	unsigned unit = ascii ? 1 : state >> 2 & 7;
	if (!(state >> 5 & 1) || (unit != 1 && unit != 2 && unit != 4))
		return;
	if (length >= size)
		length = size - 1;
	if (!get(t, object + (ascii ? t->offsets->text_data : t->offsets->text_wide), bytes, length * unit))
		return;
	python_text_decode(&t->text, bytes, length * unit, ascii ? 0 : unit);
	size_t used = t->text.length - 1 < size - 1 ? t->text.length - 1 : size - 1;
	/* no character is cut */
	while (used < t->text.length - 1 && used && ((uint8_t)t->text.data[used] & 0xc0) == 0x80)
		used--;
	memcpy(to, t->text.data, used);
	to[used] = 0;
}

static uint64_t number_of(struct python_tasks *t, uint64_t object)
{
	uint64_t head[3], value = 0;
	uint32_t digits[3] = { 0 };

	if (!get(t, object, head, sizeof(head)) || !(type_at(t, head[OBJECT_TYPE / 8])->flags & TYPE_INTEGER))
		return 0;
	/* since 3.12 the sign stands below the length */
	uint64_t count = t->o->attributes >= PYTHON_ATTRIBUTES_TAGGED ? head[2] >> 3 : head[2];
	if (count > 3 || !get(t, object + NUMBER_DIGITS, digits, count * sizeof(digits[0])))
		return 0;
	for (size_t i = count; i-- > 0;)
		value = value << NUMBER_DIGIT_BITS | digits[i];
	return value;
}

static void copy_name(struct python_tasks *t, uint64_t object, char to[PYTHON_TASK_TEXT_MOST])
{
	copy_text(t, object, to, PYTHON_TASK_TEXT_MOST);
	/* one that nobody has asked for yet is a number */
	uint64_t number = to[0] ? 0 : number_of(t, object);
	if (number) {
		buf_clear(&t->text);
		buf_printf(&t->text, "Task-%llu", (unsigned long long)number);
		memcpy(to, t->text.data, t->text.length + 1);
	}
}

/* ---- dictionaries ---- */

struct keys {
	uint64_t entries, count;
	uint32_t entry_words;       /* 3: hash, key, value; 2: key, value */
};

static bool read_keys(struct python_tasks *t, uint64_t at, struct keys *ret_keys)
{
	uint64_t head[5];

	if (!get(t, at, head, sizeof(head)))
		return false;
	if (t->o->keys == PYTHON_KEYS_SIZED) {
		uint64_t size = head[1], index = size <= 0xff ? 1 : size <= 0xffff ? 2 : 4;
		if (size > UINT32_MAX)
			return false;
		*ret_keys = (struct keys){ at + 40 + size * index, head[4], 3 };
	} else {
		unsigned index = head[1] >> 8 & 0xff, kind = head[1] >> 16 & 0xff;
		if (index > 32)
			return false;
		*ret_keys = (struct keys){ at + 32 + (1ull << index), head[3], kind ? 2 : 3 };
	}
	if (ret_keys->count > ENTRIES_MOST)
		ret_keys->count = ENTRIES_MOST;
	return true;
}

/* Whether these bytes from a text's beginning on are this one's. */
static bool is_text(const struct python_tasks *t, const char *object, const char *text)
{
	uint64_t length, state;
	memcpy(&length, object + TEXT_LENGTH, sizeof(length));
	memcpy(&state, object + TEXT_STATE, sizeof(state));
	return length == strlen(text) && (state >> 5 & 3) == 3 && !memcmp(object + t->offsets->text_data, text, length);
}

#define KEY_BYTES 80u

/* Values of the keys with these names; `values`: where they stand, 0 in the entries. */
static void find_names(struct python_tasks *t, uint64_t at, uint64_t values, const char *const *names, size_t count, uint64_t *ret_values)
{
	uint64_t entries[PYTHON_TASKS_AT_ONCE * 3], addresses[PYTHON_TASKS_AT_ONCE];
	char texts[PYTHON_TASKS_AT_ONCE][KEY_BYTES];
	struct keys keys;

	memset(ret_values, 0, count * sizeof(*ret_values));
	if (!read_keys(t, at, &keys))
		return;
	for (uint64_t from = 0, n; from < keys.count; from += n) {
		n = keys.count - from < PYTHON_TASKS_AT_ONCE ? keys.count - from : PYTHON_TASKS_AT_ONCE;
		if (!get(t, keys.entries + from * keys.entry_words * 8, entries, n * keys.entry_words * 8))
			return;
		for (uint64_t i = 0; i < n; i++)
			addresses[i] = entries[i * keys.entry_words + keys.entry_words - 2];
		for (uint64_t i = 0, got; i < n; i += got) {
			/* a removed entry has no key */
			got = get_each(t, addresses + i, n - i, texts[i], KEY_BYTES);
			for (uint64_t j = i; j < i + got; j++)
				for (size_t k = 0; k < count; k++)
					if (!ret_values[k] && is_text(t, texts[j], names[k]))
						ret_values[k] = values ? word(t, values + (from + j) * 8)
								       : entries[j * keys.entry_words + keys.entry_words - 1];
			got++;
			if (t->reads >= t->reads_most)
				return;
		}
	}
}

static void find_in_dictionary(struct python_tasks *t, uint64_t dictionary, const char *const *names, size_t count, uint64_t *ret_values)
{
	uint64_t values = word(t, dictionary + DICTIONARY_VALUES);

	find_names(t, word(t, dictionary + DICTIONARY_KEYS), values ? values + t->o->values : 0, names, count, ret_values);
}

/* A variable of an instance; 0 none. */
static uint64_t variable(struct python_tasks *t, uint64_t object, const char *name)
{
	const struct known_type *type = type_of(t, object);
	uint64_t dictionary = 0, values = 0, value = 0, valid;

	if (type->flags & TYPE_MANAGED && t->o->attributes != PYTHON_ATTRIBUTES_DICTIONARY) {
		dictionary = word(t, object - 24);
		switch ((enum python_attributes)t->o->attributes) {
		case PYTHON_ATTRIBUTES_DICTIONARY:
			break;
		case PYTHON_ATTRIBUTES_TWO:
			values = word(t, object - 32);
			break;
		case PYTHON_ATTRIBUTES_TAGGED:
			if (dictionary & 1) {
				values = dictionary + 1;
				dictionary = 0;
			}
			break;
		case PYTHON_ATTRIBUTES_INLINE:
			valid = type->flags & TYPE_INLINE_VALUES ? word(t, object + 16) >> 24 & 0xff : 0;
			values = valid && !dictionary ? object + 16 + t->o->values : 0;
			break;
		}
	} else if (type->dictionary && type->dictionary < 4096) {
		dictionary = word(t, object + type->dictionary);
	}
	if (values)
		find_names(t, word(t, type->address + t->o->type_keys), values, &name, 1, &value);
	else if (dictionary)
		find_in_dictionary(t, dictionary, &name, 1, &value);
	return value;
}

/* ---- loops ---- */

/* The thread that runs it, by the address of glibc's struct pthread that it noted; 0: none does. */
static uint32_t thread_of(struct python_tasks *t, uint64_t loop)
{
	uint64_t pthread = number_of(t, variable(t, loop, "_thread_id"));

	return pthread && word(t, pthread + PTHREAD_SELF) == pthread ? (uint32_t)word(t, pthread + PTHREAD_TID) : 0;
}

/* Loops that run, each with its task; how many. */
static uint64_t read_running(struct python_tasks *t, uint64_t current, uint64_t loops[LOOPS_MOST], uint64_t running[LOOPS_MOST])
{
	uint64_t entries[LOOPS_MOST * 3];
	struct keys keys;

	if (!read_keys(t, word(t, current + DICTIONARY_KEYS), &keys))
		return 0;
	if (keys.count > LOOPS_MOST)
		keys.count = LOOPS_MOST;
	if (!keys.count || !get(t, keys.entries, entries, keys.count * keys.entry_words * 8))
		return 0;
	for (uint64_t i = 0; i < keys.count; i++) {
		loops[i] = entries[(i + 1) * keys.entry_words - 2];
		running[i] = entries[(i + 1) * keys.entry_words - 1];
	}
	return keys.count;
}

static const struct known_loop *loop_at(struct python_tasks *t, uint64_t loop)
{
	for (uint32_t i = 0; i < t->loop_count; i++)
		if (t->loops[i].loop == loop)
			return &t->loops[i];
	if (t->loop_count == LOOPS_MOST)
		return NULL;
	struct known_loop *known = &t->loops[t->loop_count++];
	*known = (struct known_loop){ .loop = loop, .thread = thread_of(t, loop) };
	for (uint64_t i = 0; i < t->running_count; i++)
		if (t->running_loops[i] == loop)
			known->running = t->running[i];
	return known;
}

/* ---- frames ---- */

static const struct known_code *code_at(struct python_tasks *t, uint64_t address)
{
	struct known_code *known = &t->codes[address / 16 % CODES_KEPT];
	const struct python_offsets *o = t->offsets;

	if (known->address == address)
		return known;
	known->address = address;
	copy_text(t, word(t, address + o->code_name), known->function, sizeof(known->function));
	copy_text(t, word(t, address + o->code_file), known->file, sizeof(known->file));
	known->line = (uint32_t)(word(t, address + (o->code_line & ~7u)) >> (o->code_line & 4) * 8);
	uint64_t lines = word(t, address + o->code_lines), bytes = word(t, lines + OBJECT_SIZE);
	known->lines_bytes = bytes > LINES_MOST ? LINES_MOST : (uint32_t)bytes;
	if (!get(t, lines + BYTES_DATA, known->lines, known->lines_bytes))
		known->lines_bytes = 0;
	return known;
}

/* Where a suspended coroutine's frame lies, and the place of what it awaits: 0 none. */
static uint64_t frame_of(struct python_tasks *t, uint64_t coroutine, uint64_t *ret_top)
{
	const struct python_task_offsets *o = t->o;
	uint64_t frame = coroutine + o->generator_frame, top;

	*ret_top = 0;
	if (o->frames == PYTHON_COROUTINE_INSIDE) {
		int8_t state = (int8_t)(word(t, coroutine + (o->generator_state & ~7u)) >> (o->generator_state & 7) * 8);
		top = (uint32_t)word(t, frame + o->stack_top);
		/* 0 it runs, 1 and 4 it is over; -1 it awaits, or has not begun by a version */
		if (state > 0)
			return 0;
		if (state == -1 && top && top < 65536)
			*ret_top = frame + o->stack + (top - 1) * 8;
		return frame;
	}
	frame = word(t, frame);
	top = word(t, frame + o->stack_top);
	if (o->frames == PYTHON_COROUTINE_DEPTH)
		top = (uint32_t)top && (uint32_t)top < 65536 ? word(t, frame + o->stack) + (uint32_t)top * 8ull : 0;
	/* an empty stack ends where it begins */
	if (top && top != word(t, frame + o->stack))
		*ret_top = top - 8;
	return frame;
}

static bool tell_frame(struct python_tasks *t, uint64_t task, uint32_t depth, uint64_t frame)
{
	const struct python_offsets *o = t->offsets;
	uint64_t code = word(t, frame + o->frame_code), place = word(t, frame + (o->frame_place & ~7u));

	if (!code)
		return false;
	const struct known_code *known = code_at(t, code);
	if (o->place_bytes == 4)
		place = (o->frame_place & 4 ? place >> 32 : place) & 0xffffffff;
	/* -1: it has not begun */
	bool begun = o->place_bytes != 4 || place != UINT32_MAX;
	struct event_async_frame e = { .task = task, .depth = depth, .line = !begun ? known->line :
		python_lines_find(python_version_lines(t->version), known->lines, known->lines_bytes, known->line,
				  python_version_place(t->version, code, place)) };
	t->sink->frame(t->sink->data, &e, known->function, known->file);
	return true;
}

/* The frames from the task's own coroutine inwards; false: there is more that could not be read. */
static bool read_frames(struct python_tasks *t, uint64_t coroutine, uint64_t frames[PYTHON_TASK_FRAMES_MOST], uint32_t *ret_count)
{
	uint64_t object = coroutine, top;

	*ret_count = 0;
	for (uint32_t steps = 0; object && steps < 3 * PYTHON_TASK_FRAMES_MOST; steps++) {
		enum type type = type_of(t, object)->type;
		if (type == TYPE_WRAPPER) {
			object = word(t, object + WRAPPED);
			continue;
		}
		/* a future, or something of another's making; no object at all */
		if (type != TYPE_COROUTINE && type != TYPE_GENERATOR)
			return word(t, object + OBJECT_TYPE) != 0;
		if (*ret_count == PYTHON_TASK_FRAMES_MOST)
			return false;
		uint64_t frame = frame_of(t, object, &top);
		if (!frame)
			return true;
		frames[(*ret_count)++] = frame;
		object = top ? word(t, top) : 0;
		/* a generator may be suspended over something that it does not await */
		if (type == TYPE_GENERATOR && object && type_of(t, object)->type == TYPE_GENERATOR)
			object = 0;
	}
	return t->reads < t->reads_most && !object;
}

/* ---- tasks ---- */

static bool is_pending_task(struct python_tasks *t, uint64_t object)
{
	return type_of(t, object)->type == TYPE_TASK && (uint32_t)word(t, object + t->o->task_state) == 0;
}

/* Which tasks a future is to be done by. */
static void find_awaited(struct python_tasks *t, uint64_t future, struct event_async_task *task)
{
	uint64_t children[CHILDREN_MOST];

	if (type_of(t, future)->type == TYPE_TASK)
		task->awaits = future;
	if (type_of(t, future)->type != TYPE_GATHER)
		return;
	uint64_t list = variable(t, future, "_children"), count = word(t, list + OBJECT_SIZE);
	if (count > CHILDREN_MOST)
		count = CHILDREN_MOST;
	if (!count || !get(t, word(t, list + LIST_ITEMS), children, count * 8))
		return;
	for (uint64_t i = 0; i < count; i++) {
		if (!is_pending_task(t, children[i]))
			continue;
		if (task->awaits)
			task->others++;
		else
			task->awaits = children[i];
	}
}

static void tell_task(struct python_tasks *t, uint64_t object, bool runs)
{
	uint64_t words[TASK_BYTES_MOST / 8], frames[PYTHON_TASK_FRAMES_MOST];
	const struct python_task_offsets *o = t->o;
	char name[PYTHON_TASK_TEXT_MOST];
	uint32_t count = 0;

	if (t->told >= PYTHON_TASKS_MOST || type_of(t, object)->type != TYPE_TASK || !get(t, object, words, o->task_name + 8u) ||
	    (uint32_t)words[o->task_state / 8])
		return;
	const struct known_loop *loop = loop_at(t, words[TASK_LOOP / 8]);
	if (!loop || !loop->thread || runs != (loop->running == object))
		return;
	struct event_async_task task = { .task = object, .all = t->all, .state = runs ? ASYNC_STATE_running : ASYNC_STATE_waiting };
	/* None where nothing is awaited, in some versions */
	uint64_t future = words[o->task_awaits / 8];
	enum type type = future ? type_of(t, future)->type : TYPE_OTHER;
	if (!runs && type != TYPE_FUTURE && type != TYPE_TASK && type != TYPE_GATHER)
		task.state = ASYNC_STATE_ready;
	else if (!runs)
		find_awaited(t, future, &task);
	task.cut = !read_frames(t, words[o->task_coroutine / 8], frames, &count);
	copy_name(t, words[o->task_name / 8], name);
	t->sink->task(t->sink->data, loop->thread, &task, name);
	t->told++;
	for (uint32_t i = count; i-- > 0;)
		tell_frame(t, object, count - 1 - i, frames[i]);
}

static void count_tasks(struct python_tasks *t, const uint64_t *objects, size_t count)
{
	uint64_t words[PYTHON_TASKS_AT_ONCE][TASK_STATE_WORDS];

	for (size_t i = 0, got; i < count && t->reads < t->reads_most; i += got + 1) {
		got = get_each(t, objects + i, count - i, words, sizeof(words[0]));
		for (size_t j = 0; j < got; j++)
			t->all += (uint32_t)words[j][t->o->task_state / 8] == 0 &&
				  type_at(t, words[j][OBJECT_TYPE / 8])->type == TYPE_TASK;
	}
}

static void tell_tasks(struct python_tasks *t, const uint64_t *objects, size_t count)
{
	for (size_t i = 0; i < count && t->told < PYTHON_TASKS_MOST; i++)
		tell_task(t, objects[i], false);
}

/* Of a set of weak references. */
static void each_of_set(struct python_tasks *t, uint64_t set, void (*each)(struct python_tasks *t, const uint64_t *objects, size_t count))
{
	uint64_t slots[PYTHON_TASKS_AT_ONCE * 2], references[PYTHON_TASKS_AT_ONCE], objects[PYTHON_TASKS_AT_ONCE];
	uint64_t size = word(t, set + SET_MASK) + 1, table = word(t, set + SET_TABLE);

	uint64_t filled = word(t, set + SET_FILLED), most = filled < ENTRIES_MOST ? (filled + 1) * SET_SLOTS_EACH : ENTRIES_MOST;

	if (!size || size > most)
		size = most;
	if (size > ENTRIES_MOST)
		size = ENTRIES_MOST;
	for (uint64_t from = 0, n; from < size && t->reads < t->reads_most; from += n) {
		size_t count = 0;
		n = size - from < PYTHON_TASKS_AT_ONCE ? size - from : PYTHON_TASKS_AT_ONCE;
		if (!get(t, table + from * 16, slots, n * 16))
			return;
		for (uint64_t i = 0; i < n; i++)
			if (slots[i * 2])
				references[count++] = slots[i * 2] + REFERENCE_OBJECT;
		for (size_t i = 0, got; i < count && t->reads < t->reads_most; i += got + 1) {
			got = get_each(t, references + i, count - i, objects, sizeof(objects[0]));
			each(t, objects, got);
		}
	}
}

void python_tasks_read(struct python_tasks *t, const struct python_tasks_memory *memory, uint32_t version, uint64_t key,
		       const struct python_tasks_sink *sink)
{
	static const char *const module_name[] = { "asyncio.tasks" };
	static const char *const names[] = { "_current_tasks", "_all_tasks", "_scheduled_tasks" };
	struct buf text = t->text;
	uint64_t module, found[3];

	*t = (struct python_tasks){ .memory = memory, .sink = sink, .version = version, .text = text, .reads_most = READS_COUNTING_MOST,
				    .offsets = python_version_offsets(version), .o = python_version_tasks(version) };
	if (!t->o)
		return;
	uint64_t interpreter = word(t, python_version_state(version, key) + t->o->interpreter);
	find_in_dictionary(t, word(t, interpreter + t->o->modules), module_name, 1, &module);
	if (!module)
		return;
	find_in_dictionary(t, word(t, module + MODULE_DICTIONARY), names, 3, found);
	uint64_t all = found[2] ? found[2] : found[1], set = all ? variable(t, all, "data") : 0;
	if (!set)
		return;
	each_of_set(t, set, count_tasks);
	t->reads_most = READS_MOST;
	t->running_count = read_running(t, found[0], t->running_loops, t->running);
	/* those first: there may be more than are told */
	for (uint64_t i = 0; i < t->running_count; i++)
		if (t->running[i])
			tell_task(t, t->running[i], true);
	each_of_set(t, set, tell_tasks);
}
