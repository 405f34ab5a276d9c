/* The interactive session, see debug.h: its verbs, and those about hangs and answers. */
#include "session/debug.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/options.h"
#include "base/suggest.h"
#include "diagnose/answer.h"
#include "session/hang_list.h"
#include "session/why.h"

#define OTHERS_SHOWN 5

static debug_run run_help, run_hangs, run_why, run_show, run_next, run_history, run_quit;

#define PARTS "chain path others plan circle trigger"

/* `words` may follow, for completion: as they are, or a thing of the trace (debug_complete.h). */
static const struct debug_verb verbs[] = {
	{ "hangs", "", run_hangs, "list the hangs, the worst first", NULL, "hangs" },
	{ "why", "[N | pid PID | at TIME | mark TEXT | tid TID FROM TO]", run_why, "explain a hang; the worst without a word",
	  "pid at mark tid <hang>", "why 2; why pid 1234; why at 12.5; why mark frozen; why tid 1234 12.5 14" },
	{ "show", "[chain | path | others | plan | circle | trigger]", run_show, "the answer, or a part of it", PARTS,
	  "show path; show others" },
	{ "path", "[run | pid PID | tid TID [FROM TO]]", debug_path,
	  "where the time went, folded: of the answer's window, or of a run, process or thread", "run pid tid",
	  "path; path run; path pid 1234; path tid 1234 12.5 14" },
	{ "next", "", run_next, "explain the culprit in turn: why it was late itself", NULL, "why; next" },
	{ "here", "[TID TIME]", debug_here, "the current place on the slice, or go to a thread at a time", "<tid>", "here 1234 12.5" },
	{ "back", "[N]", debug_back, "a step back: to what made the thread run; N chooses where it forks", NULL, "back; back 2" },
	{ "forward", "[N]", debug_forward, "a step forward: to what the thread set off", NULL, "forward; forward 2" },
	{ "slice", "[back | forward]", debug_slice, "the places visited so far, or one of them", "back forward", "slice back; slice" },
	{ "similar", "[WORD...]", debug_similar, "waits like the current one that ended well",
	  "place object result types all by=", "similar; similar place object" },
	{ "baseline", "[FILE | none]", debug_baseline, "another trace, in which all went well", "<file>", "baseline good.trace; why" },
	{ "diff", "[N]", debug_diff, "who ended the Nth similar wait, and did not end this one", NULL, "similar; diff 1" },
	{ "search", "TEXT", debug_search, "threads, objects and marks with the text in their names", "<name>", "search nginx" },
	{ "threads", "[TEXT]", debug_threads, "threads, with what they ran, queued and waited", "<name>", "threads nginx" },
	{ "waits", "[TID [FROM TO]]", debug_waits, "a thread's waits: how long, on what, who ended them", "<tid>",
	  "waits; waits 1234; waits 1234 12.5 14" },
	{ "events", "[FROM TO [TID]]", debug_events, "events of a stretch; of the hang's without words", NULL,
	  "events; events 12.5 12.6; events 12.5 14 1234" },
	{ "event", "NUMBER", debug_event, "one event, with its stacks", "<event>", "event 4711" },
	{ "stack", "", debug_stack, "the stack at the current place", NULL, "stack" },
	{ "timeline", "[COLUMNS]", debug_timeline, "what each thread of the answer did, over the window", NULL, "timeline; timeline 120" },
	{ "step", "[FUNCTION [FILE]]", debug_step, "step the current thread through its loop, or a function, for 5 s, into FILE (argus.step)",
	  NULL, "why; step; step libfoo:wait_done bad.step" },
	{ "diverge", "BASE [FILE]", debug_diverge, "where two stepped runs part, and which memory decides", "<file>", "diverge good.step bad.step" },
	{ "watch", "PLACE...", debug_watch, "who writes that memory of the current process, for 5 s", NULL,
	  "watch libfoo:state; watch pool:queue->done%access" },
	{ "cut", "EVENT EVENT", debug_correct, "the first event did not cause the second", "<event>", "cut 4711 4712" },
	{ "keep", "EVENT EVENT", debug_correct, "it did, whatever a rule says", "<event>", "keep 4711 4712" },
	{ "join", "EVENT EVENT", debug_correct, "the first event made the second one's thread go on", "<event>", "join 4711 4712" },
	{ "boundary", "EVENT", debug_correct, "something new begins at this event", "<event>", "boundary 4711" },
	{ "idle", "EVENT", debug_idle, "the wait that the event begins, and waits like it, are harmless", "<event>", "idle 4711" },
	{ "flag", "ADDRESS NAME", debug_name, "name a shared flag", NULL, "flag 0x7f00a0 ready" },
	{ "object", "OBJECT NAME", debug_name, "name an object, given as events show it", "<object>", "object futex:7f00a0 cache_lock" },
	{ "why?", "", debug_spoken, "the rules that spoke for the answer, and those that spoke for others", NULL, "why; why?" },
	{ "without", "RULE", debug_judge, "a rule of `argus rules` does not hold", NULL, "without request_way" },
	{ "limit", "NAME=VALUE", debug_judge, "another limit of a rule", NULL, "limit wait_ns=500ms" },
	{ "undo", "", debug_undo, "take the last correction back", NULL, "undo" },
	{ "knowledge", "", debug_knowledge, "the corrections", NULL, "knowledge" },
	{ "save", "[FILE]", debug_save, "keep the corrections beside the trace, or in a file", "<file>", "save; save mine.know" },
	{ "load", "FILE", debug_load, "add the corrections in a file", "<file>", "load mine.know" },
	{ "history", "", run_history, "the lines given so far", NULL, "history" },
	{ "help", "[VERB]", run_help, "this list, or more of one verb", "<verb>", "help why" },
	{ "quit", "", run_quit, "leave", NULL, "quit" },
};

#define VERBS (sizeof(verbs) / sizeof(*verbs))

const struct debug_verb *debug_verb(size_t index)
{
	return index < VERBS ? &verbs[index] : NULL;
}

int debug_apply(struct debug *debug, struct err *err)
{
	debug->looks = debug->session.looks;
	if (!debug->knowledge.statements.length)
		return 0;
	debug->session.judgement_changed = knowledge_judges(&debug->knowledge);
	return knowledge_apply(&debug->knowledge, debug->session.scene, err);
}

/* Of a long trace, where its worst hang is, or else its end. */
static int look_at_worst(struct debug *debug, struct err *err)
{
	uint64_t end_ns = trace_summary(debug->session.trace)->end_ns;
	struct hang worst;

	if (!debug->session.blocks)
		return 0;
	debug_find_hangs(debug);
	if (!debug->hang_count)
		return session_look(&debug->session, end_ns, end_ns, err);
	worst = debug->hangs[0];
	return session_turn_to(&debug->session, &debug->arena, &worst, 0, true, err);
}

int debug_open(struct debug *debug, const char *path, struct err *err)
{
	int r;

	*debug = (struct debug){ 0 };
	arena_init(&debug->arena);
	r = session_open(path, &debug->session, err);
	if (!r)
		r = knowledge_open(&debug->knowledge, path, err);
	if (r)
		debug_close(debug);
	return r;
}

int debug_begin(struct debug *debug, struct err *err)
{
	int r;

	if (debug->begun)
		return 0;
	r = look_at_worst(debug, err);
	if (r)
		return r;
	session_save_index(&debug->session);
	r = debug_apply(debug, err);
	debug->begun = !r;
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

int debug_look_at(struct debug *debug, uint64_t from_ns, uint64_t to_ns, struct err *err)
{
	int r = debug_begin(debug, err);

	if (!r)
		r = session_look(&debug->session, from_ns, to_ns, err);
	return !r && debug->looks != debug->session.looks ? debug_apply(debug, err) : r;
}

double debug_seconds(const struct debug *debug, uint64_t time_ns)
{
	return ((double)time_ns - (double)trace_summary(debug->session.trace)->start_ns) / 1e9;
}

const char *debug_who(struct debug *debug, uint32_t thread, uint64_t time_ns)
{
	const struct thread *t = &debug->session.tables->threads[thread];
	struct actor actor = { .pid = t->pid, .tid = t->tid, .comm = tables_comm(debug->session.tables, thread, time_ns),
			       .program = tables_program(debug->session.tables, thread, time_ns) };

	return answer_who(&debug->arena, &actor);
}

int debug_need_answer(const struct debug *debug, struct err *err)
{
	return debug->diagnosis ? 0 : err_set(err, -ENOENT, "nothing was asked yet: `why` explains the worst hang");
}

static int run_help(struct debug *debug, const struct debug_words *words, struct buf *out, struct err *err)
{
	size_t length = words->count > 1 ? strlen(words->items[1]) : 0;

	(void)debug;
	for (size_t i = 0; i < VERBS; i++) {
		if (words->count > 1 && strncmp(verbs[i].name, words->items[1], length))
			continue;
		if (words->count < 2)
			buf_printf(out, "  %-10s %-42s %s\n", verbs[i].name, verbs[i].arguments, verbs[i].help);
		else
			buf_printf(out, "%s%s%s\n    %s\n    as in: %s\n", verbs[i].name, *verbs[i].arguments ? " " : "",
				   verbs[i].arguments, verbs[i].help, verbs[i].example);
	}
	if (words->count < 2)
		buf_text(out, "Times are seconds since the trace's start (12.5), @nanoseconds, or the time of day (14:03:07).\n"
			      "A verb may be shortened as long as it is clear; `help VERB` gives examples.\n");
	return out->length ? 0 : err_set(err, -EINVAL, "no verb '%s'; `help` lists them", words->items[1]);
}

/* ---- hangs and answers ---- */

void debug_find_hangs(struct debug *debug)
{
	struct hangs_options options = { .root_pid = debug->session.root_pid };

	if (debug->hangs_known)
		return;
	if (session_hangs(&debug->session, &debug->arena, &options, &debug->hangs, &debug->hang_count, NULL) ||
	    session_hangs_elsewhere(&debug->session, &debug->arena, &options, &debug->hangs, &debug->hang_count, NULL))
		debug->hang_count = 0;
	debug->hangs_known = true;
}

static int run_hangs(struct debug *debug, const struct debug_words *words, struct buf *out, struct err *err)
{
	(void)words;
	(void)err;
	debug_find_hangs(debug);
	hang_list(&debug->arena, &debug->session, debug->hangs, debug->hang_count, out);
	return 0;
}

/* The answer to the request, and the slice begins at the victim. */
void debug_answer(struct debug *debug, struct buf *out)
{
	debug->request.base = debug_base(debug);
	debug->diagnosis = diagnose(&debug->arena, debug->session.diagnoser, &debug->request);
	vec_clear(&debug->slice);
	vec_push(&debug->slice, ((struct debug_place){ debug->request.thread, debug->request.to_ns }));
	if (out)
		why_text(&debug->arena, &debug->session, debug->diagnosis, debug->width, out);
}

int debug_number(const char *text, uint64_t *ret_number, struct err *err)
{
	return parse_number(text, ret_number) ? err_set(err, -EINVAL, "'%s' is not a number", text) : 0;
}

int debug_usage(const struct debug_words *words, struct err *err)
{
	for (size_t i = 0; i < VERBS; i++)
		if (!strcmp(verbs[i].name, words->items[0]))
			return err_set(err, -EINVAL, "usage: %s %s (as in: %s)", verbs[i].name, verbs[i].arguments, verbs[i].example);
	return -EINVAL;
}

const char *debug_join_words(struct debug *debug, const struct debug_words *words, unsigned from)
{
	const char *text = words->items[from];

	for (unsigned i = from + 1; i < words->count; i++)
		text = arena_printf(&debug->arena, "%s %s", text, words->items[i]);
	return text;
}

/* A hang under the number that `hangs` gives it. */
static void put_other(struct debug *debug, const struct hang *hang, struct buf *out)
{
	debug_find_hangs(debug);
	for (size_t i = 0; i < debug->hang_count; i++)
		if (debug->hangs[i].tid == hang->tid && debug->hangs[i].start_ns == hang->start_ns) {
			hang_list_line(&debug->arena, &debug->session, debug->hangs, i, out);
			return;
		}
	buf_printf(out, " -  at %9.3f s  for %8.3f s  %s: %s\n", debug_seconds(debug, hang->start_ns),
		   (double)(hang->end_ns - hang->start_ns) / 1e9, debug_who(debug, hang->thread, hang->end_ns), hang_reason(hang));
}

static int run_why(struct debug *debug, const struct debug_words *words, struct buf *out, struct err *err)
{
	struct why_question question = { 0 };
	struct why_reply reply = { 0 };
	const struct diagnosis *found;
	uint64_t number;
	int r = 0;

	if (words->count == 2) {
		r = debug_number(words->items[1], &question.hang, err);
	} else if (words->count == 3 && !strcmp(words->items[1], "pid")) {
		r = debug_number(words->items[2], &number, err);
		question.pid = r ? 0 : (uint32_t)number;
	} else if (words->count == 3 && !strcmp(words->items[1], "at")) {
		question.at = words->items[2];
	} else if (words->count > 2 && !strcmp(words->items[1], "mark")) {
		question.mark = debug_join_words(debug, words, 2);
	} else if (words->count == 5 && !strcmp(words->items[1], "tid")) {
		r = debug_number(words->items[2], &number, err);
		question.tid = r ? 0 : (uint32_t)number;
		question.from = words->items[3];
		question.to = words->items[4];
	} else if (words->count > 1) {
		r = debug_usage(words, err);
	}
	if (!r)
		r = why_ask(&debug->arena, &debug->session, debug->base.trace ? &debug->base : NULL, &question, &reply, err);
	if (!r && debug->looks != debug->session.looks && debug->knowledge.statements.length) {
		/* another stretch, of which nothing was said yet */
		r = debug_apply(debug, err);
		if (!r)
			r = why_ask(&debug->arena, &debug->session, debug->base.trace ? &debug->base : NULL, &question, &reply, err);
	}
	if (r)
		return r;
	debug->looks = debug->session.looks;
	found = reply.diagnosis;
	if (found->verdict == VERDICT_NONE) {
		buf_printf(out, "%s\n", found->text);
		return 0;
	}
	debug->diagnosis = found;
	debug->request = (struct diagnose_request){ found->victim.thread, found->start_ns, found->end_ns, NULL, found->ended_ns };
	vec_clear(&debug->slice);
	vec_push(&debug->slice, ((struct debug_place){ found->victim.thread, found->end_ns }));
	why_text(&debug->arena, &debug->session, found, debug->width, out);
	if (reply.hang_count > 1 && (question.pid || question.at || question.mark)) {
		buf_text(out, "\nOthers that this may have meant:\n");
		for (size_t i = 1; i < reply.hang_count && i < OTHERS_SHOWN; i++)
			put_other(debug, &reply.hangs[i], out);
	}
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

/* A part's whole name, from its first letters. */
static int find_part(const char *word, const char **ret_part, struct err *err)
{
	static const char *const parts[] = { "chain", "path", "others", "plan", "circle", "trigger" };
	const char *found = NULL;

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		if (!strncmp(parts[i], word, strlen(word))) {
			if (found)
				return err_set(err, -EINVAL, "'%s' may be %s or %s", word, found, parts[i]);
			found = parts[i];
		}
	if (!found)
		return err_set(err, -EINVAL, "no part '%s': %s", word, PARTS);
	*ret_part = found;
	return 0;
}

static int run_show(struct debug *debug, const struct debug_words *words, struct buf *out, struct err *err)
{
	const struct diagnosis *g = debug->diagnosis;
	const char *part = "";
	int r = debug_need_answer(debug, err);

	if (!r && words->count > 1)
		r = find_part(words->items[1], &part, err);
	if (r)
		return r;
	if (!part[0] || !strcmp(part, "chain")) {
		why_text(&debug->arena, &debug->session, g, debug->width, out);
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
		if (!g->plan_count && !g->step)
			buf_text(out, "nothing more needs to be recorded\n");
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
	debug_answer(debug, out);
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
	if (knowledge_unsaved(&debug->knowledge))
		buf_text(out, "corrections were not saved (`save` keeps them)\n");
	return 0;
}

/* ---- lines ---- */

static bool is_part(const char *word)
{
	struct err unused;
	const char *part;

	return !find_part(word, &part, &unused);
}

static void refuse_verb(const char *word, struct err *err)
{
	struct suggestion near = suggest_begin(word, strlen(word));

	for (size_t i = 0; i < VERBS; i++)
		suggest_offer(&near, verbs[i].name);
	err_set(err, -EINVAL, "no verb '%s'%s%s; `help` lists them", word, near.nearest ? ", did you mean " : "",
		near.nearest ? near.nearest : "");
}

static const struct debug_verb *find_verb(const char *word, struct err *err)
{
	const struct debug_verb *found = NULL;
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
	if (!found && is_part(word))
		err_set(err, -EINVAL, "no verb '%s'; `show %s` shows that part of the answer", word, word);
	else if (!found)
		refuse_verb(word, err);
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
	const struct debug_verb *verb;
	int r;

	for (char *word = strtok_r(text, " \t\r\n", &rest); word; word = strtok_r(NULL, " \t\r\n", &rest)) {
		if (word[0] == '#')
			break;
		if (words.count == sizeof(words.items) / sizeof(*words.items))
			return err_set(err, -EINVAL, "too many words");
		words.items[words.count++] = word;
	}
	if (!words.count)
		return 0;
	vec_push(&debug->lines, debug_join_words(debug, &words, 0));
	verb = find_verb(words.items[0], err);
	if (!verb)
		return -EINVAL;
	words.items[0] = (char *)verb->name;
	r = debug_begin(debug, err);
	return r ? r : verb->run(debug, &words, out, err);
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
