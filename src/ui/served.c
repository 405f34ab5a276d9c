/* What the server answers, see served.h.
 *
 *	GET  /         the page
 *	GET  /about    the trace and its hangs
 *	GET  /threads  the threads of the trace, or those of many that ran most
 *	GET  /lanes    their states in a stretch, in columns: see put_lanes()
 *	GET  /alive    that the page is there; how many corrections there are, and whether the
 *	               trace has grown
 *	POST /again    the trace is opened anew, with what was written to it since
 *	GET  /recorder the recorder in the background, and the hangs that it saved
 *	POST /now      who is stuck right now
 *	POST /ask      a line of `argus debug`: what it says, the answer as it then is, and
 *	               where on the slice one stands
 *	POST /step     the same without the answer, for who goes along the slice
 */
#include "ui/served.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "diagnose/answer.h"
#include "session/lane.h"
#include "session/node.h"
#include "session/recorder_view.h"
#include "session/view.h"
#include "ui/page.h"

#define LANES_MOST 400u
#define CELLS_MOST 4000u
#define LANES_SCALE 0x7fffffffu
#define TILES_BYTES (64u << 20)

static void put_error(struct http_reply *reply, unsigned status, const struct err *err)
{
	struct json json;

	reply->status = status;
	buf_clear(&reply->body);
	json_init(&json, &reply->body);
	json_object(&json, NULL);
	json_text(&json, "error", err->text);
	json_end(&json);
}

static void put_page(struct http_reply *reply)
{
	struct buf document;

	buf_init(&document);
	buf_text(&document, "{\"live\":true}");
	page_write(&document, true, &reply->body);
	buf_done(&document);
	reply->type = "text/html; charset=utf-8";
	reply->policy = page_policy();
}

static void put_about(struct served *served, struct http_reply *reply)
{
	struct debug *debug = served->debug;
	struct json json;

	debug_find_hangs(debug);
	json_init(&json, &reply->body);
	json_object(&json, NULL);
	view_about_json(&debug->session, served->build, &json);
	view_hangs_json(debug->hangs, debug->hang_count, debug->hang_count, &json);
	json_u64(&json, "hang_count", debug->hang_count);
	if (!debug->hang_count)
		view_run_path_json(&served->arena, &debug->session, &json);
	json_array(&json, "verbs");
	for (size_t i = 0; debug_verb(i); i++)
		json_text(&json, NULL, debug_verb(i)->name);
	json_end(&json);
	json_end(&json);
}

static void put_knowledge(const struct debug *debug, struct json *json)
{
	json_u64(json, "corrections", debug->knowledge.statements.length);
	json_u64(json, "unsaved", knowledge_unsaved(&debug->knowledge));
}

static void put_alive(struct served *served, struct http_reply *reply)
{
	struct json json;

	json_init(&json, &reply->body);
	json_object(&json, NULL);
	put_knowledge(served->debug, &json);
	json_u64(&json, "grown_bytes", session_grown(&served->debug->session));
	json_u64(&json, "opened", served->opened);
	json_end(&json);
}

/* What has been written to the trace since: it is opened anew, the index keeps what is known of it. */
static int open_again(struct served *served, struct err *err)
{
	struct debug *debug = served->debug, fresh;
	int r;

	if (knowledge_unsaved(&debug->knowledge))
		return err_set(err, -EBUSY, "corrections are not saved: `save` keeps them, `undo` takes them back");
	r = debug_open(&fresh, trace_path(debug->session.trace), err);
	if (r)
		return r;
	served_done(served);
	debug_close(debug);
	*debug = fresh;
	served->overview = (struct overview){ 0 };
	served->looks = 0;
	served->opened++;
	return 0;
}

/* The session's answer as it is now, as `argus report` shows it. */
static void put_view(struct served *served, struct json *json)
{
	struct debug *debug = served->debug;
	struct why_reply reply = { .diagnosis = debug->diagnosis, .hangs = debug->hangs };

	if (!debug->diagnosis) {
		json_null(json, "view");
		return;
	}
	for (size_t i = 0; i < debug->hang_count; i++)
		if (debug->hangs[i].tid == debug->diagnosis->victim.tid && debug->hangs[i].start_ns == debug->diagnosis->start_ns) {
			reply.number = i + 1;
			reply.hang_count = debug->hang_count;
		}
	json_object(json, "view");
	view_members_json(&served->arena, &debug->session, debug->base.trace ? &debug->base : NULL, &reply,
			  &(struct view_options){ .build = served->build }, json);
	json_end(json);
}

/* Of a long trace the page may have looked elsewhere since: threads have other numbers there. */
static int look_back(struct served *served, struct err *err)
{
	struct debug *debug = served->debug;
	const struct diagnosis *g = debug->diagnosis;
	int r;

	if (!g || served->looks == debug->session.looks)
		return 0;
	r = debug_look_at(debug, g->start_ns, g->end_ns, err);
	if (r)
		return r;
	debug->request.thread = tables_thread(debug->session.tables, g->victim.tid, g->end_ns);
	if (!debug->request.thread)
		return err_set(err, -ENOENT, "thread %u is not in the trace at that time", g->victim.tid);
	debug_answer(debug, NULL);
	return 0;
}

/* It only goes along the slice, and needs no answer to the hang beside it. */
static bool is_step(const struct http_request *request)
{
	return !strcmp(request->path, "/step");
}

static void put_asked(struct served *served, const struct http_request *request, struct http_reply *reply)
{
	struct err err = { 0 };
	struct json json;
	struct buf said;
	int r;

	buf_init(&said);
	r = strlen(request->body) != request->body_length ? err_set(&err, -EINVAL, "a NUL in the line") : is_step(request) ? 0 : look_back(served, &err);
	if (!r)
		r = debug_line(served->debug, request->body, &said, &err);
	served->looks = served->debug->session.looks;
	json_init(&json, &reply->body);
	json_object(&json, NULL);
	json_text(&json, "said", buf_str(&said));
	json_text(&json, "error", r ? err.text : NULL);
	put_knowledge(served->debug, &json);
	if (is_step(request))
		json_null(&json, "view");
	else
		put_view(served, &json);
	node_json(served->debug, &json);
	json_end(&json);
	buf_done(&said);
}

/* ---- the whole trace ---- */

static uint64_t number_of(const struct http_request *request, const char *name, uint64_t otherwise)
{
	const char *text = request->value(request, name);
	uint64_t number;

	return text && !parse_number(text, &number) ? number : otherwise;
}

/* The stretch that is asked for; -EINVAL with words. */
static int read_stretch(struct served *served, const struct http_request *request, uint64_t *ret_from, uint64_t *ret_to, struct err *err)
{
	const struct trace_summary *summary = trace_summary(served->debug->session.trace);
	uint64_t from = number_of(request, "from", summary->start_ns), to = number_of(request, "to", summary->end_ns);

	if (from < summary->start_ns || to > summary->end_ns || from >= to)
		return err_set(err, -EINVAL, "no such stretch of the trace");
	*ret_from = from;
	*ret_to = to;
	return 0;
}

/* Made when it is first asked for. */
static int need_overview(struct served *served, struct err *err)
{
	int r = served->overview.threads ? 0 : overview_make(&served->debug->arena, &served->debug->session, &served->overview, err);

	if (!r)
		session_save_index(&served->debug->session);
	return r;
}

static void put_threads(struct served *served, struct http_reply *reply)
{
	const struct overview *o = &served->overview;
	struct json json;

	json_init(&json, &reply->body);
	json_object(&json, NULL);
	json_u64(&json, "left_out", o->left_out);
	json_array(&json, "threads");
	for (uint32_t i = 0; i < o->thread_count; i++) {
		const struct overview_thread *t = &o->threads[i];

		json_object(&json, NULL);
		json_u64(&json, "tid", t->tid);
		json_u64(&json, "pid", t->pid);
		json_text(&json, "comm", t->comm);
		json_u64(&json, "running_ns", t->running_ns);
		json_u64(&json, "runnable_ns", t->runnable_ns);
		json_end(&json);
	}
	json_end(&json);
	json_end(&json);
}

/* Of a long trace a stretch is shown as its blocks tell, and a longer one as the overview
 * does; a small one lies in the scene. */
enum source { SOURCE_SCENE, SOURCE_TILES, SOURCE_OVERVIEW };

struct lanes_source {
	enum source kind;
	bool final;              /* false: it is told more closely in a moment */
};

static int find_source(struct served *served, uint64_t from, uint64_t to, struct lanes_source *ret_source, struct err *err)
{
	const struct session *session = &served->debug->session;
	int r;

	*ret_source = (struct lanes_source){ SOURCE_SCENE, true };
	if (!session->blocks)
		return 0;
	if (!served->tiles)
		served->tiles = tiles_new(session, TILES_BYTES);
	ret_source->kind = SOURCE_OVERVIEW;
	if (!tiles_fit(served->tiles, from, to))
		return 0;
	r = tiles_look(served->tiles, from, to, err);
	ret_source->final = r > 0;
	if (r > 0)
		ret_source->kind = SOURCE_TILES;
	return r < 0 ? r : 0;
}

/* The same thread in the scene; 0 none. */
static uint32_t thread_in_scene(const struct served *served, const struct overview_thread *t, uint64_t from, uint64_t to)
{
	return t->start_ns >= to || t->end_ns <= from ? 0 : tables_thread(served->debug->session.tables, t->tid, t->start_ns > from ? t->start_ns : from);
}

static void add_cells(struct served *served, enum source source, uint32_t thread, uint64_t from, uint64_t to, unsigned most, struct lane_cells *cells)
{
	const struct overview_thread *t = &served->overview.threads[thread];

	switch (source) {
	case SOURCE_SCENE: lane_add(served->debug->session.scene, thread_in_scene(served, t, from, to), from, to, most, cells); break;
	case SOURCE_TILES: tiles_lane(served->tiles, t->tid, t->start_ns, t->end_ns, from, to, most, cells); break;
	case SOURCE_OVERVIEW: overview_lane(&served->overview, thread, from, to, most, cells); break;
	}
}

static void put_u32(struct buf *buf, uint32_t value)
{
	unsigned char bytes[] = { (unsigned char)value, (unsigned char)(value >> 8), (unsigned char)(value >> 16), (unsigned char)(value >> 24) };

	buf_add(buf, bytes, sizeof(bytes));
}

/* Little-endian: 1, or 0 when the same is told more closely in a moment; for each thread its number and how many cells it has; then their starts
 * (u32, the stretch's length being 2^31 - 1), and for each a u32: state, per cent running,
 * per cent runnable, per cent unknown. */
static void put_lanes(struct served *served, const struct http_request *request, uint64_t from, uint64_t to, struct lanes_source source,
		      struct http_reply *reply)
{
	const char *at = request->value(request, "threads");
	uint64_t most = number_of(request, "cells", 1000);
	struct lane_cells cells = { 0 };

	if (source.kind == SOURCE_TILES)
		tiles_hold(served->tiles);
	put_u32(&reply->body, source.final);
	for (unsigned lanes = 0; at && *at && lanes < LANES_MOST; lanes++) {
		char *end;
		unsigned long thread = strtoul(at, &end, 10);

		if (end == at)
			break;
		at = *end == ',' ? end + 1 : end;
		vec_clear(&cells);
		if (thread < served->overview.thread_count)
			add_cells(served, source.kind, (uint32_t)thread, from, to, most < CELLS_MOST ? (unsigned)most : CELLS_MOST, &cells);
		put_u32(&reply->body, (uint32_t)thread);
		put_u32(&reply->body, (uint32_t)cells.length);
		for (size_t i = 0; i < cells.length; i++)
			put_u32(&reply->body, (uint32_t)((double)(cells.items[i].start_ns - from) / (double)(to - from) * LANES_SCALE));
		for (size_t i = 0; i < cells.length; i++)
			put_u32(&reply->body, (uint32_t)cells.items[i].state | (uint32_t)cells.items[i].running << 8 |
				(uint32_t)cells.items[i].runnable << 16 | (uint32_t)cells.items[i].unknown << 24);
	}
	if (source.kind == SOURCE_TILES)
		tiles_release(served->tiles);
	vec_done(&cells);
	reply->type = "application/octet-stream";
}

static void put_stretch(struct served *served, const struct http_request *request, struct http_reply *reply)
{
	bool lanes = !strcmp(request->path, "/lanes");
	struct lanes_source source;
	uint64_t from = 0, to = 0;
	struct err err = { 0 };

	if (read_stretch(served, request, &from, &to, &err) || need_overview(served, &err) ||
	    (lanes && find_source(served, from, to, &source, &err)))
		put_error(reply, 400, &err);
	else if (!lanes)
		put_threads(served, reply);
	else
		put_lanes(served, request, from, to, source, reply);
}

void served_done(struct served *served)
{
	tiles_free(served->tiles);
	served->tiles = NULL;
}

void served_answer(void *data, const struct http_request *request, struct http_reply *reply)
{
	struct served *served = data;
	struct err err = { 0 };

	arena_init(&served->arena);
	if (request->post && !strcmp(request->path, "/again")) {
		if (open_again(served, &err))
			put_error(reply, 409, &err);
		else
			put_about(served, reply);
	} else if (request->post && !strcmp(request->path, "/now"))
		recorder_view_now(served->build, &reply->body);
	else if (!request->post && !strcmp(request->path, "/recorder"))
		recorder_view_json(served->build, &reply->body);
	else if (request->post && (!strcmp(request->path, "/ask") || is_step(request)))
		put_asked(served, request, reply);
	else if (!request->post && !strcmp(request->path, "/"))
		put_page(reply);
	else if (!request->post && !strcmp(request->path, "/about"))
		put_about(served, reply);
	else if (!request->post && !strcmp(request->path, "/alive"))
		put_alive(served, reply);
	else if (!request->post && (!strcmp(request->path, "/threads") || !strcmp(request->path, "/lanes")))
		put_stretch(served, request, reply);
	else {
		err_set(&err, -ENOENT, "there is no such thing here");
		put_error(reply, 404, &err);
	}
	arena_done(&served->arena);
}
