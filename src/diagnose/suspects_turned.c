/* Of one that listens to many, was asked, and rests: to whom it passed that on is not seen, but the moment tells. Who was set to work then began then
 * what he is at; who has nothing to do with it has stood as he stands since long before, or does since (see suspects.h). */
#include "diagnose/judgement.h"
#include "diagnose/owed.h"
#include "diagnose/own_ends.h"
#include "diagnose/polled_one.h"
#include "diagnose/question.h"
#include "diagnose/serving.h"

enum turn {
	TURN_NONE,
	TURN_RESTED,      /* it went back to rest then: only one who was asked itself passes on */
	TURN_AWAY,        /* a client turned then to something else than to listen to the one that rests */
	TURN_AT_WORK,     /* the same of one that it asks */
	TURN_UNREAD,      /* and leaves unread what came from there */
};

struct turned {
	uint32_t thread;
	enum turn turn;
	bool others;      /* of another process as well */
};

/* In which it may have been asked, as who waits for it began to do so. */
struct moment {
	uint64_t from_ns, to_ns;
};

/* When that one asked, who waits for the thread's process and is of another; false: not known. */
static bool find_moment(const struct question *q, struct moment *ret)
{
	uint64_t before = limit_of(q->scene, LIMIT_serving_before_ns), asked, begin;
	const struct episode *e = NULL;
	const struct wait *first;
	struct polled_one polled;
	bool polls;

	for (unsigned i = q->waiting_count > 1 ? q->waiting_count - 1 : 0; i-- > 0 && !e; )
		if (!scene_same_process(q->scene, q->waiting[i], q->wait->thread))
			e = scene_episode(q->scene, q->waiting[i], q->to - 1);
	if (!e || e->end_ns < q->to)
		return false;
	first = &q->scene->waits[e->first];
	asked = own_ends_asked_ns(q->scene, q->inquiry->ends, &q->scene->waits[e->last]);
	polls = !asked && polled_one_find(q->scene, e->thread, q->to, &polled);
	if (polls && !polled.seen_to_begin)
		return false;
	/* slices from the recording's beginning on do not tell when the first of them began */
	if (!asked && !polls && (loop_is(q->scene, e) ||
				 (e->slices > 1 && first->start_ns <= q->scene->start_ns + limit_of(q->scene, LIMIT_standing_slack_ns))))
		return false;
	/* that is told by the acknowledgement, which may come late */
	before += asked ? limit_of(q->scene, LIMIT_acknowledged_ns) : 0;
	begin = asked ? asked : polls ? polled.begin_ns : first->start_ns;
	*ret = (struct moment){ begin > before ? begin - before : 0, begin + limit_of(q->scene, LIMIT_turned_to_ns) };
	return true;
}

/* It waits for what the process says to it: as who asks, or is told news. */
static bool listens_to_us(const struct question *q, const struct wait *w, uint64_t its_end)
{
	uint64_t object = w->kind == WAIT_KIND_read ? w->object : w->kind == WAIT_KIND_poll && w->argument == 1 ? w->detail : 0;

	return object ? object == its_end || ends_faces(q->inquiry->ends, object, scene_pid(q->scene, q->wait->thread)) : false;
}

static enum turn turn_of(const struct question *q, uint32_t thread, uint64_t its_end, bool asked, const struct moment *when)
{
	const struct wait *w = stands_in(q, thread);
	struct state_times times;
	uint64_t began;

	if (!w) {
		scene_state_times(q->scene, thread, q->from, q->to, &times);
		return !nearly_all(q->scene, times.ns[SPAN_RUNNING] + times.ns[SPAN_RUNNABLE], q->to - q->from) ? TURN_NONE : asked ? TURN_AT_WORK : TURN_NONE;
	}
	began = q->scene->waits[q->scene->episodes[w->episode].first].start_ns;
	if (w->kind == WAIT_KIND_stop)
		return asked ? TURN_AT_WORK : began >= when->from_ns && began <= when->to_ns ? TURN_AWAY : TURN_NONE;
	if (began < when->from_ns || began > when->to_ns || listens_to_us(q, w, its_end))
		return TURN_NONE;
	if (wait_is_loop_rest(w) || w->idle ||
	    (ends_is_datagram(w->object) && !ends_asks_by_datagram(q->scene, q->inquiry->ends, w->object)) ||
	    (w->kind == WAIT_KIND_futex && !wait_has_owner(w)))
		return asked ? TURN_RESTED : TURN_NONE;
	return asked ? TURN_AT_WORK : TURN_AWAY;
}

/* Of several processes that stand out as much none does. */
static void add(const struct question *q, struct turned *best, uint32_t thread, enum turn turn)
{
	if (turn < best->turn || turn == TURN_NONE)
		return;
	if (turn > best->turn)
		*best = (struct turned){ .thread = thread, .turn = turn };
	else if (!scene_same_process(q->scene, best->thread, thread))
		best->others = true;
}

/* `asked`: it is one that the process asks, as far as it asks anybody. */
static void look_at(const struct question *q, struct turned *best, uint32_t process, const struct descriptor *its, bool asked, const struct moment *when)
{
	bool unread = its && its->at.queued && its->time >= q->from && !scene_is_pipe(its->at.object);

	if (!process || scene_is_system(q->scene, process) || scene_same_process(q->scene, process, q->wait->thread))
		return;
	for (unsigned i = 0; i < q->waiting_count; i++)
		if (scene_same_process(q->scene, q->waiting[i], process))
			return;
	SCENE_EACH_MATE(q->scene, process, i) {
		enum turn turn = alive(q, i) ? turn_of(q, i, its ? its->at.object : 0, asked, when) : TURN_NONE;

		add(q, best, i, turn > TURN_RESTED && unread ? TURN_UNREAD : turn);
	}
}

static void look_over_pipe(const struct question *q, struct turned *best, const struct descriptor *d, const struct moment *when)
{
	struct row row = ends_of_object(q->inquiry->ends, d->at.object);
	uint32_t last = 0;

	for (uint32_t i = 0; i < row.count; i++) {
		const struct descriptor *its = ends_at(q->inquiry->ends, row, i);

		/* from whom it reads, or who reads from it */
		if (its->pid != d->pid && its->pid != last && (its->at.access & 3) != (d->at.access & 3))
			look_at(q, best, tables_process(q->scene->tables, its->pid, q->from), NULL, (d->at.access & 3) == 1, when);
		last = its->pid;
	}
}

static void look_over(const struct question *q, struct turned *best, const struct descriptor *d, const struct moment *when)
{
	const struct ends *ends = q->inquiry->ends;
	struct row far;

	if (scene_is_pipe(d->at.object)) {
		look_over_pipe(q, best, d, when);
		return;
	}
	if ((d->at.kind != OBJECT_KIND_tcp && d->at.kind != OBJECT_KIND_unix_stream && d->at.kind != OBJECT_KIND_unix_seqpacket &&
	     d->at.kind != OBJECT_KIND_udp) || ends_role(ends, d->at.object) == END_LISTENER ||
	    (ends_role(ends, d->at.object) != END_SERVER && ends_lead_to_windows(ends, ends_of_object(ends, d->at.object))))
		return;
	/* whom it has answered last owes it nothing, nor who answered it last */
	if (d->at.kind == OBJECT_KIND_tcp && !(d->at.access & DESCRIPTOR_SPOKE_LAST))
		return;
	far = ends_far(ends, d);
	look_at(q, best, suspects_neighbour(q->scene, ends, d, q->from, q->to), far.count ? ends_at(ends, far, far.count - 1) : NULL,
		ends_role(ends, d->at.object) != END_SERVER, when);
}

static uint8_t weight_of_turn(const struct question *q, enum turn turn)
{
	return turn == TURN_RESTED ? limit(q, LIMIT_turned_rests) : turn == TURN_AWAY ? limit(q, LIMIT_turned_client) : weight_of(q);
}

/* It waits for the process, since before that was asked, or is it that asked. */
static bool owes_nothing(const struct question *q, const struct suspect *s, const struct moment *when)
{
	uint32_t thread = suspects_thread(s);
	const struct wait *w = s->hop_count == 1 && s->hops[0].link == LINK_PEER ? stands_in(q, thread) : NULL;

	return w && w->kind != WAIT_KIND_stop && listens_to_us(q, w, 0) && q->scene->waits[q->scene->episodes[w->episode].first].start_ns < when->from_ns;
}

void ask_turned(struct question *q)
{
	const struct wait *w = q->wait;
	struct row row = ends_of_process(q->inquiry->ends, scene_pid(q->scene, w->thread));
	struct turned best = { 0 };
	struct moment when;
	size_t kept = 0, looked = 0;
	bool child;

	if (w->end != WAIT_END_OPEN || w->idle || !wait_is_loop_rest(w) || w->kind == WAIT_KIND_accept || only_looks(q) || !find_moment(q, &when))
		return;
	for (uint32_t i = row.count; i-- > 0 && ends_is_newest(q->inquiry->ends, row, i); looked++) {
		if (looked == limit_of(q->scene, LIMIT_neighbours))
			return;
		look_over(q, &best, ends_at(q->inquiry->ends, row, i), &when);
	}
	if (!best.thread || best.others)
		return;
	for (size_t i = 0; i < q->suspects->length; i++)
		if (!owes_nothing(q, &q->suspects->items[i], &when))
			q->suspects->items[kept++] = q->suspects->items[i];
	q->suspects->length = kept;
	child = q->scene->tables->threads[best.thread].parent_pid == scene_pid(q->scene, w->thread);
	suspect_thread(q, best.thread, child ? LINK_CHILD : LINK_PEER, weight_of_turn(q, best.turn), 0);
}
