/* The cache gives back what was made, and refuses what was tampered with. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbols/unwind_cache.h"

static const char *large_file(void)
{
	static const char *const candidates[] = { "/usr/lib/x86_64-linux-gnu/libcrypto.so.3", "/usr/bin/perl", "/usr/bin/python3",
						  "/usr/bin/gdb" };
	for (size_t i = 0; i < sizeof(candidates) / sizeof(candidates[0]); i++) {
		struct elf_file file;
		if (elf_file_open(candidates[i], &file, NULL) < 0)
			continue;
		const Elf64_Shdr *section = elf_file_section(&file, ".eh_frame");
		bool large = section && section->sh_size > 600000 && file.build_id_bytes;
		elf_file_close(&file);
		if (large)
			return candidates[i];
	}
	return NULL;
}

static void test_round_trip(void **state)
{
	const char *path = large_file();
	struct elf_file file;
	struct unwind_table made, kept, bad;
	struct stat st;
	glob_t found;
	(void)state;

	if (!path)
		skip();
	char folder[] = "/tmp/argus-cache-XXXXXX";
	assert_non_null(mkdtemp(folder));
	setenv("ARGUS_CACHE_DIR", folder, 1);
	assert_int_equal(elf_file_open(path, &file, NULL), 0);
	assert_int_equal(unwind_cache_table(&file, &made, NULL), 0);
	assert_null(made.mapped);
	assert_int_equal(unwind_cache_table(&file, &kept, NULL), 0);
	assert_non_null(kept.mapped);
	assert_int_equal(made.row_count, kept.row_count);
	assert_memory_equal(made.rows, kept.rows, made.row_count * 4);
	assert_memory_equal(made.functions, kept.functions, made.function_count * sizeof(struct unwind_function));
	unwind_table_done(&kept);

	char pattern[128];
	snprintf(pattern, sizeof(pattern), "%s/*.unwind", folder);
	assert_int_equal(glob(pattern, 0, NULL, &found), 0);
	assert_int_equal(stat(found.gl_pathv[0], &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	int fd = open(found.gl_pathv[0], O_WRONLY);
	assert_int_equal(pwrite(fd, "x", 1, st.st_size / 2), 1);
	close(fd);
	assert_int_equal(unwind_cache_table(&file, &bad, NULL), 0);
	assert_null(bad.mapped); /* made anew, and kept again */
	unwind_table_done(&bad);
	assert_int_equal(unwind_cache_table(&file, &kept, NULL), 0);
	assert_non_null(kept.mapped);
	unwind_table_done(&kept);
	unwind_table_done(&made);
	unlink(found.gl_pathv[0]);
	rmdir(folder);
	globfree(&found);
	elf_file_close(&file);
}

static void test_refused(void **state)
{
	char data[512] = { 0 };
	struct unwind_table table;
	(void)state;
	assert_false(unwind_cache_read(data, 0, "ab", &table));
	assert_false(unwind_cache_read(data, sizeof(data), "ab", &table));
	memcpy(data, "argunw01", 8);
	assert_false(unwind_cache_read(data, sizeof(data), "", &table));
	memset(data + 80, 0xff, sizeof(data) - 80);
	assert_false(unwind_cache_read(data, sizeof(data), "", &table));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
