/* The interactive session, see debug.h: its verbs, and those about hangs, answers
 * and knowledge. */
#include "session/debug.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/options.h"
#include "diagnose/answer.h"
#include "session/why.h"

static debug_run run_help, run_hangs, run_why, run_show, run_next, run_correct, run_idle, run_name, run_undo, run_knowledge,
	run_save, run_load, run_history, run_quit;

#define FILES "*"

static const struct verb {
	const char *name;
	const char *arguments;
	debug_run *run;
	const char *help;
	const char *words;   /* that may follow, for completion; NULL none, FILES: a file's name */
} verbs[] = {
	{ "hangs", "", run_hangs, "list the hangs, the worst first" },
	{ "why", "[N | pid PID | at TIME | mark TEXT | tid TID FROM TO]", run_why, "explain a hang; the worst without a word",
	  "pid at mark tid" },
	{ "show", "[chain | path | others | plan | circle | trigger]", run_show, "the answer, or a part of it",
	  "chain path others plan circle trigger" },
	{ "next", "", run_next, "the culprit of the culprit: ask why it was as it was" },
	{ "here", "[TID TIME]", debug_here, "where one stands on the slice, or go to a thread at a time" },
	{ "back", "[N]", debug_back, "a step back: to what made the thread run; N chooses where it forks" },
	{ "forward", "[N]", debug_forward, "a step forward: to what the thread set off" },
	{ "slice", "[back | forward]", debug_slice, "the places gone through so far; or a step", "back forward" },
	{ "similar", "[WORD...]", debug_similar, "waits like the one one stands at that ended well",
	  "place object result types all by=" },
	{ "baseline", "[FILE | none]", debug_baseline, "another trace, in which all went well", FILES },
	{ "diff", "[N]", debug_diff, "how the Nth similar wait was ended, and who did not do so this time" },
	{ "search", "TEXT", debug_search, "threads and objects with the text in their names" },
	{ "events", "[FROM TO [TID]]", debug_events, "events of a stretch; of the hang's without words" },
	{ "event", "NUMBER", debug_event, "one event, with its stacks" },
	{ "stack", "", debug_stack, "the stack where one stands" },
	{ "timeline", "[COLUMNS]", debug_timeline, "what each thread of the answer did, over the window" },
	{ "threads", "[TEXT]", debug_threads, "threads, with their processor time" },
	{ "cut", "EVENT EVENT", run_correct, "the first event did not cause the second" },
	{ "keep", "EVENT EVENT", run_correct, "it did, whatever a rule says" },
	{ "join", "EVENT EVENT", run_correct, "the first event made the second one's thread go on" },
	{ "boundary", "EVENT", run_correct, "at the event something new begins" },
	{ "idle", "EVENT", run_idle, "the wait that the event begins, and its like, are harmless" },
	{ "flag", "ADDRESS NAME", run_name, "name a shared flag" },
	{ "object", "OBJECT NAME", run_name, "name an object (its number)" },
	{ "undo", "", run_undo, "take the last correction back" },
	{ "knowledge", "", run_knowledge, "the corrections" },
	{ "save", "[FILE]", run_save, "keep the corrections beside the trace, or in a file", FILES },
	{ "load", "FILE", run_load, "add the corrections in a file", FILES },
	{ "history", "", run_history, "the lines given so far" },
	{ "help", "[VERB]", run_help, "this list" },
	{ "quit", "", run_quit, "leave" },
};

#define VERBS (sizeof(verbs) / sizeof(*verbs))

const char *debug_verb_name(size_t index)
{
	return index < VERBS ? verbs[index].name : NULL;
}

const char *debug_verb_words(const char *verb, bool *ret_files)
{
	*ret_files = false;
	for (size_t i = 0; i < VERBS; i++)
		if (!strcmp(verbs[i].name, verb) && verbs[i].words) {
			*ret_files = !strcmp(verbs[i].words, FILES);
			return *ret_files ? "" : verbs[i].words;
		}
	return "";
}

int debug_open(struct debug *debug, const char *path, struct err *err)
{
	int r;

	*debug = (struct debug){ 0 };
	arena_init(&debug->arena);
	r = session_open(path, &debug->session, err);
	if (!r)
		r = knowledge_open(&debug->knowledge, path, err);
	if (!r && debug->knowledge.statements.length)
		r = knowledge_apply(&debug->knowledge, debug->session.scene, err);
	if (r)
		debug_close(debug);
	return r;
}

void debug_close(struct debug *debug)
{
	knowledge_done(&debug->knowledge);
	if (debug->base.trace)
		session_close(&debug->base);
	if (debug->session.trace)
		session_close(&debug->session);
	vec_done(&debug->slice);
	vec_done(&debug->choices);
	vec_done(&debug->lines);
	arena_done(&debug->arena);
}

double debug_seconds(const struct debug *debug, uint64_t time_ns)
{
	return ((double)time_ns - (double)debug->session.scene->start_ns) / 1e9;
}

const char *debug_who(struct debug *debug, uint32_t thread, uint64_t time_ns)
{
	const struct thread *t = &debug->session.tables->threads[thread];
	struct actor actor = { .pid = t->pid, .tid = t->tid, .comm = tables_comm(debug->session.tables, thread, time_ns) };

	return answer_who(&debug->arena, &actor);
}

int debug_need_answer(const struct debug *debug, struct err *err)
{
	return debug->diagnosis ? 0 : err_set(err, -ENOENT, "nothing was asked yet: `why` explains the worst hang");
}

static int run_help(struct debug *debug, const struct debug_words *words, struct buf *out, struct err *err)
{
	(void)debug;
	for (size_t i = 0; i < VERBS; i++)
		if (words->count < 2 || !strcmp(words->items[1], verbs[i].name))
			buf_printf(out, "  %-10s %-42s %s\n", verbs[i].name, verbs[i].arguments, verbs[i].help);
	if (words->count < 2)
		buf_text(out, "Times are seconds since the trace's start (12.5), @nanoseconds, or the time of day (14:03:07).\n"
			      "A verb may be shortened as long as it is clear.\n");
	return out->length ? 0 : err_set(err, -EINVAL, "no verb '%s'; `help` lists them", words->items[1]);
}

/* ---- hangs and answers ---- */

static void find_hangs(struct debug *debug)
{
	struct hangs_options options = { .root_pid = debug->session.root_pid };

	if (debug->hangs_known)
		return;
	debug->hang_count = hangs_find(&debug->arena, debug->session.diagnoser, &options, &debug->hangs);
	debug->hangs_known = true;
}

static int run_hangs(struct debug *debug, const struct debug_words *words, struct buf *out, struct err *err)
{
	(void)words;
	(void)err;
	find_hangs(debug);
	if (!debug->hang_count)
		buf_text(out, "no hang found\n");
	for (size_t i = 0; i < debug->hang_count; i++) {
		const struct hang *h = &debug->hangs[i];

		buf_printf(out, "%2zu  at %9.3f s  for %8.3f s  %s: %s\n", i + 1, debug_seconds(debug, h->start_ns),
			   (double)(h->end_ns - h->start_ns) / 1e9, debug_who(debug, h->thread, h->end_ns), h->reason);
	}
	return 0;
}

/* The answer to the request, and the slice begins at the victim. */
static void answer(struct debug *debug, struct buf *out)
{
	debug->request.base = debug_base(debug);
	debug->diagnosis = diagnose(&debug->arena, debug->session.diagnoser, &debug->request);
	vec_clear(&debug->slice);
	vec_push(&debug->slice, ((struct debug_place){ debug->request.thread, debug->request.to_ns }));
	if (out)
		why_text(&debug->arena, &debug->session, debug->diagnosis, out);
}

static int read_number(const char *text, uint64_t *ret_number, struct err *err)
{
	return parse_number(text, ret_number) ? err_set(err, -EINVAL, "'%s' is not a number", text) : 0;
}

static const char *join_words(struct debug *debug, const struct debug_words *words, unsigned from)
{
	const char *text = words->items[from];

	for (unsigned i = from + 1; i < words->count; i++)
		text = arena_printf(&debug->arena, "%s %s", text, words->items[i]);
	return text;
}

static int run_why(struct debug *debug, const struct debug_words *words, struct buf *out, struct err *err)
{
	struct why_question question = { 0 };
	const struct diagnosis *found = NULL;
	uint64_t number;
	int r = 0;

	if (words->count == 2) {
		r = read_number(words->items[1], &question.hang, err);
	} else if (words->count == 3 && !strcmp(words->items[1], "pid")) {
		r = read_number(words->items[2], &number, err);
		question.pid = r ? 0 : (uint32_t)number;
	} else if (words->count == 3 && !strcmp(words->items[1], "at")) {
		question.at = words->items[2];
	} else if (words->count > 2 && !strcmp(words->items[1], "mark")) {
		question.mark = join_words(debug, words, 2);
	} else if (words->count == 5 && !strcmp(words->items[1], "tid")) {
		r = read_number(words->items[2], &number, err);
		question.tid = r ? 0 : (uint32_t)number;
		question.from = words->items[3];
		question.to = words->items[4];
	} else if (words->count > 1) {
		r = err_set(err, -EINVAL, "why [N | pid PID | at TIME | mark TEXT | tid TID FROM TO]");
	}
	if (!r)
		r = why_ask(&debug->arena, &debug->session, debug->base.trace ? &debug->base : NULL, &question, &found, err);
	if (r)
		return r;
	if (found->verdict == VERDICT_NONE) {
		buf_printf(out, "%s\n", found->text);
		return 0;
	}
	debug->diagnosis = found;
	debug->request = (struct diagnose_request){ found->victim.thread, found->start_ns, found->end_ns, NULL };
	vec_clear(&debug->slice);
	vec_push(&debug->slice, ((struct debug_place){ found->victim.thread, found->end_ns }));
	why_text(&debug->arena, &debug->session, found, out);
	return 0;
}

static void show_path(struct debug *debug, struct buf *out)
{
	const struct diagnosis *g = debug->diagnosis;

	for (size_t i = 0; i < g->path_count; i++) {
		const struct path_step *s = &g->path[i];

		buf_printf(out, "%2zu  %s", i + 1, answer_who(&debug->arena, &s->actor));
		buf_text(out, ": ");
		buf_escaped(out, s->words, strlen(s->words), NULL);
		buf_printf(out, ", %s", describe_time(&debug->arena, s->ns));
		if (s->link[0])
			buf_printf(out, "; %s%s%s", s->link, s->event ? ", event " : "",
				   s->event ? arena_printf(&debug->arena, "%" PRIu64, s->event) : "");
		buf_printf(out, " (%u %%)\n", s->confidence);
	}
}

static void show_deeds(struct debug *debug, const struct deed *deeds, size_t count, struct buf *out)
{
	if (!count)
		buf_text(out, "none\n");
	for (size_t i = 0; i < count; i++)
		buf_printf(out, "%2zu  %s: %s, event %" PRIu64 " (%u %%)\n", i + 1, answer_who(&debug->arena, &deeds[i].actor),
			   deeds[i].words, deeds[i].event, deeds[i].confidence);
}

static int run_show(struct debug *debug, const struct debug_words *words, struct buf *out, struct err *err)
{
	const struct diagnosis *g = debug->diagnosis;
	const char *part = words->count > 1 ? words->items[1] : "";
	int r = debug_need_answer(debug, err);

	if (r)
		return r;
	if (!part[0] || !strcmp(part, "chain")) {
		why_text(&debug->arena, &debug->session, g, out);
	} else if (!strcmp(part, "path")) {
		show_path(debug, out);
	} else if (!strcmp(part, "others")) {
		show_deeds(debug, g->alternatives, g->alternative_count, out);
	} else if (!strcmp(part, "trigger")) {
		show_deeds(debug, g->triggers, g->trigger_count, out);
	} else if (!strcmp(part, "circle")) {
		for (size_t i = 0; i < g->circle_count; i++)
			buf_printf(out, "%2zu  %s\n", i + 1, answer_who(&debug->arena, &g->circle[i]));
		if (!g->circle_count)
			buf_text(out, "no circle\n");
	} else if (!strcmp(part, "plan")) {
		why_plan_text(g, out);
		if (!g->plan_count)
			buf_text(out, "nothing more needs to be recorded\n");
	} else {
		return err_set(err, -EINVAL, "no part '%s': chain, path, others, plan, circle, trigger", part);
	}
	return 0;
}

static int run_next(struct debug *debug, const struct debug_words *words, struct buf *out, struct err *err)
{
	int r = debug_need_answer(debug, err);
	uint32_t culprit;

	(void)words;
	if (r)
		return r;
	culprit = debug->diagnosis->culprit.thread;
	if (!culprit || culprit == debug->request.thread)
		return err_set(err, -ENOENT, "the culprit is %s: there is nothing behind it",
			       culprit ? "the victim itself" : "no thread");
	debug->request.thread = culprit;
	answer(debug, out);
	return 0;
}

/* ---- knowledge ---- */

void debug_answer_again(struct debug *debug, struct buf *out)
{
	debug->hangs_known = false;
	if (!debug->diagnosis)
		return;
	answer(debug, NULL);
	buf_printf(out, "The answer is now: %s\n", debug->diagnosis->text);
}

static int learn(struct debug *debug, const char *statement, struct buf *out, struct err *err)
{
	struct err undone;
	int r = knowledge_add(&debug->knowledge, statement, err);

	if (r)
		return r;
	r = knowledge_apply(&debug->knowledge, debug->session.scene, err);
	if (r) {
		/* What cannot be applied is not kept. */
		knowledge_undo(&debug->knowledge, &undone);
		knowledge_apply(&debug->knowledge, debug->session.scene, &undone);
		return r;
	}
	debug_answer_again(debug, out);
	return 0;
}

static int run_correct(struct debug *debug, const struct debug_words *words, struct buf *out, struct err *err)
{
	bool boundary = words->items[0][0] == 'b', join = words->items[0][0] == 'j';
	uint64_t from, to = 0;
	int r;

	if (words->count != (boundary ? 2u : 3u))
		return err_set(err, -EINVAL, "the numbers of %s are wanted", boundary ? "one event" : "two events");
	r = read_number(words->items[1], &from, err);
	if (!r && !boundary)
		r = read_number(words->items[2], &to, err);
	if (r)
		return r;
	if (boundary)
		return learn(debug, arena_printf(&debug->arena, "boundary at %" PRIu64 ";", from), out, err);
	return learn(debug, arena_printf(&debug->arena, "%s%s %" PRIu64 " -> %" PRIu64 ";", words->items[0],
					 join ? "" : " edge", from, to), out, err);
}

static int run_idle(struct debug *debug, const struct debug_words *words, struct buf *out, struct err *err)
{
	uint64_t event;

	if (words->count != 2)
		return err_set(err, -EINVAL, "the number of the event that begins the wait is wanted");
	if (read_number(words->items[1], &event, err))
		return -EINVAL;
	return learn(debug, arena_printf(&debug->arena, "idle wait %" PRIu64 ";", event), out, err);
}

static int run_name(struct debug *debug, const struct debug_words *words, struct buf *out, struct err *err)
{
	uint64_t object;

	if (words->count != 3)
		return err_set(err, -EINVAL, "%s %s NAME", words->items[0], words->items[0][0] == 'f' ? "ADDRESS" : "OBJECT");
	if (read_number(words->items[1], &object, err))
		return -EINVAL;
	return learn(debug, arena_printf(&debug->arena, "flag %s at 0x%" PRIx64 ";", words->items[2], object), out, err);
}

static int run_undo(struct debug *debug, const struct debug_words *words, struct buf *out, struct err *err)
{
	int r = knowledge_undo(&debug->knowledge, err);

	(void)words;
	if (!r)
		r = knowledge_apply(&debug->knowledge, debug->session.scene, err);
	if (!r)
		debug_answer_again(debug, out);
	return r;
}

static int run_knowledge(struct debug *debug, const struct debug_words *words, struct buf *out, struct err *err)
{
	const struct knowledge *k = &debug->knowledge;

	(void)words;
	(void)err;
	for (size_t i = 0; i < k->statements.length; i++)
		buf_printf(out, "%2zu  %s%s\n", i + 1, k->statements.items[i], i < k->saved ? "" : "   (not saved)");
	if (!k->statements.length)
		buf_text(out, "nothing yet: cut, keep, join, boundary, flag, object and idle add to it\n");
	return 0;
}

static int run_save(struct debug *debug, const struct debug_words *words, struct buf *out, struct err *err)
{
	const char *path = words->count > 1 ? words->items[1] : NULL;
	int r = knowledge_save(&debug->knowledge, path, err);

	if (!r)
		buf_printf(out, "%zu statements in %s\n", debug->knowledge.statements.length,
			   path ? path : debug->knowledge.path);
	return r;
}

static int run_load(struct debug *debug, const struct debug_words *words, struct buf *out, struct err *err)
{
	size_t before = debug->knowledge.statements.length;
	struct err undone;
	int r;

	if (words->count != 2)
		return err_set(err, -EINVAL, "load FILE");
	r = knowledge_read(&debug->knowledge, words->items[1], err);
	if (!r)
		r = knowledge_apply(&debug->knowledge, debug->session.scene, err);
	if (r) {
		while (debug->knowledge.statements.length > before)
			knowledge_undo(&debug->knowledge, &undone);
		knowledge_apply(&debug->knowledge, debug->session.scene, &undone);
		return r;
	}
	debug_answer_again(debug, out);
	return 0;
}

static int run_history(struct debug *debug, const struct debug_words *words, struct buf *out, struct err *err)
{
	(void)words;
	(void)err;
	for (size_t i = 0; i < debug->lines.length; i++) {
		buf_printf(out, "%3zu  ", i + 1);
		buf_escaped(out, debug->lines.items[i], strlen(debug->lines.items[i]), NULL);
		buf_char(out, '\n');
	}
	return 0;
}

static int run_quit(struct debug *debug, const struct debug_words *words, struct buf *out, struct err *err)
{
	(void)words;
	(void)err;
	debug->quit = true;
	if (debug->knowledge.saved != debug->knowledge.statements.length)
		buf_text(out, "corrections were not saved (`save` keeps them)\n");
	return 0;
}

/* ---- lines ---- */

static const struct verb *find_verb(const char *word, struct err *err)
{
	const struct verb *found = NULL;
	size_t length = strlen(word);

	for (size_t i = 0; i < VERBS; i++) {
		if (!strcmp(verbs[i].name, word))
			return &verbs[i];
		if (strncmp(verbs[i].name, word, length))
			continue;
		if (found) {
			err_set(err, -EINVAL, "'%s' may be %s or %s", word, found->name, verbs[i].name);
			return NULL;
		}
		found = &verbs[i];
	}
	if (!found)
		err_set(err, -EINVAL, "no verb '%s'; `help` lists them", word);
	return found;
}

/* Cuts the text's first question off at a `;` before a space or the end; what
 * comes behind it, NULL when nothing does. A remark goes to the end of the line. */
static char *cut_question(char *text)
{
	for (char *at = text; *at; at++) {
		if (*at == '#' && (at == text || isspace((unsigned char)at[-1])))
			break;
		if (*at == ';' && (!at[1] || isspace((unsigned char)at[1]))) {
			*at = 0;
			return at + 1;
		}
	}
	return NULL;
}

static int run_question(struct debug *debug, char *text, struct buf *out, struct err *err)
{
	char *rest;
	struct debug_words words = { 0 };
	const struct verb *verb;

	for (char *word = strtok_r(text, " \t\r\n", &rest); word; word = strtok_r(NULL, " \t\r\n", &rest)) {
		if (word[0] == '#')
			break;
		if (words.count == sizeof(words.items) / sizeof(*words.items))
			return err_set(err, -EINVAL, "too many words");
		words.items[words.count++] = word;
	}
	if (!words.count)
		return 0;
	vec_push(&debug->lines, join_words(debug, &words, 0));
	verb = find_verb(words.items[0], err);
	if (!verb)
		return -EINVAL;
	words.items[0] = (char *)verb->name;
	return verb->run(debug, &words, out, err);
}

int debug_line(struct debug *debug, const char *line, struct buf *out, struct err *err)
{
	char *text = arena_strdup(&debug->arena, line), *next;
	int r = 0;

	for (; !r && text && !debug->quit; text = next) {
		next = cut_question(text);
		r = run_question(debug, text, out, err);
	}
	return r;
}
