/* argus report: the answer as one file that a browser opens by itself. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "session/artifact.h"
#include "session/command.h"
#include "session/view.h"
#include "session/why.h"
#include "ui/page.h"

#define REPORT_FILE "hang.html"

static const struct option_spec report_options[] = {
	OPTIONS_OF_QUESTION,
	{ "output", 'o', OPTION_TEXT, "FILE", "write it there (" REPORT_FILE ")" },
	{ "redact", 0, OPTION_FLAG, NULL, "without paths, arguments, addresses, host and group names, texts of marks" },
	OPTION_WITHOUT,
	OPTION_SET,
	{ "json", 0, OPTION_FLAG, NULL, "what the page shows, as one JSON document, in place of the page" },
	{ 0 }
};

static const struct option_rule report_rules[] = {
	RULES_OF_QUESTION, { .one_of = "json output" }, { 0 }
};

/* What the file is, and what of the recorded machine is in it. */
static void tell(const struct command_context *context, const char *path, size_t size, bool redacted)
{
	sink_printf(context->notes, "%s, %zu kB: %s\n", path, (size + 999) / 1000,
		    redacted ? "names of programs, threads and functions are in it; paths, arguments, addresses, host and group names are not"
			     : "command lines, paths, addresses and the host's name are in it; --redact leaves them out");
}

static int write_file(const char *path, const struct buf *page, struct err *err)
{
	struct artifact file;
	int status = artifact_open(&file, path, 0666, err);

	if (status)
		return status;
	if (fwrite(page->data, 1, page->length, file.file) != page->length)
		status = err_sys(err, -errno, "writing '%s'", path);
	return artifact_close(&file, status, err);
}

static int write_document(struct command_context *context, const struct buf *document, struct err *err)
{
	const char *path = options_text(context->options, "output", REPORT_FILE);
	struct buf page;
	int r;

	if (options_has(context->options, "json"))
		return sink_buf(context->out, document);
	buf_init(&page);
	page_write(document, false, &page);
	r = write_file(path, &page, err);
	if (!r)
		tell(context, path, page.length, options_has(context->options, "redact"));
	buf_done(&page);
	return r;
}

static int report(struct command_context *context, struct session *session, struct session *base, struct err *err)
{
	struct why_question question;
	struct why_reply reply = { 0 };
	struct buf document, redacted;
	int r;

	why_question_read(context->options, &question);
	r = why_ask(context->arena, session, base, &question, &reply, err);
	if (r)
		return r;
	command_note_damage(context, session->trace);
	command_note_session(context, session);
	buf_init(&document);
	view_json(context->arena, session, base, &reply, &(struct view_options){ .build = context->build, .redact = options_has(context->options, "redact") },
		  &document);
	buf_init(&redacted);
	if (options_has(context->options, "redact"))
		view_redact(session, &document, &redacted);
	r = write_document(context, redacted.length ? &redacted : &document, err);
	buf_done(&document);
	buf_done(&redacted);
	return r ? r : reply.diagnosis->verdict == VERDICT_NONE ? EXIT_NO_HANG : 0;
}

static int run_report(struct command_context *context, struct err *err)
{
	const char *base_path = options_text(context->options, "base", NULL);
	struct session session, base = { 0 };
	struct judgement judgement;
	int r = options_has(context->options, "json") ? 0 : page_check(err);

	if (r)
		return r;
	judgement_init(&judgement);
	r = command_judgement(context, &judgement, err);
	if (!r)
		r = session_open_with(command_trace_or_ring(context), &(struct session_options){ .judgement = &judgement }, &session, err);
	if (r)
		return r;
	if (base_path)
		r = session_open(base_path, &base, err);
	if (!r && base.trace)
		r = session_look(&base, trace_summary(base.trace)->end_ns, UINT64_MAX, err);
	if (!r)
		r = report(context, &session, base.trace ? &base : NULL, err);
	if (base.trace)
		session_close(&base);
	session_close(&session);
	return r;
}

const struct command command_report = {
	.name = "report",
	.arguments = "[FILE]",
	.summary = "write the answer of `argus why` as a page: one file, for any browser",
	.help = "The page shows the sentences, the threads on the way over time, their stacks and\n"
		"what else it may have been. It needs no network and no other file. The exit\n"
		"status is 3 when there is no hang; the page then says so.\n",
	.options = report_options,
	.rules = report_rules,
	.narrow = NARROW_TRACE,
	.run = run_report,
};
