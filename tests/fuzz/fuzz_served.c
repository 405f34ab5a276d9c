/* A request to `argus serve`, lines of text: Host, Origin, Sec-Fetch-Site, Cookie, the path,
 * and a line for each value of its query. Nobody without the cookie is let in; whoever is gets
 * an answer or is refused in words, of a small trace and of one in blocks. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz_session.h"
#include "ui/served.h"

#define VALUES_MOST 8u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct line_request {
	struct http_request request;
	char *values[VALUES_MOST];       /* NAME=VALUE */
	unsigned count;
};

static const char *value_of(const struct http_request *request, const char *name)
{
	const struct line_request *r = (const struct line_request *)request;

	for (unsigned i = 0; i < r->count; i++)
		if (!strncmp(r->values[i], name, strlen(name)) && r->values[i][strlen(name)] == '=')
			return r->values[i] + strlen(name) + 1;
	return NULL;
}

/* The text up to the next line's end, which is taken out; "" behind the last. */
static char *next_line(char **at)
{
	char *line = *at, *end = strchr(line, '\n');

	*at = end ? end + 1 : line + strlen(line);
	if (end)
		*end = 0;
	return line;
}

static const char *or_none(const char *text)
{
	return *text ? text : NULL;
}

static void open_served(struct debug *debug, struct served *served)
{
	struct err err = { 0 };

	if (debug_open(debug, fuzz_session_path(), &err))
		__builtin_trap();
	debug->session.temporary = true;
	*served = (struct served){ .debug = debug, .build = "fuzz" };
}

static void ask(struct served *served, const struct line_request *r)
{
	struct http_reply reply = { 0 };

	buf_init(&reply.body);
	served_answer(served, &r->request, &reply);
	if ((reply.status && reply.status != 400 && reply.status != 404) || (reply.status && !strstr(buf_str(&reply.body), "\"error\"")))
		__builtin_trap();
	buf_done(&reply.body);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct debug debugs[2];
	static struct served served[2];
	static struct http_gate gate;
	struct line_request r = { .request = { .value = value_of, .body = "" } };
	struct http_caller caller;
	char *text = malloc(size + 1), *at = text;

	if (!served[0].debug) {
		struct err err;

		open_served(&debugs[0], &served[0]);
		setenv("ARGUS_BLOCK_EVENTS", "3", 1);
		open_served(&debugs[1], &served[1]);
		if (http_gate_init(&gate, "127.0.0.1", &err))
			__builtin_trap();
	}
	memcpy(text, data, size);
	text[size] = 0;
	caller.host = or_none(next_line(&at));
	caller.origin = or_none(next_line(&at));
	caller.site = or_none(next_line(&at));
	caller.cookies = or_none(next_line(&at));
	caller.enters = false;
	if (!http_gate_check(&gate, &caller) || http_gate_enter(&gate, text + size - strlen(at)))
		__builtin_trap();
	r.request.path = next_line(&at);
	while (*at && r.count < VALUES_MOST)
		r.values[r.count++] = next_line(&at);
	/* What asks the machine itself is not asked. */
	if (strcmp(r.request.path, "/recorder"))
		for (unsigned i = 0; i < 2; i++)
			ask(&served[i], &r);
	free(text);
	return 0;
}
