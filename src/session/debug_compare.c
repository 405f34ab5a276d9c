/* The interactive session: similar waits, the baseline, and what differs. */
#include "session/debug.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/options.h"
#include "diagnose/answer.h"

#define SIMILARS_SHOWN 10

struct side *debug_base(const struct debug *debug)
{
	return debug->base.trace ? diagnoser_side(debug->base.diagnoser) : NULL;
}

/* What `similar` compares, by word. */
static int read_metrics(const struct debug_words *words, struct similar_metrics *ret_metrics, struct err *err)
{
	struct similar_metrics metrics = { 0 };
	uint64_t number;

	for (unsigned i = 1; i < words->count; i++) {
		const char *word = words->items[i];

		if (!strcmp(word, "place"))
			metrics.any_place = true;
		else if (!strcmp(word, "object"))
			metrics.same_object = true;
		else if (!strcmp(word, "result"))
			metrics.any_result = true;
		else if (!strcmp(word, "types"))
			metrics.types_only = true;
		else if (!strcmp(word, "all"))
			metrics.all_events = true;
		else if (!parse_number(word, &number) && number <= 100)
			metrics.preceding = (unsigned)number;
		else if (!strncmp(word, "by=", 3) && !parse_duration(word + 3, &metrics.threshold_ns))
			;
		else
			return err_set(err, -EINVAL, "'%s' is not a way to compare: place (any), object (the same), result (any), types (of "
				       "events, not their contents), all (events must agree), a number of waits before, by=TIME (sooner by)",
				       word);
	}
	*ret_metrics = metrics;
	return 0;
}

/* The wait one stands at and those like it. */
static int find_similars(struct debug *debug, const struct episode **ret_episode, struct similars *similars, struct err *err)
{
	const struct debug_place *place = debug_place_now(debug, err);
	struct side *now = diagnoser_side(debug->session.diagnoser), *base = debug_base(debug);
	static const struct similar_metrics defaults;
	bool usual = !memcmp(&debug->metrics, &defaults, sizeof(defaults));
	const struct episode *e;

	if (!place)
		return -ENOENT;
	e = debug_episode(debug, place);
	if (!e)
		return err_set(err, -ENOENT, "the thread had not waited");
	if (base && !side_counterpart(now, e->thread, base, 0, 0))
		return err_set(err, -ENOENT, "the baseline has no thread like this one");
	similar_find(now, e, base ? base : now, usual ? NULL : &debug->metrics, similars);
	*ret_episode = e;
	return 0;
}

int debug_similar(struct debug *debug, const struct debug_words *words, struct buf *out, struct err *err)
{
	const struct scene *base = debug->base.scene ? debug->base.scene : debug->session.scene;
	struct similars similars = { 0 };
	const struct episode *e;
	int r = read_metrics(words, &debug->metrics, err);

	if (!r)
		r = find_similars(debug, &e, &similars, err);
	if (!r && !similars.length)
		buf_text(out, "no similar wait ended well, or sooner\n");
	for (size_t i = 0; !r && i < similars.length && i < SIMILARS_SHOWN; i++) {
		const struct similar *found = &similars.items[i];
		const struct episode *s = &base->episodes[found->episode];
		const struct wait *w = &base->waits[s->last];
		const struct thread *t = &base->tables->threads[found->thread], *waker = &base->tables->threads[w->waker];

		buf_printf(out, "%2zu  ", i + 1);
		buf_escaped(out, t->comm, strlen(t->comm), NULL);
		buf_printf(out, " %" PRIu32 " at %.6f s for %s, event %" PRIu32, t->tid, (double)(s->start_ns - base->start_ns) / 1e9,
			   describe_time(&debug->arena, s->end_ns - s->start_ns), w->begin_event);
		if (w->end == WAIT_END_THREAD) {
			buf_text(out, ", ended by ");
			buf_escaped(out, waker->comm, strlen(waker->comm), NULL);
			buf_printf(out, " %" PRIu32 ", event %" PRIu32, waker->tid, w->end_event);
		}
		buf_printf(out, " (%u %% of the events before, %u waits before%s)\n", found->alike, found->preceding,
			   found->same_place ? "" : ", another place");
	}
	vec_done(&similars);
	return r;
}

int debug_baseline(struct debug *debug, const struct debug_words *words, struct buf *out, struct err *err)
{
	struct session base = { 0 };
	int r;

	if (words->count == 1) {
		buf_printf(out, "%s\n", debug->base.trace ? trace_path(debug->base.trace) : "none: this trace itself");
		return 0;
	}
	if (words->count > 2)
		return debug_usage(words, err);
	if (strcmp(words->items[1], "none")) {
		r = session_open(words->items[1], &base, err);
		if (!r)
			r = session_look(&base, trace_summary(base.trace)->end_ns, UINT64_MAX, err);
		if (r)
			return r;
	}
	if (debug->base.trace)
		session_close(&debug->base);
	debug->base = base;
	debug_answer_again(debug, out);
	return 0;
}

/* What each thread on the good way did then and this time. */
static void show_steps(struct debug *debug, const struct contrast *c, struct buf *out)
{
	for (size_t i = 0; i < c->step_count; i++) {
		const struct contrast_step *s = &c->steps[i];

		buf_printf(out, "%2zu  then %s", i + 1, answer_who(&debug->arena, &s->then));
		answer_place(&debug->arena, out, &s->then);
		if (s->then_event)
			buf_printf(out, ", event %" PRIu64, s->then_event);
		if (!s->now.tid) {
			buf_text(out, "; this time there is no such thread\n");
			continue;
		}
		buf_printf(out, "; this time %s", answer_who(&debug->arena, &s->now));
		if (s->work_event)
			buf_printf(out, ", set to work by event %" PRIu64 ",", s->work_event);
		if (s->did)
			buf_printf(out, " did so too, event %" PRIu64, s->did_event);
		else
			buf_printf(out, " did not: %s", s->doing);
		if (s->wait_event)
			buf_printf(out, ", event %" PRIu64, s->wait_event);
		buf_text(out, s->culprit ? "  <- here\n" : "\n");
	}
}

int debug_diff(struct debug *debug, const struct debug_words *words, struct buf *out, struct err *err)
{
	struct side *now = diagnoser_side(debug->session.diagnoser), *base = debug_base(debug);
	struct describer d = debug_describer(debug);
	struct similars similars = { 0 };
	const struct episode *e = NULL;
	struct baseline found;
	uint64_t number = 1;
	int r = find_similars(debug, &e, &similars, err);

	if (!r && words->count > 1 && (parse_number(words->items[1], &number) || !number))
		r = err_set(err, -EINVAL, "diff [N]: the Nth that `similar` lists");
	if (!r && number > similars.length)
		r = err_set(err, -ENOENT, similars.length ? "there are only %zu similar waits"
							  : "no similar wait ended well: there is nothing to compare with", similars.length);
	if (!r && !baseline_diff_with(now, e, e->start_ns, e->end_ns, base ? base : now, &similars.items[number - 1], &found))
		r = err_set(err, -ENOENT, "nothing tells what ended the similar wait");
	if (!r) {
		const struct contrast *c = answer_contrast(&d, &found);

		answer_contrast_text(&debug->arena, c, out);
		buf_char(out, '\n');
		show_steps(debug, c, out);
	}
	vec_done(&similars);
	return r;
}
