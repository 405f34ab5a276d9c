/* Tasks of asyncio from a process's memory: a small one that is made here as CPython 3.11 has it, and the same with each
 * of its words damaged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "record/python_build.h"
#include "record/python_tasks.h"

#define BASE 0x7f0000000000u
#define BYTES 65536u

static unsigned char memory[BYTES];
static uint64_t used;
static unsigned reads;

static struct told {
	unsigned tasks, frames;
	char name[PYTHON_TASK_TEXT_MOST], function[PYTHON_TASK_TEXT_MOST];
	struct event_async_task last;
	uint32_t thread;
} told;

static uint64_t room(uint64_t bytes)
{
	uint64_t at = BASE + used;

	used += (bytes + 15) & ~15ull;
	assert_true(used <= BYTES);
	return at;
}

static void set(uint64_t at, uint64_t value)
{
	memcpy(memory + (at - BASE), &value, sizeof(value));
}

static uint64_t class(const char *name, uint64_t flags)
{
	uint64_t at = room(1024), text = room(64);

	strcpy((char *)memory + (text - BASE), name);
	set(at + 24, text);
	set(at + 168, flags);
	return at;
}

static uint64_t object(uint64_t type, uint64_t bytes)
{
	/* what stands before it: its variables, its place in lists */
	uint64_t at = room(bytes + 32) + 32;

	set(at + 8, type);
	return at;
}

static uint64_t text_type;

static uint64_t text(const char *value)
{
	uint64_t at = object(text_type, 80 + strlen(value));

	set(at + 16, strlen(value));
	set(at + 32, 1 << 2 | 1 << 5 | 1 << 6);
	strcpy((char *)memory + (at - BASE) + 48, value);
	return at;
}

/* Texts only. */
static uint64_t keys(unsigned count, const uint64_t (*entries)[2])
{
	uint64_t at = room(32 + 8 + count * 16);

	set(at + 8, 3 | 3 << 8 | 1 << 16);
	set(at + 24, count);
	for (unsigned i = 0; i < count; i++) {
		set(at + 40 + i * 16, entries[i][0]);
		set(at + 48 + i * 16, entries[i][1]);
	}
	return at;
}

static uint64_t dictionary(unsigned count, const uint64_t (*entries)[2])
{
	uint64_t at = object(room(1024), 48);

	set(at + 32, keys(count, entries));
	return at;
}

/* An instance with one variable, among the values of its class's keys. */
static uint64_t instance(const char *name, uint64_t value)
{
	uint64_t type = class(name, 1 << 4), at = object(type, 16), values = room(16);

	set(type + 872, keys(1, (const uint64_t[][2]){ { text(name), 0 } }));
	set(values, value);
	set(at - 32, values);
	return at;
}

static uint64_t make(void)
{
	uint32_t version = 3;

	memset(memory, 0, sizeof(memory));
	used = 16;
	text_type = class("str", 1u << 28);
	uint64_t runtime = room(1024), interpreter = room(1024), number_type = class("int", 1u << 24);
	/* a loop, whose thread is 77 */
	uint64_t pthread = room(1024), number = object(number_type, 40);
	set(pthread + 16, pthread);
	set(pthread + 720, 77);
	set(number + 16, 2);
	set(number + 24, (pthread & 0x3fffffff) | pthread >> 30 << 32);
	uint64_t loop = instance("_thread_id", number);
	/* a coroutine that awaits a future */
	uint64_t code = object(class("code", 0), 200), lines = object(class("bytes", 0), 40);
	set(code + 128, text("wait_here"));
	set(code + 112, text("/srv/app.py"));
	set(code + 72, 40ull);
	set(code + 136, lines);
	uint64_t future = object(class("_asyncio.Future", 0), 200), iterator = object(class("_asyncio.FutureIter", 0), 40);
	set(iterator + 16, future);
	uint64_t coroutine = object(class("coroutine", 0), 200), task = object(class("_asyncio.Task", 0), 200);
	set(coroutine + 72, 0xffull << 24);
	set(coroutine + 80 + 32, code);
	set(coroutine + 80 + 64, 1);
	set(coroutine + 80 + 72, iterator);
	set(task + 16, loop);
	set(task + 128, future);
	set(task + 136, coroutine);
	set(task + 144, text("Task-7"));
	/* the set of all */
	uint64_t reference = object(class("weakref", 0), 32), table = room(8 * 16), tasks = object(class("set", 0), 64);
	set(reference + 16, task);
	set(table + 5 * 16, reference);
	set(tasks + 16, 1);
	set(tasks + 24, 1);
	set(tasks + 32, 7);
	set(tasks + 40, table);
	uint64_t module = object(class("module", 0), 32);
	set(module + 16, dictionary(2, (const uint64_t[][2]){ { text("_current_tasks"), dictionary(0, NULL) },
							      { text("_all_tasks"), instance("data", tasks) } }));
	set(runtime + 48, interpreter);
	set(interpreter + 888, dictionary(2, (const uint64_t[][2]){ { text("sys"), 0 }, { text("asyncio.tasks"), module } }));
	assert_string_equal(python_version_name(version), "3.11");
	return runtime + (0 - python_version_state(version, 0));
}

static bool read_memory(void *data, uint64_t address, void *to, size_t bytes)
{
	(void)data;
	reads++;
	if (address < BASE || address - BASE >= BYTES || bytes > BYTES - (address - BASE))
		return false;
	memcpy(to, memory + (address - BASE), bytes);
	return true;
}

static size_t read_each(void *data, const uint64_t *addresses, size_t count, void *to, size_t bytes)
{
	size_t i = 0;

	for (; i < count && read_memory(data, addresses[i], (char *)to + i * bytes, bytes); i++)
		;
	return i;
}

static void on_task(void *data, uint32_t thread, const struct event_async_task *task, const char *name)
{
	(void)data;
	told.tasks++;
	told.last = *task;
	told.thread = thread;
	strcpy(told.name, name);
}

static void on_frame(void *data, const struct event_async_frame *frame, const char *function, const char *file)
{
	(void)data;
	(void)frame;
	assert_true(strlen(file) < PYTHON_TASK_FILE_MOST);
	told.frames++;
	strcpy(told.function, function);
}

static const struct python_tasks_memory image = { read_memory, read_each, NULL };
static const struct python_tasks_sink sink = { on_task, on_frame, NULL };

static void read_image(uint64_t key)
{
	struct python_tasks *tasks = python_tasks_new();

	told = (struct told){ .tasks = 0 };
	reads = 0;
	python_tasks_read(tasks, &image, 3, key, &sink);
	python_tasks_free(tasks);
}

static void test_one(void **state)
{
	(void)state;
	read_image(make());
	assert_int_equal(told.tasks, 1);
	assert_int_equal(told.frames, 1);
	assert_int_equal(told.thread, 77);
	assert_int_equal(told.last.all, 1);
	assert_int_equal(told.last.state, ASYNC_STATE_waiting);
	assert_int_equal(told.last.cut, 0);
	assert_string_equal(told.name, "Task-7");
	assert_string_equal(told.function, "wait_here");
}

static void test_versions(void **state)
{
	struct python_tasks *tasks = python_tasks_new();
	uint64_t key = make();

	(void)state;
	told.tasks = 0;
	for (uint32_t version = 0; version < 16; version++)
		if (version != 3)
			python_tasks_read(tasks, &image, version, key, &sink);
	assert_int_equal(told.tasks, 0);
	python_tasks_free(tasks);
}

/* Each word becomes a pointer to something else, or no pointer at all; whatever is read of it, it ends, within bounds. */
static void test_damage(void **state)
{
	uint64_t key = make(), whole = used;
	unsigned most = 0;

	(void)state;
	for (uint64_t at = 0; at < whole; at += 8) {
		uint64_t values[] = { 0, UINT64_MAX, BASE + at, BASE + at - 16, BASE + 8, 1ull << 60, 0x7fffffff };

		for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
			uint64_t before;

			memcpy(&before, memory + at, sizeof(before));
			memcpy(memory + at, &values[i], sizeof(before));
			read_image(key);
			memcpy(memory + at, &before, sizeof(before));
			assert_true(told.tasks <= PYTHON_TASKS_MOST);
			assert_true(told.frames <= PYTHON_TASKS_MOST * PYTHON_TASK_FRAMES_MOST);
			most = reads > most ? reads : most;
		}
	}
	/* those that one call reads together count as one of its 65,536 */
	assert_true(most <= 65536 * PYTHON_TASKS_AT_ONCE);
	read_image(key);
	assert_int_equal(told.tasks, 1);
}

/* A coroutine that awaits itself is told as one whose frames go on. */
static void test_endless(void **state)
{
	uint64_t key = make(), coroutine = 0;

	(void)state;
	read_image(key);
	uint64_t task = told.last.task;
	memcpy(&coroutine, memory + (task + 136 - BASE), sizeof(coroutine));
	set(coroutine + 80 + 72, coroutine);
	read_image(key);
	assert_int_equal(told.tasks, 1);
	assert_int_equal(told.last.cut, 1);
	assert_int_equal(told.frames, PYTHON_TASK_FRAMES_MOST);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one), cmocka_unit_test(test_versions), cmocka_unit_test(test_damage), cmocka_unit_test(test_endless),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
