/* See recording.h. One pass over the recording follows what every thread does and
 * keeps that where parts begin; what stands at the head of files is gathered in it. */
#include "recording.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "trace/text.h"

#define EARLY_WAKE_NS 50000u  /* a wake-up so soon before a thread leaves may end that wait */

static const char *const part_kinds[PART_KINDS] = { "even", "idle", "storm", "hang" };

/* ---- states ---- */

void state_leave(struct thread_state *state, const struct event *e)
{
	const struct event_switch *s = event_as(e, switch);

	state->cpu = 0;
	if (s->state == TASK_STATE_dead) {
		state->doing = ENDED;
	} else if (s->state == TASK_STATE_running) {
		state->doing = RUNNABLE;
	} else {
		state->doing = state->woken_ns && e->time - state->woken_ns < EARLY_WAKE_NS ? RUNNABLE : WAITING;
		state->since_ns = e->time;
		state->wait = *s;
	}
	state->woken_ns = 0;
}

void state_enter(struct thread_state *state, uint16_t cpu)
{
	state->doing = RUNNING;
	state->cpu = cpu;
	state->woken_ns = 0;
}

void state_wake(struct thread_state *state, uint64_t time_ns)
{
	if (state->doing == WAITING)
		state->doing = RUNNABLE;
	else
		state->woken_ns = time_ns;
}

bool state_same_wait(const struct thread_state *a, const struct thread_state *b)
{
	if (b->wait.wait == WAIT_KIND_other && !b->wait.object) /* not known what */
		return true;
	return a->wait.object == b->wait.object && a->wait.wait == b->wait.wait && a->wait.syscall == b->wait.syscall &&
	       a->wait.state == b->wait.state;
}

/* ---- the list of parts ---- */

static int add_line(struct recording *recording, const char *line, struct err *err)
{
	struct known_hang hang = { 0 };
	struct part part = { 0 };
	char kind[PART_NAME_BYTES];

	if (sscanf(line, "part %31s %31s %" SCNu64 " %" SCNu64, kind, part.name, &part.from_ns, &part.to_ns) == 4 &&
	    part.from_ns < part.to_ns) {
		while (part.kind < PART_KINDS && strcmp(kind, part_kinds[part.kind]))
			part.kind++;
		if (part.kind == PART_KINDS)
			return err_set(err, -EINVAL, "'%s' is no kind of part", kind);
		vec_push(&recording->parts, part);
		return 0;
	}
	if (sscanf(line, "hang %31s %" SCNu64 " %" SCNu64 " %" SCNu32 " %" SCNu32, hang.name, &hang.from_ns, &hang.to_ns,
		   &hang.victim, &hang.culprit) == 5) {
		for (size_t i = 0; i < recording->parts.length; i++) {
			struct part *at = &recording->parts.items[i];

			if (at->from_ns <= hang.from_ns && hang.to_ns <= at->to_ns)
				vec_push(&at->hangs, hang);
		}
		return 0;
	}
	return err_set(err, -EINVAL, "no part and no hang: %s", line);
}

static int read_parts(struct recording *recording, const char *path, struct err *err)
{
	const char *list = arena_printf(&recording->arena, "%s.parts", path);
	FILE *file = fopen(list, "r");
	char line[256];
	int code = 0;

	if (!file)
		return err_sys(err, -errno, "opening '%s'", list);
	while (!code && fgets(line, sizeof(line), file))
		code = add_line(recording, line, err);
	fclose(file);
	if (!code && !recording->parts.length)
		code = err_set(err, -EINVAL, "'%s' tells of no part", list);
	return code;
}

/* ---- the pass ---- */

/* States are kept as they were then. */
struct moment {
	uint64_t time_ns;
	struct part_states *states;
};

struct pass {
	struct recording *recording;
	struct thread_state *states;   /* by tid */
	uint64_t *born_ns, *died_ns;   /* by tid; 0: not within the recording */
	uint32_t tids;                 /* all are below */
	bool in_start;                 /* within the first snapshot */
	bool started;                  /* behind it */
	size_t next_part;
	struct vec(struct moment) moments;   /* begins and ends of parts, by time */
	size_t next_moment;
	uint32_t *settled;             /* by tid: moments whose state of it is sure */
};

static void keep(struct recording *recording, struct records *to, const struct event *e)
{
	struct event copy = *e;
	char *tail = arena_alloc(&recording->arena, e->tail_length + 1, 1);

	if (e->data)
		copy.data = arena_memdup(&recording->arena, e->data, event_infos[e->type].bytes);
	memcpy(tail, e->tail, e->tail_length);
	tail[e->tail_length] = 0;
	copy.tail = tail;
	vec_push(to, copy);
}

/* The command was there to record by; what is composed is the machine's. */
static void keep_machine(struct recording *recording, const struct event *e)
{
	struct event machine = *e;
	struct buf texts;

	buf_init(&texts);
	for (const char *at = e->tail; at < e->tail + e->tail_length; at += strlen(at) + 1) {
		const char *text = strncmp(at, "command=", 8) ? strncmp(at, "options=", 8) ? at : "options=" : "command=";

		buf_add(&texts, text, strlen(text) + 1);
	}
	machine.tail = buf_str(&texts);
	machine.tail_length = (uint32_t)texts.length;
	keep(recording, &recording->state, &machine);
	buf_done(&texts);
}

static struct thread_state *state_of(struct pass *pass, uint32_t tid)
{
	if (!tid || tid >= TID_LIMIT)
		return NULL;
	if (tid >= pass->tids)
		pass->tids = tid + 1;
	return &pass->states[tid];
}

static void keep_states(struct pass *pass, struct part_states *states)
{
	for (uint32_t tid = 1; tid < pass->tids; tid++)
		if (pass->states[tid].doing != UNKNOWN && pass->states[tid].doing != ENDED)
			vec_push(states, ((struct part_state){ tid, pass->states[tid] }));
}

/* What a thread does next tells what it did before: a wake-up shortly before it left
 * may have ended that wait or another one, and of some nothing was known. */
static void settle_moment(const struct pass *pass, const struct moment *moment, uint32_t tid, const struct thread_state *was)
{
	for (size_t i = 0; i < moment->states->length; i++) {
		struct part_state *at = &moment->states->items[i];

		if (at->tid != tid)
			continue;
		if (was->doing == WAITING && at->state.doing == RUNNABLE && at->state.wait.state)
			at->state.doing = WAITING;
		return;
	}
	if (pass->born_ns[tid] < moment->time_ns)
		vec_push(moment->states, ((struct part_state){ tid, *was }));
}

static void settle(struct pass *pass, uint32_t tid, struct thread_state was)
{
	was.wait.syscall = (uint16_t)SYSCALL_NONE;
	was.wait.state = TASK_STATE_sleeping;
	was.wait.wait = WAIT_KIND_other;
	for (; pass->settled[tid] < pass->next_moment; pass->settled[tid]++)
		settle_moment(pass, &pass->moments.items[pass->settled[tid]], tid, &was);
}

/* What it waits on at the start. */
static struct thread_state found_waiting(const struct event_waiting *at)
{
	return (struct thread_state){
		.doing = WAITING, .since_ns = at->since_ns,
		.wait = { .object = at->object, .timeout_ns = at->timeout_ns, .detail = at->detail, .hint = at->hint,
			  .argument = at->argument, .ustack = at->ustack, .kstack = at->kstack, .syscall = at->syscall,
			  .state = at->state, .wait = at->wait, .hint_kind = at->hint_kind, .flags = at->flags },
	};
}

static void follow_switch(struct pass *pass, const struct event *e)
{
	struct thread_state *leaves = state_of(pass, e->tid), *enters = state_of(pass, event_as(e, switch)->next);

	if (leaves) {
		pass->recording->leaves[e->tid] = true;
		settle(pass, e->tid, (struct thread_state){ .doing = RUNNING, .cpu = e->cpu });
		state_leave(leaves, e);
	}
	if (enters) {
		settle(pass, event_as(e, switch)->next, (struct thread_state){ .doing = RUNNABLE });
		state_enter(enters, e->cpu);
	}
}

static void follow_fork(struct pass *pass, const struct event *e)
{
	struct thread_state *child = state_of(pass, event_as(e, fork)->child);

	if (!child)
		return;
	*child = (struct thread_state){ .doing = RUNNABLE };
	pass->settled[event_as(e, fork)->child] = (uint32_t)pass->next_moment;
	pass->born_ns[event_as(e, fork)->child] = e->time;
}

static void follow(struct pass *pass, const struct event *e)
{
	struct thread_state *state;

	switch (e->type) {
	case EVENT_switch:
		follow_switch(pass, e);
		break;
	case EVENT_wake:
		state = state_of(pass, event_as(e, wake)->target);
		if (state && state->doing != RUNNING)
			settle(pass, event_as(e, wake)->target, (struct thread_state){ .doing = WAITING });
		if (state)
			state_wake(state, e->time);
		break;
	case EVENT_fork:
		follow_fork(pass, e);
		break;
	case EVENT_exit:
		if (state_of(pass, e->tid))
			pass->died_ns[e->tid] = e->time;
		break;
	case EVENT_waiting:
		state = state_of(pass, e->tid);
		if (state && state->doing == UNKNOWN)
			*state = found_waiting(event_as(e, waiting));
		break;
	case EVENT_message:
		pass->recording->full = true;
		break;
	}
}

static void take_state(struct pass *pass, const struct event *e)
{
	struct recording *recording = pass->recording;

	switch (e->type) {
	case EVENT_module:
	case EVENT_frame:
	case EVENT_symbol:
	case EVENT_probe_point:
		keep(recording, &recording->dictionary, e);
		break;
	case EVENT_mapping:
		keep(recording, &recording->state, e);
		break;
	case EVENT_snapshot:
		pass->in_start = !pass->started && !event_as(e, snapshot)->end;
		pass->started |= event_as(e, snapshot)->end != 0;
		break;
	case EVENT_clock:
	case EVENT_gap:
		break;
	case EVENT_machine:
		keep_machine(recording, e);
		break;
	default:
		if (pass->in_start)
			keep(recording, &recording->state, e);
	}
}

static void walk(struct pass *pass)
{
	struct recording *recording = pass->recording;
	struct trace_cursor *cursor = trace_cursor_new(recording->trace, NULL);
	struct parts *parts = &recording->parts;

	for (const struct event *e; (e = trace_cursor_next(cursor)); ) {
		while (pass->next_moment < pass->moments.length && e->time >= pass->moments.items[pass->next_moment].time_ns)
			keep_states(pass, pass->moments.items[pass->next_moment++].states);
		while (pass->next_part < parts->length && e->time >= parts->items[pass->next_part].from_ns)
			pass->next_part++;
		if (e->type >= EVENT_MAX || !event_infos[e->type].name)
			continue;
		if (event_infos[e->type].categories & (STATE | META))
			take_state(pass, e);
		else if (pass->next_part && e->time <= parts->items[pass->next_part - 1].to_ns)
			parts->items[pass->next_part - 1].events++;
		follow(pass, e);
	}
	trace_cursor_free(cursor);
}

/* ---- what lasts ---- */

static void find_lasting(struct pass *pass)
{
	struct recording *recording = pass->recording;
	uint64_t begin = recording->parts.items[0].from_ns, end = recording->parts.items[recording->parts.length - 1].to_ns;

	for (uint32_t tid = 1; tid < pass->tids; tid++)
		recording->lasting[tid] = pass->states[tid].doing != UNKNOWN && pass->born_ns[tid] < begin &&
					  (!pass->died_ns[tid] || pass->died_ns[tid] > end);
}

bool recording_object_lasts(const struct recording *recording, uint64_t object)
{
	switch (object_kind(object)) {
	case OBJECT_KIND_file:
	case OBJECT_KIND_directory:
	case OBJECT_KIND_fifo:
	case OBJECT_KIND_tty:
	case OBJECT_KIND_device:
	case OBJECT_KIND_fuse:
		return true;
	}
	return map_find(&recording->objects, object);
}

static void keep_objects(struct recording *recording, const struct event *e)
{
	const struct event_info *info = &event_infos[e->type];

	for (unsigned i = 0; i < info->field_count; i++)
		if (info->fields[i].kind == FIELD_OBJECT || info->fields[i].kind == FIELD_CHANNEL)
			map_put(&recording->objects, field_value(&info->fields[i], e->data), 1);
}

/* Threads whose switches are not recorded, for they belong to another recorder, are left alone. */
static void sift_states(const struct recording *recording, struct part_states *states)
{
	size_t kept = 0;

	for (size_t i = 0; i < states->length; i++)
		if (recording->leaves[states->items[i].tid] || states->items[i].state.doing == WAITING)
			states->items[kept++] = states->items[i];
	states->length = kept;
}

/* Only records of lasting threads, and of none, stay. */
static void sift_state(struct recording *recording)
{
	struct records *state = &recording->state;
	size_t kept = 0;

	for (size_t i = 0; i < state->length; i++) {
		const struct event *e = &state->items[i];

		if (e->tid && (e->tid >= TID_LIMIT || !recording->lasting[e->tid]))
			continue;
		keep_objects(recording, e);
		state->items[kept++] = *e;
	}
	state->length = kept;
}

static void keep_futexes(struct recording *recording)
{
	struct trace_filter filter = { .unnumbered = true };
	struct trace_cursor *cursor;

	trace_filter_add(&filter, EVENT_switch);
	cursor = trace_cursor_new(recording->trace, &filter);
	for (const struct event *e; (e = trace_cursor_next(cursor)); ) {
		uint64_t object = event_as(e, switch)->object;

		if (object_kind(object) == OBJECT_KIND_futex && e->tid < TID_LIMIT && recording->lasting[e->tid])
			map_put(&recording->objects, object, 1);
	}
	trace_cursor_free(cursor);
}

static void find_first(struct recording *recording)
{
	struct vec(struct part_state) first = { 0 };

	for (size_t i = 0; i < recording->state.length; i++) {
		const struct event *e = &recording->state.items[i];

		if (e->type == EVENT_waiting)
			vec_push(&first, ((struct part_state){ e->tid, found_waiting(event_as(e, waiting)) }));
	}
	recording->first = arena_memdup(&recording->arena, first.items, first.length * sizeof(*first.items));
	recording->first_count = first.length;
	vec_done(&first);
}

int recording_open(const char *path, struct recording *recording, struct err *err)
{
	struct pass pass = { .recording = recording };
	int code = read_parts(recording, path, err);

	if (!code)
		code = trace_open(path, &recording->trace, err);
	if (!code)
		code = tables_build(recording->trace, &recording->tables, err);
	if (code)
		return code;
	recording->lasting = mem_zalloc(TID_LIMIT);
	recording->leaves = mem_zalloc(TID_LIMIT);
	for (size_t i = 0; i < recording->parts.length; i++) {
		struct part *part = &recording->parts.items[i];

		vec_push(&pass.moments, ((struct moment){ part->from_ns, &part->begin }));
		vec_push(&pass.moments, ((struct moment){ part->to_ns + 1, &part->end }));
	}
	pass.settled = mem_zalloc(TID_LIMIT * sizeof(*pass.settled));
	pass.states = mem_zalloc(TID_LIMIT * sizeof(*pass.states));
	pass.born_ns = mem_zalloc(TID_LIMIT * sizeof(uint64_t));
	pass.died_ns = mem_zalloc(TID_LIMIT * sizeof(uint64_t));
	walk(&pass);
	find_lasting(&pass);
	free(pass.states);
	free(pass.settled);
	vec_done(&pass.moments);
	free(pass.born_ns);
	free(pass.died_ns);
	sift_state(recording);
	for (size_t i = 0; i < recording->parts.length; i++) {
		sift_states(recording, &recording->parts.items[i].begin);
		sift_states(recording, &recording->parts.items[i].end);
	}
	keep_futexes(recording);
	find_first(recording);
	return 0;
}

void recording_close(struct recording *recording)
{
	for (size_t i = 0; i < recording->parts.length; i++) {
		vec_done(&recording->parts.items[i].begin);
		vec_done(&recording->parts.items[i].end);
		vec_done(&recording->parts.items[i].hangs);
	}
	vec_done(&recording->parts);
	vec_done(&recording->state);
	vec_done(&recording->dictionary);
	map_done(&recording->objects);
	free(recording->lasting);
	free(recording->leaves);
	tables_free(recording->tables);
	trace_close(recording->trace);
	arena_done(&recording->arena);
}
