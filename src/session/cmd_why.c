/* argus why: name the culprit of a hang, with the evidence. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/json.h"
#include "diagnose/answer.h"
#include "session/command.h"
#include "session/cut_sets.h"
#include "session/session.h"
#include "session/why.h"

static const struct option_spec why_options[] = {
	OPTIONS_OF_QUESTION,
	OPTION_WITHOUT,
	OPTION_SET,
	OPTION_INDEX,
	OPTION_JSON,
	{ 0 }
};

static const struct option_rule why_rules[] = {
	RULES_OF_QUESTION, { 0 }
};

static int run_why(struct command_context *context, struct err *err)
{
	struct session session, base = { 0 };
	struct judgement judgement;
	struct why_question question;
	struct why_reply reply = { 0 };
	struct buf buf;
	int r;

	why_question_read(context->options, &question);
	judgement_init(&judgement);
	r = command_judgement(context, &judgement, err);
	if (!r)
		r = session_open_with(command_trace_or_ring(context),
				      &(struct session_options){ &judgement, options_text(context->options, "index", NULL), .once = true }, &session, err);
	if (r)
		return r;
	if (question.base_path)
		r = session_open(question.base_path, &base, err);
	if (!r && base.trace)
		r = session_look(&base, trace_summary(base.trace)->end_ns, UINT64_MAX, err);
	if (!r)
		r = why_ask(context->arena, &session, question.base_path ? &base : NULL, &question, &reply, err);
	if (!r) {
		command_note_damage(context, session.trace);
		command_note_session(context, &session);
		buf_init(&buf);
		if (options_has(context->options, "json"))
			why_json(&session, reply.diagnosis, &buf);
		else
			why_text(context->arena, &session, reply.diagnosis, context->out->width, &buf);
		r = sink_buf(context->out, &buf);
		buf_clear(&buf);
		why_others_text(context->arena, &session, &reply, &buf);
		if (!r && buf.length)
			sink_buf(context->notes, &buf);
		if (!r && session.scene)
			cut_sets_note(context->arena, session.scene, reply.diagnosis, context->notes);
		buf_done(&buf);
	}
	if (!r && reply.diagnosis->verdict == VERDICT_NONE)
		r = EXIT_NO_HANG;
	if (question.base_path)
		session_close(&base);
	session_close(&session);
	return r;
}

const struct command command_why = {
	.name = "why",
	.arguments = "[FILE]",
	.summary = "tell why it was stuck: the culprit and the way to it",
	.help = "Without options the worst hang of the trace is explained. The exit status is 3\n"
		"when there is none. Where nothing hung for certain, what took longest is told,\n"
		"and that it may be meant.\n",
	.options = why_options,
	.rules = why_rules,
	.pages = true,
	.narrow = NARROW_TRACE,
	.run = run_why,
};
