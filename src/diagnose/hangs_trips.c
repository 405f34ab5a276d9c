/* Late round trips, see hangs_trips.h.
 *
 * One row of what went out and what came in for each partner: a connection, where
 * messages were recorded, else the process that was woken and woke the thread. */
#include "diagnose/hangs_trips.h"

#include "base/map.h"

/* With one partner. */
struct trips {
	uint64_t asked_ns;       /* of the trip that is open, 0 none */
	uint64_t total_ns;       /* of the ended ones but the late */
	uint32_t count, unasked; /* ended in time; came in without a question before */
	uint32_t late;           /* index of the last late one + 1, 0 none */
	uint32_t late_count;
};

struct trip {
	uint64_t from_ns, to_ns;
	uint32_t trips, before;  /* before: late one of the same partner before it, index + 1 */
};

struct book {
	const struct finder *f;
	struct map index;        /* partner -> index into trips */
	struct vec(struct trips) trips;
	struct vec(struct trip) late;
};

static struct trips *with(struct book *book, uint64_t partner)
{
	bool fresh;
	uint64_t *at = map_at(&book->index, partner, &fresh);

	if (fresh) {
		*at = book->trips.length;
		vec_push(&book->trips, ((struct trips){ 0 }));
	}
	return &book->trips.items[*at];
}

static void ask(struct book *book, uint64_t partner, uint64_t time)
{
	struct trips *t = with(book, partner);

	if (!t->asked_ns)
		t->asked_ns = time;
}

static void note_late(struct book *book, struct trips *t, uint64_t to)
{
	vec_push(&book->late, ((struct trip){ t->asked_ns, to, (uint32_t)(t - book->trips.items), t->late }));
	t->late = (uint32_t)book->late.length;
	t->late_count++;
}

static void answer(struct book *book, uint64_t partner, uint64_t time)
{
	struct trips *t = with(book, partner);

	if (!t->asked_ns) {
		t->unasked++;
		return;
	}
	if (time - t->asked_ns >= hangs_long_ns(book->f, LIMIT_wait_ns)) {
		note_late(book, t, time);
	} else {
		t->count++;
		t->total_ns += time - t->asked_ns;
	}
	t->asked_ns = 0;
}

static bool is_partner(const struct finder *f, uint32_t other)
{
	return other && !scene_is_system(f->scene, other) && !scene_same_process(f->scene, other, f->thread);
}

static void read_wakes(struct book *book)
{
	const struct finder *f = book->f;
	const struct scene *scene = f->scene;
	const struct scene_thread *t = &scene->threads[f->thread];
	uint32_t wake = t->wake, wait = t->wait;

	while (wake < t->wake + t->wake_count || wait < t->wait + t->wait_count) {
		const struct wake *k = wake < t->wake + t->wake_count ? &scene->wakes[wake] : NULL;
		const struct wait *w = wait < t->wait + t->wait_count ? &scene->waits[wait] : NULL;

		if (k && (!w || k->time < w->end_ns)) {
			if (is_partner(f, k->target))
				ask(book, scene_pid(scene, k->target), k->time);
			wake++;
			continue;
		}
		if (w->end == WAIT_END_THREAD && is_partner(f, w->waker))
			answer(book, scene_pid(scene, w->waker), w->end_ns);
		wait++;
	}
}

static void read_messages(struct book *book)
{
	const struct finder *f = book->f;
	const struct scene_thread *t = &f->scene->threads[f->thread];

	for (uint32_t i = 0; i < t->messages.count; i++) {
		const struct message m = scene_message(f->scene, t->messages.items[i]);

		if (m.result <= 0 || scene_is_pipe(m.object) || object_kind(m.object) == OBJECT_KIND_eventfd ||
		    m.kind == MESSAGE_KIND_connect)
			continue;
		if (m.flags & MESSAGE_FLAGS_receive)
			answer(book, m.object, m.time);
		else
			ask(book, m.object, m.start_ns);
	}
}

/* Each question had its answer, soon, and next to nothing came without one. */
static bool is_regular(const struct finder *f, const struct trips *t)
{
	return t->count >= limit_of(f->scene, LIMIT_trips) && t->count * limit_of(f->scene, LIMIT_trips_irregular) >= 100 * (uint64_t)t->late_count &&
	       100 * (uint64_t)t->unasked <= t->count * limit_of(f->scene, LIMIT_trips_irregular);
}

void hangs_late_trips(const struct finder *f, void (*found)(struct finder *f, uint64_t from, uint64_t to), struct finder *data)
{
	struct book book = { .f = f };
	uint64_t end = f->scene->end_ns;

	map_init(&book.index);
	read_wakes(&book);
	if (f->scene->messages_seen)
		read_messages(&book);
	for (size_t i = 0; i < book.trips.length; i++) {
		struct trips *t = &book.trips.items[i];

		if (t->asked_ns && end - t->asked_ns >= hangs_long_ns(f, LIMIT_wait_ns))
			note_late(&book, t, end);
	}
	for (size_t i = 0; i < book.late.length; i++) {
		const struct trip *late = &book.late.items[i];
		const struct trips *t = &book.trips.items[late->trips];

		if (is_regular(f, t) && (late->to_ns - late->from_ns) * t->count >= limit_of(f->scene, LIMIT_trips_late) * t->total_ns)
			found(data, late->from_ns, late->to_ns);
	}
	map_done(&book.index);
	vec_done(&book.trips);
	vec_done(&book.late);
}
