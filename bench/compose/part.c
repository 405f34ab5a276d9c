/* See composition.h: a part of the recording, played once more. Between two parts each
 * lasting thread is brought to what it does where the next one begins. */
#include "composition.h"

#include <inttypes.h>
#include <string.h>

#include "trace/text.h"

#define STEP_NS 1000u  /* between a part's begin and what was made up before it */

static int next_file(struct composition *c, struct err *err)
{
	int code = composed_end(&c->out, err);

	if (!code)
		code = composed_begin(&c->out, c->now_ns, err);
	return code ? code : put_head(c, SNAPSHOT_REASON_file, err);
}

void part_find_changes(struct composition *c)
{
	for (unsigned type = 0; type < EVENT_MAX; type++)
		for (unsigned i = 0; i < event_infos[type].field_count; i++) {
			const struct field_info *field = &event_infos[type].fields[i];
			bool detail = (type == EVENT_switch || type == EVENT_waiting) && !strcmp(field->name, "detail");

			if (field->kind == FIELD_TID || field->kind == FIELD_PID || field->kind == FIELD_OBJECT || field->kind == FIELD_CHANNEL ||
			    field->kind == FIELD_TIME || detail)
				vec_push(&c->changes[type], ((struct change){ field, detail }));
		}
}

static uint64_t changed_object(const struct composition *c, uint64_t object)
{
	return recording_object_lasts(&c->recording, object) ? object : object ^ (hash_u64(c->playing) & ((1ull << OBJECT_KIND_SHIFT) - 1));
}

static uint64_t changed_channel(const struct composition *c, uint64_t channel)
{
	return !c->recording.full && map_find(&c->recording.objects, channel) ? channel : channel ^ hash_u64(c->playing);
}

static uint64_t changed(struct composition *c, const struct change *change, uint64_t value)
{
	if (!value)
		return 0;
	switch (change->field->kind) {
	case FIELD_TID:
	case FIELD_PID:
		return tid_of(c, (uint32_t)value);
	case FIELD_OBJECT:
	case FIELD_HEX:
		return changed_object(c, value);
	case FIELD_CHANNEL:
		return changed_channel(c, value);
	default:
		return value + c->shift_ns;
	}
}

static bool is_poll(const struct event *e)
{
	unsigned wait = e->type == EVENT_switch ? event_as(e, switch)->wait : event_as(e, waiting)->wait;

	return wait == WAIT_KIND_poll;
}

/* What follows from several fields. */
static void change_rest(struct composition *c, const struct event *e, const struct part *part)
{
	if (e->type == EVENT_switch) {
		struct event_switch *s = (void *)c->data;

		if (s->wait == WAIT_KIND_child && (int32_t)s->argument > 0)
			s->argument = tid_of(c, s->argument);
	} else if (e->type == EVENT_fork) {
		struct event_fork *fork = (void *)c->data;

		fork->ns_child = fork->child;
	} else if (e->type == EVENT_task) {
		struct event_task *task = (void *)c->data;

		if (task->ns_tid == e->tid)
			task->ns_tid = tid_of(c, e->tid);
		if (event_as(e, task)->start_ns < part->from_ns)
			task->start_ns = c->recording.lasting[e->tid < TID_LIMIT ? e->tid : 0] ? event_as(e, task)->start_ns : part->from_ns + c->shift_ns;
	} else if (e->type == EVENT_waiting && event_as(e, waiting)->since_ns < part->from_ns) {
		struct life *life = life_of(c, tid_of(c, e->tid));

		((struct event_waiting *)(void *)c->data)->since_ns = life && life->state.doing == WAITING ? life->state.since_ns : 0;
	}
}

static bool is_left_out(const struct composition *c, const struct event *e)
{
	switch (e->type) {
	case EVENT_gap:
	case EVENT_machine:
	case EVENT_clock:
	case EVENT_mark:
	case EVENT_module:
	case EVENT_frame:
	case EVENT_symbol:
	case EVENT_probe_point:
		return true;
	case EVENT_mapping:
		return e->tid < TID_LIMIT && c->recording.lasting[e->tid];
	}
	return e->type >= EVENT_MAX || !event_infos[e->type].name;
}

static int put_changed(struct composition *c, const struct event *e, const struct part *part, struct err *err)
{
	const struct event_info *info = &event_infos[e->type];
	struct event out = *e;

	c->now_ns = out.time = e->time + c->shift_ns;
	if (e->type == EVENT_fork)
		tid_forget_ended(c, event_as(e, fork)->child);
	out.tid = tid_of(c, e->tid);
	if (info->bytes) {
		memcpy(c->data, e->data, info->bytes);
		out.data = c->data;
	}
	for (size_t i = 0; i < c->changes[e->type].length; i++) {
		const struct change *change = &c->changes[e->type].items[i];
		uint64_t value = field_value(change->field, e->data);

		if (value && (!change->is_poll_detail || is_poll(e)))
			field_set(change->field, c->data, changed(c, change, value));
	}
	change_rest(c, e, part);
	return put(c, &out, err);
}

/* A lasting thread comes to do what it does at the part's begin. */
static int bring(struct composition *c, struct life *life, const struct thread_state *to, uint64_t to_age_ns, uint32_t cpu, struct err *err)
{
	const struct thread_state from = life->state;
	uint32_t tid = life->tid;
	int code = 0;

	if (from.doing == UNKNOWN) {
		life->state = *to;
		if (to->doing == RUNNING)
			life->state.doing = RUNNABLE;
		return 0;
	}
	/* no wait becomes longer than it was */
	if (to->doing == WAITING && from.doing == WAITING && state_same_wait(&from, to) && (!from.since_ns || c->now_ns - from.since_ns <= to_age_ns))
		return 0;
	if (from.doing == WAITING)
		code = put_wake(c, cpu, tid, err);
	if (!code && to->doing == WAITING)
		code = put_switch(c, cpu, tid, NULL, err);
	if (!code && to->doing == WAITING)
		code = put_switch(c, cpu, 0, &to->wait, err);
	return code;
}

/* Threads of the part that were there before it begins. */
static int begin_other(struct composition *c, uint32_t recorded, const struct thread_state *state, struct err *err)
{
	struct life *life = life_of(c, tid_of(c, recorded));
	struct life copy;
	int code;

	life->state = *state;
	life->state.since_ns = c->now_ns;
	if (state->doing == RUNNING)
		life->state.doing = RUNNABLE;
	copy = *life;
	code = put_task(c, &copy, err);
	return !code && copy.state.doing == WAITING ? put_waiting(c, &copy, err) : code;
}

/* What the recording has not met yet where the part begins sleeps there. */
static int settle(struct composition *c, const struct part *part, struct err *err)
{
	const struct event_switch sleeps = { .syscall = (uint16_t)SYSCALL_NONE, .state = TASK_STATE_sleeping, .wait = WAIT_KIND_other };
	struct map met = { 0 };
	int code = 0;

	for (size_t i = 0; i < part->begin.length; i++)
		map_put(&met, part->begin.items[i].tid, 1);
	for (size_t i = 0; !code && i < c->lives.length; i++) {
		struct life life = c->lives.items[i];

		if (!life.lasting || !c->recording.leaves[life.tid] || life.state.doing != RUNNABLE || map_find(&met, life.tid))
			continue;
		code = put_switch(c, 0, life.tid, NULL, err);
		if (!code)
			code = put_switch(c, 0, 0, &sleeps, err);
	}
	map_done(&met);
	return code;
}

static int begin_part(struct composition *c, const struct part *part, struct err *err)
{
	int code;

	c->shift_ns = c->now_ns - part->from_ns;
	code = settle(c, part, err);
	for (size_t i = 0; !code && i < part->begin.length; i++) {
		const struct part_state *at = &part->begin.items[i];
		struct life *life = life_of(c, at->tid);

		if (!c->recording.lasting[at->tid])
			code = begin_other(c, at->tid, &at->state, err);
		else
			code = bring(c, life ? life : life_add(c, at->tid, at->tid, part->from_ns), &at->state,
				     at->state.since_ns ? part->from_ns - at->state.since_ns : UINT64_MAX, (uint32_t)(i % c->cpus), err);
	}
	for (size_t i = 0; !code && i < part->begin.length; i++) {
		const struct part_state *at = &part->begin.items[i];

		if (at->state.doing == RUNNING && at->state.cpu < c->cpus)
			code = put_switch(c, at->state.cpu, tid_of(c, at->tid), NULL, err);
	}
	c->now_ns += STEP_NS;
	c->shift_ns = c->now_ns - part->from_ns;
	return code;
}

/* Whether a thread was woken just before it left is known from the recording. */
static void correct_states(struct composition *c, const struct part *part)
{
	for (size_t i = 0; i < part->end.length; i++) {
		const struct part_state *at = &part->end.items[i];
		struct life *life = c->recording.lasting[at->tid] ? life_of(c, at->tid) : NULL;

		if (life && life->state.doing != RUNNING && (at->state.doing == RUNNABLE || at->state.doing == WAITING))
			life->state.doing = at->state.doing;
	}
}

/* The processors become idle; what does not last ends. */
static int end_part(struct composition *c, const struct part *part, struct err *err)
{
	const struct event_switch dead = { .syscall = (uint16_t)SYSCALL_NONE, .state = TASK_STATE_dead, .wait = WAIT_KIND_exit };
	int code = 0;

	correct_states(c, part);
	for (uint32_t cpu = 0; !code && cpu < c->cpus; cpu++) {
		uint32_t tid = c->current[cpu];

		if (tid && !(tid < FIRST_TID && !c->recording.leaves[tid]))
			code = put_switch(c, cpu, 0, NULL, err);
		c->current[cpu] = 0;
	}
	for (size_t i = 0; !code && i < c->lives.length; i++) {
		struct life life = c->lives.items[i];
		uint32_t cpu = (uint32_t)(i % c->cpus);
		struct event_exit exit = { .code = 9, .last = c->recording.tables->threads[life.entry].flags & TASK_FLAGS_leader ? 1 : 0 };

		if (life.lasting || life.state.doing == ENDED || (life.ended && life.state.doing == UNKNOWN))
			continue;
		if (life.state.doing == WAITING)
			code = put_wake(c, cpu, life.tid, err);
		if (!code)
			code = put_switch(c, cpu, life.tid, NULL, err);
		if (!code && !life.ended)
			code = put_made(c, EVENT_exit, life.tid, cpu, &exit, err);
		if (!code)
			code = put_switch(c, cpu, 0, &dead, err);
	}
	return code;
}

static void tell_truth(struct composition *c, const struct part *part)
{
	for (size_t i = 0; c->truth && i < part->hangs.length; i++) {
		const struct known_hang *hang = &part->hangs.items[i];

		fprintf(c->truth, "{\"kind\": \"%s\", \"from_s\": %.6f, \"to_s\": %.6f, \"from_ns\": %" PRIu64 ", \"to_ns\": %" PRIu64
			", \"victim\": %" PRIu32 ", \"culprit\": %" PRIu32 "}\n", hang->name,
			(double)(hang->from_ns + c->shift_ns - c->start_ns) / 1e9, (double)(hang->to_ns + c->shift_ns - c->start_ns) / 1e9,
			hang->from_ns + c->shift_ns, hang->to_ns + c->shift_ns, tid_of(c, hang->victim), tid_of(c, hang->culprit));
	}
}

int part_play(struct composition *c, const struct part *part, struct err *err)
{
	struct trace_filter filter = { .from_ns = part->from_ns, .to_ns = part->to_ns, .unnumbered = true };
	struct trace_cursor *cursor;
	int code;

	c->playing++;
	code = begin_part(c, part, err);
	cursor = trace_cursor_new(c->recording.trace, &filter);
	for (const struct event *e; !code && (e = trace_cursor_next(cursor)); ) {
		bool full;

		if (is_left_out(c, e))
			continue;
		code = put_changed(c, e, part, err);
		if (!code)
			code = composed_flush(&c->out, c->now_ns, &full, err);
		if (!code && full)
			code = next_file(c, err);
	}
	trace_cursor_free(cursor);
	c->now_ns = part->to_ns + c->shift_ns;
	tell_truth(c, part);
	if (!code)
		code = end_part(c, part, err);
	lives_drop(c);
	return code;
}
