/* Debug files by their name in the program: the right one is found; what a hostile program
 * names instead (a pipe, a device, terabytes of nothing) keeps nobody waiting. */
#include "symbols/debug_file.h"

#include <elf.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <cmocka.h>

static char folder[] = "/tmp/argus-debuglink-XXXXXX";
static const char contents[] = "what the debug file holds";

struct program {
	Elf64_Ehdr head;
	Elf64_Shdr sections[3];
	char names[32];
	char link[24];             /* name, padded to 4, checksum */
};

static void path_to(char path[128], const char *name)
{
	snprintf(path, 128, "%s/%s", folder, name);
}

static void write_file(const char *path, const void *data, size_t bytes)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, bytes), bytes);
	close(fd);
}

/* Without a build-id, whose debug file is `debug` beside it. */
static void write_program(const char *path)
{
	struct program p = { .names = "\0.gnu_debuglink\0.shstrtab", .link = "debug" };
	uint32_t checksum = (uint32_t)crc32(crc32(0, NULL, 0), (const Bytef *)contents, sizeof(contents));

	memcpy(p.link + 8, &checksum, 4);
	memcpy(p.head.e_ident, ELFMAG, SELFMAG);
	p.head.e_ident[EI_CLASS] = ELFCLASS64;
	p.head.e_ident[EI_DATA] = ELFDATA2LSB;
	p.head.e_machine = EM_X86_64;
	p.head.e_shoff = offsetof(struct program, sections);
	p.head.e_shentsize = sizeof(Elf64_Shdr);
	p.head.e_shnum = 3;
	p.head.e_shstrndx = 2;
	p.sections[1] = (Elf64_Shdr){ .sh_name = 1, .sh_type = SHT_PROGBITS, .sh_offset = offsetof(struct program, link), .sh_size = 12 };
	p.sections[2] = (Elf64_Shdr){ .sh_name = 16, .sh_type = SHT_STRTAB, .sh_offset = offsetof(struct program, names), .sh_size = 32 };
	write_file(path, &p, sizeof(p));
}

static bool find(void)
{
	struct debug_places places = { .opener = file_opener_new() };
	char path[128], found[4096];
	struct elf_file file;

	path_to(path, "program");
	assert_int_equal(elf_file_open(path, &file, NULL), 0);
	bool is = debug_file_find(&places, &file, path, false, found, sizeof(found));
	elf_file_close(&file);
	file_opener_free(places.opener);
	return is;
}

static void test_right_one(void **state)
{
	char path[128];

	(void)state;
	path_to(path, "debug");
	assert_false(find());
	write_file(path, contents, sizeof(contents));
	assert_true(find());
	write_file(path, contents, sizeof(contents) - 1);
	assert_false(find());
	unlink(path);
}

static void test_hostile(void **state)
{
	char path[128];

	(void)state;
	path_to(path, "debug");
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_false(find());
	unlink(path);
	assert_int_equal(symlink("/dev/zero", path), 0);
	assert_false(find());
	unlink(path);
	assert_int_equal(symlink("/proc/self/fd/0", path), 0);
	find();
	unlink(path);
	write_file(path, "", 0);
	if (truncate(path, 1ll << 42) == 0)
		assert_false(find());
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_right_one), cmocka_unit_test(test_hostile) };
	char path[128];

	if (!mkdtemp(folder))
		return 1;
	path_to(path, "program");
	write_program(path);
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(path);
	rmdir(folder);
	return failed;
}
