/* Walking this very program's stack by compiled tables, beside backtrace(). */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <execinfo.h>
#include <link.h>
#include <signal.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#include "symbols/unwind_table.h"
#include "symbols/unwind_walk.h"

#define ROOM 127
#define OBJECTS 32

struct object {
	uint64_t bias, start, end;
	struct unwind_table table;
};

static struct object objects[OBJECTS];
static unsigned object_count;

static int add_object(struct dl_phdr_info *info, size_t size, void *data)
{
	struct elf_file file;
	struct object o = { .bias = info->dlpi_addr, .start = UINT64_MAX };
	const char *path = info->dlpi_name[0] ? info->dlpi_name : "/proc/self/exe";
	(void)size;
	(void)data;
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_LOAD && (info->dlpi_phdr[i].p_flags & PF_X)) {
			o.start = o.bias + info->dlpi_phdr[i].p_vaddr;
			o.end = o.start + info->dlpi_phdr[i].p_memsz;
		}
	if (object_count < OBJECTS && elf_file_open(path, &file, NULL) == 0) {
		if (unwind_table_make(&file, &o.table, NULL) == 0)
			objects[object_count++] = o;
		elf_file_close(&file);
	}
	return 0;
}

static struct unwind_rule rule_at(void *data, uint64_t address)
{
	(void)data;
	for (unsigned i = 0; i < object_count; i++)
		if (address >= objects[i].start && address < objects[i].end)
			return unwind_table_rule(&objects[i].table, address - objects[i].bias);
	return (struct unwind_rule){ .kind = UNWIND_NO_MAPPING };
}

struct walked {
	uint64_t ours[ROOM];
	void *theirs[ROOM + 1];
	uint32_t our_count;
	int their_count, status;
};

__attribute__((noinline)) static void walk(struct walked *w)
{
	ucontext_t here;
	w->their_count = backtrace(w->theirs, ROOM + 1);
	getcontext(&here);
	const greg_t *r = here.uc_mcontext.gregs;
	struct unwind_copy copy = { .start = (uint64_t)r[REG_RSP], .data = (void *)r[REG_RSP], .bytes = 64 << 10 };
	struct unwind_registers registers = { .ip = (uint64_t)r[REG_RIP], .sp = (uint64_t)r[REG_RSP], .bp = (uint64_t)r[REG_RBP],
					      .di = (uint64_t)r[REG_RDI], .exact = 1 };
	w->status = unwind_walk(&copy, registers, rule_at, NULL, w->ours, ROOM, &w->our_count);
}

/* AddressSanitizer puts a frame of its own between backtrace() and its caller. */
#ifndef __has_feature
#define __has_feature(name) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
#define THEIR_EXTRA 1
#else
#define THEIR_EXTRA 0
#endif

/* Both start in walk(), at different places of it. */
static void assert_equal_walks(const struct walked *w)
{
	assert_int_equal(w->status, STACK_STATUS_whole);
	assert_int_equal(w->our_count, w->their_count - THEIR_EXTRA);
	for (uint32_t i = 1; i < w->our_count; i++)
		if (w->ours[i] != (uint64_t)w->theirs[i + THEIR_EXTRA])
			assert_int_equal(w->ours[i], (uint64_t)w->theirs[i + THEIR_EXTRA] - 1);
}

static struct walked result;

__attribute__((noinline)) static int recurse(int n, volatile char *above)
{
	volatile char room[100];
	room[n % 100] = above[0];
	if (n == 0)
		walk(&result);
	else
		recurse(n - 1, room);
	return room[n % 100];
}

static void test_recursion(void **state)
{
	volatile char c[1] = { 0 };
	(void)state;
	for (int n = 0; n < 60; n += 7) {
		recurse(n, c);
		assert_equal_walks(&result);
		assert_true(result.our_count > (uint32_t)n);
	}
}

static void on_signal(int number)
{
	(void)number;
	walk(&result);
}

static void test_signal(void **state)
{
	(void)state;
	signal(SIGUSR1, on_signal);
	raise(SIGUSR1);
	assert_equal_walks(&result);
}

static int compare(const void *a, const void *b)
{
	walk(&result);
	return *(const int *)a - *(const int *)b;
}

static void test_callback(void **state)
{
	int numbers[] = { 3, 1, 2 };
	(void)state;
	qsort(numbers, 3, sizeof(numbers[0]), compare);
	assert_equal_walks(&result);
}

static void test_bad_stacks(void **state)
{
	uint64_t addresses[ROOM], zeros[16] = { 0 };
	uint32_t count;
	(void)state;
	struct unwind_copy copy = { .start = 0x1000, .data = zeros, .bytes = sizeof(zeros) };
	struct unwind_registers registers = { .ip = (uint64_t)walk, .sp = 0x1000, .exact = 1 };
	assert_int_equal(unwind_walk(&copy, registers, rule_at, NULL, addresses, ROOM, &count), STACK_STATUS_whole); /* returns to 0 */
	assert_int_equal(count, 1);
	copy.bytes = 0;
	assert_int_equal(unwind_walk(&copy, registers, rule_at, NULL, addresses, ROOM, &count), STACK_STATUS_no_page);
	registers.ip = 16;
	assert_int_equal(unwind_walk(&copy, registers, rule_at, NULL, addresses, ROOM, &count), STACK_STATUS_no_mapping);
}

static int set_up(void **state)
{
	(void)state;
	dl_iterate_phdr(add_object, NULL);
	return object_count < 2;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_recursion),
		cmocka_unit_test(test_signal),
		cmocka_unit_test(test_callback),
		cmocka_unit_test(test_bad_stacks),
	};
	return cmocka_run_group_tests(tests, set_up, NULL);
}
