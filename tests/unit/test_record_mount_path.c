/* src/record/mount_path.c: paths within a file system as they are seen, by the table of mounts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "record/mount_path.h"

#define DEVICE(major, minor) ((uint32_t)(major) << 20 | (minor))

static char table[] =
	"22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw\n"
	"30 22 0:40 /@home /home rw shared:2 - btrfs /dev/vdb rw\n"
	"31 22 0:40 / /mnt/all rw shared:2 - btrfs /dev/vdb rw\n"
	"32 22 254:0 /srv/part /part rw - ext4 /dev/vda rw\n"
	"33 22 0:50 /only /only rw - btrfs /dev/vdc rw\n"
	"broken\n";

static const char *seen(uint32_t device, const char *within, size_t size)
{
	FILE *file = fmemopen(table, strlen(table), "r");
	static char to[64];
	bool is_seen;

	assert_non_null(file);
	is_seen = mount_path(file, device, within, to, size);
	fclose(file);
	return is_seen ? to : NULL;
}

static void test_the_smallest_part_counts(void **state)
{
	(void)state;
	assert_string_equal(seen(DEVICE(254, 0), "/tmp/folder", 64), "/tmp/folder");
	assert_string_equal(seen(DEVICE(254, 0), "", 64), "/");
	assert_string_equal(seen(DEVICE(254, 0), "/srv/part/a", 64), "/part/a");
	assert_string_equal(seen(DEVICE(254, 0), "/srv/part", 64), "/part");
	assert_string_equal(seen(DEVICE(254, 0), "/srv/party", 64), "/srv/party");
	assert_string_equal(seen(DEVICE(0, 40), "/@home/anna/x", 64), "/home/anna/x");
	assert_string_equal(seen(DEVICE(0, 40), "/@log/x", 64), "/mnt/all/@log/x");
}

static void test_what_is_seen_nowhere(void **state)
{
	(void)state;
	assert_null(seen(DEVICE(0, 50), "/other/x", 64));
	assert_null(seen(DEVICE(7, 1), "/x", 64));
	assert_null(seen(DEVICE(254, 0), "/tmp/folder", 11));
	assert_string_equal(seen(DEVICE(254, 0), "/tmp/folder", 12), "/tmp/folder");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_smallest_part_counts),
		cmocka_unit_test(test_what_is_seen_nowhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
