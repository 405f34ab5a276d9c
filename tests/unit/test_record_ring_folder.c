/* The folder of a ring: numbering goes on, only the ring's own files are
 * removed, and a folder that others may write to is refused. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "record/ring_folder.h"
#include "trace/output.h"

static char folder_path[] = "/tmp/ring_folder.XXXXXX";

static void write_file(const char *name, size_t bytes)
{
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder_path, name);
	file = fopen(path, "w");
	assert_non_null(file);
	for (size_t i = 0; i < bytes; i++)
		fputc('x', file);
	fclose(file);
}

static bool is_there(const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", folder_path, name);
	return !access(path, F_OK);
}

static int make_folder(void **state)
{
	(void)state;
	return mkdtemp(folder_path) ? 0 : -1;
}

static int remove_folder(void **state)
{
	static const char *const names[] = { "argus-0000000007.trace", "argus-0000000009.trace", "argus-notes.trace", "else" };
	char path[128];

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", folder_path, names[i]);
		unlink(path);
	}
	return rmdir(folder_path);
}

static void test_others_may_not_write(void **state)
{
	struct ring_folder folder = { 0 };
	struct err err = { 0 };

	(void)state;
	assert_int_equal(chmod(folder_path, 0777), 0);
	assert_int_equal(ring_folder_open(&folder, folder_path, &err), -EPERM);
	assert_non_null(strstr(err.text, folder_path));
	assert_int_equal(chmod(folder_path, 0700), 0);
	assert_int_equal(ring_folder_open(&folder, folder_path, &err), 0);
}

static void test_own_files_only(void **state)
{
	struct ring_folder folder = { 0 };
	struct ring_folder_size size;
	struct err err = { 0 };
	char path[128];

	(void)state;
	write_file("argus-0000000007.trace", 100);
	write_file("argus-0000000009.trace", 100);
	write_file("argus-notes.trace", 100);
	write_file("else", 100);
	assert_int_equal(ring_folder_open(&folder, folder_path, &err), 0);
	assert_int_equal(ring_folder_size(&folder, &size, &err), 0);
	assert_int_equal(size.files, 2);
	assert_int_equal(size.bytes, 200);
	assert_int_equal(size.oldest, 7);
	assert_int_equal(ring_folder_next(&folder, path, sizeof(path), &err), 0);
	assert_string_equal(path + strlen(folder_path), "/argus-0000000010.trace");
	assert_int_equal(ring_folder_trim(&folder, 0, 1, &err), 0);
	assert_false(is_there("argus-0000000007.trace"));
	assert_true(is_there("argus-0000000009.trace"));
	assert_true(is_there("argus-notes.trace"));
	assert_true(is_there("else"));
}

static bool make_room(void *data, uint64_t bytes, bool full)
{
	return ring_folder_make_room(data, bytes, full);
}

static void write_text(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	if (file) {
		fputs(text, file);
		fclose(file);
	}
}

/* A disk of a megabyte, which nobody else sees. */
static bool mount_small(void)
{
	char map[32];

	snprintf(map, sizeof(map), "0 %u 1", geteuid());
	if (unshare(CLONE_NEWNS | (geteuid() ? CLONE_NEWUSER : 0)))
		return false;
	write_text("/proc/self/setgroups", "deny");
	if (geteuid())
		write_text("/proc/self/uid_map", map);
	return !mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) && !mount("none", folder_path, "tmpfs", 0, "size=1m,mode=0700");
}

/* Files that are removed while somebody reads them keep their room: those behind them make it. */
static void test_read_files_keep_room(void **state)
{
	struct ring_folder folder = { 0 };
	struct err err = { 0 };
	char path[128], *piece = calloc(1, 240000);
	struct output out;
	int held[2];

	(void)state;
	if (!mount_small()) {
		print_message("no file system of its own can be mounted here\n");
		skip();
	}
	assert_int_equal(ring_folder_open(&folder, folder_path, &err), 0);
	for (int file = 0; file < 4; file++) {
		assert_int_equal(ring_folder_next(&folder, path, sizeof(path), &err), 0);
		assert_int_equal(output_create(&out, path, false, OUTPUT_AT_ONCE, &err), 0);
		assert_int_equal(output_write(&out, piece, 240000, &err), 0);
		output_close(&out);
		if (file < 2)
			held[file] = open(path, O_RDONLY);
	}
	assert_int_equal(ring_folder_next(&folder, path, sizeof(path), &err), 0);
	assert_int_equal(output_create(&out, path, false, OUTPUT_AT_ONCE, &err), 0);
	out.room = (struct output_room){ make_room, &folder };
	for (int i = 0; i < 4; i++)
		if (output_write(&out, piece, 60000, &err))
			fail_msg("piece %d: %s", i, err.text);
	output_close(&out);
	close(held[0]);
	close(held[1]);
	umount(folder_path);
	free(piece);
}

/* Nobody looks after the ring but its writer, and it goes on. */
static void test_writer_makes_room(void **state)
{
	struct ring_folder folder = { 0 };
	struct ring_folder_size size;
	static char piece[60000];
	struct output out;
	struct err err = { 0 };
	char path[128];

	(void)state;
	if (!mount_small()) {
		print_message("no file system of its own can be mounted here\n");
		skip();
	}
	assert_int_equal(ring_folder_open(&folder, folder_path, &err), 0);
	for (int file = 0; file < 20; file++) {
		assert_int_equal(ring_folder_next(&folder, path, sizeof(path), &err), 0);
		assert_int_equal(output_create(&out, path, false, OUTPUT_AT_ONCE, &err), 0);
		out.room = (struct output_room){ make_room, &folder };
		for (int i = 0; i < 4; i++)
			if (output_write(&out, piece, sizeof(piece), &err))
				fail_msg("file %d: %s", file, err.text);
		output_close(&out);
	}
	/* what is left: as much as fits */
	assert_int_equal(ring_folder_size(&folder, &size, &err), 0);
	assert_in_range(size.files, 3, 4);
	/* one file as large as the disk cannot be written, but all others make room before that is said */
	assert_int_equal(ring_folder_next(&folder, path, sizeof(path), &err), 0);
	assert_int_equal(output_create(&out, path, false, OUTPUT_AT_ONCE, &err), 0);
	out.room = (struct output_room){ make_room, &folder };
	while (!output_write(&out, piece, sizeof(piece), &err))
		;
	assert_int_equal(err.code, -ENOSPC);
	assert_in_range(out.bytes, 900000, 1 << 20);
	assert_int_equal(ring_folder_size(&folder, &size, &err), 0);
	assert_int_equal(size.files, 1);
	output_close(&out);
	umount(folder_path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_others_may_not_write),
		cmocka_unit_test(test_own_files_only),
		cmocka_unit_test(test_read_files_keep_room),
		cmocka_unit_test(test_writer_makes_room),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
