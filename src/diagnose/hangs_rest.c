/* Where a thread rests, see hangs_rest.h. */
#include "diagnose/hangs_rest.h"

#include <sys/epoll.h>
#include <unistd.h>

#include "base/map.h"
#include "base/search.h"

static bool listens(uint8_t kind)
{
	return kind == WAIT_KIND_poll || kind == WAIT_KIND_epoll || kind == WAIT_KIND_read || kind == WAIT_KIND_accept ||
	       kind == WAIT_KIND_signal || kind == WAIT_KIND_uring || kind == WAIT_KIND_queue;
}

/* 0 for a stack that was not walked: one frame is what is left of it then. */
static uint32_t stack_depth(const struct tables *tables, uint32_t node)
{
	return node && node < tables->frame_count && tables->frames[node].depth > 1 ? tables->frames[node].depth : 0;
}

static uint64_t listened_to(const struct wait *w)
{
	return w->kind == WAIT_KIND_poll ? w->detail : w->object;
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
			return m.object != listened_to(&f->scene->waits[e->last]);
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

enum end_role hangs_role_in(const struct finder *f, const struct wait *w)
{
	enum end_role role = ends_role(f->ends, w->object);

	if (role == END_UNKNOWN && w->kind == WAIT_KIND_poll)
		role = ends_role(f->ends, w->detail);
	if (w->kind == WAIT_KIND_epoll)
		role = ends_set_role(f->ends, w->object);
	return role;
}

/* Of the two ends of a socket pair, or of one that was inherited, the one that was sent
 * to first serves: what it sends are answers. */
static bool serves_there(const struct finder *f, uint32_t thread, uint64_t object)
{
	const struct scene_thread *t = &f->scene->threads[thread];

	if (ends_role(f->ends, object) != END_UNKNOWN)
		return false;
	for (uint32_t i = 0; i < t->messages.count && i < limit_of(f->scene, LIMIT_first_messages); i++) {
		const struct message m = scene_message(f->scene, t->messages.items[i]);

		if (m.object == object && (m.result > 0 || message_sent(&m)))
			return !message_sent(&m);
	}
	return false;
}

bool hangs_asked_there(const struct finder *f, const struct wait *w)
{
	const struct scene_thread *t = &f->scene->threads[w->thread];
	uint64_t object = listened_to(w);

	for (uint32_t i = scene_messages_from(f->scene, w->thread, w->start_ns), n = 0; i-- && n < 8; n++) {
		const struct message m = scene_message(f->scene, t->messages.items[i]);

		if (m.object == object && (m.result > 0 || message_sent(&m)))
			return message_sent(&m) && !serves_there(f, w->thread, object);
	}
	return false;
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

bool hangs_is_unattended(const struct finder *f)
{
	return f->scene->judgement && f->scene->judgement->unattended && !f->options->threshold_ns && hangs_is_batch(f);
}

bool hangs_awaits_person(const struct finder *f, const struct wait *w)
{
	if (object_kind(w->kind == WAIT_KIND_poll ? w->detail : w->object) == OBJECT_KIND_tty)
		return true;
	return listens(w->kind) && ends_has_windows(f->ends, scene_pid(f->scene, w->thread));
}

/* The last that the thread did with other processes before the wait, or over sockets alone, was
 * to send; most of what a window server is sent has no answer. */
static bool sent_last(const struct finder *f, const struct wait *w, bool sockets)
{
	const struct scene_thread *t = &f->scene->threads[w->thread];
	uint32_t pid = scene_pid(f->scene, w->thread);

	for (uint32_t i = scene_messages_from(f->scene, w->thread, w->start_ns); i-- > 0; ) {
		const struct message m = scene_message(f->scene, t->messages.items[i]);

		if (m.result > 0 && m.start_ns < w->start_ns && m.peer != pid && !(sockets && scene_is_pipe(m.object)))
			return !(m.flags & MESSAGE_FLAGS_receive) && !(sockets && hangs_is_window_server(f, m.object));
	}
	return false;
}

/* The thread waited there, or at any place where it listens, before it ever woke that process:
 * it is the one that is asked. */
static bool listened_first(const struct finder *f, const struct wait *w, uint32_t other, bool anywhere)
{
	const struct scene *scene = f->scene;
	const struct scene_thread *t = &scene->threads[w->thread];
	uint64_t first_wake = UINT64_MAX, most = limit_of(scene, LIMIT_first_messages);

	for (uint32_t i = 0; i < t->wake_count && i < most && first_wake == UINT64_MAX; i++)
		if (scene_same_process(scene, scene->wakes[t->wake + i].target, other))
			first_wake = scene->wakes[t->wake + i].time;
	for (uint32_t i = t->wait; i < t->wait + t->wait_count && i - t->wait < most && scene->waits[i].start_ns < first_wake; i++)
		if ((anywhere ? listens(scene->waits[i].kind) : scene->waits[i].site == w->site) && scene->waits[i].end == WAIT_END_THREAD &&
		    scene_same_process(scene, scene->waits[i].waker, other))
			return true;
	return false;
}

/* It woke a process that it started itself when a sleep of its own had run out, and listens to that
 * alone: it asks. Which of the two was the first to wake the other does not tell, for who has just
 * begun takes what it is asked for without a wait. */
static bool asks_own_child(const struct scene *scene, const struct wait *w, const struct wake *wake)
{
	uint32_t next = scene_waits_from(scene, wake->waker, wake->time);
	const struct wait *before = next > scene->threads[wake->waker].wait ? &scene->waits[next - 1] : NULL;

	if (w->kind != WAIT_KIND_read && (w->kind != WAIT_KIND_poll || w->argument > 1))
		return false;
	return before && before->kind == WAIT_KIND_sleep && before->end == WAIT_END_TIMEOUT &&
	       scene_descends_from(scene, wake->target, scene_pid(scene, wake->waker));
}

/* It came to the other end of a FIFO, which that one, whose own end ends the wait, was waiting to open: to come is not to ask. */
static bool only_opened(const struct scene *scene, const struct wait *w, const struct wake *wake)
{
	const struct span *span = scene_span(scene, wake->target, wake->time - 1);
	const struct wait *its = span && span->state == SPAN_WAITING ? &scene->waits[span->wait] : NULL;

	return w->cause == WAKE_CAUSE_exit && its && its->kind == WAIT_KIND_open && its->end_event == wake->number;
}

/* Without messages and descriptors: just before the wait the thread woke the process
 * that then ended it. */
static bool woke_who_answered(const struct finder *f, const struct wait *w)
{
	const struct scene *scene = f->scene;
	uint64_t start_ns = scene->episodes[w->episode].start_ns;
	uint32_t i;

	if (scene->messages_seen || w->end != WAIT_END_THREAD || scene_same_process(scene, w->thread, w->waker))
		return false;
	i = scene_wakes_from(scene, w->thread, start_ns);
	if (i-- == scene->threads[w->thread].wake)
		return false;
	return scene->wakes[i].time + limit_of(scene, LIMIT_asked_before_ns) >= start_ns && scene_same_process(scene, scene->wakes[i].target, w->waker) &&
	       !only_opened(scene, w, &scene->wakes[i]) && (asks_own_child(scene, w, &scene->wakes[i]) || !listened_first(f, w, w->waker, false));
}

/* Just before it began to wait there it woke the process that let it go on at last, and was not
 * woken by that in between. */
static bool woke_who_ended(const struct finder *f, const struct wait *w)
{
	const struct scene *scene = f->scene;
	uint64_t start_ns = scene->episodes[w->episode].start_ns, asked_ns = 0;

	if (w->end != WAIT_END_THREAD || scene_same_process(scene, w->waker, w->thread))
		return false;
	for (uint32_t i = scene_wakes_from(scene, w->thread, start_ns); i-- > scene->threads[w->thread].wake && !asked_ns; ) {
		if (scene->wakes[i].time + limit_of(scene, LIMIT_asked_before_ns) < start_ns)
			return false;
		if (scene_same_process(scene, scene->wakes[i].target, w->waker))
			asked_ns = scene->wakes[i].time;
	}
	for (uint32_t i = scene_waits_from(scene, w->thread, asked_ns); asked_ns && scene->waits[i].start_ns < start_ns; i++)
		if (scene->waits[i].end == WAIT_END_THREAD && scene_same_process(scene, scene->waits[i].waker, w->waker))
			return false;
	return asked_ns != 0;
}

static bool all_of_process(const struct finder *f, struct row row, uint32_t pid)
{
	for (uint32_t i = 0; i < row.count; i++)
		if (ends_at(f->ends, row, i)->pid != pid)
			return false;
	return row.count > 0;
}

bool hangs_polls_own_pair(const struct finder *f, const struct wait *w)
{
	struct row row = ends_of_object(f->ends, w->detail);
	uint32_t pid = scene_pid(f->scene, w->thread);

	return all_of_process(f, row, pid) && ends_at(f->ends, row, 0)->at.channel_out &&
	       all_of_process(f, ends_receiving(f->ends, ends_at(f->ends, row, 0)->at.channel_out), pid);
}

static bool has_end(const struct finder *f, uint64_t object, uint32_t pid)
{
	struct row row = ends_of_object(f->ends, object);

	for (uint32_t i = 0; i < row.count; i++)
		if (ends_at(f->ends, row, i)->pid == pid)
			return true;
	return false;
}

/* The wait, or where it goes on to the end the one of its thread before it for the same. */
static const struct wait *as_ended(const struct scene *scene, const struct wait *w)
{
	const struct wait *before = w, *first = &scene->waits[scene->threads[w->thread].wait];

	while (w->end == WAIT_END_OPEN && before-- > first)
		if (before->object == w->object && before->kind == w->kind && before->end == WAIT_END_THREAD)
			return before;
	return w;
}

enum first { FIRST_UNKNOWN, FIRST_SENT, FIRST_RECEIVED };

/* What this thread did first with the process that let it go on, there or there before, over the pipes that both have: of two that are joined by such a pair
 * the one that sent first asks. */
static enum first first_by_pipes(const struct finder *f, const struct wait *w)
{
	const struct scene_thread *t = &f->scene->threads[w->thread];
	const struct wait *ended = as_ended(f->scene, w);
	uint32_t other = ended->end == WAIT_END_THREAD ? scene_pid(f->scene, ended->waker) : 0;

	for (uint32_t i = 0; other && i < t->messages.count && i < limit_of(f->scene, LIMIT_first_messages); i++) {
		const struct message m = scene_message(f->scene, t->messages.items[i]);

		if (m.result > 0 && scene_is_pipe(m.object) && has_end(f, m.object, other))
			return message_sent(&m) ? FIRST_SENT : FIRST_RECEIVED;
	}
	return FIRST_UNKNOWN;
}

/* One connection that the thread made itself, or on which it has just asked, is
 * listened to for answers: it and nothing else, or at most what wakes the loop up. Most
 * of what a window server is sent has no answer, so there only it and nothing else. */
bool hangs_awaits_answer(const struct finder *f, const struct wait *w)
{
	if (w->kind == WAIT_KIND_queue || (w->kind == WAIT_KIND_read && scene_is_pipe(w->object)))
		return (sent_last(f, w, false) && first_by_pipes(f, w) != FIRST_RECEIVED) || woke_who_answered(f, w);
	if (hangs_role_in(f, w) == END_SERVER)
		return false;
	if (w->kind == WAIT_KIND_poll && w->argument <= 1 && scene_is_pipe(w->detail) && first_by_pipes(f, w) == FIRST_SENT)
		return sent_last(f, w, false);
	if (w->kind == WAIT_KIND_read || (w->kind == WAIT_KIND_poll && w->argument <= 1))
		return hangs_role_in(f, w) == END_CLIENT || hangs_asked_there(f, w) ||
		       (hangs_role_in(f, w) == END_UNKNOWN && woke_who_answered(f, w));
	if (w->kind == WAIT_KIND_poll && w->argument == 2 && hangs_polls_own_pair(f, w))
		return f->scene->messages_seen ? sent_last(f, w, true) : woke_who_ended(f, w);
	return w->kind == WAIT_KIND_poll && w->argument == 2 && hangs_asked_there(f, w) && !hangs_is_window_server(f, w->detail) &&
	       !(hangs_place_of(f, w) && hangs_place_of(f, w)->open_to_all);
}

bool hangs_same_loop(const struct finder *f, const struct episode *a, const struct episode *b)
{
	const struct wait *v = &f->scene->waits[a->last], *w = &f->scene->waits[b->last];

	if (v->site == w->site)
		return true;
	if (v->kind != w->kind || !listened_to(w) || listened_to(v) != listened_to(w))
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
	return listens(w->kind) && object_kind(object) == OBJECT_KIND_tty;
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

	return w->kind == WAIT_KIND_futex && ns > limit_of(scene, LIMIT_odd_least_ns) && ns % round > round / 20 && ns % round < round - round / 20;
}

static bool has_own_times(const struct finder *f, const struct wait *w)
{
	const struct place *p = hangs_place_of(f, w);

	return has_odd_limit(f, w) || (p && p->kind == WAIT_KIND_futex && p->own_times && p->limits >= limit_of(f->scene, LIMIT_rest_visits));
}

/* A wait that others end, or would, for work or for an answer. */
static bool is_for_others(const struct wait *w)
{
	return (w->end == WAIT_END_THREAD || w->end == WAIT_END_OPEN) && (listens(w->kind) || w->kind == WAIT_KIND_futex || w->kind == WAIT_KIND_semaphore);
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

/* Over a socket that it was born with a child may ask, too: not one from whom it descends, and that is at its own work meanwhile, or
 * comes and goes. */
static bool listens_to_parent(const struct finder *f, const struct wait *w)
{
	struct state_times times;

	if (w->kind != WAIT_KIND_read || object_kind(w->object) != OBJECT_KIND_unix_stream || w->end != WAIT_END_THREAD ||
	    hangs_role_in(f, w) != END_UNKNOWN || scene_same_process(f->scene, w->waker, w->thread) ||
	    !scene_descends_from(f->scene, w->thread, scene_pid(f->scene, w->waker)))
		return false;
	scene_state_times(f->scene, w->waker, w->start_ns, w->end_ns, &times);
	return most_of(f->scene, times.ns[SPAN_RUNNING] + times.ns[SPAN_RUNNABLE], w->end_ns - w->start_ns) ||
	       !waited_long(f->scene, w->waker, w->start_ns, w->end_ns);
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
		    reads_from_parent(scene, as_ended(scene, &scene->waits[e->last])))
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
	if (w->kind != WAIT_KIND_read)
		return false;
	w = as_ended(scene, w);
	return (reads_from_parent(scene, w) && (w->argument == STDIN_FILENO || between_two(f, w))) || reads_input_of_kin(scene, w) || listens_to_parent(f, w);
}

static bool listens_not(const struct finder *f, const struct wait *w)
{
	const struct place *p = hangs_place_of(f, w);

	return !p || !listens(p->kind);
}

/* Without messages: what it did last before the wait was to wake a process that had woken it
 * there before it ever woke that one. */
bool hangs_has_answered(const struct finder *f, const struct wait *w)
{
	const struct scene *scene = f->scene;
	uint32_t i, target;

	if (scene->messages_seen || (w->kind != WAIT_KIND_read && w->kind != WAIT_KIND_poll) || hangs_role_in(f, w) == END_CLIENT)
		return false;
	i = scene_wakes_from(scene, w->thread, w->start_ns);
	if (i-- == scene->threads[w->thread].wake)
		return false;
	target = scene->wakes[i].target;
	return scene->wakes[i].time + limit_of(scene, LIMIT_asked_before_ns) >= w->start_ns && !scene_is_system(scene, target) &&
	       !scene_same_process(scene, target, w->thread) && !asks_own_child(scene, w, &scene->wakes[i]) && listened_first(f, w, target, true);
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

/* As its last deed before the wait; who asks about the program itself wants to know who is to tell it. */
static bool has_written_out(const struct finder *f, const struct wait *w)
{
	const struct scene_thread *t = &f->scene->threads[w->thread];

	if (f->options->pid || (w->kind != WAIT_KIND_read && w->kind != WAIT_KIND_poll))
		return false;
	for (uint32_t i = scene_messages_from(f->scene, w->thread, w->start_ns), n = 0; i-- && n < 8; n++) {
		const struct message m = scene_message(f->scene, t->messages.items[i]);

		if (message_sent(&m))
			return scene_is_pipe(m.object) && m.object != listened_to(w) && is_output(f, w, m.object);
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

		if (comes_often(f, other) && listens(other->kind) && other->depth && other->depth < outermost &&
		    !hangs_awaits_answer(f, &f->scene->waits[other->wait]))
			outermost = other->depth;
	}
	return outermost;
}

static bool comes_seldom(const struct finder *f, const struct wait *w)
{
	const struct place *p = hangs_place_of(f, w);

	return !comes_often(f, p) && (!p || outermost_depth(f) == UINT32_MAX || !p->depth ||
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
		if (rule_holds(f->scene, rest_rules[i].rule) && rest_rules[i].holds(f, w))
			return rest_rules[i].rests;
	return false;
}
