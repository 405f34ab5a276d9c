/* Who may ask the server, see http.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "ui/http.h"

#define FORBIDDEN 403
#define TOKEN_FIELD "token="

static int make_secret(char *text, struct err *err)
{
	unsigned char bytes[(HTTP_SECRET - 1) / 2];

	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return err_sys(err, -errno, "no random numbers");
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(text + i * 2, 3, "%02x", bytes[i]);
	return 0;
}

int http_gate_init(struct http_gate *gate, const char *address, struct err *err)
{
	char name[HTTP_SECRET] = "";
	int r = make_secret(gate->token, err);

	if (!r)
		r = make_secret(gate->session, err);
	if (!r)
		r = make_secret(name, err);
	/* Cookies do not tell ports apart: two servers have two names. */
	snprintf(gate->cookie, sizeof(gate->cookie), "argus-%.8s", name);
	gate->address = address;
	return r;
}

/* Takes as long whatever differs. */
static bool same_secret(const char *secret, const char *text, size_t length)
{
	unsigned char differs = 0;

	if (length != HTTP_SECRET - 1 || strlen(secret) != HTTP_SECRET - 1)
		return false;
	for (size_t i = 0; i < length; i++)
		differs |= (unsigned char)(secret[i] ^ text[i]);
	return !differs;
}

/* "127.0.0.1:8080": the part before the port, which may be another one behind a forwarding. */
static bool is_own_host(const struct http_gate *gate, const char *host)
{
	const char *const names[] = { "127.0.0.1", "localhost", gate->address };
	size_t length = host ? strcspn(host, ":") : 0;

	for (size_t i = 0; length && i < sizeof(names) / sizeof(*names); i++)
		if (strlen(names[i]) == length && !strncmp(names[i], host, length) && strspn(host + length, ":0123456789") == strlen(host + length))
			return true;
	return false;
}

static bool has_cookie(const struct http_gate *gate, const char *cookies)
{
	size_t name = strlen(gate->cookie);

	while (cookies && *cookies) {
		size_t length = strcspn(cookies, ";");

		if (length > name && !strncmp(cookies, gate->cookie, name) && cookies[name] == '=' &&
		    same_secret(gate->session, cookies + name + 1, length - name - 1))
			return true;
		cookies += length;
		cookies += strspn(cookies, "; ");
	}
	return false;
}

unsigned http_gate_check(const struct http_gate *gate, const struct http_caller *caller)
{
	if (!is_own_host(gate, caller->host))
		return FORBIDDEN;
	/* The file with the token is of no origin. */
	if (caller->origin && !(caller->enters && !strcmp(caller->origin, "null")) &&
	    (strncmp(caller->origin, "http://", 7) || strcmp(caller->origin + 7, caller->host)))
		return FORBIDDEN;
	if (caller->enters)
		return 0;
	if (caller->site && strcmp(caller->site, "same-origin") && strcmp(caller->site, "none"))
		return FORBIDDEN;
	return has_cookie(gate, caller->cookies) ? 0 : FORBIDDEN;
}

bool http_gate_enter(struct http_gate *gate, const char *body)
{
	size_t field = strlen(TOKEN_FIELD);

	if (strncmp(body, TOKEN_FIELD, field) || !same_secret(gate->token, body + field, strlen(body + field)))
		return false;
	memset(gate->token, 0, sizeof(gate->token));
	return true;
}
