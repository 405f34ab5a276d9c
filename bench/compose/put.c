/* See composition.h: records into the composed trace. Every switch and wake-up, recorded
 * or made up, moves the threads that are kept here, so that the state at the head of a
 * file is the state of that moment. */
#include "composition.h"

#define STEP_NS 1000u  /* between two records that are made up */

/* ---- records out ---- */

static void follow_switch(struct composition *c, const struct event *e)
{
	struct life *leaves = life_of(c, e->tid), *enters = life_of(c, event_as(e, switch)->next);

	if (leaves)
		state_leave(&leaves->state, e);
	if (enters)
		state_enter(&enters->state, e->cpu);
	if (e->cpu < c->cpus)
		c->current[e->cpu] = event_as(e, switch)->next;
}

static void follow(struct composition *c, const struct event *e)
{
	struct life *life;

	switch (e->type) {
	case EVENT_switch:
		follow_switch(c, e);
		break;
	case EVENT_wake:
		life = life_of(c, event_as(e, wake)->target);
		if (life)
			state_wake(&life->state, e->time);
		break;
	case EVENT_fork:
		life = life_of(c, event_as(e, fork)->child);
		if (life)
			life->state.doing = RUNNABLE;
		break;
	case EVENT_exit:
		life = life_of(c, e->tid);
		if (life)
			life->ended = true;
		break;
	}
}

int put(struct composition *c, const struct event *e, struct err *err)
{
	follow(c, e);
	c->written += !(event_infos[e->type].categories & (STATE | META));
	return writer_add_event(c->out.writer, e, err);
}

/* A record of the state, at the moment. */
static int put_state(struct composition *c, unsigned type, uint32_t tid, const void *data, const char *tail, size_t length, struct err *err)
{
	return put(c, &(struct event){ .time = c->now_ns, .tid = tid, .cpu = (uint16_t)c->cpus, .type = (uint16_t)type, .data = data,
				       .tail = tail, .tail_length = (uint32_t)length }, err);
}

/* A record that is made up. */
int put_made(struct composition *c, unsigned type, uint32_t tid, uint32_t cpu, const void *data, struct err *err)
{
	c->now_ns += STEP_NS;
	return put(c, &(struct event){ .time = c->now_ns, .tid = tid, .cpu = (uint16_t)cpu, .type = (uint16_t)type, .data = data, .tail = "" }, err);
}

int put_switch(struct composition *c, uint32_t cpu, uint32_t next, const struct event_switch *wait, struct err *err)
{
	struct event_switch s = { .syscall = (uint16_t)SYSCALL_NONE, .state = TASK_STATE_running };

	if (wait)
		s = *wait;
	s.next = next;
	return put_made(c, EVENT_switch, c->current[cpu], cpu, &s, err);
}

int put_wake(struct composition *c, uint32_t cpu, uint32_t target, struct err *err)
{
	struct event_wake wake = { .target = target, .syscall = (uint16_t)SYSCALL_NONE, .target_cpu = (uint16_t)cpu, .context = CONTEXT_softirq,
				   .vector = 255 };

	return put_made(c, EVENT_wake, 0, cpu, &wake, err);
}

/* ---- the head of a file ---- */

static int put_records(struct composition *c, const struct records *records, struct err *err)
{
	int code = 0;

	for (size_t i = 0; !code && i < records->length; i++) {
		const struct event *e = &records->items[i];

		if (e->type != EVENT_waiting)
			code = put_state(c, e->type, e->tid, e->data, e->tail, e->tail_length, err);
	}
	return code;
}

int put_task(struct composition *c, const struct life *life, struct err *err)
{
	const struct thread *thread = &c->recording.tables->threads[life->entry];
	struct event_task task = { .start_ns = c->now_ns - 1, .cgroup = thread->cgroup, .pid = tid_of(c, thread->pid), .uid = thread->uid,
				   .parent = tid_of(c, thread->parent_pid), .ns_tid = life->tid, .flags = thread->flags, .prio = thread->prio };
	const char *texts[] = { thread->comm, thread->exe, thread->command, thread->cgroups };
	char tail[4096];
	size_t length = 0;

	for (int i = 0; i < 4; i++)
		length += (size_t)snprintf(tail + length, sizeof(tail) / 4, "%.*s", 1000, texts[i]) + 1;
	return put_state(c, EVENT_task, life->tid, &task, tail, length, err);
}

int put_waiting(struct composition *c, const struct life *life, struct err *err)
{
	const struct event_switch *s = &life->state.wait;
	struct event_waiting at = { .since_ns = life->state.since_ns, .object = s->object, .timeout_ns = s->timeout_ns, .detail = s->detail,
				    .hint = s->hint, .argument = s->argument, .ustack = s->ustack, .kstack = s->kstack, .syscall = s->syscall,
				    .state = s->state, .wait = s->wait, .hint_kind = s->hint_kind, .flags = s->flags };

	return put_state(c, EVENT_waiting, life->tid, &at, "", 0, err);
}

static int put_snapshot_mark(struct composition *c, uint32_t reason, bool end, struct err *err)
{
	return put_state(c, EVENT_snapshot, 0, &(struct event_snapshot){ .end = end, .reason = reason }, "", 0, err);
}

static int put_clock(struct composition *c, struct err *err)
{
	const struct trace *trace = c->recording.trace;
	struct event_clock clock = { .realtime_ns = trace_wall_ns(trace, c->start_ns) + c->now_ns - c->start_ns, .boottime_ns = c->now_ns };

	return put_state(c, EVENT_clock, 0, &clock, "", 0, err);
}

/* Who there is, and what waits on what. */
static int put_threads(struct composition *c, struct err *err)
{
	int code = 0;

	for (size_t i = 0; !code && i < c->lives.length; i++) {
		struct life life = c->lives.items[i]; /* parents may be added */

		if (life.ended)
			continue;
		if (!life.lasting)
			code = put_task(c, &life, err);
		if (!code && life.state.doing == WAITING)
			code = put_waiting(c, &life, err);
	}
	return code;
}

int put_head(struct composition *c, uint32_t reason, struct err *err)
{
	int code = put_clock(c, err);

	if (!code)
		code = put_snapshot_mark(c, reason, false, err);
	if (!code)
		code = put_records(c, &c->recording.state, err);
	if (!code)
		code = put_threads(c, err);
	if (!code)
		code = put_snapshot_mark(c, reason, true, err);
	return code ? code : put_records(c, &c->recording.dictionary, err);
}

int put_end(struct composition *c, struct err *err)
{
	int code = put_snapshot_mark(c, SNAPSHOT_REASON_end, false, err);

	if (!code)
		code = put_threads(c, err);
	if (!code)
		code = put_snapshot_mark(c, SNAPSHOT_REASON_end, true, err);
	return code ? code : put_clock(c, err);
}
