/* Who asks, and who is asked, see hangs_asks.h. */
#include "diagnose/hangs_asks.h"

#include "base/search.h"

/* Which end of its only connection the process has; END_UNKNOWN: it has none, or several. */
static enum end_role only_role(const struct finder *f, uint32_t pid)
{
	struct row row = ends_of_process(f->ends, pid);
	enum end_role found = END_UNKNOWN;
	uint64_t object = 0;

	for (uint32_t i = 0; i < row.count; i++) {
		uint64_t its = ends_at(f->ends, row, i)->at.object;
		enum end_role role = its == object ? END_UNKNOWN : ends_role(f->ends, its);

		if (role == END_UNKNOWN)
			continue;
		if (object)
			return END_UNKNOWN;
		object = its;
		found = role;
	}
	return found;
}

enum end_role hangs_role_in(const struct finder *f, const struct wait *w)
{
	enum end_role role = ends_role(f->ends, w->object);

	if (role == END_UNKNOWN && w->kind == WAIT_KIND_poll)
		role = ends_role(f->ends, w->detail);
	/* its loop's bell comes first, and a connection behind that */
	if (role == END_UNKNOWN && w->kind == WAIT_KIND_poll && w->argument == 2 && w->detail && rule_holds(f->scene, RULE_bell_first) &&
	    hangs_polls_own_pair(f, w))
		role = only_role(f, scene_pid(f->scene, w->thread));
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
	uint64_t object = hangs_listened_to(w);

	for (uint32_t i = scene_messages_from(f->scene, w->thread, w->start_ns), n = 0; i-- && n < 8; n++) {
		const struct message m = scene_message(f->scene, t->messages.items[i]);

		if (m.object == object && (m.result > 0 || message_sent(&m)))
			return message_sent(&m) && !serves_there(f, w->thread, object);
	}
	return false;
}

/* By which a program's threads wake its event loops. */
static bool wakes_loops(uint64_t object)
{
	return scene_is_pipe(object) || object_kind(object) == OBJECT_KIND_eventfd;
}

/* The last that the thread did with other processes before the wait, or over sockets alone, was
 * to send; most of what a window server is sent has no answer. */
static bool sent_last(const struct finder *f, const struct wait *w, bool sockets)
{
	const struct scene_thread *t = &f->scene->threads[w->thread];
	uint32_t pid = scene_pid(f->scene, w->thread);

	for (uint32_t i = scene_messages_from(f->scene, w->thread, w->start_ns); i-- > 0; ) {
		const struct message m = scene_message(f->scene, t->messages.items[i]);

		if (m.result > 0 && m.start_ns < w->start_ns && m.peer != pid && !(sockets && wakes_loops(m.object)))
			return !(m.flags & MESSAGE_FLAGS_receive) && !(sockets && hangs_is_window_server(f, m.object));
	}
	return false;
}

/* At one place, or to one thing: a thread may begin to listen elsewhere than where it then goes on. */
static bool same_listening(const struct wait *v, const struct wait *w)
{
	return v->site == w->site || (v->kind == w->kind && hangs_listened_to(w) && hangs_listened_to(v) == hangs_listened_to(w));
}

/* A thread of its process had been let go on by that one where it listens for new clients. */
static bool was_accepted(const struct finder *f, const struct wait *w, uint32_t other, uint64_t before_ns)
{
	const struct scene *scene = f->scene;

	if (!hangs_is_unattended(f))
		return false;
	SCENE_EACH_MATE(scene, w->thread, i) {
		uint32_t first = scene->threads[i].wait, end = scene_waits_end(scene, i);

		if (i == w->thread)
			continue;
		for (uint32_t j = scene_waits_from(scene, i, before_ns); j-- > first && end - j < limit_of(scene, LIMIT_first_messages); )
			if (scene->waits[j].end == WAIT_END_THREAD && scene_same_process(scene, scene->waits[j].waker, other) &&
			    (scene->waits[j].kind == WAIT_KIND_accept || hangs_role_in(f, &scene->waits[j]) == END_LISTENER))
				return true;
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
		if ((anywhere ? hangs_listens(scene->waits[i].kind) : same_listening(&scene->waits[i], w)) &&
		    (scene->waits[i].end == WAIT_END_THREAD ? scene_same_process(scene, scene->waits[i].waker, other)
							    : !scene->waits[i].waker && scene->waits[i].end != WAIT_END_TIMEOUT &&
								      same_listening(&scene->waits[i], w)))
			return true;
	return first_wake != UINT64_MAX && was_accepted(f, w, other, first_wake);
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
	const struct wait *its = scene_waits_at(scene, wake->target, wake->time - 1);

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

bool hangs_woke_who_ended(const struct finder *f, const struct wait *w)
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
	/* who takes what was asked wakes one that reads from a Unix socket, too, for there is room to write again */
	for (uint32_t i = scene_waits_from(scene, w->thread, asked_ns); asked_ns && scene->waits[i].start_ns < start_ns; i++)
		if (scene->waits[i].end == WAIT_END_THREAD && scene_same_process(scene, scene->waits[i].waker, w->waker) &&
		    !(w->kind == WAIT_KIND_read && scene->waits[i].site == w->site))
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
	       all_of_process(f, ends_far(f->ends, ends_at(f->ends, row, 0)), pid);
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
const struct wait *hangs_as_ended(const struct scene *scene, const struct wait *w)
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
	const struct wait *ended = hangs_as_ended(f->scene, w);
	uint32_t other = ended->end == WAIT_END_THREAD ? scene_pid(f->scene, ended->waker) : 0;

	for (uint32_t i = 0; other && i < t->messages.count && i < limit_of(f->scene, LIMIT_first_messages); i++) {
		const struct message m = scene_message(f->scene, t->messages.items[i]);

		if (m.result > 0 && scene_is_pipe(m.object) && has_end(f, m.object, other))
			return message_sent(&m) ? FIRST_SENT : FIRST_RECEIVED;
	}
	return FIRST_UNKNOWN;
}

bool hangs_got_events(const struct finder *f, const struct wait *w)
{
	return rule_holds(f->scene, RULE_only_events) && w->kind == WAIT_KIND_poll && w->argument == 2 && w->end == WAIT_END_THREAD &&
	       ends_shows_windows_of(f->ends, scene_pid(f->scene, w->waker), scene_pid(f->scene, w->thread)) && hangs_polls_own_pair(f, w);
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
		return !hangs_got_events(f, w) && (f->scene->messages_seen ? sent_last(f, w, true) : hangs_woke_who_ended(f, w));
	return w->kind == WAIT_KIND_poll && w->argument == 2 && hangs_asked_there(f, w) && !hangs_is_window_server(f, w->detail) &&
	       !(hangs_place_of(f, w) && hangs_place_of(f, w)->open_to_all);
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

bool hangs_asked_just_before(const struct scene *scene, uint32_t thread, const struct episode *e)
{
	uint32_t i = scene_wakes_from(scene, thread, e->start_ns);

	if (i-- == scene->threads[thread].wake || scene->wakes[i].time + limit_of(scene, LIMIT_asked_before_ns) < e->start_ns)
		return false;
	return !scene_is_system(scene, scene->wakes[i].target) && !scene_same_process(scene, scene->wakes[i].target, thread);
}

bool hangs_asks_over(const struct finder *f, const struct episode *e)
{
	const struct wait *w = &f->scene->waits[e->last];

	return hangs_role_in(f, w) == END_CLIENT &&
	       (!hangs_polls_own_pair(f, w) || (w->end == WAIT_END_THREAD && hangs_asked_just_before(f->scene, e->thread, e)));
}

bool hangs_is_client(const struct finder *f, uint32_t thread, uint32_t other)
{
	uint32_t pid = scene_pid(f->scene, other);
	struct row row = ends_of_process(f->ends, scene_pid(f->scene, thread));
	bool is_client = false;

	for (uint32_t i = 0; i < row.count; i++) {
		uint64_t object = ends_at(f->ends, row, i)->at.object;
		enum end_role role = ends_role(f->ends, object);

		if (role == END_UNKNOWN || role == END_LISTENER || !ends_faces(f->ends, object, pid))
			continue;
		if (role == END_CLIENT)
			return false;
		is_client = true;
	}
	return is_client;
}
