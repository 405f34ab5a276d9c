/* The hash's published test values, whatever the pieces it is given. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/keyed_hash.h"

static const struct hash_key counting = { { 0x0706050403020100u, 0x0f0e0d0c0b0a0908u } };

static uint64_t hash_in_pieces(size_t size, size_t piece)
{
	uint8_t bytes[64];
	struct keyed_hash h;
	for (size_t i = 0; i < size; i++)
		bytes[i] = (uint8_t)i;
	keyed_hash_begin(&h, &counting);
	for (size_t at = 0; at < size; at += piece)
		keyed_hash_add(&h, bytes + at, size - at < piece ? size - at : piece);
	return keyed_hash_end(&h);
}

static void test_known(void **state)
{
	(void)state;
	for (size_t piece = 1; piece <= 64; piece++) {
		assert_int_equal(hash_in_pieces(0, piece), 0x726fdb47dd0e0e31u);
		assert_int_equal(hash_in_pieces(1, piece), 0x74f839c593dc67fdu);
		assert_int_equal(hash_in_pieces(8, piece), 0x93f5f5799a932462u);
		assert_int_equal(hash_in_pieces(15, piece), 0xa129ca6149be45e5u);
		assert_int_equal(hash_in_pieces(63, piece), 0x958a324ceb064572u);
	}
}

static void test_keys_differ(void **state)
{
	struct hash_key a = { { 0 } }, b = { { 0 } };
	(void)state;
	assert_int_equal(hash_key_make(&a), 0);
	assert_int_equal(hash_key_make(&b), 0);
	assert_memory_not_equal(&a, &b, sizeof(a));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_known),
		cmocka_unit_test(test_keys_differ),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
