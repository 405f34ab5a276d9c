/* See service_request.h. */
#include "record/service_request.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/options.h"
#include "record/config.h"

#define YEAR_NS (366ull * 24 * 3600 * 1000000000u)

static const char *const verbs[SERVICE_VERBS] = { "record", "snap", "mark", "status" };

static const struct key {
	const char *name;
	uint32_t verb;         /* that it belongs to */
	bool is_text;
	uint16_t offset;
	uint64_t most;         /* of numbers */
} keys[] = {
	{ "full", SERVICE_RECORD, false, offsetof(struct service_request, full), 1 },
	{ "stacks", SERVICE_RECORD, false, offsetof(struct service_request, stacks), 127 },
	{ "hz", SERVICE_RECORD, false, offsetof(struct service_request, hz), 10000 },
	{ "ring", SERVICE_RECORD, false, offsetof(struct service_request, ring), 64u << 20 },
	{ "duration", SERVICE_RECORD, false, offsetof(struct service_request, duration_ns), YEAR_NS },
	{ "bytes", SERVICE_RECORD, false, offsetof(struct service_request, bytes), UINT64_MAX },
	{ "child", SERVICE_RECORD, false, offsetof(struct service_request, child), 4194304 },
	{ "pids", SERVICE_RECORD, true, offsetof(struct service_request, pids), 0 },
	{ "tids", SERVICE_RECORD, true, offsetof(struct service_request, tids), 0 },
	{ "cpus", SERVICE_RECORD, true, offsetof(struct service_request, cpus), 0 },
	{ "command", SERVICE_RECORD, true, offsetof(struct service_request, command), 0 },
	{ "last", SERVICE_SNAP, false, offsetof(struct service_request, last_ns), YEAR_NS },
	{ "text", SERVICE_MARK, true, offsetof(struct service_request, text), 0 },
};

#define KEYS (sizeof(keys) / sizeof(keys[0]))

static void *field(const struct service_request *request, const struct key *key)
{
	return (char *)request + key->offset;
}

int service_request_put(const struct service_request *request, struct buf *to, struct err *err)
{
	buf_printf(to, "%s\n", verbs[request->verb]);
	for (size_t i = 0; i < KEYS; i++) {
		if (keys[i].verb != request->verb)
			continue;
		if (!keys[i].is_text) {
			buf_printf(to, "%s=%" PRIu64 "\n", keys[i].name, *(uint64_t *)field(request, &keys[i]));
			continue;
		}
		if (strchr(field(request, &keys[i]), '\n'))
			return err_set(err, -EINVAL, "'%s' is more than one line", keys[i].name);
		buf_printf(to, "%s=%s\n", keys[i].name, (const char *)field(request, &keys[i]));
	}
	return 0;
}

static int parse_key(const char *line, size_t length, struct service_request *request, uint32_t *seen, struct err *err)
{
	const char *equals = memchr(line, '=', length), *value = equals ? equals + 1 : line;
	size_t size = equals ? (size_t)(line + length - value) : 0, i;
	char number[32];

	for (i = 0; i < KEYS; i++)
		if (equals && strlen(keys[i].name) == (size_t)(equals - line) && !memcmp(keys[i].name, line, (size_t)(equals - line)))
			break;
	if (i == KEYS || keys[i].verb != request->verb || *seen >> i & 1)
		return err_set(err, -EINVAL, "the request has a line that is not known, or twice");
	*seen |= 1u << i;
	if (keys[i].is_text) {
		if (size >= SERVICE_TEXT_BYTES)
			return err_set(err, -EINVAL, "the request's '%s' is too long", keys[i].name);
		memcpy(field(request, &keys[i]), value, size);
		return 0;
	}
	snprintf(number, sizeof(number), "%.*s", (int)(size < sizeof(number) ? size : 0), value);
	if (parse_number(number, field(request, &keys[i])) || *(uint64_t *)field(request, &keys[i]) > keys[i].most)
		return err_set(err, -EINVAL, "the request's '%s' is not a valid number", keys[i].name);
	return 0;
}

int service_request_parse(const char *text, size_t length, struct service_request *ret_request, struct err *err)
{
	struct service_request request = { .verb = SERVICE_VERBS };
	uint32_t seen = 0;
	int r = 0;

	if (!length || length > SERVICE_REQUEST_BYTES || memchr(text, 0, length) || text[length - 1] != '\n')
		return err_set(err, -EINVAL, "the request is empty, too long, or no text");
	for (const char *line = text, *end = text + length; !r && line < end;) {
		size_t size = (size_t)((const char *)memchr(line, '\n', (size_t)(end - line)) - line);

		if (line != text) {
			r = parse_key(line, size, &request, &seen, err);
		} else {
			for (uint32_t i = 0; i < SERVICE_VERBS; i++)
				if (strlen(verbs[i]) == size && !memcmp(verbs[i], line, size))
					request.verb = i;
			if (request.verb == SERVICE_VERBS)
				return err_set(err, -EINVAL, "the service does not know this request");
		}
		line += size + 1;
	}
	if (r)
		return r;
	*ret_request = request;
	return 0;
}
