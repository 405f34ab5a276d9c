/* jitdump: code that was loaded, replaced and moved has its name; records cut
 * anywhere, or with lengths that lie, end the reading. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "symbols/jit_dump.h"

static size_t from_buf(void *data, void *to, size_t bytes, uint64_t at)
{
	const struct buf *buf = data;
	if (at >= buf->length)
		return 0;
	if (bytes > buf->length - at)
		bytes = buf->length - at;
	memcpy(to, buf->data + at, bytes);
	return bytes;
}

static void add_u32(struct buf *buf, uint32_t value) { buf_add(buf, &value, sizeof(value)); }
static void add_u64(struct buf *buf, uint64_t value) { buf_add(buf, &value, sizeof(value)); }

static void add_head(struct buf *buf)
{
	add_u32(buf, 0x4a695444);
	add_u32(buf, 1);
	add_u32(buf, 40);
	add_u32(buf, 62);
	add_u32(buf, 0);
	add_u32(buf, 1);
	add_u64(buf, 0);
	add_u64(buf, 0);
}

static void add_load(struct buf *buf, uint64_t address, uint64_t bytes, uint64_t index, const char *name)
{
	add_u32(buf, 0);
	add_u32(buf, (uint32_t)(16 + 40 + strlen(name) + 1 + bytes));
	add_u64(buf, 0);
	add_u64(buf, 1);
	add_u64(buf, address);
	add_u64(buf, address);
	add_u64(buf, bytes);
	add_u64(buf, index);
	buf_add(buf, name, strlen(name) + 1);
	for (uint64_t i = 0; i < bytes; i++)
		buf_add(buf, "\x90", 1);
}

static void add_move(struct buf *buf, uint64_t from, uint64_t to, uint64_t bytes, uint64_t index)
{
	add_u32(buf, 1);
	add_u32(buf, 16 + 48);
	add_u64(buf, 0);
	add_u64(buf, 1);
	add_u64(buf, from);
	add_u64(buf, from);
	add_u64(buf, to);
	add_u64(buf, bytes);
	add_u64(buf, index);
}

static const char *name_at(const struct symbol_table *table, uint64_t address)
{
	bool guessed;
	const struct symbol *symbol = symbol_table_find(table, NULL, address, &guessed);
	return symbol && !guessed ? symbol->name : "";
}

static void make(struct buf *buf)
{
	add_head(buf);
	add_load(buf, 0x1000, 32, 1, "JS:first a.js:1");
	/* debug information, which is passed over */
	add_u32(buf, 2);
	add_u32(buf, 32);
	add_u64(buf, 0);
	add_u64(buf, 0x1000);
	add_u64(buf, 0);
	add_load(buf, 0x2000, 16, 2, "JS:second b.js:2");
	add_move(buf, 0x1000, 0x3000, 32, 1);
	add_move(buf, 0x1000, 0x4000, 32, 99);
}

static void test_names(void **state)
{
	struct buf buf = { 0 };
	struct symbol_table table = { 0 };
	(void)state;

	make(&buf);
	assert_int_equal(jit_dump_parse(from_buf, &buf, &table), 0);
	assert_string_equal(name_at(&table, 0x101f), "JS:first a.js:1");
	assert_string_equal(name_at(&table, 0x2008), "JS:second b.js:2");
	assert_string_equal(name_at(&table, 0x3000), "JS:first a.js:1");
	assert_string_equal(name_at(&table, 0x4000), "");
	assert_string_equal(name_at(&table, 0x1020), "");
	symbol_table_done(&table);
	buf_done(&buf);
}

static void test_cut(void **state)
{
	struct buf buf = { 0 };
	(void)state;

	make(&buf);
	for (size_t length = 0; length <= buf.length; length++) {
		struct buf cut = { 0 };
		struct symbol_table table = { 0 };
		buf_add(&cut, buf.data, length);
		assert_int_equal(jit_dump_parse(from_buf, &cut, &table), length < 40 ? -EPROTO : 0);
		symbol_table_done(&table);
		buf_done(&cut);
	}
	buf_done(&buf);
}

static void test_lengths_that_lie(void **state)
{
	struct buf buf = { 0 };
	struct symbol_table table = { 0 };
	uint32_t none = 0;
	(void)state;

	make(&buf);
	/* a record without length would be read for ever */
	memcpy(buf.data + 44, &none, sizeof(none));
	assert_int_equal(jit_dump_parse(from_buf, &buf, &table), 0);
	assert_string_equal(name_at(&table, 0x1000), "");
	symbol_table_done(&table);
	buf_done(&buf);
}

static void test_paths(void **state)
{
	(void)state;
	assert_true(jit_dump_path("/home/x/jit-123.dump"));
	assert_true(jit_dump_path("jit-1.dump"));
	assert_false(jit_dump_path("/tmp/jit-.dump"));
	assert_false(jit_dump_path("/tmp/jit-1.dump/other"));
	assert_false(jit_dump_path("/tmp/perf-1.map"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_lengths_that_lie),
		cmocka_unit_test(test_paths),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
