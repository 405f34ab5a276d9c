#include "session/view.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "diagnose/answer.h"
#include "session/path_picture.h"
#include "session/path_run.h"
#include "session/picture.h"

#define LANES_MOST 48u
#define HANGS_TOLD 30u
/* Beside the window, what came before and after: a part of it, but not much. */
#define MARGIN_PART 12u
#define MARGIN_LEAST_NS UINT64_C(1000000)

struct view {
	struct arena *arena;
	struct json *json;
	const struct session *session;
	const struct diagnosis *answer;
	struct vec(uint32_t) threads;    /* of the lanes, ... */
	struct vec(const char *) comms;  /* ... as the answer calls them */
	struct map lanes;                /* thread -> lane + 1 */
	struct vec(uint64_t) evidence;
};

static void add_thread(struct view *v, const struct actor *actor)
{
	bool fresh;
	uint64_t *lane;

	if (!actor->thread || v->threads.length >= LANES_MOST)
		return;
	lane = map_at(&v->lanes, actor->thread, &fresh);
	if (!fresh)
		return;
	vec_push(&v->threads, actor->thread);
	vec_push(&v->comms, actor->comm);
	*lane = v->threads.length;
}

/* Links that took more of the window first: there may be more threads than lanes. */
static int compare_links(const void *a, const void *b)
{
	const struct chain_link *x = *(const struct chain_link *const *)a, *y = *(const struct chain_link *const *)b;
	uint64_t x_ns = x->end_ns - x->start_ns, y_ns = y->end_ns - y->start_ns;

	return x_ns != y_ns ? (x_ns < y_ns) - (x_ns > y_ns) : (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

static void add_chain(struct view *v)
{
	const struct diagnosis *g = v->answer;
	const struct chain_link **links = arena_array(v->arena, const struct chain_link *, g->chain_count);

	for (size_t i = 0; i < g->chain_count; i++)
		links[i] = &g->chain[i];
	if (g->chain_count)
		qsort(links, g->chain_count, sizeof(*links), compare_links);
	for (size_t i = 0; i < g->chain_count; i++)
		add_thread(v, &links[i]->actor);
}

/* From the victim along the way to the culprit, then whoever else has a part. */
static void find_threads(struct view *v)
{
	const struct diagnosis *g = v->answer;

	add_thread(v, &g->victim);
	for (size_t i = 0; i < g->path_count; i++)
		add_thread(v, &g->path[i].actor);
	add_thread(v, &g->culprit);
	for (size_t i = 0; i < g->circle_count; i++)
		add_thread(v, &g->circle[i]);
	for (size_t i = 0; i < g->trigger_count; i++)
		add_thread(v, &g->triggers[i].actor);
	for (size_t i = 0; i < g->alternative_count; i++)
		add_thread(v, &g->alternatives[i].actor);
	add_chain(v);
}

static int compare_u64(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void find_evidence(struct view *v)
{
	const struct diagnosis *g = v->answer;

	for (size_t i = 0; i < g->path_count; i++)
		vec_push(&v->evidence, g->path[i].event);
	for (size_t i = 0; i < g->chain_count; i++)
		for (unsigned e = 0; g->chain[i].evidence[e]; e++)
			vec_push(&v->evidence, g->chain[i].evidence[e]);
	for (size_t i = 0; i < g->trigger_count; i++)
		vec_push(&v->evidence, g->triggers[i].event);
	for (size_t i = 0; i < g->alternative_count; i++)
		vec_push(&v->evidence, g->alternatives[i].event);
	if (v->evidence.length)
		qsort(v->evidence.items, v->evidence.length, sizeof(uint64_t), compare_u64);
}

static void put_lane_of(struct view *v, const struct actor *actor)
{
	const uint64_t *lane = map_find(&v->lanes, actor->thread);

	json_i64(v->json, NULL, actor->thread && lane ? (int64_t)*lane - 1 : -1);
}

#define PUT_LANES(v, name, items, count, member) \
	do { \
		json_array((v)->json, name); \
		for (size_t i = 0; i < (count); i++) \
			put_lane_of(v, &(items)[i] member); \
		json_end((v)->json); \
	} while (0)

/* The lane of each item of the answer's arrays; -1: it has none. */
static void put_lanes(struct view *v)
{
	const struct diagnosis *g = v->answer;

	json_object(v->json, "lanes_of");
	PUT_LANES(v, "victim", &g->victim, 1, );
	PUT_LANES(v, "culprit", &g->culprit, 1, );
	PUT_LANES(v, "chain", g->chain, g->chain_count, .actor);
	PUT_LANES(v, "path", g->path, g->path_count, .actor);
	PUT_LANES(v, "circle", g->circle, g->circle_count, );
	PUT_LANES(v, "trigger", g->triggers, g->trigger_count, .actor);
	PUT_LANES(v, "alternatives", g->alternatives, g->alternative_count, .actor);
	json_end(v->json);
}

/* How the sentences call those that have a part, so that these words can lead to them. */
static void put_mentions(struct view *v)
{
	const struct diagnosis *g = v->answer;

	json_array(v->json, "mentions");
	for (size_t i = 0; g->verdict != VERDICT_NONE && i < g->path_count + g->circle_count + g->trigger_count + 2; i++) {
		const struct actor *actor = i < g->path_count ? &g->path[i].actor :
					    i < g->path_count + g->circle_count ? &g->circle[i - g->path_count] :
					    i < g->path_count + g->circle_count + g->trigger_count ?
						    &g->triggers[i - g->path_count - g->circle_count].actor :
					    i == g->path_count + g->circle_count + g->trigger_count ? &g->victim : &g->culprit;

		json_object(v->json, NULL);
		json_text(v->json, "says", answer_who(v->arena, actor));
		json_array(v->json, "lane");
		put_lane_of(v, actor);
		json_end(v->json);
		json_end(v->json);
	}
	json_end(v->json);
}

/* ---- around the answer ---- */

void view_about_json(const struct session *session, const char *build, struct json *json)
{
	const struct trace *trace = session->trace;
	const struct trace_summary *summary = trace_summary(trace);
	const char *host = trace_machine(trace, "hostname"), *kernel = trace_machine(trace, "kernel");

	json_object(json, "about");
	json_text(json, "argus", build ? build : "");
	json_text(json, "path", trace_path(trace));
	json_u64(json, "start_ns", summary->start_ns);
	json_u64(json, "end_ns", summary->end_ns);
	json_u64(json, "start_wall_ns", trace_wall_ns(trace, summary->start_ns));
	json_u64(json, "events", summary->events);
	json_u64(json, "lost", summary->lost);
	json_bool(json, "complete", summary->complete);
	json_u64(json, "damaged_bytes", summary->damaged_bytes + summary->truncated_bytes);
	json_text(json, "host", host ? host : "");
	json_text(json, "kernel", kernel ? kernel : "");
	json_end(json);
}

void view_hangs_json(const struct hang *hangs, size_t count, size_t most, struct json *json)
{
	json_array(json, "hangs");
	for (size_t i = 0; i < count && i < most; i++) {
		const struct hang *h = &hangs[i];

		json_object(json, NULL);
		json_u64(json, "pid", h->pid);
		json_u64(json, "tid", h->tid);
		json_text(json, "comm", h->comm);
		json_u64(json, "start_ns", h->start_ns);
		json_u64(json, "end_ns", h->end_ns);
		json_text(json, "reason", hang_reason(h));
		json_bool(json, "meant", h->meant);
		json_end(json);
	}
	json_end(json);
}

static void put_plan(struct view *v)
{
	struct buf buf;

	buf_init(&buf);
	if (v->answer->plan_count)
		answer_plan_command(v->answer, &buf);
	json_text(v->json, "plan_command", buf_str(&buf));
	buf_done(&buf);
}

static struct picture_request around(const struct session *session, uint64_t from_ns, uint64_t to_ns)
{
	uint64_t margin = (to_ns - from_ns) / MARGIN_PART;
	const struct scene *scene = session->scene;
	struct picture_request request = { .session = session };

	if (margin < MARGIN_LEAST_NS)
		margin = MARGIN_LEAST_NS;
	request.from_ns = from_ns > scene->start_ns + margin ? from_ns - margin : scene->start_ns;
	request.to_ns = to_ns + margin < scene->end_ns ? to_ns + margin : scene->end_ns;
	if (request.from_ns > from_ns)
		request.from_ns = from_ns;
	return request;
}

/* The same when all went well: the waiter, and those that handed on to it. */
static void put_baseline(struct view *v, const struct session *base)
{
	const struct contrast *c = v->answer->contrast;
	const struct session *session = c && c->trace ? base : v->session;
	struct picture_request request;
	uint32_t threads[LANES_MOST];

	if (!c || !session || !session->scene || c->end_ns <= c->start_ns) {
		json_null(v->json, "baseline_picture");
		return;
	}
	request = around(session, c->start_ns, c->end_ns);
	request.threads = threads;
	for (size_t i = 0; i <= c->step_count && request.count < LANES_MOST; i++) {
		uint32_t thread = i ? c->steps[i - 1].then.thread : c->waiter.thread;
		unsigned k = 0;

		while (k < request.count && threads[k] != thread)
			k++;
		if (thread && k == request.count)
			threads[request.count++] = thread;
	}
	picture_json(v->arena, v->json, "baseline_picture", &request);
}

#define LINE_CELLS 600u /* as a picture of the path can show */

void view_run_path_json(struct arena *arena, struct session *session, struct json *json)
{
	const struct trace_summary *summary = trace_summary(session->trace);
	struct path_question question = { .from_ns = summary->start_ns, .to_ns = summary->end_ns, .line_cells = LINE_CELLS };
	struct path_reply reply;
	struct err err;

	if (question.from_ns >= question.to_ns || path_run(arena, session, &question, &reply, &err)) {
		json_null(json, "path_line");
		return;
	}
	path_picture_json(&reply.fold, reply.from_ns, reply.to_ns, "path_line", json);
	path_reply_done(&reply);
}

/* Where the time of the window went; where nothing hung, that of the recorded run. */
static void put_path(struct arena *arena, struct session *session, const struct diagnosis *g, struct json *json)
{
	struct fold fold;

	if (g->verdict == VERDICT_NONE) {
		view_run_path_json(arena, session, json);
	} else if (path_window(session, g->victim.thread, g->start_ns, g->end_ns, LINE_CELLS, &fold)) {
		if (path_agrees(session, g, &fold))
			path_picture_json(&fold, g->start_ns, g->end_ns, "path_line", json);
		else
			json_null(json, "path_line");
		fold_done(&fold);
	} else {
		json_null(json, "path_line");
	}
}

void view_members_json(struct arena *arena, struct session *session, const struct session *base, const struct why_reply *reply,
		       const struct view_options *options, struct json *json)
{
	struct view v = { .arena = arena, .json = json, .session = session, .answer = reply->diagnosis };

	json_u64(json, "version", VIEW_VERSION);
	json_bool(json, "redacted", options->redact);
	view_about_json(session, options->build, json);
	json_u64(json, "hang", reply->hang_count ? reply->number : 0);
	json_u64(json, "hang_count", reply->hang_count);
	view_hangs_json(reply->hangs, reply->hang_count, HANGS_TOLD, json);
	json_object(json, "answer");
	why_members_json(session, v.answer, json);
	json_end(json);
	put_plan(&v);
	if (v.answer->verdict != VERDICT_NONE && session->scene) {
		struct picture_request request = around(session, v.answer->start_ns, v.answer->end_ns);

		find_threads(&v);
		find_evidence(&v);
		request.threads = v.threads.items;
		request.comms = v.comms.items;
		request.count = (unsigned)v.threads.length;
		request.evidence = v.evidence.items;
		request.evidence_count = v.evidence.length;
		picture_json(arena, json, "picture", &request);
		put_baseline(&v, base);
	} else {
		json_null(json, "picture");
		json_null(json, "baseline_picture");
	}
	put_path(arena, session, v.answer, json);
	put_mentions(&v);
	put_lanes(&v);
	map_done(&v.lanes);
	vec_done(&v.threads);
	vec_done(&v.comms);
	vec_done(&v.evidence);
}

void view_json(struct arena *arena, struct session *session, const struct session *base, const struct why_reply *reply,
	       const struct view_options *options, struct buf *buf)
{
	struct json json;

	json_init(&json, buf);
	json_object(&json, NULL);
	view_members_json(arena, session, base, reply, options, &json);
	json_end(&json);
}
