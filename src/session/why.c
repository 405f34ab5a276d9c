/* "Why was it stuck?", see why.h. */
#include "session/why.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "diagnose/answer.h"
#include "path/report.h"
#include "session/hang_list.h"
#include "session/long_hang.h"
#include "session/loop_tasks.h"
#include "session/path_picture.h"
#include "session/path_run.h"
#include "session/told_note.h"
#include "session/why_find.h"
#include "symbols/demangle.h"
#include "trace/container.h"
#include "trace/when.h"

#define WHY_JSON_VERSION 1
#define WIDTH_MOST 100
#define OTHERS_SHOWN 5

void why_question_read(const struct options *options, struct why_question *ret_question)
{
	*ret_question = (struct why_question){
		.hang = options_number(options, "hang", 0),
		.last_ns = options_number(options, "last", 0),
		.pid = (uint32_t)options_number(options, "pid", 0),
		.tid = (uint32_t)options_number(options, "tid", 0),
		.at = options_text(options, "at", NULL), .mark = options_text(options, "mark", NULL),
		.from = options_text(options, "from", NULL), .to = options_text(options, "to", NULL),
		.base_path = options_text(options, "base", NULL),
	};
}

static bool is_of_a_time(const struct why_question *q)
{
	return q->at || q->mark || q->from || q->to || q->last_ns;
}

/* Of a run in which nothing hung it is told where its time went: many short waits are slow, too. */
static const struct diagnosis *no_hang(struct arena *arena, struct session *session, const struct why_question *q, const char *text)
{
	struct diagnosis *d = arena_new(arena, struct diagnosis);
	const char *path = is_of_a_time(q) ? NULL : path_sentences(arena, session, q->pid);

	d->start_ns = trace_summary(session->trace)->start_ns;
	d->end_ns = trace_summary(session->trace)->end_ns;
	d->culprit.kind = ACTOR_UNKNOWN;
	d->text = path ? arena_printf(arena, "%s %s", text, path) : text;
	return d;
}

/* A thread and a window that the person names need no proof of a hang. */
static int ask_window(struct arena *arena, struct session *session, const struct session *base,
		      const struct why_question *q, const struct diagnosis **ret_diagnosis, struct err *err)
{
	struct diagnose_request request = { .base = base ? diagnoser_side(base->diagnoser) : NULL };
	int r = session_window(session, q->from, q->to, 0, &request.from_ns, &request.to_ns, err);

	if (r)
		return r;
	r = session_look(session, request.from_ns, request.to_ns, err);
	if (r)
		return r;
	if (q->tid) {
		request.thread = tables_thread(session->tables, q->tid, request.from_ns);
		if (!request.thread)
			request.thread = tables_thread(session->tables, q->tid, request.to_ns);
		if (!request.thread)
			return err_set(err, -ENOENT, "thread %" PRIu32 " is not in the trace at that time", q->tid);
	} else {
		r = session_process(session, q->pid, &request.thread, err);
		if (r)
			return r;
	}
	/* The thread's own life bounds the window. */
	if (session->tables->threads[request.thread].start_ns > request.from_ns)
		request.from_ns = session->tables->threads[request.thread].start_ns;
	if (session->tables->threads[request.thread].end_ns < request.to_ns)
		request.to_ns = session->tables->threads[request.thread].end_ns;
	if (request.from_ns >= request.to_ns)
		return err_set(err, -ENOENT, "the thread did not live in that window");
	vec_clear(&session->judgement->spoken);
	*ret_diagnosis = diagnose(arena, session->diagnoser, &request);
	return 0;
}

/* The same, with a sentence behind its text. */
static const struct diagnosis *followed(struct arena *arena, const struct diagnosis *diagnosis, const char *sentence)
{
	struct diagnosis *d = arena_new(arena, struct diagnosis);

	*d = *diagnosis;
	d->text = arena_printf(arena, "%s %s", diagnosis->text, sentence);
	return d;
}

/* The first of the process's threads through which the way to the culprit leads for a good part of the hang; 0 none. */
static uint32_t on_the_way(const struct session *session, const struct diagnosis *d, uint32_t pid)
{
	uint64_t least_ns = judgement_limit(session->judgement, LIMIT_wait_ns), half_ns = (d->end_ns - d->start_ns) / 2;

	for (size_t i = 1; i < d->path_count; i++) {
		const struct path_step *step = &d->path[i];

		if (step->actor.pid == pid && step->actor.thread && step->ns >= least_ns && step->ns >= half_ns)
			return step->actor.thread;
	}
	return 0;
}

/* Of a process that did not hang by itself: what it did, or waited for, while another hung because of it. */
static int ask_on_the_way(struct arena *arena, struct session *session, const struct why_question *q, struct diagnose_request *request,
		       struct why_reply *reply, struct err *err)
{
	size_t most = judgement_limit(session->judgement, LIMIT_others_asked);
	struct why_question anybody = *q;
	struct why_reply others = { 0 };
	bool elsewhere = session->elsewhere, unattended = session->judgement->unattended;
	uint32_t root_pid = session->root_pid;
	int r;

	anybody.pid = anybody.tid = 0;
	r = why_find_hangs(arena, session, &anybody, &others, err);
	for (size_t i = 0; !r && !others.uncertain && i < hangs_certain(others.hangs, others.hang_count) && i < most && !reply->diagnosis; i++) {
		struct hang hang = others.hangs[i];
		const struct diagnosis *other;

		if (!session_process_lives(session, q->pid, hang.start_ns, hang.end_ns))
			continue;
		r = session_turn_to(session, arena, &hang, 0, false, err);
		if (r)
			break;
		request->thread = hang.thread;
		request->from_ns = hang.start_ns;
		request->to_ns = hang.end_ns;
		other = diagnose(arena, session->diagnoser, request);
		request->thread = on_the_way(session, other, q->pid);
		if (!request->thread)
			continue;
		vec_clear(&session->judgement->spoken);
		const struct diagnosis *own = diagnose(arena, session->diagnoser, request);
		if (own->verdict == VERDICT_NONE)
			continue;
		reply->diagnosis = followed(arena, own, arena_printf(arena, "This process did not hang by itself: %s hung because of it.",
								     answer_who(arena, &other->victim)));
	}
	if (!reply->diagnosis) { /* the question is about the process still, and not about others */
		session->elsewhere = elsewhere;
		session->judgement->unattended = unattended;
		session->root_pid = root_pid;
	}
	return r;
}

/* Turns to the hang, or, of the worst one, to that for whose sake it counts, and finds out why. */
static int ask_hang(struct arena *arena, struct session *session, const struct why_question *q, const struct why_reply *reply, size_t number,
		    struct diagnose_request *request, const struct diagnosis **ret_diagnosis, struct err *err)
{
	struct hang hang = reply->hangs[number - 1];
	int r = session_turn_to(session, arena, &hang, q->pid, !q->hang && number == 1, err);

	if (r || (r = long_hang_turn(session, &reply->hangs[number - 1], &hang, request->base, &request->ended_ns, err)))
		return r;
	request->thread = hang.thread;
	request->from_ns = hang.start_ns;
	request->to_ns = hang.end_ns;
	vec_clear(&session->judgement->spoken);
	if (hang.rule)
		rule_spoke(session->scene, &(struct spoken){ .rule = hang.rule, .thread = hang.thread, .weight = hang.weight,
							     .from_ns = hang.start_ns, .to_ns = hang.end_ns });
	if (hang.meant)
		rule_spoke(session->scene, &(struct spoken){ .rule = hang.meant, .thread = hang.thread, .weight = rule_infos[hang.meant].weight,
							     .from_ns = hang.start_ns, .to_ns = hang.end_ns });
	*ret_diagnosis = diagnose(arena, session->diagnoser, request);
	return 0;
}

static uint64_t severity(const struct hang *hang)
{
	return (hang->end_ns - hang->start_ns) / 100 * hang->weight;
}

/* The worst hang, or a lesser one where that one cannot be explained. */
static int ask_explained(struct arena *arena, struct session *session, const struct why_question *q, struct diagnose_request *request,
		    struct why_reply *reply, struct err *err)
{
	const struct judgement *j = session->judgement;
	const struct hang *worst = &reply->hangs[0];
	size_t noted = judgement_holds(j, RULE_explained) ? told_note_read(session, reply->hangs, reply->hang_count) : 0;
	int r;

	reply->number = noted ? noted : 1;
	r = ask_hang(arena, session, q, reply, reply->number, request, &reply->diagnosis, err);
	if (r || noted || reply->diagnosis->confidence > judgement_limit(j, LIMIT_explained_unsure) || !judgement_holds(j, RULE_explained))
		return r;
	for (size_t i = 1; i < reply->hang_count && i < judgement_limit(j, LIMIT_explained_asked); i++) {
		const struct diagnosis *d;

		if (!reply->hangs[i].meant != !worst->meant || severity(&reply->hangs[i]) < severity(worst) / 100 * judgement_limit(j, LIMIT_explained_lesser))
			continue;
		r = ask_hang(arena, session, q, reply, i + 1, request, &d, err);
		if (r)
			return r;
		if (d->culprit.kind == ACTOR_UNKNOWN || d->confidence < judgement_limit(j, LIMIT_explained_sure))
			continue;
		reply->diagnosis = d;
		reply->number = i + 1;
		told_note_write(session, reply->hangs, reply->hang_count, i + 1);
		return 0;
	}
	told_note_write(session, reply->hangs, reply->hang_count, 1);
	return ask_hang(arena, session, q, reply, 1, request, &reply->diagnosis, err);
}

/* Why the hang that is told may be none. */
static const char *meant_sentence(struct arena *arena, const struct why_reply *reply)
{
	const char *says = rule_infos[reply->hangs[reply->number - 1].meant].says;

	if (hangs_certain(reply->hangs, reply->hang_count))
		return arena_printf(arena, "It may be meant: %s.", says);
	return arena_printf(arena, "Nothing hung for certain; this took longest, and may be meant: %s.", says);
}

int why_ask(struct arena *arena, struct session *session, const struct session *base,
	    const struct why_question *asked, struct why_reply *ret_reply, struct err *err)
{
	struct diagnose_request request = { .base = base ? diagnoser_side(base->diagnoser) : NULL };
	struct why_question question = *asked, *q = &question;
	struct why_reply reply = { .number = q->hang ? q->hang : 1 };
	int r;

	if (q->tid && q->at) {
		r = why_process_of_thread(session, q, err);
		if (r)
			return r;
	} else if (q->tid || ((q->from || q->to) && q->pid && !q->hang)) {
		r = ask_window(arena, session, base, q, &reply.diagnosis, err);
		if (!r)
			*ret_reply = reply;
		return r;
	}
	r = why_find_hangs(arena, session, q, &reply, err);
	if (r)
		return r;
	if (!reply.hang_count && q->pid && judgement_holds(session->judgement, RULE_on_the_way)) {
		r = ask_on_the_way(arena, session, q, &request, &reply, err);
		if (r)
			return r;
	}
	if (!reply.hang_count && !reply.diagnosis) {
		reply.diagnosis = no_hang(arena, session, q,
			q->tid ? "This thread did not hang at that time." :
			q->pid ? "This process did not hang in the trace: nothing that it asked for or worked on took long." :
			is_of_a_time(q) ? "Nothing hung at that time." :
			"No hang found: no event loop's turn, request, lock or wait for a processor took long.");
		/* what rules said on the way names threads of scenes that are gone */
		vec_clear(&session->judgement->spoken);
		*ret_reply = reply;
		return 0;
	}
	if (reply.diagnosis) {
		*ret_reply = reply;
		return 0;
	}
	if (reply.number > reply.hang_count)
		return err_set(err, -ERANGE, "there %s only %zu hang%s%s", reply.hang_count == 1 ? "is" : "are", reply.hang_count,
			       reply.hang_count == 1 ? "" : "s", q->pid || is_of_a_time(q) ? " of those" : "");
	r = q->hang || q->pid ? ask_hang(arena, session, q, &reply, reply.number, &request, &reply.diagnosis, err)
			      : ask_explained(arena, session, q, &request, &reply, err);
	if (r)
		return r;
	if (reply.uncertain)
		reply.diagnosis = followed(arena, reply.diagnosis, "By the usual measure nothing hung; this took longest, and may be meant.");
	else if (reply.hangs[reply.number - 1].meant)
		reply.diagnosis = followed(arena, reply.diagnosis, meant_sentence(arena, &reply));
	*ret_reply = reply;
	return 0;
}

void why_others_text(struct arena *arena, const struct session *session, const struct why_reply *reply, struct buf *buf)
{
	size_t shown = 0;

	if (reply->hang_count < 2)
		return;
	buf_printf(buf, "\nOther hangs (--hang N):\n");
	for (size_t i = 0; i < reply->hang_count && shown < OTHERS_SHOWN; i++) {
		if (i + 1 == reply->number)
			continue;
		hang_list_line(arena, session, reply->hangs, i, buf);
		shown++;
	}
	if (reply->hang_count - 1 > shown)
		buf_printf(buf, "  and %zu more\n", reply->hang_count - 1 - shown);
}

bool why_spoke_before(const struct judgement *j, size_t index)
{
	const struct spoken *s = &j->spoken.items[index];

	for (size_t i = 0; i < index; i++)
		if (j->spoken.items[i].rule == s->rule && j->spoken.items[i].thread == s->thread && j->spoken.items[i].about == s->about)
			return true;
	return false;
}

/* The rules that decided, or spoke for somebody, each once for the same. */
static void put_spoken(struct json *json, const struct session *session)
{
	const struct judgement *j = session->judgement;

	json_array(json, "rules");
	for (size_t i = 0; i < j->spoken.length; i++) {
		const struct spoken *s = &j->spoken.items[i];

		if (why_spoke_before(j, i))
			continue;
		json_object(json, NULL);
		json_text(json, "rule", rule_infos[s->rule].name);
		json_text(json, "stage", rule_stage_name(rule_infos[s->rule].stage));
		json_u64(json, "thread", session->tables->threads[s->thread].tid);
		json_u64(json, "names", session->tables->threads[s->about].tid);
		json_u64(json, "weight", s->weight);
		json_u64(json, "event", s->event);
		json_end(json);
	}
	json_end(json);
}

/* Control groups of the thread as it was found; "" not known. */
static const char *cgroups_of(const struct session *session, const struct actor *actor)
{
	return actor->thread ? session->tables->threads[actor->thread].cgroups : "";
}

/* The containers, pods and units of victim and culprit, where they are in any. */
static void put_containers(struct arena *arena, const struct session *session, const struct diagnosis *g, struct buf *buf)
{
	const struct actor *actors[] = { &g->victim, &g->culprit };
	const char *space = "\n";

	for (size_t i = 0; i < 2; i++) {
		struct container container;

		if ((i && g->culprit.pid == g->victim.pid) || !container_of(cgroups_of(session, actors[i]), &container))
			continue;
		buf_printf(buf, "%s%s runs in ", space, answer_who(arena, actors[i]));
		container_describe(&container, buf);
		buf_char(buf, '.');
		space = " ";
	}
	if (*space == ' ')
		buf_char(buf, '\n');
}

static void put_containers_json(const struct session *session, const struct diagnosis *g, struct json *json)
{
	const struct actor *actors[] = { &g->victim, &g->culprit };

	json_array(json, "containers");
	for (size_t i = 0; i < 2; i++) {
		struct container container;

		if ((i && g->culprit.pid == g->victim.pid) || !container_of(cgroups_of(session, actors[i]), &container))
			continue;
		json_object(json, NULL);
		json_u64(json, "pid", actors[i]->pid);
		json_text(json, "manager", container.manager);
		json_text(json, "container", container.container);
		json_text(json, "pod", container.pod);
		json_text(json, "unit", container.unit);
		json_end(json);
	}
	json_end(json);
}

/* What stood in the event loop that did not go on, or kept others waiting. */
static struct loop_tasks tasks_of(struct arena *arena, const struct session *session, const struct diagnosis *g)
{
	struct loop_tasks tasks = { .count = 0 };

	if (g->verdict == VERDICT_NONE)
		return tasks;
	tasks = loop_tasks_find(arena, session, g->victim.pid, g->start_ns, g->end_ns);
	return tasks.count ? tasks : loop_tasks_find(arena, session, g->culprit.pid, g->start_ns, g->end_ns);
}

static void put_tasks(struct arena *arena, const struct session *session, const struct diagnosis *g, struct buf *buf)
{
	struct loop_tasks tasks = tasks_of(arena, session, g);

	if (tasks.count)
		buf_char(buf, '\n');
	loop_tasks_text(arena, &tasks, buf);
}

static void put_tasks_json(const struct session *session, const struct diagnosis *g, struct json *json)
{
	struct arena arena;

	arena_init(&arena);
	struct loop_tasks tasks = tasks_of(&arena, session, g);
	loop_tasks_json(&tasks, json);
	arena_done(&arena);
}

/* Only of a hang that is made of many short links. */
static void put_folded_json(const struct session *session, const struct diagnosis *g, struct json *json)
{
	struct fold fold;

	if (g->verdict == VERDICT_NONE || !path_window(session, g->victim.thread, g->start_ns, g->end_ns, 0, &fold))
		return;
	if (path_in_pieces(&fold) && path_agrees(session, g, &fold))
		path_picture_json(&fold, g->start_ns, g->end_ns, "folded", json);
	fold_done(&fold);
}

void why_members_json(const struct session *session, const struct diagnosis *diagnosis, struct json *json)
{
	json_u64(json, "version", WHY_JSON_VERSION);
	json_text(json, "trace", trace_path(session->trace));
	json_u64(json, "start_wall_ns", trace_wall_ns(session->trace, diagnosis->began_ns ? diagnosis->began_ns : diagnosis->start_ns));
	put_containers_json(session, diagnosis, json);
	answer_json(json, diagnosis);
	put_folded_json(session, diagnosis, json);
	put_tasks_json(session, diagnosis, json);
	put_spoken(json, session);
}

void why_json(const struct session *session, const struct diagnosis *diagnosis, struct buf *buf)
{
	struct json json;

	json_init(&json, buf);
	json.pretty = true;
	json_object(&json, NULL);
	why_members_json(session, diagnosis, &json);
	json_end(&json);
	buf_char(buf, '\n');
}

/* Long texts are broken at spaces. */
static void put_wrapped(struct buf *buf, const char *text, size_t width)
{
	size_t column = 0;

	while (*text) {
		size_t word = strcspn(text, " ");

		if (column && column + 1 + word > width) {
			buf_char(buf, '\n');
			column = 0;
		} else if (column) {
			buf_char(buf, ' ');
			column++;
		}
		buf_add(buf, text, word);
		column += word;
		text += word;
		while (*text == ' ')
			text++;
	}
	buf_char(buf, '\n');
}

/* "function (module)": of the function its short name. */
static void put_frame(struct arena *arena, const char *frame, struct buf *buf)
{
	const char *module = frame;

	for (const char *at = frame; (at = strstr(at, " (")); at++)
		module = at;
	if (module != frame)
		frame = arena_printf(arena, "%s%s", demangle_brief(arena, arena_strndup(arena, frame, (size_t)(module - frame))), module);
	else
		frame = demangle_brief(arena, frame);
	buf_text(buf, "                              ");
	buf_escaped(buf, frame, strlen(frame), NULL);
	buf_char(buf, '\n');
}

#define FRAMES_SHOWN 6

/* The innermost; where these are the kernel's and an interpreter's alone, what the script's authors
 * wrote in the place of half of them. */
static void put_frames(struct arena *arena, const struct chain_link *link, struct buf *buf)
{
	unsigned inner = link->script > FRAMES_SHOWN ? FRAMES_SHOWN / 2 : FRAMES_SHOWN;

	for (unsigned i = 0; i < inner && link->frames[i]; i++)
		put_frame(arena, link->frames[i], buf);
	if (inner == FRAMES_SHOWN)
		return;
	if (link->script - 1 > inner)
		put_frame(arena, "...", buf);
	for (unsigned i = link->script - 1; i < link->script - 1 + FRAMES_SHOWN - inner && link->frames[i]; i++)
		put_frame(arena, link->frames[i], buf);
}

/* When it began, by the wall clock, where the trace tells it. */
static void put_moment(const struct session *session, const struct diagnosis *g, struct buf *buf)
{
	uint64_t begin_ns = g->since_ns ? g->since_ns : g->began_ns ? g->began_ns : g->start_ns;
	uint64_t trace_ns = trace_summary(session->trace)->start_ns;
	uint64_t wall_ns = trace_wall_ns(session->trace, begin_ns);
	struct buf when;

	if (!wall_ns)
		return;
	buf_init(&when);
	trace_wall_format(&when, wall_ns);
	/* to the millisecond */
	if (g->since_ns && begin_ns < trace_ns)
		buf_printf(buf, "\nIt began at %.23s, %.3f s before the trace.\n", buf_str(&when), (double)(trace_ns - begin_ns) / 1e9);
	else if (g->perhaps_since_ns)
		buf_printf(buf, "\nIt was so at %.23s, as the trace began, and perhaps for %.3f s then.\n", buf_str(&when),
			   (double)(trace_ns - g->perhaps_since_ns) / 1e9);
	else
		buf_printf(buf, "\nIt began at %.23s, %.3f s after the start of the trace.\n", buf_str(&when), (double)(begin_ns - trace_ns) / 1e9);
	buf_done(&when);
}

#define ROWS_FOLDED 5

/* Of a hang that is made of many short links: what they are, folded. */
static void put_folded(const struct session *session, const struct diagnosis *g, struct buf *buf)
{
	struct fold fold;

	if (!path_window(session, g->victim.thread, g->start_ns, g->end_ns, 0, &fold))
		return;
	if (path_in_pieces(&fold) && path_agrees(session, g, &fold)) {
		buf_text(buf, "Most of it went by in short pieces; the same ones together:\n");
		report_path_brief(&fold, ROWS_FOLDED, 2, buf);
	}
	fold_done(&fold);
}

static bool links_alike(const struct chain_link *a, const struct chain_link *b)
{
	const char *at = a->frames[0] ? a->frames[0] : "", *bt = b->frames[0] ? b->frames[0] : "";

	return a->actor.kind == b->actor.kind && a->actor.thread == b->actor.thread && !strcmp(a->state, b->state) && !strcmp(at, bt);
}

#define TURNS_LEAST 3u /* of two that take turns, to be told together */

/* Links of a chain that are told by one line. */
struct chain_line {
	const struct chain_link *first;
	uint64_t ns;
	unsigned times;
};

static void put_line(struct arena *arena, const struct diagnosis *g, const struct chain_line *line, uint64_t start_ns, struct buf *buf)
{
	const struct chain_link *l = line->first;

	buf_printf(buf, "  %10.3f s %10s  %s: ", (double)(l->start_ns - start_ns) / 1e9, describe_time(arena, line->ns), answer_who(arena, &l->actor));
	buf_escaped(buf, l->state, strlen(l->state), NULL);
	buf_text(buf, line->times > 1 ? arena_printf(arena, ", %u times\n", line->times) : "\n");
	if (line->ns * 20 > g->end_ns - g->start_ns)
		put_frames(arena, l, buf);
}

/* The same again, with next to nothing between, is one line; -> behind its last link. */
static size_t take_line(const struct diagnosis *g, size_t i, struct chain_line *ret, size_t *left_out)
{
	*ret = (struct chain_line){ 0 };
	for (; i < g->chain_count && !answer_link_shown(g, &g->chain[i]); i++)
		++*left_out;
	if (i == g->chain_count)
		return i;
	*ret = (struct chain_line){ .first = &g->chain[i], .ns = g->chain[i].end_ns - g->chain[i].start_ns, .times = 1 };
	i++;
	for (size_t next = i; next < g->chain_count; next++) {
		const struct chain_link *m = &g->chain[next];

		if (links_alike(ret->first, m)) {
			*left_out += next - i;
			ret->ns += m->end_ns - m->start_ns;
			ret->times++;
			i = next + 1;
		} else if (answer_link_shown(g, m)) {
			break;
		}
	}
	return i;
}

/* Of two that take turns, as who looks again and again and the one whom it looks for do, each is one line. */
static size_t take_turns(const struct diagnosis *g, size_t i, struct chain_line ret[2], size_t *left_out)
{
	struct chain_line next;
	unsigned count = 0;
	size_t after = i, skipped = 0;

	ret[1] = (struct chain_line){ 0 };
	for (size_t at = i; at < g->chain_count; at = after) {
		struct chain_line *line = &ret[count % 2];
		size_t before = skipped;

		after = take_line(g, at, &next, &skipped);
		if (!next.first || (count > 1 && !links_alike(line->first, next.first))) {
			skipped = before;
			after = at;
			break;
		}
		if (count < 2)
			*line = next;
		else {
			line->ns += next.ns;
			line->times += next.times;
		}
		count++;
	}
	if (count < 2 * TURNS_LEAST)
		return i;
	*left_out += skipped;
	return after;
}

static void put_chain(struct arena *arena, const struct session *session, const struct diagnosis *g, struct buf *buf)
{
	uint64_t start = trace_summary(session->trace)->start_ns;
	size_t left_out = 0;

	buf_text(buf, "\nWhere the time went:\n");
	for (size_t i = 0, next; i < g->chain_count; i = next) {
		struct chain_line lines[2] = { { 0 } };

		next = take_turns(g, i, lines, &left_out);
		if (next == i) {
			lines[1] = (struct chain_line){ 0 };
			next = take_line(g, i, &lines[0], &left_out);
		}
		for (unsigned k = 0; k < 2; k++)
			if (lines[k].first)
				put_line(arena, g, &lines[k], start, buf);
	}
	if (left_out)
		buf_printf(buf, "  (%zu links of less than half a per cent are left out)\n", left_out);
	if (left_out)
		put_folded(session, g, buf);
}

/* The flag that a loop polls: in a good run and in this one. */
static void put_stepping(const struct diagnosis *g, struct buf *buf)
{
	if (!g->step)
		return;
	buf_text(buf, "\nTo find the flag that the loop waits for, step through it while it hangs, and in a run in which it ends:\n  ");
	buf_escaped(buf, g->step, strlen(g->step), NULL);
	buf_text(buf, " -o bad.step\n");
	for (size_t i = 0; i < g->plan_count; i++)
		if (!strcmp(g->plan[i].option, "--step")) {
			buf_text(buf, "  argus record --step ");
			buf_escaped(buf, g->plan[i].value, strlen(g->plan[i].value), NULL);
			buf_text(buf, " -o good.step -- COMMAND\n");
		}
	buf_text(buf, "  argus diverge good.step bad.step\n");
}

void why_plan_text(const struct diagnosis *g, struct buf *buf)
{
	put_stepping(g, buf);
	if (!g->plan_count)
		return;
	buf_text(buf, "\nTo know more:\n  ");
	answer_plan_command(g, buf);
	buf_char(buf, '\n');
	for (size_t i = 0; i < g->plan_count; i++)
		buf_printf(buf, "    %s: %s\n", g->plan[i].option, g->plan[i].why);
}

void why_text(struct arena *arena, const struct session *session, const struct diagnosis *g, int width, struct buf *buf)
{
	put_wrapped(buf, g->text, width > 0 && width < WIDTH_MOST ? (size_t)width : WIDTH_MOST);
	if (g->verdict == VERDICT_NONE)
		return;
	put_containers(arena, session, g, buf);
	put_moment(session, g, buf);
	put_chain(arena, session, g, buf);
	put_tasks(arena, session, g, buf);
	buf_printf(buf, "\nVerdict: %s (confidence %u %%). Explained %s, unknown %s, lost %s.\n", verdict_name(g->verdict),
		   g->confidence, describe_time(arena, g->explained_ns), describe_time(arena, g->unknown_ns),
		   describe_time(arena, g->lost_ns));
	for (size_t i = 0; i < g->alternative_count; i++)
		buf_printf(buf, "%s  %s: %s (%u %%)\n", i ? "" : "\nIt may also have been:\n",
			   answer_who(arena, &g->alternatives[i].actor), g->alternatives[i].words, g->alternatives[i].confidence);
	why_plan_text(g, buf);
}
