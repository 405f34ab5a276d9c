/* Late round trips, see hangs_trips.h.
 *
 * One row of what went out and what came in for each partner: a connection, where
 * messages were recorded, else the process that was woken and woke the thread, or the
 * thread of its own process. What is sent to one that does not sleep wakes nobody: of a
 * partner that was always asked before, and was away, an answer tells of the question. */
#include "diagnose/hangs_trips.h"

#include "diagnose/hangs_asks.h"
#include "diagnose/hangs_away.h"
#include "diagnose/hangs_busy.h"
#include "diagnose/hangs_work.h"

#include "base/map.h"

/* With one partner. */
struct trips {
	uint64_t asked_ns;       /* of the trip that is open, 0 none */
	uint64_t last_ns;        /* when something came in last, 0 never */
	uint64_t total_ns;       /* of the ended ones but the late */
	uint32_t count, unasked; /* ended in time; came in without a question before */
	uint64_t paced_ns;       /* from an answer to the question behind it, where something else had set the thread off meanwhile, ... */
	uint32_t paced, asked;   /* ... so many of all that were asked behind an answer */
	uint32_t thread;         /* that was asked, 0 not known */
	uint64_t channel;        /* on which it was asked last, 0 not known */
	uint64_t object;         /* the thread's end of the connection; 0: a process, or thread, known by its wake-ups */
	bool client;             /* the partner came over a connection of its own */
	bool serves;             /* the partner spoke first: what it sends are questions */
	bool again;              /* told more while the trip was open */
	uint32_t late;           /* index of the last late one + 1, 0 none */
	uint32_t late_count;
};

struct trip {
	uint64_t from_ns, to_ns;
	uint32_t trips, before;  /* before: late one of the same partner before it, index + 1 */
};

struct book {
	const struct finder *f;
	bool counts;             /* also what came in without a question, which takes long and is seldom asked for */
	struct map index;        /* partner -> index into trips */
	uint64_t met, met_at;    /* the last one that was looked for: mostly it is the next one, too */
	uint64_t set_off_ns;     /* when the thread's own clock, or one whom it had asked nothing, let it go on last */
	struct vec(struct trips) trips;
	struct vec(struct trip) late;
};

/* The process has a connection to the thread's that it made itself, and none that this one made: it asks, and is
 * not asked. */
static bool is_client(const struct finder *f, uint32_t pid)
{
	struct row row = ends_of_process(f->ends, scene_pid(f->scene, f->thread));
	bool serves = false;

	for (uint32_t i = 0; i < row.count; i++) {
		const struct descriptor *d = ends_at(f->ends, row, i);
		struct row far = ends_far(f->ends, d);
		enum end_role role = ends_role(f->ends, d->at.object);
		bool theirs = d->at.peer == pid;

		for (uint32_t j = 0; j < far.count && !theirs; j++)
			theirs = ends_at(f->ends, far, j)->pid == pid;
		if (theirs && role == END_CLIENT)
			return false;
		serves |= theirs && role == END_SERVER;
	}
	return serves;
}

static struct trips *with(struct book *book, uint64_t partner, bool comes_in)
{
	bool fresh = false;

	if (partner != book->met || !book->trips.length) {
		uint64_t *at = map_at(&book->index, partner, &fresh);

		if (fresh)
			*at = book->trips.length;
		book->met = partner;
		book->met_at = *at;
	}
	if (fresh)
		vec_push(&book->trips, ((struct trips){ .serves = comes_in }));
	return &book->trips.items[book->met_at];
}

/* The same of a process, or a thread of its own. */
static struct trips *with_process(struct book *book, uint64_t partner, bool comes_in)
{
	size_t known = book->trips.length;
	struct trips *t = with(book, partner, comes_in);

	if (book->trips.length > known)
		t->client = book->f->options->pid && partner <= UINT32_MAX && is_client(book->f, (uint32_t)partner);
	return t;
}

/* `thread`: who is asked, 0 not known. */
static void ask(struct book *book, uint64_t partner, uint32_t thread, uint64_t time)
{
	struct trips *t = with(book, partner, false);

	t->thread = thread;
	t->again = t->asked_ns;
	if (!t->asked_ns) {
		t->asked_ns = time;
		t->asked += t->last_ns != 0;
		if (t->last_ns && book->set_off_ns > t->last_ns) {
			t->paced++;
			t->paced_ns += time - t->last_ns;
		}
	}
}

static void note_late(struct book *book, struct trips *t, uint64_t to)
{
	vec_push(&book->late, ((struct trip){ t->asked_ns, to, (uint32_t)(t - book->trips.items), t->late }));
	t->late = (uint32_t)book->late.length;
	t->late_count++;
}

static bool waited(const struct scene *scene, uint32_t thread, uint64_t from_ns, uint64_t to_ns)
{
	uint32_t first = scene_waits_from(scene, thread, from_ns);

	return first < scene_waits_end(scene, thread) && scene->waits[first].start_ns < to_ns;
}

/* When the thread, which was away for nearly all of the time, went there. */
static uint64_t away_since(const struct scene *scene, uint32_t thread, uint64_t from_ns, uint64_t to_ns)
{
	uint64_t middle = from_ns + (to_ns - from_ns) / 2;
	const struct episode *e = scene_episode(scene, thread, middle);

	return e && e->start_ns > from_ns && e->start_ns < middle ? e->start_ns : from_ns;
}

/* `thread`: who answered, 0 not known. */
static void answer(struct book *book, uint64_t partner, uint32_t thread, uint64_t time)
{
	struct trips *t = with(book, partner, true);
	uint64_t last = t->last_ns, long_ns = hangs_long_ns(book->f, LIMIT_wait_ns);

	t->last_ns = time;
	if (!t->asked_ns && !t->client && last && time - last >= long_ns && thread && hangs_was_away(book->f, thread, last, time)) {
		t->asked_ns = away_since(book->f->scene, thread, last, time);
		note_late(book, t, time);
		t->asked_ns = 0;
		return;
	}
	if (!t->asked_ns) {
		book->set_off_ns = time;
		t->unasked += book->counts && (!thread || waited(book->f->scene, thread, last, time));
		return;
	}
	if (time - t->asked_ns >= long_ns) {
		note_late(book, t, time);
	} else {
		t->count++;
		t->total_ns += time - t->asked_ns;
	}
	t->asked_ns = 0;
}

/* A process has one number for all of its threads; those of the thread's own process,
 * which its first one sets to work, each one of its own. 0: none that is asked. */
static uint64_t partner_of(const struct finder *f, uint32_t other)
{
	const struct thread *own = &f->scene->tables->threads[f->thread];

	if (!other || other == f->thread || scene_is_system(f->scene, other))
		return 0;
	if (!scene_same_process(f->scene, other, f->thread))
		return scene_pid(f->scene, other);
	return own->tid == own->pid ? (uint64_t)other << 32 : 0;
}

static void read_wakes(struct book *book)
{
	const struct finder *f = book->f;
	const struct scene *scene = f->scene;
	const struct scene_thread *t = &scene->threads[f->thread];
	uint32_t wake = t->wake, wait = t->wait;
	uint64_t received = 0; /* who was the last to set it to work: a client is answered then, and asked for nothing */

	while (wake < t->wake + t->wake_count || wait < t->wait + t->wait_count) {
		const struct wake *k = wake < t->wake + t->wake_count ? &scene->wakes[wake] : NULL;
		const struct wait *w = wait < t->wait + t->wait_count ? &scene->waits[wait] : NULL;
		uint64_t partner;

		if (k && (!w || k->time < w->end_ns)) {
			partner = partner_of(f, k->target);
			if (partner && !(with_process(book, partner, false)->client && partner == received))
				ask(book, partner, k->target, k->time);
			wake++;
			continue;
		}
		if (w->end == WAIT_END_TIMEOUT)
			book->set_off_ns = w->end_ns;
		partner = w->end == WAIT_END_THREAD ? partner_of(f, w->waker) : 0;
		if (partner) {
			with_process(book, partner, true);
			answer(book, partner, w->waker, w->end_ns);
			received = partner;
		}
		wait++;
	}
}

static void read_messages(struct book *book)
{
	const struct finder *f = book->f;
	const struct scene_thread *t = &f->scene->threads[f->thread];
	uint64_t received = 0; /* last, from whomever */

	for (uint32_t i = 0; i < t->messages.count; i++) {
		const struct message m = scene_message(f->scene, t->messages.items[i]);

		if (m.result <= 0 || scene_is_pipe(m.object) || object_kind(m.object) == OBJECT_KIND_eventfd ||
		    object_kind(m.object) == OBJECT_KIND_tty || m.kind == MESSAGE_KIND_connect)
			continue;
		if (m.flags & MESSAGE_FLAGS_receive) {
			answer(book, m.object, 0, m.time);
			received = m.object;
		} else if (received != m.object || ends_role(f->ends, m.object) != END_SERVER) { /* else it answers a client */
			ask(book, m.object, 0, m.start_ns);
			with(book, m.object, false)->channel = m.channel;
			with(book, m.object, false)->object = m.object;
		}
	}
}

/* Each question had its answer, soon, ... */
static bool has_answers(const struct finder *f, const struct trips *t)
{
	return t->count >= limit_of(f->scene, LIMIT_trips) && t->count * limit_of(f->scene, LIMIT_trips_irregular) >= 100 * (uint64_t)t->late_count;
}

/* ... and next to nothing came without one. */
static bool is_regular(const struct finder *f, const struct trips *t)
{
	return has_answers(f, t) && 100 * (uint64_t)t->unasked <= t->count * limit_of(f->scene, LIMIT_trips_irregular);
}

/* What it listens to there is a window server, and its own time lets it go on again and again, also at other times, and then it draws. */
static bool draws_by_clock(const struct finder *f, const struct wait *at, uint64_t from, uint64_t to)
{
	const struct scene *scene = f->scene;
	uint32_t times = 0;

	if (!rule_holds(scene, RULE_draws_by_clock) || !at->timeout_ns || at->kind != WAIT_KIND_poll || !hangs_is_window_server(f, hangs_listened_to(at)))
		return false;
	for (uint32_t i = scene_waits_from(scene, f->thread, 0); i + 1 < scene_waits_end(scene, f->thread); i++) {
		const struct wait *w = &scene->waits[i];
		uint32_t wake = scene_wakes_from(scene, f->thread, w->end_ns);

		times += w->site == at->site && w->end == WAIT_END_TIMEOUT && (w->end_ns < from || w->start_ns > to) &&
			 wake < scene_wakes_end(scene, f->thread) && scene->wakes[wake].time < w[1].start_ns &&
			 ends_shows_windows_of(f->ends, scene_pid(scene, scene->wakes[wake].target), scene_pid(scene, f->thread));
	}
	return times >= limit_of(scene, LIMIT_rest_visits);
}

/* At one place, where it listens to nothing else (`object`: than that), for nearly all of the time: it could not
 * go on. */
static bool is_held(const struct finder *f, uint64_t from, uint64_t to, uint64_t object)
{
	const struct scene *scene = f->scene;
	const struct episode *e = scene_episode(scene, f->thread, from + (to - from) / 2);
	const struct wait *at = e ? &scene->waits[e->last] : NULL;
	uint32_t end = scene_waits_end(scene, f->thread);
	uint64_t ns = 0;

	if (!at || hangs_role_in(f, at) == END_SERVER ||
	    (at->kind != WAIT_KIND_futex && at->kind != WAIT_KIND_semaphore && at->kind != WAIT_KIND_queue && at->kind != WAIT_KIND_read &&
	     (at->kind != WAIT_KIND_poll || at->argument > 1)))
		return false;
	if ((object && (at->kind == WAIT_KIND_poll ? at->detail : at->object) != object) || draws_by_clock(f, at, from, to))
		return false;
	for (uint32_t i = scene_waits_from(scene, f->thread, from); i < end && scene->waits[i].start_ns < to; i++)
		if (scene->waits[i].site == at->site)
			ns += (scene->waits[i].end_ns < to ? scene->waits[i].end_ns : to) - scene->waits[i].start_ns;
	return nearly_all(scene, ns, to - from);
}

/* All trips but this one were in time, nearly none unasked, and another process that was away
 * all the while, and not at rest, let it end: the answer was late because of that, whatever
 * the thread did meanwhile. */
static bool was_away_who_answered(const struct finder *f, const struct trip *late, const struct trips *t, const struct wait *last)
{
	return t->late_count == 1 && nearly_none(f->scene, t->unasked, t->count) && last->end == WAIT_END_THREAD &&
	       last->start_ns > late->from_ns && hangs_ended_by_return(f, &f->scene->episodes[last->episode], late->from_ns);
}

/* The last wait that began before the time; none is entry 0. */
static const struct wait *wait_before(const struct finder *f, uint64_t time)
{
	uint32_t next = scene_waits_from(f->scene, f->thread, time);

	return &f->scene->waits[next > f->scene->threads[f->thread].wait ? next - 1 : 0];
}

/* Whoever runs when it is asked first seems to speak first. It is the thread that asks, where something else sets it off before its
 * questions, for which it waits longer than for the answers. */
static bool asks_at_own_pace(const struct finder *f, const struct trip *late, const struct trips *t)
{
	const struct wait *last = wait_before(f, late->to_ns);

	/* what a loop over a set sends may be for others that it listens to there */
	return t->serves && last->kind != WAIT_KIND_epoll && rule_holds(f->scene, RULE_own_pace) && t->paced > part_of(f->scene, LIMIT_a_good_part, t->asked) &&
	       t->paced_ns >= limit_of(f->scene, LIMIT_pace_times) * t->total_ns && t->thread && !hangs_has_clients(f);
}

static bool partner_asks(const struct finder *f, const struct trip *late, const struct trips *t)
{
	return t->serves && !asks_at_own_pace(f, late, t);
}

/* Of a few trips nobody knows whether the last thing said was a question, where nothing came
 * back; nor, of a thread that goes on with other things, where the partner had spoken first, or
 * where nothing came back and more was said. */
static bool is_question(const struct finder *f, const struct trip *late, const struct trips *t, bool kept)
{
	bool answered = late->from_ns != t->asked_ns, few = t->count < limit_of(f->scene, LIMIT_trips_unasked);

	return answered ? kept || !few || !partner_asks(f, late, t) : !few && (kept || !t->again);
}

/* Who was asked then, or took what was sent; 0 not known. */
static uint32_t asked_thread(const struct scene *scene, const struct trips *t, uint64_t asked_ns)
{
	const struct row *row = t->thread ? NULL : scene_channel(scene, t->channel);

	for (uint32_t i = row ? scene_channel_from(scene, row, asked_ns) : 0; row && i < row->count; i++) {
		const struct message m = scene_message(scene, row->items[i]);

		if (m.flags & MESSAGE_FLAGS_receive)
			return m.thread;
	}
	return t->thread;
}

/* Who was asked, or one that it set to work for that, was at something else from then until the answer. */
static bool were_at_it(const struct finder *f, uint32_t asked, const struct trip *late)
{
	const struct scene *scene = f->scene;
	uint64_t set_off = late->from_ns + limit_of(scene, LIMIT_asked_before_ns);
	bool own = scene_same_process(scene, asked, f->thread);

	if (hangs_was_away(f, asked, set_off, late->to_ns))
		return true;
	follow_request(scene, f->ends, f->thread, late->from_ns, set_off, late->to_ns, f->trails);
	for (uint32_t i = 1; i < f->trails->length; i++) {
		const struct trail *trail = &f->trails->items[i], *first = trail;

		while (first->level > 1)
			first = &f->trails->items[first->parent];
		if (scene_same_process(scene, first->thread, asked) && trail->thread != f->thread &&
		    (own || !scene_same_process(scene, trail->thread, f->thread)) &&
		    trail->from_ns < set_off && hangs_was_away(f, trail->thread, set_off, late->to_ns))
			return true;
	}
	return false;
}

/* Of what it asked another process for, that one was at something else, or one that it set to work: this one came late,
 * whatever else the thread did meanwhile, and however often it asked before. */
static bool was_kept(const struct finder *f, const struct trip *late, const struct trips *t)
{
	const struct scene *scene = f->scene;
	uint64_t set_off = late->from_ns + limit_of(scene, LIMIT_asked_before_ns);
	uint32_t asked = f->options->pid && !partner_asks(f, late, t) ? asked_thread(scene, t, late->from_ns) : 0;

	if (!asked || scene_same_process(scene, asked, f->thread) || set_off >= late->to_ns)
		return false;
	/* Who started it is told something, and asked for nothing. */
	if (scene_descends_from(scene, f->thread, scene_pid(scene, asked)))
		return false;
	return were_at_it(f, asked, late);
}

/* Who was asked could have gone on, and was given no processor: on a busy machine all takes long, and one that is starved is found itself. */
static bool only_queued(const struct finder *f, uint32_t asked, const struct trip *late)
{
	struct state_times times;

	scene_state_times(f->scene, asked, late->from_ns, late->to_ns, &times);
	return most_of(f->scene, times.ns[SPAN_RUNNABLE], late->to_ns - late->from_ns);
}

/* For most of the time it waited for threads of its own that were at work. */
static bool own_threads_worked(const struct finder *f, const struct trip *late)
{
	const struct episode *e = scene_episode(f->scene, f->thread, late->from_ns + (late->to_ns - late->from_ns) / 2);

	return e && e->start_ns >= late->from_ns && most_of(f->scene, e->end_ns - e->start_ns, late->to_ns - late->from_ns) && hangs_own_threads_work(f, e);
}

/* Who has just been started takes the first question without a wait, so that it seems to speak first. */
static bool asks_own_worker(const struct finder *f, const struct trips *t, const struct wait *last)
{
	return t->thread && last->kind == WAIT_KIND_read && scene_is_pipe(last->object) && !scene_same_process(f->scene, t->thread, f->thread) &&
	       scene_descends_from(f->scene, t->thread, scene_pid(f->scene, f->thread));
}

/* Where nobody asks about the process, only who could not go on counts, or whom somebody kept
 * who was away; and of work that it left to its own threads only what takes longer. */
static bool is_told(const struct finder *f, const struct trip *late, const struct trips *t)
{
	bool own = t->thread && scene_same_process(f->scene, t->thread, f->thread);
	const struct wait *last = wait_before(f, late->to_ns);

	if (f->options->pid)
		return is_question(f, late, t, is_held(f, late->from_ns, late->to_ns, t->object) || was_away_who_answered(f, late, t, last));
	if ((partner_asks(f, late, t) && hangs_role_in(f, last) != END_CLIENT && !asks_own_worker(f, t, last)) ||
	    t->count < limit_of(f->scene, LIMIT_trips_unasked))
		return false;
	if ((hangs_is_unattended(f) && ((t->thread && only_queued(f, t->thread, late)) || (last->waker && only_queued(f, last->waker, late)))) ||
	    own_threads_worked(f, late))
		return false;
	if (!is_held(f, late->from_ns, late->to_ns, t->object))
		return !own && was_away_who_answered(f, late, t, last);
	return !own || (late->to_ns - late->from_ns >= hangs_long_ns(f, LIMIT_busy_ns) && !hangs_is_batch(f) && were_at_it(f, t->thread, late));
}

/* When whoever was asked, or took what was sent last, had ended: UINT64_MAX it had not, or is not known. */
static uint64_t partner_end(const struct scene *scene, const struct trips *t)
{
	uint32_t thread = asked_thread(scene, t, t->asked_ns);
	uint32_t first = thread ? tables_process(scene->tables, scene_pid(scene, thread), t->asked_ns) : 0;

	return first ? scene->tables->threads[first].end_ns : UINT64_MAX;
}

static void read_trips(struct book *book)
{
	const struct finder *f = book->f;
	uint64_t gone = f->scene->tables->threads[f->thread].end_ns, end = gone < f->scene->end_ns ? gone : f->scene->end_ns;

	map_init(&book->index);
	read_wakes(book);
	if (f->scene->messages_seen)
		read_messages(book);
	for (size_t i = 0; i < book->trips.length; i++) {
		struct trips *t = &book->trips.items[i];
		uint64_t until;

		if (!t->asked_ns || end - t->asked_ns < hangs_long_ns(f, LIMIT_wait_ns))
			continue;
		/* nobody waits for the answer of one that ended */
		until = partner_end(f->scene, t) < end ? partner_end(f->scene, t) : end;
		if (until >= t->asked_ns + hangs_long_ns(f, LIMIT_wait_ns))
			note_late(book, t, until);
	}
	map_done(&book->index);
}

void hangs_late_trips(const struct finder *f, hangs_late_fn *found, struct finder *data)
{
	struct book book = { .f = f };

	read_trips(&book);
	for (size_t i = 0; i < book.late.length && !book.counts; i++)
		book.counts = has_answers(f, &book.trips.items[book.late.items[i].trips]);
	if (book.counts) {
		book.trips.length = book.late.length = 0;
		read_trips(&book);
	}
	for (size_t i = 0; i < book.late.length; i++) {
		const struct trip *late = &book.late.items[i];
		const struct trips *t = &book.trips.items[late->trips];

		if ((is_regular(f, t) && is_told(f, late, t) &&
		     (late->to_ns - late->from_ns) * t->count >= limit_of(f->scene, LIMIT_trips_late) * t->total_ns) ||
		    was_kept(f, late, t))
			found(data, asks_at_own_pace(f, late, t) ? RULE_own_pace : RULE_late_trip, late->from_ns, late->to_ns);
	}
	vec_done(&book.trips);
	vec_done(&book.late);
}
