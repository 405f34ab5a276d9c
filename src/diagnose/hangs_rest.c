/* Where a thread rests, see hangs_rest.h. */
#include "diagnose/hangs_rest.h"

#include <sys/epoll.h>
#include <unistd.h>

#include "base/map.h"
#include "base/search.h"
#include "diagnose/broken_off.h"
#include "diagnose/hangs_asks.h"

/* 0 for a stack that was not walked: one frame is what is left of it then. */
static uint32_t stack_depth(const struct tables *tables, uint32_t node)
{
	return node && node < tables->frame_count && tables->frames[node].depth > 1 ? tables->frames[node].depth : 0;
}

/* What the thread took behind the wait came from another program than the one that the
 * wait is taken to ask; pipes and eventfds only wake a loop. */
static bool took_other(const struct finder *f, const struct episode *e, uint64_t until)
{
	const struct scene_thread *t = &f->scene->threads[f->thread];

	for (uint32_t i = scene_messages_from(f->scene, f->thread, e->end_ns); i < t->messages.count; i++) {
		const struct message m = scene_message(f->scene, t->messages.items[i]);

		if (m.start_ns >= until || !(m.flags & MESSAGE_FLAGS_receive))
			return false;
		if (m.result > 0 && !scene_is_pipe(m.object) && object_kind(m.object) != OBJECT_KIND_eventfd)
			return m.object != hangs_listened_to(&f->scene->waits[e->last]);
	}
	return false;
}

/* Patience has the same limit each time, or one end; what differs is when the next of
 * a loop's own timers runs out. */
static void learn_limit(const struct scene *scene, struct place *p, const struct wait *w)
{
	uint64_t same = limit_of(scene, LIMIT_same_limit_ns);
	uint64_t deadline = w->start_ns + w->timeout_ns, longer, shorter;

	if (!w->timeout_ns)
		return;
	longer = w->timeout_ns > p->limit_ns ? w->timeout_ns : p->limit_ns;
	shorter = w->timeout_ns > p->limit_ns ? p->limit_ns : w->timeout_ns;
	if (p->limit_ns && (longer - shorter) * 10 > longer && (deadline > p->deadline_ns + same || deadline + same < p->deadline_ns))
		p->own_times = true;
	p->limits++;
	p->limit_ns = w->timeout_ns;
	p->deadline_ns = deadline;
}

static void learn_length(struct place *p, uint64_t ns)
{
	if (ns > p->longest_ns) {
		p->next_ns = p->longest_ns;
		p->longest_ns = ns;
	} else if (ns > p->next_ns) {
		p->next_ns = ns;
	}
}

void hangs_learn_places(struct finder *f)
{
	const struct scene_thread *t = &f->scene->threads[f->thread];
	const struct tables *tables = f->scene->tables;
	struct map index;

	f->places.length = 0;
	map_init(&index);
	for (uint32_t i = 0; i < t->episode_count; i++) {
		const struct episode *e = &f->scene->episodes[t->episode + i];
		const struct wait *w = &f->scene->waits[e->last];
		bool fresh;
		uint64_t *at = map_at(&index, w->site, &fresh);
		struct place *p;

		if (fresh) {
			*at = f->places.length;
			vec_push(&f->places, ((struct place){ .site = w->site, .kind = w->kind,
				.depth = stack_depth(tables, w->ustack), .wait = e->last }));
		}
		p = &f->places.items[*at];
		p->visits++;
		p->total_ns += e->end_ns - e->start_ns;
		learn_length(p, e->end_ns - e->start_ns);
		for (uint32_t j = e->first; j <= e->last; j++)
			if (f->scene->waits[j].site == w->site)
				learn_limit(f->scene, p, &f->scene->waits[j]);
		if (w->kind == WAIT_KIND_poll && !p->open_to_all)
			p->open_to_all = took_other(f, e, i + 1 < t->episode_count ? e[1].start_ns : UINT64_MAX);
	}
	map_done(&index);
}

const struct place *hangs_place_of(const struct finder *f, const struct wait *w)
{
	for (size_t i = 0; i < f->places.length; i++)
		if (f->places.items[i].site == w->site)
			return &f->places.items[i];
	return NULL;
}

bool hangs_is_window_server(const struct finder *f, uint64_t object)
{
	return object && ends_lead_to_windows(f->ends, ends_of_object(f->ends, object));
}

bool hangs_has_windows(const struct finder *f)
{
	return ends_has_windows(f->ends, scene_pid(f->scene, f->thread));
}

bool hangs_is_batch(const struct finder *f)
{
	return !f->options->pid && !f->options->root_pid && !hangs_has_windows(f);
}

bool hangs_is_left_alone(const struct finder *f)
{
	return f->scene->judgement && f->scene->judgement->unattended && !f->options->threshold_ns && !f->options->pid && !f->options->root_pid;
}

bool hangs_is_unattended(const struct finder *f)
{
	return hangs_is_left_alone(f) && !hangs_has_windows(f);
}

bool hangs_awaits_person(const struct finder *f, const struct wait *w)
{
	if (object_kind(w->kind == WAIT_KIND_poll ? w->detail : w->object) == OBJECT_KIND_tty)
		return true;
	return hangs_listens(w->kind) && ends_has_windows(f->ends, scene_pid(f->scene, w->thread));
}

bool hangs_same_loop(const struct finder *f, const struct episode *a, const struct episode *b)
{
	const struct wait *v = &f->scene->waits[a->last], *w = &f->scene->waits[b->last];

	if (v->site == w->site)
		return true;
	if (v->kind != w->kind || !hangs_listened_to(w) || hangs_listened_to(v) != hangs_listened_to(w))
		return false;
	/* of what is polled the first is known: one thing alone may be asked for an answer */
	return w->kind == WAIT_KIND_epoll || object_kind(w->detail) == OBJECT_KIND_tty ||
	       (w->kind == WAIT_KIND_poll && v->argument >= 2 && w->argument >= 2);
}

static uint32_t epoll_visits(const struct finder *f)
{
	uint32_t visits = 0;

	for (size_t i = 0; i < f->places.length; i++)
		if (f->places.items[i].kind == WAIT_KIND_epoll)
			visits += f->places.items[i].visits;
	return visits;
}

/* ---- the rules, in the words of rules.def ---- */

static bool wait_is_marked(const struct finder *f, const struct wait *w)
{
	(void)f;
	return w->idle;
}

static bool has_far_limit(const struct finder *f, const struct wait *w)
{
	return (w->kind == WAIT_KIND_epoll || w->kind == WAIT_KIND_poll) && w->timeout_ns >= limit_of(f->scene, LIMIT_far_limit_ns);
}

/* Of all that it has open nothing but a terminal ever ends a poll. */
static bool has_only_terminal(const struct finder *f)
{
	struct row row = ends_of_process(f->ends, scene_pid(f->scene, f->thread));
	bool found = false;

	for (uint32_t i = 0; i < row.count; i++) {
		uint16_t kind = ends_at(f->ends, row, i)->at.kind;

		if (kind != OBJECT_KIND_tty && kind != OBJECT_KIND_file && kind != OBJECT_KIND_directory && kind != OBJECT_KIND_device)
			return false;
		found |= kind == OBJECT_KIND_tty;
	}
	return found;
}

static bool listens_to_terminal(const struct finder *f, const struct wait *w)
{
	uint64_t object = ends_listened_to(f->ends, scene_pid(f->scene, w->thread), w);

	if (w->kind == WAIT_KIND_poll && w->argument == 1 && !object)
		return has_only_terminal(f);
	return hangs_listens(w->kind) && object_kind(object) == OBJECT_KIND_tty;
}

static bool comes_often(const struct finder *f, const struct place *p)
{
	return p && p->visits >= limit_of(f->scene, LIMIT_rest_visits);
}

/* Patience is a round number; what is left until a timer of one's own is none. */
static bool has_odd_limit(const struct finder *f, const struct wait *w)
{
	const struct scene *scene = f->scene;
	const struct episode *first = scene_limit_begin(scene, &scene->episodes[w->episode], limit_of(scene, LIMIT_same_limit_ns));
	uint64_t ns = scene->waits[first->first].timeout_ns, round = limit_of(scene, LIMIT_round_ns);

	/* what is left of a limit is less than that, never more */
	return w->kind == WAIT_KIND_futex && ns > limit_of(scene, LIMIT_odd_least_ns) && ns % round > round / 1000 && ns % round < round - round / 20;
}

static bool has_own_times(const struct finder *f, const struct wait *w)
{
	const struct place *p = hangs_place_of(f, w);

	return has_odd_limit(f, w) || (p && p->kind == WAIT_KIND_futex && p->own_times && p->limits >= limit_of(f->scene, LIMIT_rest_visits));
}

/* A wait that others end, or would, for work or for an answer. */
static bool is_for_others(const struct wait *w)
{
	return (w->end == WAIT_END_THREAD || w->end == WAIT_END_OPEN) &&
	       (hangs_listens(w->kind) || w->kind == WAIT_KIND_futex || w->kind == WAIT_KIND_semaphore);
}

static bool waits_as_long_each_time(const struct finder *f, const struct wait *w)
{
	const struct scene *scene = f->scene;
	const struct scene_thread *t = &scene->threads[w->thread];
	const struct episode *mine = &scene->episodes[w->episode];
	uint64_t ns = mine->end_ns - mine->start_ns;
	uint32_t times = 0;

	if (ns < limit_of(scene, LIMIT_wait_ns) || !is_for_others(w) || !hangs_is_unattended(f))
		return false;
	for (const struct episode *e = &scene->episodes[t->episode]; e < &scene->episodes[t->episode + t->episode_count]; e++) {
		uint64_t its = e->end_ns - e->start_ns, longer = its > ns ? its : ns, shorter = its > ns ? ns : its;

		times += e != mine && shorter > part_of(scene, LIMIT_as_long, longer) && is_for_others(&scene->waits[e->last]);
	}
	return times >= limit_of(scene, LIMIT_times_as_long);
}

static uint32_t leader_of(const struct scene *scene, uint32_t thread, uint64_t time)
{
	return tables_process(scene->tables, scene_pid(scene, thread), time);
}

static bool is_parent(const struct scene *scene, uint32_t thread, uint32_t child, uint64_t time)
{
	uint32_t leader = leader_of(scene, child, time);

	return leader && !scene_same_process(scene, thread, child) && scene_has_started(scene, thread, leader);
}

static uint32_t parent_of(const struct scene *scene, uint32_t leader)
{
	const struct thread *t = &scene->tables->threads[leader];

	return t->creator ? scene_pid(scene, t->creator) : t->parent_pid;
}

static bool is_sibling(const struct scene *scene, uint32_t a, uint32_t b, uint64_t time)
{
	uint32_t one = leader_of(scene, a, time), other = leader_of(scene, b, time);

	return one && other && one != other && parent_of(scene, one) && parent_of(scene, one) == parent_of(scene, other);
}

static bool reads_from_parent(const struct scene *scene, const struct wait *w)
{
	return w->kind == WAIT_KIND_read && scene_is_pipe(w->object) && w->end == WAIT_END_THREAD && is_parent(scene, w->waker, w->thread, w->start_ns);
}

/* Its standard input is the one of who started its parent, too: a program that records or times another hands it on. */
static bool reads_input_of_kin(const struct scene *scene, const struct wait *w)
{
	return w->kind == WAIT_KIND_read && w->argument == STDIN_FILENO && scene_is_pipe(w->object) && w->end == WAIT_END_THREAD &&
	       !scene_same_process(scene, w->waker, w->thread) && scene_descends_from(scene, w->thread, scene_pid(scene, w->waker));
}

/* It waited for one thing for most of the time: it may have been kept from answering. */
static bool waited_long(const struct scene *scene, uint32_t thread, uint64_t from_ns, uint64_t to_ns)
{
	for (uint32_t i = scene_waits_from(scene, thread, from_ns); i < scene_waits_end(scene, thread) && scene->waits[i].start_ns < to_ns; i++) {
		const struct episode *e = &scene->episodes[scene->waits[i].episode];
		uint64_t from = e->start_ns > from_ns ? e->start_ns : from_ns, to = e->end_ns < to_ns ? e->end_ns : to_ns;

		if (to > from && most_of(scene, to - from, to_ns - from_ns))
			return true;
	}
	return false;
}

/* Who let it go on, or, where nothing did, who made the socket that it reads: as whose end the kernel names that. */
static uint32_t other_end_of(const struct wait *w)
{
	if (w->end == WAIT_END_OPEN)
		return w->hint_kind == HINT_KIND_socket_peer ? w->hint : 0;
	return w->end == WAIT_END_THREAD ? w->waker : 0;
}

/* A thread of a pool, that others of its process set to what they want done, rested: what its first one does meanwhile tells whether that is kept. */
static bool was_told_then(const struct scene *scene, uint32_t thread, uint64_t from_ns, uint64_t to_ns)
{
	uint32_t leader = leader_of(scene, thread, from_ns);
	const struct episode *e = scene_episode(scene, thread, from_ns + (to_ns - from_ns) / 2);
	const struct wait *w = e ? &scene->waits[e->last] : NULL;

	return leader && leader != thread && w && w->kind == WAIT_KIND_futex && !w->hint && w->end == WAIT_END_THREAD &&
	       scene_same_process(scene, w->waker, thread) && !waited_long(scene, leader, from_ns, to_ns);
}

/* Over a socket that it was born with a child may ask, too: not one from whom it descends, and that is at its own work meanwhile, or
 * comes and goes. */
static bool listens_to_parent(const struct finder *f, const struct wait *w)
{
	uint64_t object = hangs_listened_to(w);
	uint32_t other = other_end_of(w);
	struct state_times times;

	if ((w->kind != WAIT_KIND_read && (w->kind != WAIT_KIND_poll || w->argument != 1)) ||
	    (object_kind(object) != OBJECT_KIND_unix_stream && object_kind(object) != OBJECT_KIND_unix_seqpacket) || !other ||
	    hangs_role_in(f, w) != END_UNKNOWN || scene_same_process(f->scene, other, w->thread) ||
	    !scene_descends_from(f->scene, w->thread, scene_pid(f->scene, other)))
		return false;
	scene_state_times(f->scene, other, w->start_ns, w->end_ns, &times);
	return most_of(f->scene, times.ns[SPAN_RUNNING] + times.ns[SPAN_RUNNABLE], w->end_ns - w->start_ns) ||
	       !waited_long(f->scene, other, w->start_ns, w->end_ns) || was_told_then(f->scene, other, w->start_ns, w->end_ns);
}

/* One that its parent started, too, reads from that just then, and so has the lock that the others wait for. */
static bool sibling_reads(const struct scene *scene, const struct wait *w)
{
	uint64_t middle = w->start_ns + (w->end_ns - w->start_ns) / 2;
	uint32_t mine = leader_of(scene, w->thread, w->start_ns), parent = mine ? parent_of(scene, mine) : 0;

	for (uint32_t i = 1; parent && i < scene->thread_count; i++) {
		const struct thread *t = &scene->tables->threads[i];
		const struct episode *e;

		/* those of the same parent are few */
		if (t->tid != t->pid || i == mine || parent_of(scene, i) != parent)
			continue;
		e = scene_episode(scene, i, middle);
		if (e && e->start_ns <= middle && scene->waits[e->last].kind == WAIT_KIND_read &&
		    reads_from_parent(scene, hangs_as_ended(scene, &scene->waits[e->last])))
			return true;
	}
	return false;
}

/* Nobody else has the pipe, as others have one by which they share something out among themselves. */
static bool between_two(const struct finder *f, const struct wait *w)
{
	struct row row = ends_of_object(f->ends, w->object);
	uint32_t reader = scene_pid(f->scene, w->thread), writer = scene_pid(f->scene, w->waker);

	for (uint32_t i = 0; i < row.count; i++)
		if (ends_at(f->ends, row, i)->pid != reader && ends_at(f->ends, row, i)->pid != writer)
			return false;
	return row.count > 0;
}

/* Of what a person asks about, a child may have asked its parent. */
bool hangs_told_by_parent(const struct finder *f, const struct wait *w)
{
	const struct scene *scene = f->scene;

	if (!hangs_is_unattended(f))
		return false;
	if (w->kind == WAIT_KIND_futex || w->kind == WAIT_KIND_semaphore)
		return (w->end == WAIT_END_OPEN || (w->end == WAIT_END_THREAD && is_sibling(scene, w->waker, w->thread, w->start_ns))) &&
		       sibling_reads(scene, w);
	if (w->kind != WAIT_KIND_read && w->kind != WAIT_KIND_poll)
		return false;
	w = hangs_as_ended(scene, w);
	return (reads_from_parent(scene, w) && (w->argument == STDIN_FILENO || between_two(f, w))) || reads_input_of_kin(scene, w) || listens_to_parent(f, w);
}

static bool let_go_at_end(const struct finder *f, const struct wait *w)
{
	return hangs_is_unattended(f) && broken_off_by_end(f->scene, w);
}

/* Whatever its stack was then: on a busy machine not each is taken. */
static bool awaits_clients(const struct finder *f, const struct wait *w)
{
	return w->kind == WAIT_KIND_poll && w->argument == 1 && hangs_role_in(f, w) == END_LISTENER;
}

static bool listens_not(const struct finder *f, const struct wait *w)
{
	const struct place *p = hangs_place_of(f, w);

	return !p || !hangs_listens(p->kind);
}

static bool is_output(const struct finder *f, const struct wait *w, uint64_t object)
{
	struct row row = ends_of_process(f->ends, scene_pid(f->scene, w->thread));

	for (uint32_t i = 0; i < row.count; i++) {
		const struct descriptor *d = ends_at(f->ends, row, i);

		if (d->at.object == object && (d->at.fd == STDOUT_FILENO || d->at.fd == STDERR_FILENO))
			return true;
	}
	return false;
}

bool hangs_reads_output(const struct finder *f, const struct wait *other, const struct wait *w)
{
	uint64_t object = hangs_listened_to(other);

	return rule_holds(f->scene, RULE_written_out) && !f->options->pid && hangs_listens(w->kind) && scene_is_pipe(object) &&
	       object != hangs_listened_to(w) && is_output(f, w, object);
}

/* As its last deed before the wait; who asks about the program itself wants to know who is to tell it. */
static bool has_written_out(const struct finder *f, const struct wait *w)
{
	const struct scene_thread *t = &f->scene->threads[w->thread];

	if (f->options->pid || (w->kind != WAIT_KIND_read && w->kind != WAIT_KIND_poll))
		return false;
	for (uint32_t i = scene_messages_from(f->scene, w->thread, w->start_ns), n = 0; i-- && n < 8; n++) {
		const struct message m = scene_message(f->scene, t->messages.items[i]);

		if (message_sent(&m))
			return scene_is_pipe(m.object) && m.object != hangs_listened_to(w) && is_output(f, w, m.object);
	}
	return false;
}

/* As it was looked at then, the first thing that it polled was to take something from it, and was not to bring it anything. */
static bool waits_to_write(const struct finder *f, const struct wait *w)
{
	const struct scene *scene = f->scene;
	bool asks = w->kind == WAIT_KIND_poll && w->detail && hangs_role_in(f, w) != END_SERVER;
	uint32_t low = 0, end = asks ? scene->poll_item_count : 0, high = end;

	SEARCH(low, high, middle, scene->poll_items[middle].time < w->start_ns);
	for (; low < end && scene->poll_items[low].time <= w->end_ns; low++)
		if (scene->poll_items[low].pid == scene_tid(scene, w->thread) && !scene->poll_items[low].set)
			return (scene->poll_items[low].events & (EPOLLIN | EPOLLOUT)) == EPOLLOUT;
	return false;
}

static bool rests_in_epoll(const struct finder *f, const struct wait *w)
{
	return w->kind == WAIT_KIND_epoll && epoll_visits(f) >= limit_of(f->scene, LIMIT_rest_visits);
}

/* Frames to the outermost place to which it comes back to listen; UINT32_MAX none known.
 * Where it waits for answers it does not rest, however often. */
static uint32_t outermost_depth(const struct finder *f)
{
	uint32_t outermost = UINT32_MAX;

	for (size_t i = 0; i < f->places.length; i++) {
		const struct place *other = &f->places.items[i];

		if (comes_often(f, other) && hangs_listens(other->kind) && other->depth && other->depth < outermost &&
		    !hangs_awaits_answer(f, &f->scene->waits[other->wait]))
			outermost = other->depth;
	}
	return outermost;
}

/* To the window server first, and to something else besides: so do programs that wait for a person, however seldom one came. */
static bool listens_to_windows(const struct finder *f, const struct wait *w)
{
	return w->kind == WAIT_KIND_poll && w->argument >= 2 && hangs_is_window_server(f, w->detail);
}

static bool comes_seldom(const struct finder *f, const struct wait *w)
{
	const struct place *p = hangs_place_of(f, w);

	return !comes_often(f, p) && !listens_to_windows(f, w) && (!p || outermost_depth(f) == UINT32_MAX || !p->depth ||
				      (p->kind != WAIT_KIND_poll && p->kind != WAIT_KIND_epoll));
}

static bool rests_outermost(const struct finder *f, const struct wait *w)
{
	const struct place *p = hangs_place_of(f, w);
	uint32_t outermost;

	if (!p || !p->depth)
		return p != NULL;
	outermost = outermost_depth(f);
	return outermost == UINT32_MAX || p->depth <= outermost + limit_of(f->scene, LIMIT_loop_depth);
}

static const struct {
	enum rule_id rule;
	bool rests;
	bool (*holds)(const struct finder *f, const struct wait *w);
} rest_rules[] = {
#define RULE_OF_REST(name, function) { RULE_##name, true, function },
#define RULE_OF_AWAKE(name, function) { RULE_##name, false, function },
#include "diagnose/rules.def"
};

bool hangs_rests_at(const struct finder *f, const struct wait *w)
{
	for (size_t i = 0; i < sizeof(rest_rules) / sizeof(*rest_rules); i++)
		if (rest_rules[i].holds && rule_holds(f->scene, rest_rules[i].rule) && rest_rules[i].holds(f, w))
			return rest_rules[i].rests;
	return false;
}
