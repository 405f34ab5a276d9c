/* What the baseline tells, in words and as JSON, see answer.h. */
#include <inttypes.h>
#include <string.h>

#include "diagnose/answer.h"

static void describe_step(const struct describer *now, const struct describer *then, const struct baseline *baseline,
			  const struct baseline_step *step, struct contrast_step *ret_step)
{
	*ret_step = (struct contrast_step){
		.then_ns = step->then_ns, .then_event = step->then_event, .set_to_work = step->set_to_work, .did = step->did,
		.culprit = step == baseline->steps + baseline->culprit, .work_event = step->work_event, .did_event = step->did_event,
		.doing = baseline_doing_words(step->doing), .late = step->doing == DOING_AWAITED,
		.flag = step->flag ? arena_strdup(now->arena, step->flag) : NULL,
	};
	describe_thread(then, step->then_thread, step->then_ns, &ret_step->then);
	describe_place(then, step->then_stack, &ret_step->then);
	if (step->now_thread)
		describe_thread(now, step->now_thread, now->scene->end_ns, &ret_step->now);
	if (step->wait) {
		const struct wait *w = &now->scene->waits[step->wait];

		ret_step->wait_event = w->begin_event;
		describe_place(now, w->ustack, &ret_step->now);
		ret_step->now.object = describe_object(now, w->object);
		if (step->doing == DOING_BLOCKED)
			ret_step->doing = describe_wait(now, w);
	}
}

const struct contrast *answer_contrast(const struct describer *d, const struct baseline *baseline)
{
	const struct scene *base = baseline->base->scene;
	struct describer then = { d->arena, base, d->ends, baseline->base->names, baseline->similar.thread, NULL };
	const struct episode *e = &base->episodes[baseline->similar.episode];
	struct contrast_step *steps = arena_array(d->arena, struct contrast_step, baseline->step_count);
	struct contrast *c = arena_new(d->arena, struct contrast);

	*c = (struct contrast){
		.trace = baseline->other_trace ? trace_path(base->trace) : NULL,
		.start_ns = e->start_ns, .end_ns = e->end_ns, .offset_ns = e->start_ns - base->reach_ns,
		.begin_event = base->waits[e->first].begin_event, .end_event = base->waits[e->last].end_event,
		.alike = baseline->similar.alike, .preceding = baseline->similar.preceding,
		.same_place = baseline->similar.same_place, .asked_for = baseline->from_victim, .confidence = baseline->confidence,
		.steps = steps, .step_count = baseline->step_count,
	};
	describe_thread(&then, baseline->similar.thread, e->end_ns, &c->waiter);
	for (unsigned i = 0; i < baseline->step_count; i++)
		describe_step(d, &then, baseline, &baseline->steps[i], &steps[i]);
	return c;
}

static void put_event(struct buf *buf, uint64_t event, const struct contrast *c)
{
	if (event)
		buf_printf(buf, " (event %" PRIu64 "%s)", event, c && c->trace ? " there" : "");
}

static void put_flag(struct buf *buf, const char *name)
{
	buf_text(buf, " wrote ");
	if (name[0]) {
		buf_text(buf, "the flag ");
		buf_escaped(buf, name, strlen(name), NULL);
	} else {
		buf_text(buf, "what it looked at");
	}
	buf_text(buf, ", which ended it");
}

static void tell_then(struct arena *arena, const struct contrast *c, struct buf *buf)
{
	buf_printf(buf, "A similar wait, at %.3f s", (double)c->offset_ns / 1e9);
	if (c->trace) {
		buf_text(buf, " of ");
		buf_escaped(buf, c->trace, strlen(c->trace), NULL);
	}
	buf_printf(buf, ", took %s", describe_time(arena, c->end_ns - c->start_ns));
	for (size_t i = 0; i < c->step_count && i < 8; i++) {
		const struct contrast_step *s = &c->steps[i];

		buf_printf(buf, "%s%s", i ? ", after " : ": ", answer_who(arena, &s->then));
		answer_place(arena, buf, &s->then);
		if (s->flag)
			put_flag(buf, s->flag);
		else
			buf_text(buf, i ? " had set that one to work" : s->then_event ? " ended it" : " ran just before it ended");
		put_event(buf, s->then_event, c);
	}
	buf_char(buf, '.');
}

static void tell_now(struct arena *arena, const struct contrast *c, struct buf *buf)
{
	for (size_t i = 0; i < c->step_count; i++) {
		const struct contrast_step *s = &c->steps[i];

		if (!s->culprit)
			continue;
		buf_printf(buf, " This time %s", answer_who(arena, &s->now));
		if (s->set_to_work) {
			buf_text(buf, " was set to work too");
			put_event(buf, s->work_event, NULL);
			buf_text(buf, " but");
		}
		buf_char(buf, ' ');
		if (!strncmp(s->doing, "was ", 4) || !strncmp(s->doing, "had ", 4) || !strncmp(s->doing, "waited", 6))
			buf_text(buf, s->doing);
		else {
			buf_text(buf, "was ");
			buf_escaped(buf, s->doing, strlen(s->doing), NULL);
		}
		answer_place(arena, buf, &s->now);
		put_event(buf, s->wait_event, NULL);
		buf_text(buf, s->late ? " and did so late." : " and did not do so.");
	}
}

void answer_contrast_text(struct arena *arena, const struct contrast *contrast, struct buf *buf)
{
	tell_then(arena, contrast, buf);
	tell_now(arena, contrast, buf);
}

static void put_place_json(struct json *json, const struct actor *actor)
{
	json_text(json, "function", actor->function);
	json_text(json, "module", actor->module);
}

void answer_contrast_json(struct json *json, const char *key, const struct contrast *c)
{
	if (!c) {
		json_null(json, key);
		return;
	}
	json_object(json, key);
	json_text(json, "trace", c->trace);
	json_object(json, "waiter");
	answer_actor_json(json, &c->waiter);
	json_end(json);
	json_u64(json, "start_ns", c->start_ns);
	json_u64(json, "end_ns", c->end_ns);
	json_u64(json, "begin_event", c->begin_event);
	json_u64(json, "end_event", c->end_event);
	json_u64(json, "alike", c->alike);
	json_u64(json, "preceding", c->preceding);
	json_bool(json, "same_place", c->same_place);
	json_bool(json, "asked_for", c->asked_for);
	json_u64(json, "confidence", c->confidence);
	json_array(json, "steps");
	for (size_t i = 0; i < c->step_count; i++) {
		const struct contrast_step *s = &c->steps[i];

		json_object(json, NULL);
		json_object(json, "then");
		answer_actor_json(json, &s->then);
		put_place_json(json, &s->then);
		json_u64(json, "time_ns", s->then_ns);
		json_u64(json, "event", s->then_event);
		json_text(json, "flag", s->flag);
		json_end(json);
		json_object(json, "now");
		answer_actor_json(json, &s->now);
		put_place_json(json, &s->now);
		json_text(json, "doing", s->doing);
		json_bool(json, "set_to_work", s->set_to_work);
		json_u64(json, "work_event", s->work_event);
		json_bool(json, "did", s->did);
		json_u64(json, "did_event", s->did_event);
		json_u64(json, "wait_event", s->wait_event);
		json_bool(json, "culprit", s->culprit);
		json_end(json);
		json_end(json);
	}
	json_end(json);
	json_end(json);
}
