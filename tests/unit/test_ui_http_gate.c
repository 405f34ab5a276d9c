/* Who may ask the server of `argus serve`. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "ui/http.h"

static struct http_gate gate;
static char cookies[256];

static int set_up(void **state)
{
	struct err err;

	(void)state;
	snprintf(cookies, sizeof(cookies), "%s", "");
	if (http_gate_init(&gate, "192.0.2.7", &err))
		return -1;
	snprintf(cookies, sizeof(cookies), "%s=%s", gate.cookie, gate.session);
	return 0;
}

static void test_secrets_differ(void **state)
{
	struct http_gate other;
	struct err err;

	(void)state;
	assert_int_equal(http_gate_init(&other, "127.0.0.1", &err), 0);
	assert_int_equal(strlen(gate.token), HTTP_SECRET - 1);
	assert_string_not_equal(gate.token, gate.session);
	assert_string_not_equal(gate.token, other.token);
	assert_string_not_equal(gate.cookie, other.cookie);
}

static void test_hosts(void **state)
{
	static const char *const own[] = { "127.0.0.1:80", "127.0.0.1", "localhost:8080", "192.0.2.7:1" };
	static const char *const others[] = { "", "evil.example", "127.0.0.1.evil.example", "127.0.0.2", "localhost:x", "localhost:80@evil", "xlocalhost" };

	(void)state;
	for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++)
		assert_int_equal(http_gate_check(&gate, &(struct http_caller){ .host = own[i], .cookies = cookies }), 0);
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		assert_int_equal(http_gate_check(&gate, &(struct http_caller){ .host = others[i], .cookies = cookies }), 403);
	assert_int_equal(http_gate_check(&gate, &(struct http_caller){ .cookies = cookies }), 403);
}

static void test_origins_and_sites(void **state)
{
	struct http_caller caller = { .host = "127.0.0.1:80", .cookies = cookies };

	(void)state;
	caller.origin = "http://127.0.0.1:80";
	assert_int_equal(http_gate_check(&gate, &caller), 0);
	caller.origin = "http://127.0.0.1:81";
	assert_int_equal(http_gate_check(&gate, &caller), 403);
	caller.origin = "https://127.0.0.1:80";
	assert_int_equal(http_gate_check(&gate, &caller), 403);
	caller.origin = "null";
	assert_int_equal(http_gate_check(&gate, &caller), 403);
	caller.enters = true;
	caller.cookies = NULL;
	assert_int_equal(http_gate_check(&gate, &caller), 0);
	caller.origin = "http://evil.example";
	assert_int_equal(http_gate_check(&gate, &caller), 403);
	caller = (struct http_caller){ .host = "127.0.0.1:80", .cookies = cookies, .site = "same-site" };
	assert_int_equal(http_gate_check(&gate, &caller), 403);
	caller.site = "none";
	assert_int_equal(http_gate_check(&gate, &caller), 0);
}

static void test_cookies(void **state)
{
	struct http_caller caller = { .host = "localhost" };
	char text[300];

	(void)state;
	assert_int_equal(http_gate_check(&gate, &caller), 403);
	snprintf(text, sizeof(text), "a=b; %s; c=d", cookies);
	caller.cookies = text;
	assert_int_equal(http_gate_check(&gate, &caller), 0);
	snprintf(text, sizeof(text), "%s0", cookies);
	assert_int_equal(http_gate_check(&gate, &caller), 403);
	snprintf(text, sizeof(text), "%.*s", (int)strlen(cookies) - 1, cookies);
	assert_int_equal(http_gate_check(&gate, &caller), 403);
	snprintf(text, sizeof(text), "%s=", gate.cookie);
	assert_int_equal(http_gate_check(&gate, &caller), 403);
	caller.cookies = ";;; ;=;";
	assert_int_equal(http_gate_check(&gate, &caller), 403);
}

static void test_token_is_good_once(void **state)
{
	char body[100];

	(void)state;
	snprintf(body, sizeof(body), "token=%s", gate.token);
	assert_false(http_gate_enter(&gate, ""));
	assert_false(http_gate_enter(&gate, "token="));
	assert_false(http_gate_enter(&gate, body + 1));
	assert_true(http_gate_enter(&gate, body));
	assert_false(http_gate_enter(&gate, body));
	assert_false(http_gate_enter(&gate, "token="));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_secrets_differ, set_up),
		cmocka_unit_test_setup(test_hosts, set_up),
		cmocka_unit_test_setup(test_origins_and_sites, set_up),
		cmocka_unit_test_setup(test_cookies, set_up),
		cmocka_unit_test_setup(test_token_is_good_once, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
