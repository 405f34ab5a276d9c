/* Modules: one for a file whatever it is met by, another when the file is written
 * anew, reached through the process when its path does not lead to it. */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cmocka.h>

#include "record/modules.h"

#define IMAGE "/proc/self/exe"

static char folder[] = "/tmp/argus-modules-XXXXXX";
static struct helpers *helpers;

static int set_up(void **state)
{
	struct modules *modules = test_malloc(sizeof(*modules));
	modules_init(modules);
	modules->files.helper = helper_open(helpers);
	*state = modules;
	return 0;
}

static int tear_down(void **state)
{
	modules_done(*state);
	test_free(*state);
	return 0;
}

static void path_to(char path[128], const char *name)
{
	snprintf(path, 128, "%s/%s", folder, name);
}

static void copy_image(const char *to)
{
	char buffer[65536];
	ssize_t got;
	int in = open(IMAGE, O_RDONLY | O_CLOEXEC), out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);
	assert_true(in >= 0 && out >= 0);
	while ((got = read(in, buffer, sizeof(buffer))) > 0)
		assert_int_equal(write(out, buffer, (size_t)got), got);
	close(in);
	close(out);
}

static struct module_source source_of(const char *path)
{
	struct stat st;
	assert_int_equal(stat(path, &st), 0);
	return (struct module_source){ .pid = getpid(), .start = 0x1000, .end = 0x2000, .device = st.st_dev, .inode = st.st_ino, .path = path };
}

static const struct loaded_module *find(struct modules *modules, struct module_source source)
{
	const struct loaded_module *m;
	modules_find(modules, &source, 1, &m);
	return m;
}

static void test_one_for_a_file(void **state)
{
	struct modules *modules = *state;
	char path[128], other[128], text[65];
	struct elf_file file;

	path_to(path, "one");
	path_to(other, "two");
	copy_image(path);
	assert_int_equal(link(path, other), 0);
	const struct loaded_module *m = find(modules, source_of(path));
	assert_non_null(m);
	assert_int_equal(m->mapping_kind, STACK_MAPPING_TABLE);
	assert_int_equal(elf_file_open(path, &file, NULL), 0);
	elf_file_build_id_text(&file, text);
	assert_string_equal(m->build_id, text);
	uint64_t address;
	assert_true(module_address(m, m->segments[0].offset, &address));
	assert_int_equal(address, m->segments[0].address);
	assert_false(module_address(m, m->segments[0].offset + (1u << 30), &address));
	elf_file_close(&file);
	assert_ptr_equal(find(modules, source_of(other)), m);
	/* what cannot be reached any more is what it was */
	struct module_source source = source_of(path);
	unlink(path);
	unlink(other);
	assert_ptr_equal(find(modules, source), m);
}

static void test_written_anew(void **state)
{
	struct modules *modules = *state;
	char path[128];

	path_to(path, "anew");
	copy_image(path);
	struct module_source source = source_of(path);
	const struct loaded_module *before = find(modules, source);
	int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	assert_int_equal(write(fd, "text", 4), 4);
	close(fd);
	const struct loaded_module *after = find(modules, source);
	assert_ptr_not_equal(after, before);
	assert_int_equal(after->inode, before->inode);
	assert_int_equal(after->mapping_kind, STACK_MAPPING_NO_TABLE);
	assert_int_equal(before->mapping_kind, STACK_MAPPING_TABLE);
	unlink(path);
}

/* In a look of a moment the file of another process's mapping is not looked at again. */
static void test_brief(void **state)
{
	struct modules *modules = *state;
	char path[128];

	path_to(path, "brief");
	copy_image(path);
	modules->is_brief = true;
	struct module_source source = source_of(path);
	const struct loaded_module *m = find(modules, source);
	assert_int_equal(modules->recent.length, 1);
	int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	close(fd);
	assert_ptr_equal(find(modules, source), m);
	modules->is_brief = false;
	unlink(path);
}

/* A process that has ended mapped a file of another root; at its path here lies another copy of it. */
static void test_out_of_reach_at_first(void **state)
{
	struct modules *modules = *state;
	char here[128], there[128];
	struct timespec times[2] = { { .tv_sec = 1000000 }, { .tv_sec = 1000000 } };

	path_to(here, "here");
	path_to(there, "there");
	copy_image(here);
	copy_image(there);
	assert_int_equal(utimensat(AT_FDCWD, here, times, 0), 0);
	assert_int_equal(utimensat(AT_FDCWD, there, times, 0), 0);
	struct module_source source = source_of(there), ended = source;
	ended.path = here;
	ended.pid = (pid_t)(1u << 30);
	assert_int_equal(find(modules, ended)->mapping_kind, STACK_MAPPING_NO_TABLE);
	/* another process, which lives, has it */
	assert_int_equal(find(modules, source)->mapping_kind, STACK_MAPPING_TABLE);
	/* so has the next that ends at once */
	assert_int_equal(find(modules, ended)->mapping_kind, STACK_MAPPING_TABLE);
	unlink(here);
	unlink(there);
}

/* Generation 0 is a file's where the file system counts them, and says nothing where it does not. */
static void test_recent_first(void **state)
{
	struct modules *modules = *state;
	struct statfs fs;
	char path[128];

	path_to(path, "first");
	copy_image(path);
	struct module_source source = source_of(path);
	assert_int_equal(statfs(path, &fs), 0);
	source.generation = 1;
	assert_int_equal(find(modules, source)->mapping_kind, STACK_MAPPING_TABLE);
	assert_int_equal(modules->recent.length, fs.f_type == EXT4_SUPER_MAGIC);
	source.generation = 0;
	find(modules, source);
	assert_int_equal(modules->recent.length, fs.f_type == EXT4_SUPER_MAGIC);
	unlink(path);
}

/* A file that was looked at just now is not looked at again; another one of the same number is. */
static void test_recent(void **state)
{
	struct modules *modules = *state;
	char path[128];

	path_to(path, "recent");
	copy_image(path);
	struct module_source source = source_of(path), other = source;
	source.generation = 7;
	other.generation = 8;
	const struct loaded_module *m = find(modules, source);
	assert_int_equal(m->mapping_kind, STACK_MAPPING_TABLE);
	assert_int_equal(modules->recent.length, 1);
	assert_ptr_equal(find(modules, source), m);
	assert_ptr_equal(find(modules, other), m);
	assert_int_equal(modules->recent.length, 2);
	int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	assert_int_equal(write(fd, "text", 4), 4);
	close(fd);
	other.generation = 9;
	assert_ptr_not_equal(find(modules, other), m);
	/* which ends by itself */
	const struct loaded_module *after = m;
	for (int i = 0; i < 200 && after == m; i++) {
		usleep(50000);
		after = find(modules, source);
	}
	assert_int_equal(after->mapping_kind, STACK_MAPPING_NO_TABLE);
	unlink(path);
}

/* Another file lies at its path by now; the process still has the one that is mapped. */
static void test_through_the_process(void **state)
{
	struct modules *modules = *state;
	char path[128], other[128];

	if (geteuid()) {
		print_message("needs root\n");
		skip();
	}
	path_to(path, "mapped");
	path_to(other, "replacing");
	copy_image(path);
	struct module_source source = source_of(path);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char *at = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
	assert_ptr_not_equal(at, MAP_FAILED);
	close(fd);
	source.start = (uintptr_t)at;
	source.end = source.start + 4096;
	fd = open(other, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	close(fd);
	assert_int_equal(rename(other, path), 0);
	const struct loaded_module *m = find(modules, source);
	assert_int_equal(m->mapping_kind, STACK_MAPPING_TABLE);
	munmap(at, 4096);
	unlink(path);
	/* nor does the path lead to it when nobody has it any more */
	source.inode++;
	source.build_id = "0123";
	m = find(modules, source);
	assert_int_equal(m->mapping_kind, STACK_MAPPING_NO_TABLE);
	assert_string_equal(m->build_id, "0123");
}

static void test_no_file(void **state)
{
	struct modules *modules = *state;
	struct module_source source = { .pid = getpid(), .start = 0x1000, .end = 0x3000, .path = "" };
	const struct loaded_module *jit = find(modules, source);
	char path[64];

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	assert_int_equal(jit->kind, MODULE_KIND_jit);
	assert_int_equal(jit->mapping_kind, STACK_MAPPING_JIT);
	assert_int_equal(jit->user, geteuid());
	assert_string_equal(jit->path, path);
	/* another process's is another */
	source.pid = 1;
	assert_ptr_not_equal(find(modules, source), jit);
	source.path = "[vdso]";
	const struct loaded_module *vdso = find(modules, source);
	assert_int_equal(vdso->mapping_kind, STACK_MAPPING_TABLE);
	source.pid = getpid();
	assert_ptr_equal(find(modules, source), vdso);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_one_for_a_file, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_written_anew, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_brief, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_out_of_reach_at_first, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_recent, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_recent_first, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_through_the_process, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_no_file, set_up, tear_down),
	};

	if (helpers_open(module_files_serve, false, &helpers, NULL) < 0 || !mkdtemp(folder))
		return 1;
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	helpers_close(helpers);
	rmdir(folder);
	return failed;
}
