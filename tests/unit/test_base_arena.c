/* Large blocks whose pages go back: what lies beside them stays as it is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/arena.h"

#define BLOCKS 6u

static bool is_all(const unsigned char *bytes, size_t size, unsigned char value)
{
	for (size_t i = 0; i < size; i++)
		if (bytes[i] != value)
			return false;
	return true;
}

static void test_free_pages(void **state)
{
	static const size_t sizes[BLOCKS] = { 100, 1u << 20, 5000, 3u << 20, 4096, 70000 };
	unsigned char *blocks[BLOCKS];

	(void)state;
	mem_keep(true);
	for (unsigned round = 0; round < 3; round++) {
		for (unsigned i = 0; i < BLOCKS; i++) {
			blocks[i] = mem_alloc(sizes[i]);
			memset(blocks[i], (int)(i + 1), sizes[i]);
		}
		for (unsigned i = 1; i < BLOCKS; i += 2)
			mem_free_pages(blocks[i]);
		for (unsigned i = 0; i < BLOCKS; i += 2) {
			assert_true(is_all(blocks[i], sizes[i], (unsigned char)(i + 1)));
			mem_free_pages(blocks[i]);
		}
		mem_free_pages(NULL);
	}
	mem_keep(false);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_free_pages) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
