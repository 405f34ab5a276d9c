/* See serving.h. */
#include "diagnose/serving.h"

#include "diagnose/judgement.h"
#include "diagnose/leads.h"
#include "diagnose/owed.h"
#include "diagnose/own_ends.h"

/* What it does, the likeliest to have taken a request last. Each begins at a cost, and what speaks against it adds to that: see took_request in rules.def. */
enum at_work {
	WORK_NONE,     /* it listens, or waits as those do that nobody gives work */
	WORK_MAYBE,    /* for another thread of its process, since it may have been asked */
	WORK_SLEEPS,   /* since it may have been asked */
	WORK_SERVES,   /* one that it has accepted, and alone: it does not accept others */
	WORK_WAITS,    /* for something else, whenever that began */
	WORK_AWAITS,   /* since it may have been asked */
	WORK_RUNS,
};

struct choice {
	uint32_t thread;
	uint32_t cost;
	enum at_work work;
	uint64_t start_ns;
};

uint64_t serving_born(const struct scene *scene, uint32_t thread)
{
	const struct thread *t = &scene->tables->threads[thread];

	return t->start_ns ? t->start_ns : t->born_ns;
}

/* Of a young program it is the first wait of which is known what it is for, and it has a time limit: before that the thread waited, too, or nothing is
 * known. */
static bool is_unseen_before(const struct scene *scene, const struct episode *episode, uint64_t began)
{
	uint64_t born = serving_born(scene, episode->thread);
	struct state_times times;

	if (!scene->waits[episode->first].timeout_ns || began <= scene->start_ns || !rule_holds(scene, RULE_one_thing) || !born ||
	    born + limit_of(scene, LIMIT_young_ns) < scene->end_ns)
		return false;
	for (const struct episode *e = episode; e > scene->episodes + scene->threads[episode->thread].episode; e--)
		if (scene->waits[e[-1].last].kind > WAIT_KIND_other)
			return false;
	scene_state_times(scene, episode->thread, scene->start_ns, began, &times);
	return nearly_all(scene, times.ns[SPAN_UNKNOWN] + times.ns[SPAN_WAITING], began - scene->start_ns);
}

uint64_t serving_asked_since(const struct scene *scene, const struct episode *episode)
{
	uint64_t began = scene->waits[episode->first].start_ns, before = limit_of(scene, LIMIT_serving_before_ns);

	if ((episode->slices > 1 && began <= scene->start_ns + limit_of(scene, LIMIT_standing_slack_ns)) || is_unseen_before(scene, episode, began))
		began = serving_born(scene, episode->thread);
	return began > before ? began - before : 0;
}

bool serving_waits_for_one(const struct ends *ends, const struct wait *w)
{
	uint64_t object = w->kind == WAIT_KIND_read ? w->object : w->kind == WAIT_KIND_poll && w->argument == 1 ? w->detail : 0;

	return object && ends_role(ends, object) == END_SERVER;
}

/* Nobody that it serves fills these: they wake it when there is something to do. */
static bool is_own_bell(uint64_t object)
{
	unsigned kind = object_kind(object);

	return kind == OBJECT_KIND_eventfd || kind == OBJECT_KIND_signalfd || kind == OBJECT_KIND_timerfd || kind == OBJECT_KIND_inotify ||
	       kind == OBJECT_KIND_netlink || kind == OBJECT_KIND_pipe || kind == OBJECT_KIND_tty;
}

/* It listens to those that it serves and to one whom it has asked, and who owes it the answer. */
static bool asks_in_turn(const struct scene *scene, const struct ends *ends, const struct wait *w, const struct request_asked *asked)
{
	return w->end == WAIT_END_OPEN && rule_holds(scene, RULE_upstream) &&
	       owed_upstream(scene, ends, scene_pid(scene, w->thread), owed_upstream_since(scene, asked->since_ns), asked->from_ns);
}

static enum at_work work_of_wait(const struct scene *scene, const struct ends *ends, const struct wait *w, const struct request_asked *asked,
				 bool since_asked, bool alone)
{
	uint64_t object;

	if (w->idle)
		return WORK_NONE;
	if (wait_is_in_kernel(w) || w->kind == WAIT_KIND_child || w->kind == WAIT_KIND_write || w->kind == WAIT_KIND_stop)
		return since_asked ? WORK_AWAITS : WORK_WAITS;
	switch (w->kind) {
	case WAIT_KIND_epoll:
	case WAIT_KIND_poll:
	case WAIT_KIND_read:
		if (own_ends_awaits_children(scene, ends, w))
			return since_asked ? WORK_AWAITS : WORK_WAITS;
		if (w->kind == WAIT_KIND_epoll || (w->kind == WAIT_KIND_poll && w->argument != 1))
			return asks_in_turn(scene, ends, w, asked) ? WORK_WAITS : WORK_NONE;
		object = w->kind == WAIT_KIND_poll ? w->detail : w->object;
		if (asked->unaccepted && alone && ends_role(ends, object) == END_SERVER)
			return WORK_SERVES;
		if (ends_is_datagram(object) && !ends_asks_by_datagram(scene, ends, object))
			return WORK_NONE;
		if (object_kind(object) == OBJECT_KIND_fuse || ends_role(ends, object) >= END_SERVER ||
		    (is_own_bell(object) && (!since_asked || (asked->unaccepted && w->timeout_ns))))
			return WORK_NONE;
		/* as for a word of its process */
		if (own_ends_has_both(ends, object, scene_pid(scene, w->thread)) && rule_holds(scene, RULE_bell_as_word))
			return since_asked ? WORK_MAYBE : WORK_NONE;
		return since_asked ? WORK_AWAITS : WORK_WAITS;
	case WAIT_KIND_futex:
	case WAIT_KIND_semaphore:
		if (w->hint_kind == HINT_KIND_thread_exit && (!since_asked || leads_in_rest(scene, w)) && rule_holds(scene, RULE_joined_before))
			return WORK_NONE;
		if (wait_has_owner(w))
			return since_asked ? WORK_AWAITS : WORK_WAITS;
		return since_asked ? WORK_MAYBE : WORK_NONE;
	case WAIT_KIND_sleep:
		/* beside others of its process it may be one that never accepts */
		return since_asked && (alone || !asked->unaccepted) ? WORK_SLEEPS : WORK_NONE;
	}
	return WORK_NONE;
}

static bool is_only_thread(const struct scene *scene, uint32_t thread)
{
	const struct tables *tables = scene->tables;

	for (uint32_t i = 1; i < tables->thread_count; i++)
		if (i != thread && scene_same_process(scene, i, thread) && tables->threads[i].end_ns >= scene->end_ns)
			return false;
	return true;
}

/* What is asked about a thread: whether it has taken that. */
struct candidate {
	const struct scene *scene;
	const struct ends *ends;
	const struct request_asked *asked;
	const struct episode *episode; /* in which it stands as the time ends; NULL none */
	const struct wait *wait;       /* ... its last */
	uint32_t thread;
	uint64_t own;                  /* the connection, as the server has it; 0: not known */
};

static struct candidate candidate_of(const struct scene *scene, const struct ends *ends, uint32_t thread, const struct request_asked *asked, uint64_t own)
{
	const struct episode *e = scene_episode(scene, thread, asked->to_ns - 1);

	if (e && (e->start_ns >= asked->to_ns || e->end_ns < asked->to_ns))
		e = NULL;
	return (struct candidate){ .scene = scene, .ends = ends, .asked = asked, .episode = e, .wait = e ? &scene->waits[e->last] : NULL,
				   .thread = thread, .own = own };
}

static uint64_t began(const struct candidate *c)
{
	return c->scene->waits[c->episode->first].start_ns;
}

static uint32_t cost(const struct candidate *c, enum limit_id limit)
{
	return (uint32_t)limit_of(c->scene, limit);
}

/* When who asked was born, as far as that tells when it asked: whose connection nobody has accepted is kept by what others asked before. */
static uint64_t asker_born(const struct candidate *c)
{
	uint64_t born = c->asked->unaccepted || !rule_holds(c->scene, RULE_took_request) ? 0 : serving_born(c->scene, c->asked->thread);
	uint64_t before = limit_of(c->scene, LIMIT_serving_before_ns);

	return born > before ? born - before : 0;
}

/* At the earliest; 0: not known. */
static uint64_t asked_since(const struct candidate *c)
{
	uint64_t born = asker_born(c);

	return born > c->asked->since_ns ? born : c->asked->since_ns;
}

static enum at_work work_of(const struct candidate *c)
{
	const struct request_asked *asked = c->asked;
	uint64_t half = (asked->to_ns - asked->from_ns) / 2;
	struct state_times times;

	scene_state_times(c->scene, c->thread, asked->from_ns, asked->to_ns, &times);
	if (times.ns[SPAN_RUNNING] + times.ns[SPAN_RUNNABLE] > half || times.ns[SPAN_STOPPED] > half)
		return WORK_RUNS;
	if (!c->episode)
		return WORK_NONE;
	return work_of_wait(c->scene, c->ends, c->wait, asked, began(c) >= asked_since(c), asked->unaccepted && is_only_thread(c->scene, c->thread));
}

static uint32_t cost_of_work(const struct candidate *c, enum at_work work)
{
	switch (work) {
	case WORK_NONE:
		return cost(c, LIMIT_took_never);
	case WORK_MAYBE:
		return cost(c, LIMIT_took_word);
	case WORK_SLEEPS:
		return cost(c, LIMIT_took_asleep);
	case WORK_SERVES:
		return cost(c, LIMIT_took_served);
	case WORK_WAITS:
		return cost(c, LIMIT_took_before);
	case WORK_AWAITS:
		return cost(c, LIMIT_took_inside);
	case WORK_RUNS:
		return 0;
	}
	return 0;
}

/* It waits for what comes over another connection alone, or did before what it does now: of a server with a thread for each
 * connection it is that one's. */
static bool is_of_another(const struct candidate *c)
{
	uint32_t at = scene_waits_from(c->scene, c->thread, c->asked->to_ns);
	const struct wait *w = at > c->scene->threads[c->thread].wait ? &c->scene->waits[at - 1] : NULL;

	return c->own && w && !c->asked->unaccepted && serving_waits_for_one(c->ends, w) &&
	       (w->kind == WAIT_KIND_read ? w->object : w->detail) != c->own;
}

/* It took what came over another connection in the look, also one that no snapshot found. */
static bool served_another(const struct candidate *c)
{
	const struct scene *scene = c->scene;
	const struct request_asked *asked = c->asked;

	if (!c->own || asked->unaccepted)
		return false;
	for (uint32_t i = scene_waits_from(scene, c->thread, asked->from_ns); i < scene_waits_end(scene, c->thread) && scene->waits[i].start_ns < asked->to_ns;
	     i++) {
		const struct wait *w = &scene->waits[i];
		uint64_t object = w->kind == WAIT_KIND_read ? w->object : w->kind == WAIT_KIND_poll && w->argument == 1 ? w->detail : 0;

		if (object && object != c->own && (object_kind(object) == OBJECT_KIND_tcp || object_kind(object) == OBJECT_KIND_unix_stream) &&
		    ends_role(c->ends, object) != END_CLIENT)
			return true;
	}
	return false;
}

/* It was made, or began to wait with no limit so short that it may have waited there before, long after that was asked. */
static bool came_late(const struct candidate *c)
{
	uint64_t since = asked_since(c), until = since + limit_of(c->scene, LIMIT_serving_before_ns) + limit_of(c->scene, LIMIT_turned_to_ns);

	if (!since)
		return false;
	return serving_born(c->scene, c->thread) > until ||
	       (c->episode->slices == 1 && c->wait->start_ns > until && (!c->wait->timeout_ns || c->wait->timeout_ns > c->asked->to_ns - since));
}

/* It sleeps and looks since before anything is known of it: as one does that looks after something by its clock. */
static bool always_slept(const struct candidate *c)
{
	const struct episode *e = c->episode;
	uint64_t pause = (e->end_ns - e->start_ns) / e->slices;

	return e->slices > 1 && e->start_ns <= c->scene->start_ns + pause;
}

static bool is_young(const struct candidate *c)
{
	uint64_t born = serving_born(c->scene, c->thread);

	return born && born >= serving_born(c->scene, c->asked->thread);
}

/* What speaks against it. `listens`: whether another listens to who asked, once that is known. */
static uint32_t cost_against(const struct candidate *c, enum at_work work, int *listens)
{
	bool late = (work == WORK_MAYBE && came_late(c)) || (work == WORK_SLEEPS && always_slept(c));
	uint32_t against = is_young(c) ? 0 : cost(c, LIMIT_took_elder);

	if (is_of_another(c))
		against += cost(c, LIMIT_took_for_another);
	if (late && c->own && *listens < 0)
		*listens = owed_listens(c->scene, c->ends, scene_pid(c->scene, c->thread), c->own, c->asked->from_ns);
	if (late && *listens > 0)
		against += cost(c, LIMIT_took_beside);
	if (late)
		against += cost(c, work == WORK_SLEEPS ? LIMIT_took_beating : LIMIT_took_late);
	if (work == WORK_MAYBE && served_another(c))
		against += cost(c, LIMIT_took_elsewhere);
	if (work == WORK_MAYBE && c->wait->timeout_ns)
		against += cost(c, LIMIT_took_by_clock);
	/* who reads a pipe may have taken what came long before */
	if (work == WORK_WAITS && c->own && !scene_is_pipe(c->own) && began(c) < asker_born(c))
		against += cost(c, LIMIT_took_before_born);
	return against;
}

/* Of two alike the one that began to wait sooner after it was asked. */
static bool is_better(const struct choice *a, const struct choice *b)
{
	return !b->work || a->cost < b->cost || (a->cost == b->cost && a->start_ns < b->start_ns);
}

/* `own`: the connection, as the server has it; 0: not known. */
static void choose(const struct scene *scene, const struct ends *ends, uint32_t process, const struct request_asked *asked, uint64_t own,
		   struct choice *best)
{
	const struct tables *tables = scene->tables;
	int listens = -1;

	SCENE_EACH_MATE(scene, process, i) {
		struct candidate c;
		struct choice choice = { .thread = i };

		if (tables->threads[i].start_ns >= asked->to_ns || tables->threads[i].end_ns < asked->to_ns)
			continue;
		c = candidate_of(scene, ends, i, asked, own);
		choice.work = work_of(&c);
		if (!choice.work)
			continue;
		choice.start_ns = choice.work == WORK_RUNS || !c.episode ? 0 : began(&c);
		choice.cost = cost_of_work(&c, choice.work) + (rule_holds(scene, RULE_took_request) ? cost_against(&c, choice.work, &listens) : 0);
		if (choice.cost < cost(&c, LIMIT_took_never) && is_better(&choice, best))
			*best = choice;
	}
}

uint32_t serving_thread(const struct scene *scene, const struct ends *ends, uint32_t process, const struct request_asked *asked)
{
	struct choice best = { 0 };

	choose(scene, ends, process, asked, 0, &best);
	return best.thread;
}

bool serving_is_known(const struct scene *scene, const struct ends *ends, uint32_t thread, const struct request_asked *asked)
{
	struct candidate c = candidate_of(scene, ends, thread, asked, 0);

	return work_of(&c) > WORK_MAYBE;
}

/* A pipe's row has both sides: who has the same one alone as the one that asks gives it nothing. */
static bool is_same_side(const struct ends *ends, struct row row, uint32_t pid, const struct descriptor *d)
{
	uint8_t own = 0;

	for (uint32_t i = 0; scene_is_pipe(d->at.object) && i < row.count; i++)
		if (ends_at(ends, row, i)->pid == pid && ends_at(ends, row, i)->at.object == d->at.object)
			own |= ends_at(ends, row, i)->at.access & 3;
	return (own == 1 || own == 2) && (d->at.access & 3) == own;
}

uint32_t serving_holder(const struct scene *scene, const struct ends *ends, struct row row, const struct request_asked *asked)
{
	struct choice best = { 0 };
	uint32_t last = 0;

	for (uint32_t i = 0; i < row.count; i++) {
		const struct descriptor *d = ends_at(ends, row, i);
		uint32_t process = d->pid != last && d->pid != scene_pid(scene, asked->thread) ? tables_process(scene->tables, d->pid, asked->from_ns) : 0;

		last = d->pid;
		if (process && !is_same_side(ends, row, scene_pid(scene, asked->thread), d))
			choose(scene, ends, process, asked, d->at.object, &best);
	}
	return best.thread;
}
