/* argus status: how the flight recorder is doing. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/json.h"
#include "session/command.h"
#include "session/service_ask.h"

/* For so long the cost of starting is most of all, and a share would mislead. */
#define STARTING_S 60
#define GROUP_EVENTS 262144 /* whose hangs the index finds together, about */

static const struct option_spec options[] = {
	OPTION_JSON,
	{ NULL },
};

/* The value behind `key=` in the reply's lines; "" when it is not there. */
static const char *value_of(struct arena *arena, const char *reply, const char *key)
{
	size_t length = strlen(key);

	for (const char *line = reply; *line; ) {
		const char *end = strchr(line, '\n');

		if (!end)
			end = line + strlen(line);
		if (!strncmp(line, key, length) && line[length] == '=')
			return arena_strndup(arena, line + length + 1, (size_t)(end - line) - length - 1);
		line = *end ? end + 1 : end;
	}
	return "";
}

static uint64_t number_of(struct arena *arena, const char *reply, const char *key)
{
	return strtoull(value_of(arena, reply, key), NULL, 10);
}

static int print_json(struct command_context *context, const char *reply)
{
	static const char *const texts[] = { "state", "level", "folder", "last_hang", "last_failure", "index_paused", NULL };
	struct buf buf;
	struct json json;
	int r;

	buf_init(&buf);
	json_init(&json, &buf);
	json.pretty = true;
	json_object(&json, NULL);
	json_u64(&json, "version", 1);
	for (const char *line = reply; *line; ) {
		const char *equals = strchr(line, '='), *end = strchr(line, '\n');
		const char *key;
		bool text = false;

		if (!equals || !end || equals > end)
			break;
		key = arena_strndup(context->arena, line, (size_t)(equals - line));
		for (size_t i = 0; texts[i]; i++)
			text |= !strcmp(texts[i], key);
		if (text)
			json_text_length(&json, key, equals + 1, (size_t)(end - equals) - 1);
		else
			json_u64(&json, key, strtoull(equals + 1, NULL, 10));
		line = end + 1;
	}
	json_end(&json);
	buf_char(&buf, '\n');
	r = sink_buf(context->out, &buf);
	buf_done(&buf);
	return r;
}

static void print_index(struct command_context *context, const char *reply)
{
	struct arena *arena = context->arena;
	time_t until = (time_t)number_of(arena, reply, "index_until");
	uint64_t hangs = number_of(arena, reply, "index_hangs"), left = number_of(arena, reply, "index_left");
	const char *paused = value_of(arena, reply, "index_paused");
	char when[64];
	struct tm parts;

	if (!number_of(arena, reply, "index"))
		return;
	if (until) {
		localtime_r(&until, &parts);
		strftime(when, sizeof(when), "%H:%M:%S", &parts);
		sink_printf(context->out,
			    "index    %" PRIu64 " hang%s in the ring up to %s (`argus hangs %s` lists them), %.2f s of a processor, %.0f MB at most\n",
			    hangs, hangs == 1 ? "" : "s", when, value_of(arena, reply, "folder"), (double)number_of(arena, reply, "index_cpu_us") / 1e6,
			    (double)number_of(arena, reply, "index_memory") / 1e6);
	}
	if (*paused)
		sink_printf(context->out, "the index waits, some %.1f million events behind: %s\n", (double)left * GROUP_EVENTS / 1e6, paused);
}

static void print_text(struct command_context *context, const char *reply)
{
	struct arena *arena = context->arena;
	struct sink *out = context->out;
	time_t since = (time_t)number_of(arena, reply, "since");
	uint64_t lost = number_of(arena, reply, "lost"), interruptions = number_of(arena, reply, "interruptions");
	uint64_t hangs = number_of(arena, reply, "hangs_seen"), vanished = number_of(arena, reply, "files_vanished");
	double seconds = difftime(time(NULL), since), cpu = (double)number_of(arena, reply, "cpu_us") / 1e6;
	char when[64];
	struct tm parts;

	localtime_r(&since, &parts);
	strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S", &parts);
	sink_printf(out, "%s (process %s, level %s) since %s\n", value_of(arena, reply, "state"), value_of(arena, reply, "pid"),
		    value_of(arena, reply, "level"), when);
	sink_printf(out, "ring     %s: %" PRIu64 " file%s, %.1f of %.1f MB\n", value_of(arena, reply, "folder"),
		    number_of(arena, reply, "ring_files"), number_of(arena, reply, "ring_files") == 1 ? "" : "s",
		    (double)number_of(arena, reply, "ring_bytes") / 1e6,
		    (double)number_of(arena, reply, "ring_limit") / 1e6);
	if (number_of(arena, reply, "ring_limit") < number_of(arena, reply, "ring_asked"))
		sink_printf(out, "the disk allows only %.1f MB of the %.1f MB asked for: the ring reaches less far back\n",
			    (double)number_of(arena, reply, "ring_limit") / 1e6, (double)number_of(arena, reply, "ring_asked") / 1e6);
	sink_printf(out, "events   %" PRIu64 ", %" PRIu64 " lost, %.1f MB written\n", number_of(arena, reply, "events"), lost,
		    (double)number_of(arena, reply, "bytes_written") / 1e6);
	if (seconds < STARTING_S)
		sink_printf(out, "cost     %.2f s of a processor, most of it to start; its share shows after %d s\n", cpu, STARTING_S);
	else
		sink_printf(out, "cost     %.2f s of a processor, %.2f %%\n", cpu, cpu / seconds * 100);
	if (interruptions)
		sink_printf(out, "recording was interrupted %" PRIu64 " time%s, last: %s\n", interruptions,
			    interruptions == 1 ? "" : "s", value_of(arena, reply, "last_failure"));
	if (vanished)
		sink_printf(out, "the file being written was removed or changed %" PRIu64 " time%s; another one was begun\n",
			    vanished, vanished == 1 ? "" : "s");
	if (hangs)
		sink_printf(out, "hangs    %" PRIu64 " seen, %" PRIu64 " saved; last: %s\n", hangs,
			    number_of(arena, reply, "hangs_saved"), value_of(arena, reply, "last_hang"));
	if (number_of(arena, reply, "hangs_unsaved"))
		sink_printf(out, "%" PRIu64 " of them %s not saved: remove some of the traces in %s/saved\n", number_of(arena, reply, "hangs_unsaved"),
			    number_of(arena, reply, "hangs_unsaved") == 1 ? "was" : "were", value_of(arena, reply, "folder"));
	print_index(context, reply);
	if (!number_of(arena, reply, "real_time") && !strcmp(value_of(arena, reply, "state"), "recording"))
		sink_text(out, "without real-time priority: a busy machine may lose events\n");
}

static int run(struct command_context *context, struct err *err)
{
	struct buf reply;
	int r;

	buf_init(&reply);
	r = service_ask_recorder("status", &(struct service_request){ .verb = SERVICE_STATUS }, &reply, err);
	if (!r && options_has(context->options, "json"))
		r = print_json(context, buf_str(&reply));
	else if (!r)
		print_text(context, buf_str(&reply));
	buf_done(&reply);
	return r;
}

const struct command command_status = {
	.name = "status",
	.arguments = "",
	.summary = "tell how the recorder in the background is doing",
	.options = options,
	.run = run,
};
