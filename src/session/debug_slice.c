/* The interactive session: walking a slice. */
#include "session/debug.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/options.h"
#include "diagnose/describe.h"
#include "diagnose/request.h"

struct describer debug_describer(struct debug *debug)
{
	return (struct describer){ &debug->arena, debug->session.scene, diagnoser_ends(debug->session.diagnoser),
				   debug->session.names, debug->request.thread, NULL };
}

/* The wait that the thread was in at the moment, or that ended last before it. */
const struct episode *debug_episode(const struct debug *debug, const struct debug_place *place)
{
	const struct scene *scene = debug->session.scene;
	const struct scene_thread *t = &scene->threads[place->thread];
	const struct episode *e = scene_episode(scene, place->thread, place->time_ns ? place->time_ns - 1 : 0);

	if (e && e->start_ns < place->time_ns)
		return e;
	if (!e)
		e = scene->episodes + t->episode + t->episode_count;
	return e > scene->episodes + t->episode ? e - 1 : NULL;
}

static void show_place(struct debug *debug, const struct debug_place *place, struct buf *out)
{
	const struct scene *scene = debug->session.scene;
	struct describer d = debug_describer(debug);
	const struct episode *e = debug_episode(debug, place);
	const struct wait *w;

	buf_printf(out, "%s at %.6f s", debug_who(debug, place->thread, place->time_ns), debug_seconds(debug, place->time_ns));
	if (!e) {
		buf_text(out, ": it had not waited before\n");
		return;
	}
	w = &scene->waits[e->last];
	buf_printf(out, ", %s ", e->end_ns >= place->time_ns ? "in a wait:" : "after a wait:");
	buf_escaped(out, describe_wait(&d, w), strlen(describe_wait(&d, w)), NULL);
	buf_printf(out, " for %s", describe_time(&debug->arena, e->end_ns - e->start_ns));
	if (e->slices > 1)
		buf_printf(out, " in %" PRIu32 " slices", e->slices);
	buf_printf(out, ", event %" PRIu32 "\n", w->begin_event);
	switch ((enum wait_end)w->end) {
	case WAIT_END_THREAD:
		buf_printf(out, "  ended by %s, event %" PRIu32 "\n", debug_who(debug, w->waker, w->end_ns), w->end_event);
		break;
	case WAIT_END_TIMEOUT: buf_printf(out, "  ended by its own time limit, event %" PRIu32 "\n", w->end_event); break;
	case WAIT_END_SOURCE: buf_printf(out, "  ended by %s, event %" PRIu32 "\n", describe_source(w), w->end_event); break;
	case WAIT_END_UNKNOWN: buf_text(out, "  nothing tells what ended it\n"); break;
	case WAIT_END_OPEN: buf_text(out, "  it lasted to the end of the trace\n"); break;
	}
}

void debug_go(struct debug *debug, uint32_t thread, uint64_t time_ns, struct buf *out)
{
	vec_push(&debug->slice, ((struct debug_place){ thread, time_ns }));
	vec_clear(&debug->choices);
	show_place(debug, &debug->slice.items[debug->slice.length - 1], out);
}

const struct debug_place *debug_place_now(const struct debug *debug, struct err *err)
{
	if (debug->slice.length)
		return &debug->slice.items[debug->slice.length - 1];
	err_set(err, -ENOENT, "no place on a slice is chosen yet: `why` begins a slice, `here TID TIME` too");
	return NULL;
}

/* Of a long trace another stretch is laid out, where the moment lies in none that is: threads
 * have other numbers there, and places whose threads are not there are left. */
static int debug_go_look(struct debug *debug, uint64_t time_ns, struct err *err)
{
	uint32_t *tids = arena_array(&debug->arena, uint32_t, debug->slice.length + 1), looks = debug->session.looks;
	size_t kept = 0;
	int r;

	for (size_t i = 0; i < debug->slice.length; i++)
		tids[i] = debug->session.tables->threads[debug->slice.items[i].thread].tid;
	r = debug_look_at(debug, time_ns, time_ns, err);
	if (looks == debug->session.looks)
		return r;
	for (size_t i = 0; i < debug->slice.length && debug->session.tables; i++) {
		struct debug_place place = debug->slice.items[i];

		place.thread = tables_thread(debug->session.tables, tids[i], place.time_ns);
		if (place.thread && place.time_ns >= debug->session.scene->start_ns && place.time_ns <= debug->session.scene->end_ns)
			debug->slice.items[kept++] = place;
	}
	debug->slice.length = kept;
	vec_clear(&debug->choices);
	/* what was answered is of the other stretch */
	debug->diagnosis = NULL;
	debug->request = (struct diagnose_request){ 0 };
	return r;
}

int debug_here(struct debug *debug, const struct debug_words *words, struct buf *out, struct err *err)
{
	const struct debug_place *place;
	uint64_t tid, time;
	uint32_t thread;
	int r;

	if (words->count == 1) {
		place = debug_place_now(debug, err);
		if (!place)
			return -ENOENT;
		show_place(debug, place, out);
		return 0;
	}
	if (words->count != 3 || parse_number(words->items[1], &tid))
		return debug_usage(words, err);
	r = session_time(&debug->session, words->items[2], &time, err);
	if (!r)
		r = debug_go_look(debug, time, err);
	if (r)
		return r;
	thread = tables_thread(debug->session.tables, (uint32_t)tid, time);
	if (!thread)
		return err_set(err, -ENOENT, "thread %s is not in the trace at that time", words->items[1]);
	debug_go(debug, thread, time, out);
	return 0;
}

/* Goes to the choice the person named, or the only one; else they are listed. */
static int choose(struct debug *debug, const struct debug_words *words, const char *what, struct buf *out, struct err *err)
{
	uint64_t number = 1;
	struct hop chosen;

	if (!debug->choices.length)
		return err_set(err, -ENOENT, "the trace knows nobody %s", what);
	if (words->count > 1 && (parse_number(words->items[1], &number) || !number || number > debug->choices.length))
		return err_set(err, -EINVAL, "a number from 1 to %zu chooses", debug->choices.length);
	if (words->count == 1 && debug->choices.length > 1) {
		for (size_t i = 0; i < debug->choices.length; i++) {
			const struct hop *h = &debug->choices.items[i];

			buf_printf(out, "%2zu  %s: %s", i + 1, debug_who(debug, h->thread, h->from_ns), walk_link_words(h->link));
			if (h->evidence)
				buf_printf(out, ", event %" PRIu64, h->evidence);
			buf_printf(out, " (%u %%)\n", h->confidence);
		}
		return 0;
	}
	chosen = debug->choices.items[number - 1];
	debug_go(debug, chosen.thread, chosen.from_ns, out);
	return 0;
}

int debug_find_back(struct debug *debug, const struct debug_place *place, struct debug_hops *hops, struct err *err)
{
	const struct scene *scene = debug->session.scene;
	const struct episode *e = debug_episode(debug, place);
	struct suspects suspects = { 0 };
	struct inquiry inquiry = { .scene = scene, .ends = diagnoser_ends(debug->session.diagnoser),
				   .arena = &debug->arena, .now = diagnoser_side(debug->session.diagnoser),
				   .base = debug_base(debug) };
	const struct wait *w;
	bool alone;

	vec_clear(hops);
	if (!e)
		return err_set(err, -ENOENT, "there is nothing before: the thread had not waited");
	w = &scene->waits[e->last];
	if (w->end == WAIT_END_THREAD)
		vec_push(hops, ((struct hop){ .from_ns = e->end_ns, .thread = w->waker, .link = LINK_WAKE,
					      .confidence = 100, .evidence = w->end_event }));
	if (w->end != WAIT_END_THREAD || e->slices > 1) {
		suspects_find(&inquiry, e, e->start_ns, e->end_ns, NULL, 0, &suspects, &alone);
		for (size_t i = 0; i < suspects.length && i < 8; i++) {
			struct hop h = suspects.items[i].hops[suspects.items[i].hop_count - 1];

			h.confidence = suspects.items[i].confidence;
			h.from_ns = e->start_ns + (e->end_ns - e->start_ns) / 2;
			vec_push(hops, h);
		}
	}
	vec_done(&suspects);
	inquiry_done(&inquiry);
	return 0;
}

void debug_find_forward(struct debug *debug, const struct debug_place *place, struct debug_hops *hops)
{
	const struct scene *scene = debug->session.scene;
	const struct episode *e = debug_episode(debug, place);
	uint64_t from = e ? request_start(scene, e) : scene->start_ns, to = e ? e->start_ns : place->time_ns;
	struct trails trails = { 0 };

	if (e && e->end_ns < place->time_ns) {
		from = e->end_ns;
		to = place->time_ns;
	}
	follow_request(scene, diagnoser_ends(debug->session.diagnoser), place->thread, from, to,
		       e && e->end_ns > to ? e->end_ns : to + 1000000000, &trails);
	vec_clear(hops);
	for (size_t i = 1; i < trails.length && hops->length < 12; i++)
		if (trails.items[i].level == 1)
			vec_push(hops, ((struct hop){ .from_ns = trails.items[i].from_ns + 1, .thread = trails.items[i].thread,
				.link = trails.items[i].link, .confidence = trails.items[i].confidence,
				.evidence = trails.items[i].evidence }));
	vec_done(&trails);
}

int debug_back(struct debug *debug, const struct debug_words *words, struct buf *out, struct err *err)
{
	const struct debug_place *place = debug_place_now(debug, err);
	int r = place ? debug_find_back(debug, place, &debug->choices, err) : -ENOENT;

	return r ? r : choose(debug, words, "who ended this wait, or should have", out, err);
}

int debug_forward(struct debug *debug, const struct debug_words *words, struct buf *out, struct err *err)
{
	const struct debug_place *place = debug_place_now(debug, err);

	if (!place)
		return -ENOENT;
	debug_find_forward(debug, place, &debug->choices);
	return choose(debug, words, "whom this thread set to work", out, err);
}

int debug_slice(struct debug *debug, const struct debug_words *words, struct buf *out, struct err *err)
{
	struct debug_words rest = { .count = words->count - 1 };

	for (unsigned i = 0; i < rest.count; i++)
		rest.items[i] = words->items[i + 1];
	if (rest.count && (!strcmp(rest.items[0], "back") || !strcmp(rest.items[0], "backward")))
		return debug_back(debug, &rest, out, err);
	if (rest.count && !strcmp(rest.items[0], "forward"))
		return debug_forward(debug, &rest, out, err);
	if (rest.count)
		return debug_usage(words, err);
	if (!debug_place_now(debug, err))
		return -ENOENT;
	for (size_t i = 0; i < debug->slice.length; i++) {
		buf_printf(out, "%2zu  ", i + 1);
		show_place(debug, &debug->slice.items[i], out);
	}
	return 0;
}
