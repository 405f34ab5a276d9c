/* Layouts in maps that are too small: what is idle goes, what comes back is
 * published again, and beginning anew makes room for tables. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#ifdef HAVE_BPF
#include <bpf/bpf.h>

#include "record/layouts.h"
#include "record/unwind_maps.h"
#include "symbols/unwind_table.h"

struct fixture {
	struct unwind_maps maps;
	struct modules modules;
	struct layouts layouts;
	struct unwind_maps_fds fds;
	int processes;
	struct helpers *helpers;
};

static int array(const char *name, uint32_t bytes, uint32_t count)
{
	LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_MMAPABLE);
	return bpf_map_create(BPF_MAP_TYPE_ARRAY, name, sizeof(uint32_t), bytes, count, &options);
}

static int rows_map(void)
{
	LIBBPF_OPTS(bpf_map_create_opts, options);
	int inner = array("rows_one", sizeof(struct stack_shard), 1);
	if (inner < 0)
		return inner;
	options.inner_map_fd = (uint32_t)inner;
	int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY_OF_MAPS, "rows", sizeof(uint32_t), sizeof(uint32_t), STACK_SHARDS_MAX, &options);
	close(inner);
	return fd;
}

static int set_up(void **state)
{
	struct fixture *f = test_calloc(1, sizeof(*f));
	f->fds = (struct unwind_maps_fds){ .mappings = array("mappings", sizeof(struct stack_mapping), STACK_MAPPINGS_MAX),
					   .pages = array("pages", sizeof(struct stack_page), STACK_PAGES_MAX),
					   .rules = array("rules", sizeof(struct unwind_rule), STACK_RULES_MAX),
					   .rows = rows_map() };
	f->processes = bpf_map_create(BPF_MAP_TYPE_HASH, "processes", sizeof(uint32_t), sizeof(struct stack_process), 64, NULL);
	*state = f;
	if (f->fds.mappings < 0 || f->fds.pages < 0 || f->fds.rules < 0 || f->fds.rows < 0 || f->processes < 0) {
		f->processes = -1;
		return 0;
	}
	assert_int_equal(unwind_maps_open(&f->maps, &f->fds, NULL), 0);
	assert_int_equal(helpers_open(module_files_serve, false, &f->helpers, NULL), 0);
	modules_init(&f->modules);
	f->modules.files.helper = helper_open(f->helpers);
	layouts_init(&f->layouts, &f->modules);
	layouts_attach(&f->layouts, &f->maps, f->processes);
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;
	if (f->processes >= 0) {
		layouts_done(&f->layouts);
		modules_done(&f->modules);
		helpers_close(f->helpers);
		unwind_maps_close(&f->maps);
		close(f->processes);
		close(f->fds.mappings);
		close(f->fds.pages);
		close(f->fds.rules);
		close(f->fds.rows);
	}
	test_free(f);
	return 0;
}

static void need_maps(const struct fixture *f)
{
	if (f->processes >= 0)
		return;
	print_message("no BPF maps can be made here\n");
	skip();
}

static bool published(struct fixture *f, uint32_t pid, struct stack_process *ret_process)
{
	return bpf_map_lookup_elem(f->processes, &pid, ret_process) == 0;
}

/* As the unwinder does when the process shows a stack. */
static void use(struct fixture *f, uint32_t pid)
{
	struct stack_process process;
	assert_true(published(f, pid, &process));
	process.used = 1;
	bpf_map_update_elem(f->processes, &pid, &process, BPF_EXIST);
}

static void add(struct fixture *f, pid_t pid, uint64_t inode)
{
	struct module_source source = { .pid = pid, .start = 0x1000, .end = 0x2000, .inode = inode, .path = "/not/there", .build_id = "" };
	layouts_add(&f->layouts, pid, &source, 1);
	layouts_publish(&f->layouts, pid);
}

static void test_idle_goes(void **state)
{
	struct fixture *f = *state;
	struct stack_process process;
	need_maps(f);
	f->maps.limits.mappings = 32; /* four layouts of up to eight mappings */
	for (pid_t pid = 1000000; pid < 1000004; pid++)
		add(f, pid, (uint64_t)pid);
	/* all are taken for used when they are new */
	add(f, 1000004, 5);
	assert_true(layouts_lacks(&f->layouts, 1000004));
	use(f, 1000000);
	use(f, 1000002);
	layouts_publish(&f->layouts, 1000004);
	assert_false(layouts_lacks(&f->layouts, 1000004));
	assert_true(published(f, 1000000, &process) && published(f, 1000002, &process) && published(f, 1000004, &process));
	assert_false(published(f, 1000001, &process) || published(f, 1000003, &process));
	assert_true(layouts_lacks(&f->layouts, 1000001) && layouts_lacks(&f->layouts, 1000003));
	/* back again, into the other one's place */
	layouts_publish(&f->layouts, 1000001);
	assert_true(published(f, 1000001, &process));
	assert_int_equal(f->maps.mappings[process.first].start, 0x1000);
	assert_true(process.first + process.count <= 32);
}

static struct module_source source_at(uint64_t start, uint64_t end, uint64_t inode)
{
	return (struct module_source){ .pid = 1000000, .start = start, .end = end, .inode = inode, .path = "/not/there", .build_id = "" };
}

static void expect_mappings(const struct layout *layout, uint32_t count, const uint64_t (*bounds)[3])
{
	assert_non_null(layout);
	assert_int_equal(layout->count, count);
	for (uint32_t i = 0; i < count; i++) {
		assert_int_equal(layout->mappings[i].start, bounds[i][0]);
		assert_int_equal(layout->mappings[i].end, bounds[i][1]);
		assert_int_equal(layout->mappings[i].offset, bounds[i][2]);
	}
}

/* What is mapped later comes to what was there, and replaces what lay at its place. */
static void test_add(void **state)
{
	struct fixture *f = *state;
	need_maps(f);
	struct module_source first[] = { source_at(0x1000, 0x8000, 1), source_at(0x10000, 0x12000, 2) };
	struct module_source later[] = { source_at(0x3000, 0x4000, 3), source_at(0x20000, 0x21000, 4) };
	static const uint64_t one[][3] = { { 0x1000, 0x8000, 0 }, { 0x10000, 0x12000, 0 } };
	static const uint64_t two[][3] = {
		{ 0x1000, 0x3000, 0 }, { 0x3000, 0x4000, 0 }, { 0x4000, 0x8000, 0x3000 }, { 0x10000, 0x12000, 0 }, { 0x20000, 0x21000, 0 }
	};
	expect_mappings(layouts_add(&f->layouts, 1000000, first, 2), 2, one);
	/* the same again is no news */
	assert_null(layouts_add(&f->layouts, 1000000, &first[1], 1));
	layouts_fork(&f->layouts, 1000000, 1000001);
	expect_mappings(layouts_add(&f->layouts, 1000000, later, 2), 5, two);
	expect_mappings(layout_of_process(&f->layouts, 1000000), 5, two);
	expect_mappings(layout_of_process(&f->layouts, 1000001), 2, one);
}

/* All rules of the process's modules with tables, against tables made of their files. */
static int compare_rules(struct fixture *f, const struct layout *layout, int *outlines)
{
	int compared = 0;

	for (uint32_t i = 0; i < layout->count; i++) {
		const struct loaded_module *m = layout->mappings[i].module;
		struct unwind_table table;
		struct elf_file file;
		if (m->kind != MODULE_KIND_file || m->mapping_kind != STACK_MAPPING_TABLE)
			continue;
		assert_null(m->table.rows);
		*outlines += m->table.file != 0;
		assert_int_equal(elf_file_open(m->path, &file, NULL), 0);
		assert_int_equal(unwind_table_make(&file, &table, NULL), 0);
		assert_int_equal(table.base, m->table.base);
		for (uint64_t at = table.base; at < table.base + table.page_count * 4096ull + 8192; at += 37) {
			struct unwind_rule expected = unwind_table_rule(&table, at), found = module_rule(m, &f->maps, at);
			assert_memory_equal(&expected, &found, sizeof(found));
			compared++;
		}
		unwind_table_done(&table);
		elf_file_close(&file);
	}
	return compared;
}

/* What is laid is kept in the maps alone, and says there what the table said; also after all began anew. */
static void test_rules_in_maps(void **state)
{
	struct fixture *f = *state;
	const struct layout *layout;
	int compared = 0, outlines = 0;
	need_maps(f);
	assert_int_equal(layouts_read(&f->layouts, getpid(), &layout), 0);
	for (int round = 0; round < 2; round++) {
		layouts_publish(&f->layouts, getpid());
		compared += compare_rules(f, layout_of_process(&f->layouts, getpid()), &outlines);
		layouts_renew(&f->layouts);
	}
	assert_true(compared > 10000);
	assert_int_equal(outlines, 0);
}

static char cache[] = "/tmp/argus-test-XXXXXX";

/* The helper finds the cache where it is when it is forked. */
static int set_up_cache(void **state)
{
	strcpy(cache + strlen(cache) - 6, "XXXXXX");
	assert_non_null(mkdtemp(cache));
	setenv("ARGUS_CACHE_DIR", cache, 1);
	return set_up(state);
}

static int tear_down_cache(void **state)
{
	char command[128];
	unsetenv("ARGUS_CACHE_DIR");
	snprintf(command, sizeof(command), "rm -rf '%s'", cache);
	return tear_down(state) | system(command);
}

/* Where the cache keeps a table its outline is enough: no row is laid before a rule is asked for, and then those around it. */
static void test_outlines_in_maps(void **state)
{
	struct fixture *f = *state;
	const struct layout *layout;
	int compared = 0, outlines = 0;
	need_maps(f);
	f->modules.files.outlines_most = 64;
	assert_int_equal(layouts_read(&f->layouts, getpid(), &layout), 0);
	for (int round = 0; round < 2; round++) {
		layouts_publish(&f->layouts, getpid());
		layout = layout_of_process(&f->layouts, getpid());
		uint32_t rows = f->maps.row_count, pages = 0;
		for (uint32_t i = 0; i < layout->count; i++) {
			const struct loaded_module *m = layout->mappings[i].module;
			if (!m->table.file)
				continue;
			assert_int_equal(unwind_maps_rule(&f->maps, m->first_page, m->table.page_count, 0).kind, UNWIND_PENDING);
			module_rule(m, &f->maps, m->segments[0].offset);
			pages++;
		}
		assert_true(pages > 0);
		assert_in_range(f->maps.row_count, rows + 1, rows + pages * 16 * 4096);
		compared += compare_rules(f, layout, &outlines);
		layouts_renew(&f->layouts);
		assert_int_equal(f->maps.row_count, 0);
	}
	assert_true(compared > 10000);
	assert_true(outlines > 1);
}

/* An outline of a table that lies in a file of its own. */
static struct unwind_table outline_in(const char *path, const struct unwind_table *table)
{
	struct unwind_table outline;
	size_t bytes = unwind_outline_packed_bytes(table), all = unwind_table_packed_bytes(table);
	void *packed = malloc(bytes), *whole = malloc(all);
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);

	unwind_outline_pack(table, packed);
	assert_false(unwind_outline_unpack(packed, bytes - 1, &outline));
	assert_false(unwind_table_unpack(packed, bytes, &outline));
	assert_true(unwind_outline_unpack(packed, bytes, &outline));
	unwind_table_pack(table, whole);
	assert_int_equal(pwrite(fd, whole, all, 0), all);
	outline.memory = packed;
	outline.file = fd + 1;
	outline.rows_at = all - table->row_count * sizeof(uint32_t);
	free(whole);
	return outline;
}

/* The same file's rows are laid once for all that have it; what can't be read, or holds what it may not, ends stacks and is
 * not asked for again. */
static void test_outlines_shared_and_damaged(void **state)
{
	struct fixture *f = *state;
	uint32_t pages[3] = { 0, 2, 3 }, rows[3] = { 0 << UNWIND_ROW_SHIFT | 1, 100 << UNWIND_ROW_SHIFT, 0 << UNWIND_ROW_SHIFT | 1 }, first, again;
	struct unwind_rule rules[2] = { { .kind = UNWIND_NONE }, { .kind = UNWIND_RSP, .offset = 16 } };
	struct unwind_table table = { .page_count = 2, .row_count = 3, .rule_count = 2, .pages = pages, .rows = rows, .rules = rules };
	char path[64];
	need_maps(f);
	snprintf(path, sizeof(path), "%s/one", cache);
	struct unwind_table outline = outline_in(path, &table);
	assert_int_equal(unwind_maps_add(&f->maps, &outline, &first, NULL), 0);
	assert_int_equal(unwind_maps_add(&f->maps, &outline, &again, NULL), 0);
	assert_int_equal(again, first);
	assert_int_equal(f->maps.shard_count, 0);
	assert_false(unwind_maps_fill(&f->maps, &outline, first, 2));
	assert_true(unwind_maps_fill(&f->maps, &outline, first, 1));
	assert_int_equal(f->maps.row_count, 3);
	assert_int_equal(unwind_maps_rule(&f->maps, first, 2, 99).kind, UNWIND_RSP);
	assert_int_equal(unwind_maps_rule(&f->maps, first, 2, 100).kind, UNWIND_NONE);
	assert_int_equal(unwind_maps_rule(&f->maps, first, 2, 4096).offset, 16);
	unwind_maps_reset(&f->maps);
	assert_int_equal(unwind_maps_add(&f->maps, &outline, &first, NULL), 0);
	assert_int_equal(unwind_maps_rule(&f->maps, first, 2, 4096).kind, UNWIND_PENDING);
	unwind_maps_fill_all(&f->maps, &outline, first);
	assert_int_equal(f->maps.row_count, 3);
	assert_int_equal(unwind_maps_rule(&f->maps, first, 2, 4096).offset, 16);
	again = first;
	unwind_table_done(&outline);

	/* cut off, and with a rule that there is not */
	for (int damage = 0; damage < 2; damage++) {
		snprintf(path, sizeof(path), "%s/damaged%d", cache, damage);
		outline = outline_in(path, &table);
		if (damage)
			assert_int_equal(pwrite(outline.file - 1, &(uint32_t){ 5 }, 4, (off_t)outline.rows_at), 4);
		else
			assert_int_equal(ftruncate(outline.file - 1, (off_t)outline.rows_at + 4), 0);
		assert_int_equal(unwind_maps_add(&f->maps, &outline, &first, NULL), 0);
		assert_int_not_equal(first, again);
		assert_true(unwind_maps_fill(&f->maps, &outline, first, 0));
		assert_int_equal(unwind_maps_rule(&f->maps, first, 2, 50).kind, UNWIND_BAD);
		assert_int_equal(unwind_maps_rule(&f->maps, first, 2, 4096).kind, damage ? UNWIND_RSP : UNWIND_BAD);
		unwind_table_done(&outline);
	}
}

/* A table of rows that follow from a number; ROWS_EACH of them, on one page. */
#define ROWS_EACH 4000u

static struct unwind_table table_of(uint32_t number)
{
	static uint32_t rows[ROWS_EACH], pages[2] = { 0, ROWS_EACH };
	static struct unwind_rule rules[1];

	rules[0] = (struct unwind_rule){ .kind = UNWIND_NONE };
	for (uint32_t i = 0; i < ROWS_EACH; i++)
		rows[i] = (i + number) << UNWIND_ROW_SHIFT;
	return (struct unwind_table){ .page_count = 1, .row_count = ROWS_EACH, .rule_count = 1, .pages = pages, .rows = rows, .rules = rules };
}

/* Copies of a program are laid once; what none of them walks by any more is room again, in time. */
static void test_equal_tables(void **state)
{
	struct fixture *f = *state;
	uint32_t first, again, other;
	struct unwind_table table;
	need_maps(f);
	table = table_of(0);
	assert_int_equal(unwind_maps_add(&f->maps, &table, &first, NULL), 0);
	for (uint32_t i = 0; i < 1000; i++) {
		assert_int_equal(unwind_maps_add(&f->maps, &table, &again, NULL), 0);
		assert_int_equal(again, first);
	}
	assert_int_equal(f->maps.row_count, ROWS_EACH);
	for (uint32_t i = 0; i < 1000; i++)
		unwind_maps_abandon(&f->maps, first, 1);
	assert_int_equal(f->maps.abandoned_rows, 0);
	unwind_maps_abandon(&f->maps, first, 1);
	assert_int_equal(f->maps.abandoned_rows, ROWS_EACH);
	assert_int_equal(unwind_maps_add(&f->maps, &table, &again, NULL), 0);
	assert_int_equal(again, first);
	assert_int_equal(f->maps.abandoned_rows, 0);
	for (uint32_t i = 1; !unwind_maps_is_due(&f->maps); i++) {
		table = table_of(i);
		assert_int_equal(unwind_maps_add(&f->maps, &table, &other, NULL), 0);
		assert_int_not_equal(other, first);
		unwind_maps_abandon(&f->maps, other, 1);
		assert_in_range(f->maps.shard_count, 1, 8);
	}
	unwind_maps_reset(&f->maps);
	assert_int_equal(f->maps.shard_count, 0);
	assert_int_equal(unwind_maps_add(&f->maps, &table, &first, NULL), 0);
	assert_int_equal(f->maps.shard_count, 1);
}

/* Tables of modules that no process has any more stay, and are nobody's until one comes that has them. */
static void test_nobodys_tables(void **state)
{
	struct fixture *f = *state;
	const struct layout *layout;
	need_maps(f);
	for (uint32_t round = 0, pages = 0; round < 3; round++) {
		assert_int_equal(layouts_read(&f->layouts, getpid(), &layout), 0);
		layouts_publish(&f->layouts, getpid());
		assert_int_equal(f->maps.abandoned_rows, 0);
		assert_int_equal(f->maps.abandoned_pages, 0);
		assert_true(!round || pages == f->maps.page_count);
		pages = f->maps.page_count;
		layouts_leave(&f->layouts, getpid(), 1000);
		layouts_collect(&f->layouts, 2000);
		layouts_collect(&f->layouts, 4000);
		modules_collect(&f->modules);
		assert_int_equal(f->maps.abandoned_rows, f->maps.row_count);
		assert_int_equal(f->maps.abandoned_pages, pages);
	}
}

/* Of modules that nobody has any more so many are kept, and no more. */
static void test_modules_forgotten(void **state)
{
	struct fixture *f = *state;
	uint32_t kept = 0;
	need_maps(f);
	struct module_source lasting = source_at(0x1000, 0x2000, 1000000);
	layouts_add(&f->layouts, 1000001, &lasting, 1);
	for (uint64_t i = 1; i <= 5000; i++) {
		struct module_source source = source_at(0x1000, 0x2000, i);
		layouts_add(&f->layouts, 1000000, &source, 1);
		layouts_leave(&f->layouts, 1000000, i);
		layouts_collect(&f->layouts, i);
		modules_collect(&f->modules);
	}
	for (uint32_t i = 2; i < f->modules.count; i++)
		kept += f->modules.list[i] != NULL;
	assert_in_range(kept, MODULES_UNUSED_MAX, MODULES_UNUSED_MAX + 2);
	assert_true(f->modules.by_file.length <= 2 * kept);
	assert_true(f->modules.unused.capacity <= 8 * MODULES_UNUSED_MAX);
	assert_int_equal(layout_of_process(&f->layouts, 1000001)->mappings[0].module->inode, 1000000);
	/* one that comes back is another */
	struct module_source first = source_at(0x1000, 0x2000, 1);
	const struct layout *layout = layouts_add(&f->layouts, 1000000, &first, 1);
	assert_int_equal(layout->mappings[0].module->number, f->modules.count - 1);
}

/* However many processes begin and end: what nobody has any more is freed when its
 * time is over, also what a late fork had taken up again. */
static void test_collect(void **state)
{
	struct fixture *f = *state;
	struct module_source source = source_at(0x1000, 0x2000, 1);
	need_maps(f);
	for (uint64_t now = 1000; now < 21000; now++) {
		layouts_add(&f->layouts, 1000000, &source, 1);
		layouts_leave(&f->layouts, 1000000, now);
		layouts_collect(&f->layouts, now - 100);
	}
	assert_in_range(f->layouts.list.length, 90, 110);
	assert_true(f->layouts.left.capacity < 1024);
	layouts_add(&f->layouts, 1000000, &source, 1);
	layouts_fork(&f->layouts, 1000000, 1000001);
	layouts_leave(&f->layouts, 1000000, 21000);
	layouts_leave(&f->layouts, 1000001, 21000);
	layouts_fork(&f->layouts, 1000000, 1000002);
	for (int i = 0; i < 3; i++) {
		/* left, and found by a fork that was told late */
		const struct layout *layout;
		layouts_add(&f->layouts, 1000000, &source, 1);
		layouts_fork(&f->layouts, 1000000, 1000001);
		layout = layout_of_process(&f->layouts, 1000001);
		layouts_leave(&f->layouts, 1000000, 21001);
		layouts_leave(&f->layouts, 1000001, 21001);
		assert_int_equal(layout->users, 0);
	}
	layouts_collect(&f->layouts, 22000);
	layouts_collect(&f->layouts, 24000);
	assert_int_equal(f->layouts.list.length, 0);
}

/* Thousands of processes, of which few are used at a time. */
static void test_many_processes(void **state)
{
	struct fixture *f = *state;
	struct stack_process process;
	need_maps(f);
	f->maps.limits.mappings = 32;
	for (uint32_t pid = 1000000; pid < 1005000; pid++) {
		add(f, (pid_t)pid, pid);
		while (layouts_lacks(&f->layouts, (pid_t)pid))
			layouts_publish(&f->layouts, (pid_t)pid);
		assert_true(published(f, pid, &process));
		if (pid % 2)
			layouts_leave(&f->layouts, (pid_t)pid, 1), layouts_withdraw(&f->layouts, (pid_t)pid);
		if (pid % 100 == 0)
			layouts_collect(&f->layouts, 2);
	}
}

static void test_renew(void **state)
{
	struct fixture *f = *state;
	struct stack_process before, after;
	const struct layout *layout;
	need_maps(f);
	uint32_t pid = (uint32_t)getpid();
	assert_int_equal(layouts_read(&f->layouts, getpid(), &layout), 0);
	layouts_fork(&f->layouts, getpid(), 1000000);
	layouts_publish(&f->layouts, getpid());
	assert_true(published(f, pid, &before));
	uint32_t pages = f->maps.page_count;
	assert_true(pages > 0);
	layouts_renew(&f->layouts);
	assert_false(published(f, pid, &after));
	assert_true(layouts_lacks(&f->layouts, getpid()) && layouts_lacks(&f->layouts, 1000000));
	layouts_publish(&f->layouts, getpid());
	layouts_publish(&f->layouts, 1000000);
	assert_true(published(f, pid, &after));
	/* rules are remembered by the layout's number */
	assert_int_not_equal(before.layout, after.layout);
	assert_int_equal(before.count, after.count);
	assert_int_equal(f->maps.page_count, pages);
	/* messages with the old number may still be on their way */
	assert_non_null(layout_of(&f->layouts, before.layout));
}

static uint32_t tables(struct fixture *f)
{
	struct stack_process process;
	uint32_t count = 0;
	assert_true(published(f, (uint32_t)getpid(), &process));
	for (uint32_t i = 0; i < process.count; i++)
		count += f->maps.mappings[process.first + i].kind == STACK_MAPPING_TABLE;
	return count;
}

static void test_full_tables(void **state)
{
	struct fixture *f = *state;
	const struct layout *layout;
	need_maps(f);
	f->maps.limits.rules = UNWIND_KINDS + 4;
	assert_int_equal(layouts_read(&f->layouts, getpid(), &layout), 0);
	layouts_publish(&f->layouts, getpid());
	uint32_t few = tables(f);
	assert_true(f->maps.full);
	f->maps.limits.rules = STACK_RULES_MAX;
	layouts_renew(&f->layouts);
	layouts_publish(&f->layouts, getpid());
	assert_false(f->maps.full);
	assert_true(tables(f) > few);
}
#endif

#ifndef HAVE_BPF
static void test_layouts(void **state)
{
	(void)state;
	print_message("built without BPF\n");
	skip();
}
#endif

int main(void)
{
#ifdef HAVE_BPF
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_idle_goes, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_add, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_collect, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_rules_in_maps, set_up, tear_down),
cmocka_unit_test_setup_teardown(test_outlines_in_maps, set_up_cache, tear_down_cache),
cmocka_unit_test_setup_teardown(test_outlines_shared_and_damaged, set_up_cache, tear_down_cache),
		cmocka_unit_test_setup_teardown(test_equal_tables, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_nobodys_tables, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_modules_forgotten, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_many_processes, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_renew, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_full_tables, set_up, tear_down),
	};
#else
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_layouts) };
#endif
	return cmocka_run_group_tests(tests, NULL, NULL);
}
