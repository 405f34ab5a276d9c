/* The table compiler against elfutils' own evaluation of call frame
 * information, on programs and libraries of the machine. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <dwarf.h>
#include <errno.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "symbols/unwind_table.h"

struct counts {
	uint64_t same, other_words, differ;
};

/* What elfutils says, in our words; false when it says it in others. */
static bool expect_cfa(Dwarf_Frame *frame, struct unwind_rule *rule)
{
	Dwarf_Op *ops;
	size_t count;
	if (dwarf_frame_cfa(frame, &ops, &count) != 0)
		return false;
	if (count == 1 && ops[0].atom == DW_OP_bregx && (ops[0].number == 7 || ops[0].number == 6)) {
		rule->kind = ops[0].number == 7 ? UNWIND_RSP : UNWIND_RBP;
		rule->offset = (int)ops[0].number2;
		return true;
	}
	if (count == 1 && (ops[0].atom == DW_OP_breg7 || ops[0].atom == DW_OP_breg6)) {
		rule->kind = ops[0].atom == DW_OP_breg7 ? UNWIND_RSP : UNWIND_RBP;
		rule->offset = (int)ops[0].number;
		return true;
	}
	return false;
}

static bool expect_rbp(Dwarf_Frame *frame, struct unwind_rule *rule)
{
	Dwarf_Op memory[3], *ops;
	size_t count;
	if (dwarf_frame_register(frame, 6, memory, &ops, &count) != 0)
		return false;
	if (count == 0) {
		rule->rbp = ops == NULL ? UNWIND_RBP_SAME : UNWIND_RBP_LOST;
		return true;
	}
	if (ops[0].atom != DW_OP_call_frame_cfa || (count == 2 && ops[1].atom != DW_OP_plus_uconst) || count > 2)
		return false;
	rule->rbp = UNWIND_RBP_AT_CFA;
	rule->rbp_offset = (short)(count == 2 ? ops[1].number : 0);
	return true;
}

static void compare(const struct unwind_table *table, Dwarf_CFI *cfi, uint64_t pc, struct counts *counts)
{
	Dwarf_Frame *frame;
	struct unwind_rule want = { 0 }, got = unwind_table_rule(table, pc);
	if (dwarf_cfi_addrframe(cfi, pc, &frame) != 0) {
		counts->other_words++;
		return;
	}
	Dwarf_Op memory[3], *ops;
	size_t count;
	if (dwarf_frame_register(frame, 16, memory, &ops, &count) == 0 && count == 0 && ops != NULL) {
		free(frame);
		if (got.kind != UNWIND_END)
			counts->differ++;
		counts->same++;
		return;
	}
	if (got.kind == UNWIND_RA_RDI) { /* vfork */
		assert_int_equal(count, 1);
		assert_int_equal(ops[0].atom, DW_OP_regx);
		assert_int_equal(ops[0].number, 5);
		assert_true(expect_cfa(frame, &want));
		assert_int_equal(want.kind, UNWIND_RSP);
		assert_int_equal(want.offset, got.offset);
		counts->same++;
	} else if (!expect_cfa(frame, &want) || !expect_rbp(frame, &want)) {
		counts->other_words++;
	} else if (memcmp(&want, &got, sizeof(got)) == 0) {
		counts->same++;
	} else {
		counts->differ++;
		if (counts->differ < 5)
			print_message("at %#lx: kind %u %d rbp %u %d, elfutils %u %d rbp %u %d\n", (long)pc, got.kind, got.offset, got.rbp,
				      got.rbp_offset, want.kind, want.offset, want.rbp, want.rbp_offset);
	}
	free(frame);
}

static void compare_file(const char *path, unsigned step)
{
	struct elf_file file;
	struct unwind_table table;
	struct err err = { 0 };
	if (access(path, R_OK) != 0) {
		print_message("no %s\n", path);
		return;
	}
	assert_int_equal(elf_file_open(path, &file, &err), 0);
	assert_int_equal(unwind_table_make(&file, &table, &err), 0);
	elf_file_close(&file);
	assert_int_equal(table.skipped, 0);

	int fd = open(path, O_RDONLY);
	elf_version(EV_CURRENT);
	Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	Dwarf_CFI *cfi = dwarf_getcfi_elf(elf);
	assert_non_null(cfi);
	struct counts counts = { 0 };
	for (uint32_t i = 0; i < table.function_count; i += step) {
		const struct unwind_function *f = &table.functions[i];
		uint32_t stride = f->bytes / 8 + 1;
		for (uint32_t at = 0; at < f->bytes; at += stride)
			compare(&table, cfi, table.base + f->start + at, &counts);
		compare(&table, cfi, table.base + f->start + f->bytes - 1, &counts);
	}
	print_message("%s: %lu same, %lu in other words, %lu differ; %u functions, %zu bytes\n", path, counts.same, counts.other_words,
		      counts.differ, table.function_count, unwind_table_bytes(&table));
	assert_int_equal(counts.differ, 0);
	assert_true(counts.same > 0);
	assert_true(counts.other_words * 20 < counts.same);
	dwarf_cfi_end(cfi);
	elf_end(elf);
	close(fd);
	unwind_table_done(&table);
}

static void test_programs(void **state)
{
	(void)state;
	compare_file("/proc/self/exe", 1);
	compare_file("/usr/bin/bash", 3);
	compare_file("/usr/bin/python3", 11);
	compare_file("/usr/bin/perl", 7);
	compare_file("/lib/x86_64-linux-gnu/libc.so.6", 1);
	compare_file("/lib64/ld-linux-x86-64.so.2", 1);
	compare_file("/lib/x86_64-linux-gnu/libm.so.6", 1);
	compare_file("/lib/x86_64-linux-gnu/libstdc++.so.6", 5);
	compare_file("/lib/x86_64-linux-gnu/libcrypto.so.3", 5);
}

static int libc_path(struct dl_phdr_info *info, size_t size, void *data)
{
	(void)size;
	if (strstr(info->dlpi_name, "libc.so"))
		snprintf(data, 256, "%s", info->dlpi_name);
	return 0;
}

static bool has_kind(const struct unwind_table *table, unsigned kind)
{
	for (uint32_t i = 0; i < table->rule_count; i++)
		if (table->rules[i].kind == kind)
			return true;
	return false;
}

static void test_special_rules(void **state)
{
	(void)state;
	char path[256] = "";
	struct elf_file file;
	struct unwind_table table;
	dl_iterate_phdr(libc_path, path);
	if (!path[0]) {
		print_message("no C library was found\n");
		skip();
	}
	assert_int_equal(elf_file_open(path, &file, NULL), 0);
	assert_true(file.build_id_bytes > 0);
	assert_int_equal(unwind_table_make(&file, &table, NULL), 0);
	assert_true(has_kind(&table, UNWIND_SIGNAL));
	assert_true(has_kind(&table, UNWIND_PLT));
	assert_true(has_kind(&table, UNWIND_END));
	assert_int_equal(unwind_table_rule(&table, 0).kind, UNWIND_NONE);
	assert_int_equal(unwind_table_rule(&table, UINT64_MAX).kind, UNWIND_NONE);
	assert_null(unwind_table_function(&table, 0));
	unwind_table_done(&table);
	elf_file_close(&file);
}

/* Without rules the functions are the same. */
static void test_bounds(void **state)
{
	char path[256] = "";
	struct elf_file file;
	struct unwind_table whole, bounds;
	(void)state;

	dl_iterate_phdr(libc_path, path);
	if (!path[0]) {
		print_message("no C library was found\n");
		skip();
	}
	assert_int_equal(elf_file_open(path, &file, NULL), 0);
	assert_int_equal(unwind_table_make(&file, &whole, NULL), 0);
	assert_int_equal(unwind_table_bounds(&file, &bounds, NULL), 0);
	assert_int_equal(bounds.base, whole.base);
	assert_int_equal(bounds.function_count, whole.function_count);
	assert_memory_equal(bounds.functions, whole.functions, whole.function_count * sizeof(*whole.functions));
	assert_true(bounds.row_count * 100 < whole.row_count);
	unwind_table_done(&bounds);
	unwind_table_done(&whole);
	elf_file_close(&file);
}

static void test_vdso(void **state)
{
	(void)state;
	const void *vdso = (const void *)getauxval(AT_SYSINFO_EHDR);
	struct elf_file file;
	struct unwind_table table;
	if (!vdso) {
		print_message("this kernel has no vdso\n");
		skip();
	}
	assert_int_equal(elf_file_open_memory(vdso, 2 * 4096, "vdso", &file, NULL), 0);
	assert_int_equal(unwind_table_make(&file, &table, NULL), 0);
	assert_true(table.function_count > 3);
	/* and without its section headers */
	struct elf_file bare = file;
	bare.section_count = 0;
	struct unwind_table again;
	assert_int_equal(unwind_table_make(&bare, &again, NULL), 0);
	assert_int_equal(again.function_count, table.function_count);
	assert_int_equal(again.row_count, table.row_count);
	unwind_table_done(&again);
	unwind_table_done(&table);
	elf_file_close(&file);
}

static void test_refused(void **state)
{
	(void)state;
	struct elf_file file;
	struct err err = { 0 };
	static const char junk[64] = "\177ELF";
	assert_int_equal(elf_file_open_memory(junk, 3, "junk", &file, &err), -ENOEXEC);
	assert_int_equal(elf_file_open_memory(junk, sizeof(junk), "junk", &file, &err), -EOPNOTSUPP);
	assert_int_equal(elf_file_open("/dev/null", &file, &err), -ENOEXEC);
	assert_int_equal(elf_file_open("/nonexistent", &file, &err), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_programs),
		cmocka_unit_test(test_special_rules),
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_vdso),
		cmocka_unit_test(test_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
