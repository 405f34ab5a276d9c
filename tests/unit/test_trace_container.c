/* src/trace/container.c: paths as the managers of containers make them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <string.h>

#include "trace/container.h"

#define ID "3f2ab41c9d00aa11bb22cc33dd44ee55ff66778899aabbccddeeff0011223344"

static void assert_described(const char *path, const char *text)
{
	struct container c;
	struct buf buf;

	buf_init(&buf);
	assert_int_equal(container_of(path, &c), *text != 0);
	container_describe(&c, &buf);
	assert_string_equal(buf_str(&buf), text);
	buf_done(&buf);
}

static void knows_the_managers(void **state)
{
	(void)state;
	assert_described("/docker/" ID, "docker container 3f2ab41c9d00");
	assert_described("/system.slice/docker-" ID ".scope", "docker container 3f2ab41c9d00");
	assert_described("/machine.slice/libpod-" ID ".scope/container", "podman container 3f2ab41c9d00");
	assert_described("/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod0a1b2c3d_1111_2222_3333_444455556666.slice/"
			 "cri-containerd-" ID ".scope", "containerd container 3f2ab41c9d00, pod 0a1b2c3d-1111-2222-3333-444455556666");
	assert_described("/kubepods/besteffort/pod0a1b2c3d-1111-2222-3333-444455556666/" ID,
			 "containerd container 3f2ab41c9d00, pod 0a1b2c3d-1111-2222-3333-444455556666");
	assert_described("/kubepods.slice/kubepods-pod0a1b2c3d_1111_2222_3333_444455556666.slice/crio-" ID ".scope",
			 "CRI-O container 3f2ab41c9d00, pod 0a1b2c3d-1111-2222-3333-444455556666");
	assert_described("/lxc.payload.web/system.slice/nginx.service", "LXC container web, unit nginx.service");
	assert_described("/machine.slice/machine-web.scope", "nspawn container web");
	assert_described("/system.slice/nginx.service", "unit nginx.service");
	assert_described("0::/user.slice/user-1000.slice/user@1000.service/app.slice/editor.service", "unit editor.service");
	assert_described("9:name=systemd:/system.slice/a.service\n8:pids:/docker/" ID "\n", "docker container 3f2ab41c9d00, unit a.service");
}

static void says_nothing_of_others(void **state)
{
	static const char *const paths[] = { "", "/", "//", "/user.slice", "/docker", "/docker/short", "/docker/zz2ab41c9d00", "/.service",
					     "no path", "9:x:", "\n\n/\n" };

	(void)state;
	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++)
		assert_described(paths[i], "");
}

static void long_names_are_cut(void **state)
{
	char path[1000] = "/";
	struct container c;

	(void)state;
	memset(path + 1, 'a', 900);
	strcpy(path + 901, ".service");
	assert_true(container_of(path, &c));
	assert_int_equal(strlen(c.unit), CONTAINER_NAME_BYTES - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(knows_the_managers),
		cmocka_unit_test(says_nothing_of_others),
		cmocka_unit_test(long_names_are_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
