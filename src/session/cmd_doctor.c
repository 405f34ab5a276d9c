/* argus doctor: what this host allows, and how to mend what it does not. */
#include <errno.h>
#include <string.h>

#include "base/json.h"
#include "record/doctor.h"
#include "session/bundle.h"

#define VERSION 1

static const struct option_spec options[] = {
	{ "all", 'a', OPTION_FLAG, NULL, "list what is well, too" },
	{ "bundle", 0, OPTION_TEXT, "FILE", "what a bug report needs, as a tar.gz without names of hosts, users and files; of a trace named "
	  "behind it the counts" },
	OPTION_JSON,
	{ NULL },
};

static const struct option_rule rules[] = { { .one_of = "bundle json" }, { .one_of = "bundle all" }, { 0 } };

static const char *const states[] = { "ok", "limited", "missing" };
static const char *const colours[] = { "\033[32m", "\033[33m", "\033[1;31m" };

static int show_json(struct sink *out, const struct doctor_check *checks, size_t count, bool can_record)
{
	struct json json;
	struct buf buf;
	int r;

	buf_init(&buf);
	json_init(&json, &buf);
	json.pretty = true;
	json_object(&json, NULL);
	json_u64(&json, "version", VERSION);
	json_bool(&json, "can_record", can_record);
	json_array(&json, "checks");
	for (size_t i = 0; i < count; i++) {
		json_object(&json, NULL);
		json_text(&json, "name", checks[i].name);
		json_text(&json, "what", checks[i].what);
		json_text(&json, "state", states[checks[i].state]);
		json_text(&json, "found", checks[i].found);
		json_text(&json, "means", checks[i].means);
		json_text(&json, "mend", checks[i].mend);
		json_end(&json);
	}
	json_end(&json);
	json_end(&json);
	buf_char(&buf, '\n');
	r = sink_buf(out, &buf);
	buf_done(&buf);
	return r;
}

static void show_check(struct sink *out, const struct doctor_check *check)
{
	struct buf found;

	buf_init(&found);
	buf_escaped(&found, check->found, strlen(check->found), NULL);
	sink_printf(out, "%s%-8s%s %s: %s\n", out->colour ? colours[check->state] : "", states[check->state], out->colour ? "\033[0m" : "",
		    check->what, buf_str(&found));
	if (*check->means)
		sink_printf(out, "         without it: %s\n", check->means);
	if (*check->mend)
		sink_printf(out, "         mend it: %s\n", check->mend);
	buf_done(&found);
}

static int run(struct command_context *context, struct err *err)
{
	const struct doctor_check *checks;
	size_t count, well = 0;
	bool can_record = true, all = options_has(context->options, "all");
	const char *bundle = options_text(context->options, "bundle", NULL), *trace = context->options->arguments[0];
	int r = 0;

	if (bundle)
		return bundle_write(context, bundle, trace, err);
	if (trace)
		return err_set(err, -EINVAL, "a trace is named for --bundle alone");
	doctor_run(context->arena, &checks, &count);
	for (size_t i = 0; i < count; i++) {
		can_record = can_record && checks[i].state != DOCTOR_MISSING;
		well += checks[i].state == DOCTOR_OK;
	}
	if (options_has(context->options, "json")) {
		r = show_json(context->out, checks, count, can_record);
		return r ? r : !can_record;
	}
	for (size_t i = 0; i < count; i++)
		if (all || checks[i].state != DOCTOR_OK)
			show_check(context->out, &checks[i]);
	r = sink_printf(context->out, "%zu of %zu checks are well; argus can%s record here\n", well, count,
			can_record ? "" : "not");
	return r ? r : !can_record;
}

const struct command command_doctor = {
	.name = "doctor",
	.arguments = "[TRACE]",
	.summary = "check what this machine allows, and tell how to fix what it does not",
	.help = "The status is 0 when recording is possible.\n",
	.options = options,
	.rules = rules,
	.pages = true,
	.run = run,
};
