/* Who should have ended a wait, see suspects.h. */
#include "diagnose/suspects.h"

#include <stdlib.h>

#include "diagnose/loops.h"
#include "diagnose/told.h"

#define SURE 75  /* per cent: nothing needs to be compared */
#define DOUBTFUL 10 /* per cent less, where another is more likely the reason */
#define RETRY_PARTNER 60 /* per cent */
#define GIVE_UP_NS 100000000ull /* from a lock's time limit to its release */

struct question {
	struct inquiry *inquiry;
	const struct scene *scene;
	const struct episode *episode;
	const struct wait *wait;
	uint64_t from, to;
	const uint32_t *waiting;
	unsigned waiting_count;
	struct suspects *suspects;
};

void inquiry_done(struct inquiry *inquiry)
{
	vec_done(&inquiry->trails);
}

static bool is_waiting(const struct question *q, uint32_t thread)
{
	for (unsigned i = 0; i < q->waiting_count; i++)
		if (q->waiting[i] == thread)
			return true;
	return false;
}

/* Who was gone for most of the time could not have acted. */
static bool alive(const struct question *q, uint32_t thread)
{
	const struct thread *t = &q->scene->tables->threads[thread];

	return t->start_ns < q->to && t->end_ns > q->from + (q->to - q->from) / 2;
}

static void suspect_thread(struct question *q, uint32_t thread, enum walk_link link, uint8_t confidence, uint64_t evidence)
{
	struct suspect s = { .hop_count = 1, .confidence = confidence };

	if (!thread || thread == q->episode->thread || !alive(q, thread))
		return;
	s.hops[0] = (struct hop){ .from_ns = q->from, .thread = thread, .link = (uint8_t)link,
				  .confidence = confidence, .evidence = evidence };
	vec_push(q->suspects, s);
}

/* A lock of an open file outlives who took it: `exec 9>file; flock 9` leaves it with the
 * script. Whoever started it has the file open, too. */
static uint32_t who_keeps(const struct scene *scene, uint32_t thread, uint64_t time)
{
	const struct tables *tables = scene->tables;

	for (unsigned i = 0; i < 16 && thread && tables->threads[thread].end_ns <= time; i++) {
		const struct thread *t = &tables->threads[thread];

		thread = t->creator ? tables_process(tables, tables->threads[t->creator].pid, time)
			 : t->parent_pid ? tables_process(tables, t->parent_pid, time) : 0;
	}
	return thread;
}

static void ask_hint(struct question *q)
{
	static const uint8_t confidences[] = {
		[HINT_KIND_mutex_owner] = 80, [HINT_KIND_pi_owner] = 95, [HINT_KIND_thread_exit] = 95,
		[HINT_KIND_socket_peer] = 45, [HINT_KIND_child] = 85, [HINT_KIND_lock_owner] = 80,
		[HINT_KIND_file_lock_owner] = 90, [HINT_KIND_tracer] = 90, [HINT_KIND_rwlock_writer] = 80,
		[HINT_KIND_semaphore_last] = 55, [HINT_KIND_owner_gone] = 0,
	};
	const struct wait *w = q->wait;
	enum walk_link link = LINK_OWNER;
	uint32_t owner = w->hint;

	if (!w->hint || w->hint_kind >= sizeof(confidences) || !confidences[w->hint_kind])
		return;
	if (w->hint_kind == HINT_KIND_socket_peer)
		link = LINK_PEER;
	if (w->hint_kind == HINT_KIND_child)
		link = LINK_CHILD;
	if (w->hint_kind == HINT_KIND_file_lock_owner) {
		link = LINK_FILE_LOCK;
		owner = who_keeps(q->scene, owner, q->from);
	}
	suspect_thread(q, owner, link, confidences[w->hint_kind], w->begin_event);
}

/* ---- file locks ---- */

const struct file_lock *suspects_refused_lock(const struct scene *scene, uint32_t thread, uint64_t from_ns, uint64_t to_ns)
{
	const struct file_lock *found = NULL;
	uint32_t pid = scene_pid(scene, thread);

	for (uint32_t i = 0; i < scene->lock_count; i++) {
		const struct file_lock *l = &scene->locks[i];

		if (l->state ? !(l->waits && l->owner == pid) : l->thread != thread)
			continue;
		if (l->type == LOCK_TYPE_unlock || l->time > to_ns || (l->time < from_ns && !l->waits))
			continue;
		if (l->state || l->result == -11 || l->result == 1 || l->result == -13)
			if (!found || (l->blocker && !found->blocker) || l->time <= from_ns)
				found = l;
	}
	return found;
}

uint32_t suspects_lock_holder(const struct scene *scene, const struct file_lock *refused)
{
	uint32_t holder = refused->blocker;

	/* Without the kernel's word: who was granted an overlapping lock last and has not given it back. */
	for (uint32_t i = 0; i < scene->lock_count && !refused->blocker; i++) {
		const struct file_lock *l = &scene->locks[i];

		if (l->object != refused->object || l->owner == refused->owner || l->waits || !l->owner)
			continue;
		if (l->time > refused->time && !l->state)
			break;
		if (l->end < refused->start || l->start > refused->end || (l->result && !l->state))
			continue;
		if (l->type == LOCK_TYPE_unlock) {
			if (holder == l->owner)
				holder = 0;
		} else if (l->type == LOCK_TYPE_write || refused->type == LOCK_TYPE_write) {
			holder = l->owner;
		}
	}
	return holder ? who_keeps(scene, tables_process(scene->tables, holder, refused->time), refused->time) : 0;
}

static void ask_file_locks(struct question *q)
{
	const struct file_lock *refused;

	if (q->wait->kind != WAIT_KIND_file_lock && !loop_is(q->scene, q->episode))
		return;
	refused = suspects_refused_lock(q->scene, q->episode->thread,
					q->episode->start_ns > 5000000 ? q->episode->start_ns - 5000000 : 0, q->to);
	if (refused)
		suspect_thread(q, suspects_lock_holder(q->scene, refused), LINK_FILE_LOCK, refused->blocker ? 95 : 75,
			       refused->number);
}

uint32_t suspects_told_to_end(const struct scene *scene, const struct episode *episode, uint64_t *ret_evidence)
{
	uint64_t turn = (episode->end_ns - episode->start_ns) / (episode->slices ? episode->slices : 1) + 50000000;

	for (uint32_t i = 0; i < scene->signal_count && scene->signals[i].time < episode->end_ns; i++) {
		const struct sent_signal *s = &scene->signals[i];
		uint64_t gone = scene->tables->threads[s->target].end_ns;

		if (!scene_same_process(scene, s->sender, episode->thread) || scene_same_process(scene, s->target, episode->thread))
			continue;
		if (gone > episode->end_ns ? episode->end_ns < scene->end_ns
					   : gone + turn < episode->end_ns || gone < episode->start_ns)
			continue;
		*ret_evidence = s->number;
		return s->target;
	}
	return 0;
}

/* It may have ended since: what it was told was meant for both. */
static void ask_told_instead(struct question *q)
{
	const struct wait *other = told_instead(q->scene, q->episode);
	struct suspect s = { .hop_count = 1, .confidence = 65 };

	if (!other || is_waiting(q, other->thread))
		return;
	s.hops[0] = (struct hop){ .from_ns = q->from, .thread = other->thread, .link = LINK_TOLD, .confidence = s.confidence,
				  .evidence = other->end_event, .final = true };
	vec_push(q->suspects, s);
}

static void ask_signalled(struct question *q)
{
	uint64_t evidence;
	uint32_t target = loop_is(q->scene, q->episode)
		? suspects_told_to_end(q->scene, q->episode, &evidence) : 0;

	if (target)
		suspect_thread(q, target, LINK_SIGNALLED, 85, evidence);
}

/* ---- file systems in user space, children ---- */

static void ask_fuse(struct question *q)
{
	const struct fuse_request *mine = NULL;
	uint32_t server = 0;

	for (uint32_t i = 0; i < q->scene->fuse_count; i++) {
		const struct fuse_request *f = &q->scene->fuse[i];

		if (f->thread == q->episode->thread && f->time <= q->to && (!f->end_ns || f->end_ns >= q->from))
			mine = f;
	}
	if (!mine)
		return;
	for (uint32_t i = 0; i < q->scene->fuse_count; i++)
		if (q->scene->fuse[i].connection == mine->connection && q->scene->fuse[i].server)
			server = q->scene->fuse[i].server;
	if (!server && q->wait->object) {
		struct row ends = ends_of_object(q->inquiry->ends, q->wait->object);

		if (ends.count)
			server = tables_process(q->scene->tables, ends_at(q->inquiry->ends, ends, 0)->pid, q->from);
	}
	suspect_thread(q, server, LINK_SERVER, 90, mine->number);
}

static void ask_children(struct question *q)
{
	const struct tables *tables = q->scene->tables;
	uint32_t pid = scene_pid(q->scene, q->episode->thread), found = 0;

	if (q->wait->kind != WAIT_KIND_child && q->wait->kind != WAIT_KIND_vfork)
		return;
	for (uint32_t i = 1; i < tables->thread_count; i++) {
		const struct thread *t = &tables->threads[i];

		if (t->parent_pid != pid || t->tid != t->pid || t->start_ns > q->from || t->end_ns < q->to)
			continue;
		if (q->wait->argument > 0 && t->tid == (uint32_t)q->wait->argument) {
			found = i;
			break;
		}
		if (!found || t->start_ns > tables->threads[found].start_ns)
			found = i;
	}
	suspect_thread(q, found, LINK_CHILD, 85, q->wait->begin_event);
}

/* ---- what became of the request ---- */

static bool did_something(const struct scene *scene, uint32_t thread, uint64_t from, uint64_t to)
{
	return scene_wakes_from(scene, thread, from) != scene_wakes_from(scene, thread, to) ||
	       scene_messages_from(scene, thread, from) != scene_messages_from(scene, thread, to);
}

uint64_t suspects_request_start(const struct scene *scene, const struct episode *episode)
{
	const struct episode *first = scene->episodes + scene->threads[episode->thread].episode;
	const struct episode *e = episode;
	uint64_t born = scene->tables->threads[episode->thread].start_ns;

	/* What a person says is the begin of something new is not gone behind. */
	for (uint32_t i = 0; i + 1 < scene->boundaries.count; i += 2)
		if (scene->boundaries.items[i + 1] == episode->thread && scene->boundaries.items[i] <= episode->start_ns &&
		    scene->boundaries.items[i] > born)
			born = scene->boundaries.items[i];
	for (unsigned i = 0; i < 100 && e > first && e[-1].end_ns > born; i++, e--)
		if (e[-1].end_ns - e[-1].start_ns > 5000000 &&
		    did_something(scene, e->thread, e[-1].end_ns, episode->start_ns))
			return e[-1].end_ns;
	return born > scene->start_ns ? born : scene->start_ns;
}

/* A wait that fills most of the window counts; a thread that was only busy for a
 * part of it, or has simply nothing to do, hardly. */
static uint8_t trail_confidence(const struct question *q, const struct trail *t)
{
	struct state_times times;
	uint64_t window = q->to - q->from;

	scene_state_times(q->scene, t->thread, q->from, q->to, &times);
	switch ((enum trail_end)t->end) {
	case TRAIL_STOPPED:
		return 95;
	case TRAIL_UNREAD:
		return times.ns[SPAN_STOPPED] ? 95 : 90;
	case TRAIL_BLOCKED:
		return times.ns[SPAN_WAITING] * 2 > window ? 85 : 50;
	case TRAIL_STARVED:
		return times.ns[SPAN_RUNNABLE] * 2 > window ? 82 : 40;
	case TRAIL_BUSY:
		return times.ns[SPAN_RUNNING] * 2 > window ? 80 : 35;
	case TRAIL_BACK:
		return 60;
	case TRAIL_AT_REST:
		return 30;
	case TRAIL_RELAY:
		return 0;
	}
	return 0;
}

/* A thread at rest, or one that sleeps or listens elsewhere and so does not read
 * the message, is late by itself: who wakes it later has nothing to do with it. */
static bool is_final(const struct question *q, const struct trail *t)
{
	const struct episode *e;
	uint8_t kind;

	if (t->end == TRAIL_AT_REST || t->end == TRAIL_STOPPED)
		return true;
	if (t->end != TRAIL_UNREAD)
		return false;
	e = scene_episode(q->scene, t->thread, t->from_ns);
	if (!e || e->start_ns > t->from_ns)
		return false;
	kind = q->scene->waits[e->last].kind;
	return kind == WAIT_KIND_sleep || kind == WAIT_KIND_epoll || kind == WAIT_KIND_poll || kind == WAIT_KIND_accept;
}

/* A process that stands still while one that it started does most likely waits for that. */
static bool has_standing_child(const struct question *q, uint32_t index)
{
	const struct trails *trails = &q->inquiry->trails;

	for (uint32_t i = index + 1; i < trails->length; i++)
		if (trails->items[i].parent == index && trails->items[i].link == LINK_CHILD && alive(q, trails->items[i].thread) &&
		    !scene_same_process(q->scene, trails->items[i].thread, trails->items[index].thread) &&
		    trail_confidence(q, &trails->items[i]) >= SURE)
			return true;
	return false;
}

/* A thread of the same process that listens to several things: it carries messages for others. */
static bool is_own_loop(const struct question *q, const struct trail *t)
{
	const struct episode *e = scene_episode(q->scene, t->thread, t->rest_ns < q->to ? t->rest_ns : q->to - 1);
	const struct wait *w = e ? &q->scene->waits[e->last] : NULL;

	return w && scene_same_process(q->scene, t->thread, q->episode->thread) &&
	       (w->kind == WAIT_KIND_epoll || (w->kind == WAIT_KIND_poll && w->argument > 1));
}

static void ask_request(struct question *q)
{
	struct trails *trails = &q->inquiry->trails;
	uint64_t start = suspects_request_start(q->scene, q->episode);
	uint64_t until = q->to;

	follow_request(q->scene, q->inquiry->ends, q->episode->thread, start, q->episode->start_ns, until, trails);
	for (uint32_t i = 1; i < trails->length; i++) {
		const struct trail *t = &trails->items[i];
		struct suspect s = { .followed = true, .end = t->end, .confidence = trail_confidence(q, t) };
		const struct trail *up = t;

		if (!s.confidence || (t->thread == q->episode->thread && t->end != TRAIL_BACK))
			continue;
		if ((t->end == TRAIL_AT_REST && is_waiting(q, t->thread)) || !alive(q, t->thread))
			continue;
		if (t->end == TRAIL_BLOCKED && (has_standing_child(q, i) || is_own_loop(q, t)))
			s.confidence = (uint8_t)(s.confidence - DOUBTFUL);
		for (unsigned level = t->level; level; level--) {
			if (up->confidence < s.confidence && up->end == TRAIL_RELAY)
				s.confidence = (uint8_t)(s.confidence - 2);
			if (level == 1 && up->object && up->object == q->wait->object && s.confidence <= 95)
				s.confidence = (uint8_t)(s.confidence + 3);
			up = &trails->items[up->parent];
		}
		s.hop_count = follow_hops(trails, i, s.hops);
		if (!s.hop_count)
			continue;
		s.hops[s.hop_count - 1].final = is_final(q, t);
		s.hops[s.hop_count - 1].confidence = s.confidence;
		vec_push(q->suspects, s);
	}
}

/* ---- the other end ---- */

static bool passes_messages(unsigned kind)
{
	return kind == OBJECT_KIND_pipe || kind == OBJECT_KIND_fifo || kind == OBJECT_KIND_tty;
}

/* Who has the other end of a connection; where nobody has it, who listens and has
 * not accepted it. */
static void suspect_far_end(struct question *q, const struct descriptor *d)
{
	const struct ends *ends = q->inquiry->ends;
	const struct tables *tables = q->scene->tables;
	const struct descriptor *listener;
	struct row far = ends_receiving(ends, d->at.channel_out);

	if (d->at.peer && d->at.peer != d->pid) {
		suspect_thread(q, tables_process(tables, d->at.peer, q->from), LINK_PEER, 42, 0);
		return;
	}
	if (far.count && ends_at(ends, far, 0)->pid != d->pid)
		suspect_thread(q, tables_process(tables, ends_at(ends, far, 0)->pid, q->from), LINK_PEER, 42, 0);
	listener = d->time >= q->from && d->time <= q->to && ends_not_accepted(ends, d) ? ends_listener(ends, d) : NULL;
	if (listener)
		suspect_thread(q, tables_process(tables, listener->pid, q->from), LINK_LISTENER, 86, q->wait->begin_event);
}

static void ask_other_end(struct question *q)
{
	const struct ends *ends = q->inquiry->ends;
	const struct tables *tables = q->scene->tables;
	struct row row = ends_of_object(ends, q->wait->object || q->wait->kind != WAIT_KIND_poll ? q->wait->object
										   : q->wait->detail);
	uint32_t pid = scene_pid(q->scene, q->episode->thread), oldest = 0;

	if (q->wait->kind == WAIT_KIND_futex || q->wait->kind == WAIT_KIND_sleep)
		return;
	for (uint32_t i = 0; i < row.count; i++) {
		const struct descriptor *d = ends_at(ends, row, i);
		uint8_t needed = q->wait->kind == WAIT_KIND_write ? 1 : 2;

		if (d->pid == pid) {
			suspect_far_end(q, d);
			continue;
		}
		if (passes_messages(d->at.kind) && d->at.access & needed) {
			uint32_t thread = tables_process(tables, d->pid, q->from);

			if (thread && (!oldest || tables->threads[thread].start_ns < tables->threads[oldest].start_ns))
				oldest = thread;
		}
	}
	suspect_thread(q, oldest, LINK_PEER, 70, q->wait->begin_event);
}

/* A process that is stopped, or leaves datagrams unread, and is at the other end
 * of what a relay on the way has open: without messages in the trace, the only
 * sign that the relay sent to it. */
static void ask_neighbours(struct question *q)
{
	const struct ends *ends = q->inquiry->ends;
	const struct scene *scene = q->scene;
	struct trails *trails = &q->inquiry->trails;

	for (uint32_t i = 0; i < trails->length; i++) {
		struct row row = ends_of_process(ends, scene_pid(scene, trails->items[i].thread));

		for (uint32_t j = 0; j < row.count; j++) {
			const struct descriptor *d = ends_at(ends, row, j);
			struct state_times times;
			struct suspect s = { .confidence = 0 };
			uint32_t thread = d->at.peer ? tables_process(scene->tables, d->at.peer, q->from) : 0;

			if (!thread || thread == q->episode->thread || scene_is_system(scene, thread))
				continue;
			scene_state_times(scene, thread, q->from, q->to, &times);
			if (times.ns[SPAN_STOPPED] * 2 > q->to - q->from)
				s.confidence = 70;
			else if (d->at.unsent && d->time >= q->from && d->time <= q->to + 1000000000)
				s.confidence = 65;
			if (!s.confidence)
				continue;
			s.hop_count = i ? follow_hops(trails, i, s.hops) : 0;
			if (s.hop_count + 1 > WALK_MAX_HOPS)
				continue;
			s.hops[s.hop_count++] = (struct hop){ .from_ns = i ? trails->items[i].rest_ns : q->from,
				.thread = thread, .link = LINK_PEER, .confidence = s.confidence, .final = s.confidence == 70 };
			vec_push(q->suspects, s);
		}
	}
}

static void ask_unread_datagrams(struct question *q)
{
	const struct tables *tables = q->scene->tables;
	struct trails *trails = &q->inquiry->trails;
	uint32_t relay = 0;

	/* The last one that took the request and rests, as if it had sent it on. */
	for (uint32_t i = 1; i < trails->length; i++)
		if (trails->items[i].end == TRAIL_AT_REST)
			relay = i;
	if (q->scene->messages_seen || (q->wait->kind != WAIT_KIND_poll && q->wait->kind != WAIT_KIND_read &&
					q->wait->kind != WAIT_KIND_epoll))
		return;
	for (size_t i = 0; i < tables->descriptor_count; i++) {
		const struct descriptor *d = &tables->descriptors[i];
		struct suspect s = { .confidence = relay ? 55 : 45 };
		uint32_t thread;

		if (d->at.kind != OBJECT_KIND_udp || !d->at.queued || d->time < q->from)
			continue;
		thread = tables_process(tables, d->pid, d->time);
		if (!thread || thread == q->episode->thread)
			continue;
		s.hop_count = relay ? follow_hops(trails, relay, s.hops) : 0;
		if (s.hop_count + 1 > WALK_MAX_HOPS)
			continue;
		s.hops[s.hop_count++] = (struct hop){ .from_ns = relay ? trails->items[relay].rest_ns : q->from,
			.thread = thread, .link = LINK_MESSAGE, .confidence = s.confidence, .final = true };
		vec_push(q->suspects, s);
	}
}

/* ---- similar waits ---- */

static bool surely_known(const struct question *q)
{
	for (size_t i = 0; i < q->suspects->length; i++)
		if (q->suspects->items[i].confidence >= SURE)
			return true;
	return false;
}

/* What ended the same wait when it went well: in the trace that the person gives,
 * else in this one. */
static void ask_similar(struct question *q)
{
	struct inquiry *inquiry = q->inquiry;
	struct baseline *found;
	const struct baseline_step *step;
	struct suspect s = { .hop_count = 1 };

	if (!inquiry->now || (!inquiry->base && surely_known(q)))
		return;
	found = arena_new(inquiry->arena, struct baseline);
	if (!(inquiry->base && baseline_diff(inquiry->now, q->episode, q->from, q->to, inquiry->base, found) &&
	      found->culprit < found->step_count) &&
	    !(baseline_diff(inquiry->now, q->episode, q->from, q->to, inquiry->now, found) && found->culprit < found->step_count))
		return;
	step = &found->steps[found->culprit];
	/* In one trace, who was gone before it began was not to act. */
	if (!found->other_trace && step->now_thread && q->scene->tables->threads[step->now_thread].end_ns <= q->from)
		return;
	if (is_waiting(q, step->now_thread) || scene_is_system(q->scene, step->now_thread))
		return;
	s.confidence = found->confidence;
	/* Where something else leads to the same thread, both together are surer than that alone. */
	for (size_t i = 0; i < q->suspects->length; i++) {
		const struct suspect *same = &q->suspects->items[i];

		if (same->hop_count == 1 && same->hops[0].thread == step->now_thread &&
		    same->confidence >= s.confidence && same->confidence < 95)
			s.confidence = (uint8_t)(same->confidence + 1);
	}
	s.baseline = found;
	/* One that only went back to rest, or ended, is late by itself. */
	s.hops[0] = (struct hop){ .from_ns = q->from, .thread = step->now_thread, .link = LINK_SIMILAR,
				  .confidence = s.confidence, .evidence = step->work_event,
				  .final = step->doing == DOING_RESTED || step->doing == DOING_GONE || step->doing == DOING_STOPPED };
	vec_push(q->suspects, s);
}

/* ---- the process itself ---- */

static bool is_private_wait(const struct wait *w)
{
	return w->kind == WAIT_KIND_futex || w->kind == WAIT_KIND_semaphore;
}

/* True when nobody else in the process could have acted. */
static bool ask_process(struct question *q)
{
	const struct tables *tables = q->scene->tables;
	uint32_t pid = scene_pid(q->scene, q->episode->thread), others = 0;

	if (!is_private_wait(q->wait))
		return false;
	for (uint32_t i = 1; i < tables->thread_count; i++) {
		struct state_times times;
		uint64_t window = q->to - q->from;

		if (tables->threads[i].pid != pid || i == q->episode->thread || is_waiting(q, i))
			continue;
		if (tables->threads[i].start_ns > q->to || tables->threads[i].end_ns < q->from)
			continue;
		others++;
		scene_state_times(q->scene, i, q->from, q->to, &times);
		if (times.ns[SPAN_RUNNING] * 2 > window)
			suspect_thread(q, i, LINK_PROCESS, 50, 0);
		else if (times.ns[SPAN_RUNNABLE] * 2 > window)
			suspect_thread(q, i, LINK_PROCESS, 48, 0);
		else if (times.ns[SPAN_STOPPED] * 2 > window)
			suspect_thread(q, i, LINK_PROCESS, 48, 0);
	}
	return !others;
}

/* A loop looks at memory of its process, or at what a child left. */
static void ask_loop(struct question *q)
{
	uint8_t confidence;
	uint32_t partner;

	if (!loop_is(q->scene, q->episode))
		return;
	partner = loop_partner(q->scene, q->episode->thread, q->from, q->to, &confidence);
	if (partner && confidence >= 45 && !is_waiting(q, partner))
		suspect_thread(q, partner, LINK_FLAG, confidence < 70 ? confidence : 70, 0);
}

/* A sleep among many, with other short waits between them. */
static void ask_retries(struct question *q)
{
	struct inquiry *inquiry = q->inquiry;
	const struct wait *w = q->wait;
	bool known = inquiry->retrying == w->thread && w->start_ns >= inquiry->retries.start_ns && w->end_ns <= inquiry->retries.end_ns;

	if (loop_is(q->scene, q->episode))
		return;
	if (!known) {
		inquiry->retrying = 0;
		if (!loop_retries(q->scene, q->episode->last, &inquiry->retries))
			return;
		inquiry->retrying = w->thread;
		inquiry->retry_partner = loop_retry_partner(q->scene, &inquiry->retries, &inquiry->lockstep);
	}
	if (inquiry->retry_partner && !is_waiting(q, inquiry->retry_partner))
		suspect_thread(q, inquiry->retry_partner, inquiry->lockstep ? LINK_LOCKSTEP : LINK_FLAG, RETRY_PARTNER, 0);
}

/* A wait that a limit or a signal ended, and by whose giving up one that waited
 * for this thread at the same place went on at once: that is how detectors of
 * deadlocks and time limits of locks break a circle that nothing else shows. */
static void ask_lockstep(struct question *q)
{
	const struct scene *scene = q->scene;

	if (q->wait->end != WAIT_END_TIMEOUT && q->wait->end != WAIT_END_SOURCE)
		return;
	for (unsigned i = 0; i + 1 < q->waiting_count; i++) {
		const struct episode *e = scene_episode(scene, q->waiting[i], q->from);
		const struct wait *w = e ? &scene->waits[e->last] : NULL;
		uint64_t place = w && q->inquiry->now ? side_stack_place(q->inquiry->now, w->ustack) : 0;

		if (!w || w->kind != q->wait->kind || w->end != WAIT_END_THREAD || w->waker != q->episode->thread ||
		    e->start_ns > q->to || w->end_ns < q->wait->end_ns || w->end_ns > q->wait->end_ns + GIVE_UP_NS)
			continue;
		if (place && place == side_stack_place(q->inquiry->now, q->wait->ustack))
			suspect_thread(q, q->waiting[i], LINK_LOCKSTEP, 60, w->end_event);
	}
}

static int surer(const void *a, const void *b)
{
	const struct suspect *x = a, *y = b;

	if (x->confidence != y->confidence)
		return x->confidence > y->confidence ? -1 : 1;
	return x->hop_count < y->hop_count ? -1 : x->hop_count > y->hop_count;
}

void suspects_find(struct inquiry *inquiry, const struct episode *episode, uint64_t from_ns, uint64_t to_ns,
		   const uint32_t *waiting, unsigned waiting_count, struct suspects *suspects, bool *ret_alone)
{
	struct question q = {
		.inquiry = inquiry, .scene = inquiry->scene, .episode = episode,
		.wait = &inquiry->scene->waits[episode->last], .from = from_ns, .to = to_ns,
		.waiting = waiting, .waiting_count = waiting_count, .suspects = suspects,
	};
	bool alone;

	suspects->length = 0;
	*ret_alone = false;
	ask_hint(&q);
	ask_file_locks(&q);
	ask_signalled(&q);
	if (q.wait->kind == WAIT_KIND_sleep || loop_is(q.scene, episode)) { /* nobody is asked to end a sleep */
		ask_loop(&q);
		ask_retries(&q);
		if (q.wait->kind != WAIT_KIND_child) /* what that child did is known */
			ask_similar(&q);
		goto out;
	}
	ask_told_instead(&q);
	ask_fuse(&q);
	ask_children(&q);
	ask_request(&q);
	ask_other_end(&q);
	ask_neighbours(&q);
	ask_unread_datagrams(&q);
	ask_lockstep(&q);
	ask_similar(&q);
	/* When its process has no other thread and nothing speaks for anyone, the
	 * thread waits for what only it could do. */
	alone = ask_process(&q);
	for (size_t i = 0; i < suspects->length; i++)
		alone &= suspects->items[i].confidence < 45 || is_waiting(&q, suspects_thread(&suspects->items[i]));
	if (alone && !q.wait->hint)
		suspects->length = 0;
	*ret_alone = alone && !suspects->length;
out:
	if (suspects->length)
		qsort(suspects->items, suspects->length, sizeof(*suspects->items), surer);
}
