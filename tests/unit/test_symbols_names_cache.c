/* Names kept between runs come back as they were; what was tampered with, or is
 * of other files than today's, does not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/map.h"
#include "symbols/cache_file.h"
#include "symbols/names_cache.h"

#define BUILD_ID "00112233445566778899aabbccddeeff00112233"
#define STAMP 77

static char folder[] = "/tmp/argus-names-XXXXXX";
static char path[128];

static const struct name_inline inlines[] = { { "inner", "a.h", 3 }, { "middle", "", 0 } };
static const struct name first = { .function = "f(int)", .file = "a.c", .line = 12, .address = 0x1234, .function_start = 0x1200,
				   .inlines = inlines, .inline_count = 2 };
static const struct name second = { .function = "", .file = "", .address = 0x1000, .function_start = 0x1000 };
static const struct name third = { .function = "g", .file = "a.c", .address = 0x4000, .function_start = 0x3000, .guessed = true };

static int set_up(void **state)
{
	(void)state;
	if (!mkdtemp(folder))
		return -1;
	setenv("ARGUS_CACHE_DIR", folder, 1);
	snprintf(path, sizeof(path), "%s/" BUILD_ID ".names", folder);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	cache_file_trim(0);
	return rmdir(folder);
}

static void save(void)
{
	const struct name *const names[] = { &first, &second };
	names_cache_save(BUILD_ID, STAMP, NULL, names, 2);
}

static void test_round_trip(void **state)
{
	struct names_cache cache, more;
	struct arena arena = { 0 };
	struct name got = { 0 };
	struct stat st;
	const struct name *const names[] = { &third };
	(void)state;

	save();
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_true(names_cache_load(BUILD_ID, STAMP, &cache));
	names_cache_save(BUILD_ID, STAMP, &cache, names, 1);
	assert_true(names_cache_load(BUILD_ID, STAMP, &more));
	names_cache_done(&cache);
	assert_int_equal(more.count, 3);
	assert_true(names_cache_find(&more, &arena, 0x1234, &got));
	assert_string_equal(got.function, "f(int)");
	assert_string_equal(got.file, "a.c");
	assert_int_equal(got.line, 12);
	assert_int_equal(got.function_start, 0x1200);
	assert_false(got.guessed);
	assert_int_equal(got.inline_count, 2);
	assert_string_equal(got.inlines[0].function, "inner");
	assert_int_equal(got.inlines[0].line, 3);
	assert_string_equal(got.inlines[1].file, "");
	assert_true(names_cache_find(&more, &arena, 0x4000, &got));
	assert_true(got.guessed);
	assert_true(names_cache_find(&more, &arena, 0x1000, &got));
	assert_string_equal(got.function, "");
	assert_false(names_cache_find(&more, &arena, 0x1235, &got));
	assert_false(names_cache_find(&more, &arena, 0, &got));
	assert_false(names_cache_find(&more, &arena, UINT64_MAX, &got));
	names_cache_done(&more);
	arena_done(&arena);
	/* another debug file is there now, or another module asks */
	assert_false(names_cache_load(BUILD_ID, STAMP + 1, &more));
	assert_false(names_cache_load("ab", STAMP, &more));
	assert_false(names_cache_load("../" BUILD_ID, STAMP, &more));
}

/* Every byte changed, also with the checksum made right: never accepted with places outside. */
static void test_hostile(void **state)
{
	size_t bytes;
	struct names_cache cache;
	struct arena arena = { 0 };
	(void)state;

	save();
	void *kept = cache_file_map(path, 1 << 20, &bytes);
	assert_non_null(kept);
	for (size_t at = 0; at < bytes; at++) {
		char *copy = test_malloc(bytes);
		memcpy(copy, kept, bytes);
		copy[at] ^= 0x41;
		assert_false(names_cache_read(copy, bytes, BUILD_ID, STAMP, &cache));
		uint64_t checksum = hash_bytes(copy + 16, bytes - 16);
		memcpy(copy + 8, &checksum, 8);
		if (names_cache_read(copy, bytes, BUILD_ID, STAMP, &cache))
			for (uint64_t address = 0; address < 0x2000; address++) {
				struct name name = { 0 };
				if (names_cache_find(&cache, &arena, address, &name))
					assert_true(strlen(name.function) < bytes && strlen(name.file) < bytes);
			}
		test_free(copy);
	}
	for (size_t length = 0; length < bytes; length++) {
		char *copy = test_malloc(length + 1);
		memcpy(copy, kept, length);
		assert_false(names_cache_read(copy, length, BUILD_ID, STAMP, &cache));
		test_free(copy);
	}
	arena_done(&arena);
}

/* Links are not followed, neither reading nor writing. */
static void test_links(void **state)
{
	struct names_cache cache;
	char other[160];
	struct stat st;
	(void)state;

	save();
	snprintf(other, sizeof(other), "%s/other", folder);
	assert_int_equal(rename(path, other), 0);
	assert_int_equal(symlink(other, path), 0);
	assert_false(names_cache_load(BUILD_ID, STAMP, &cache));
	assert_int_equal(stat(other, &st), 0);
	off_t before = st.st_size;
	const struct name *const names[] = { &third };
	names_cache_save(BUILD_ID, STAMP, NULL, names, 1);
	assert_int_equal(stat(other, &st), 0);
	assert_int_equal(st.st_size, before);
	assert_int_equal(lstat(path, &st), 0);
	assert_true(S_ISREG(st.st_mode));
}

static void test_folder_is_bounded(void **state)
{
	char name[160];
	struct stat st;
	(void)state;

	cache_file_trim(0);
	for (int i = 0; i < 10; i++) {
		struct timespec times[2] = { { 1000 + i, 0 }, { 1000 + i, 0 } };
		snprintf(name, sizeof(name), "%s/%d.names", folder, i);
		assert_true(cache_file_write(name, "0123456789", 10));
		assert_int_equal(utimensat(AT_FDCWD, name, times, 0), 0);
	}
	cache_file_trim(35);
	for (int i = 0; i < 10; i++) {
		snprintf(name, sizeof(name), "%s/%d.names", folder, i);
		assert_int_equal(stat(name, &st) == 0, i >= 7);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_links),
		cmocka_unit_test(test_folder_is_bounded),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
