/* Protocol buffers, byte by byte. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include "export/protobuf.h"

static void expect(const struct buf *buf, const char *bytes, size_t length)
{
	assert_int_equal(buf->length, length);
	assert_memory_equal(buf->data, bytes, length);
}

static void test_fields(void **state)
{
	struct buf buf, inner;

	(void)state;
	buf_init(&buf);
	buf_init(&inner);
	proto_u64(&buf, 1, 0);
	proto_u64(&buf, 2, 300);
	expect(&buf, "\x08\x00\x10\xac\x02", 5);
	buf_clear(&buf);
	proto_u64(&buf, 60, UINT64_MAX);
	expect(&buf, "\xe0\x03\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 12);
	buf_clear(&buf);
	proto_fixed64(&buf, 47, 0x0102030405060708);
	expect(&buf, "\xf9\x02\x08\x07\x06\x05\x04\x03\x02\x01", 10);
	buf_clear(&buf);
	proto_message(&buf, 3, &inner);
	proto_text(&inner, 1, "a\xff");
	proto_message(&buf, 3, &inner);
	expect(&buf, "\x1a\x00\x1a\x07\x0a\x05" "a\\xff", 11);
	buf_done(&buf);
	buf_done(&inner);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fields),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
