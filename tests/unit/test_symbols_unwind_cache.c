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
						  "/usr/lib/gcc/x86_64-linux-gnu/12/cc1", "/usr/bin/gdb" };
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

	if (!path) {
		print_message("no library to make a table of was found\n");
		skip();
	}
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

/* A copy of the file; with `forged`, its call frame information says something else. */
static void copy_file(const char *from, const char *to, bool forged)
{
	struct elf_file file;
	char buffer[65536];
	ssize_t got;
	int in = open(from, O_RDONLY | O_CLOEXEC), out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(in >= 0 && out >= 0);
	while ((got = read(in, buffer, sizeof(buffer))) > 0)
		assert_int_equal(write(out, buffer, (size_t)got), got);
	if (forged) {
		assert_int_equal(elf_file_open(from, &file, NULL), 0);
		const Elf64_Shdr *section = elf_file_section(&file, ".eh_frame");
		memset(buffer, 0, 4096);
		assert_int_equal(pwrite(out, buffer, 4096, (off_t)(section->sh_offset + section->sh_size - 8192)), 4096);
		elf_file_close(&file);
	}
	close(in);
	close(out);
}

static bool kept_for(const char *path)
{
	struct elf_file file;
	struct unwind_table table;
	assert_int_equal(elf_file_open(path, &file, NULL), 0);
	assert_int_equal(unwind_cache_table(&file, &table, NULL), 0);
	bool kept = table.mapped != NULL;
	unwind_table_done(&table);
	elf_file_close(&file);
	return kept;
}

/* Another file with the same build-id. */
static void test_copied_build_id(void **state)
{
	const char *path = large_file();
	char folder[] = "/tmp/argus-cache-XXXXXX", same[64], forged[64], pattern[64];
	glob_t found;
	(void)state;

	if (!path) {
		print_message("no library to make a table of was found\n");
		skip();
	}
	assert_non_null(mkdtemp(folder));
	setenv("ARGUS_CACHE_DIR", folder, 1);
	snprintf(same, sizeof(same), "%s/same", folder);
	snprintf(forged, sizeof(forged), "%s/forged", folder);
	copy_file(path, same, false);
	copy_file(path, forged, true);
	assert_false(kept_for(path));
	assert_true(kept_for(path));
	assert_true(kept_for(same));
	assert_false(kept_for(forged));
	/* the forger's table is kept by now, and is not taken for the others */
	assert_true(kept_for(forged));
	assert_false(kept_for(path));
	assert_true(kept_for(path));
	/* a file that is written anew */
	assert_true(kept_for(same));
	copy_file(path, same, true);
	assert_false(kept_for(same));
	unlink(same);
	unlink(forged);
	snprintf(pattern, sizeof(pattern), "%s/*", folder);
	assert_int_equal(glob(pattern, 0, NULL, &found), 0);
	for (size_t i = 0; i < found.gl_pathc; i++)
		unlink(found.gl_pathv[i]);
	globfree(&found);
	rmdir(folder);
}

static void test_refused(void **state)
{
	char data[512] = { 0 };
	struct unwind_table table;
	(void)state;
	assert_false(unwind_cache_read(data, 0, "ab", &table));
	assert_false(unwind_cache_read(data, sizeof(data), "ab", &table));
	memcpy(data, "argunw02", 8);
	assert_false(unwind_cache_read(data, sizeof(data), "", &table));
	memset(data + 80, 0xff, sizeof(data) - 80);
	assert_false(unwind_cache_read(data, sizeof(data), "", &table));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_copied_build_id),
		cmocka_unit_test(test_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
