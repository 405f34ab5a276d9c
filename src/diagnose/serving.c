/* See serving.h. */
#include "diagnose/serving.h"

#include "diagnose/judgement.h"
#include "diagnose/leads.h"
#include "diagnose/owed.h"
#include "diagnose/own_ends.h"

enum at_work {
	WORK_NONE,     /* it listens, or waits as those do that nobody gives work */
	WORK_OLDER,    /* for something else, since before who asked was born, or by its clock all along: it has not taken what that one sent */
	WORK_MAYBE,    /* for another thread of its process, since it may have been asked */
	WORK_SLEEPS,   /* since it may have been asked */
	WORK_SERVES,   /* one that it has accepted, and alone: it does not accept others */
	WORK_WAITS,    /* for something else, whenever that began */
	WORK_AWAITS,   /* since it may have been asked */
	WORK_RUNS,
};

struct choice {
	uint32_t thread;
	enum at_work work;
	bool elsewhere;        /* it served others since: a wait for work, most likely */
	bool late;             /* it began to wait long after it was asked, and not by slices: something else came between */
	bool by_clock;         /* it waits for a word with a limit: it may look after something of its own now and then */
	bool young;            /* born since who asked was */
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

/* Nobody asks before he is born. */
static uint64_t earliest_asked(const struct scene *scene, const struct request_asked *asked)
{
	/* whose connection nobody has accepted is kept by what others asked before */
	uint64_t born = rule_holds(scene, RULE_asked_since_born) && !asked->unaccepted ? serving_born(scene, asked->thread) : 0;
	uint64_t before = limit_of(scene, LIMIT_serving_before_ns);

	return born > before && born - before > asked->since_ns ? born - before : asked->since_ns;
}

static struct choice choice_of(const struct scene *scene, const struct ends *ends, uint32_t thread, const struct request_asked *asked)
{
	const struct episode *e = scene_episode(scene, thread, asked->to_ns - 1);
	struct choice c = { .thread = thread, .young = serving_born(scene, thread) && serving_born(scene, thread) >= serving_born(scene, asked->thread) };
	uint64_t half = (asked->to_ns - asked->from_ns) / 2;
	struct state_times times;

	scene_state_times(scene, thread, asked->from_ns, asked->to_ns, &times);
	if (times.ns[SPAN_RUNNING] + times.ns[SPAN_RUNNABLE] > half || times.ns[SPAN_STOPPED] > half) {
		c.work = WORK_RUNS;
	} else if (e && e->start_ns < asked->to_ns && e->end_ns >= asked->to_ns) {
		c.start_ns = scene->waits[e->first].start_ns;
		c.work = work_of_wait(scene, ends, &scene->waits[e->last], asked, c.start_ns >= earliest_asked(scene, asked),
				      asked->unaccepted && is_only_thread(scene, thread));
		c.by_clock = c.work == WORK_MAYBE && scene->waits[e->last].timeout_ns && rule_holds(scene, RULE_clock_last);
	}
	return c;
}

/* Of two alike the one that was born for it; then the one that began to wait sooner after it was asked. */
static bool is_better(const struct choice *a, const struct choice *b)
{
	if (a->work != b->work)
		return a->work > b->work;
	if (a->elsewhere != b->elsewhere)
		return !a->elsewhere;
	if (a->late != b->late)
		return !a->late;
	if (a->by_clock != b->by_clock)
		return !a->by_clock;
	if (a->young != b->young)
		return a->young;
	return a->work && a->start_ns < b->start_ns;
}

/* It waits for what comes over another connection alone, or did before what it does now: of a server with a thread for each
 * connection it is that one's. */
static bool is_of_another(const struct scene *scene, const struct ends *ends, uint32_t thread, const struct request_asked *asked, uint64_t own)
{
	uint32_t at = scene_waits_from(scene, thread, asked->to_ns);
	const struct wait *w = at > scene->threads[thread].wait ? &scene->waits[at - 1] : NULL;

	return own && w && !asked->unaccepted && rule_holds(scene, RULE_thread_of_another) && serving_waits_for_one(ends, w) &&
	       (w->kind == WAIT_KIND_read ? w->object : w->detail) != own;
}

/* It took what came over another connection in the look, also one that no snapshot found. */
static bool served_another(const struct scene *scene, const struct ends *ends, uint32_t thread, const struct request_asked *asked, uint64_t own)
{
	if (!own || asked->unaccepted || !rule_holds(scene, RULE_thread_of_another))
		return false;
	for (uint32_t i = scene_waits_from(scene, thread, asked->from_ns); i < scene_waits_end(scene, thread) && scene->waits[i].start_ns < asked->to_ns; i++) {
		const struct wait *w = &scene->waits[i];
		uint64_t object = w->kind == WAIT_KIND_read ? w->object : w->kind == WAIT_KIND_poll && w->argument == 1 ? w->detail : 0;

		if (object && object != own && (object_kind(object) == OBJECT_KIND_tcp || object_kind(object) == OBJECT_KIND_unix_stream) &&
		    ends_role(ends, object) != END_CLIENT)
			return true;
	}
	return false;
}

/* It waits for a word since long after that was asked, with no limit so short that it may have waited there before. */
static bool began_late(const struct scene *scene, uint32_t thread, const struct request_asked *asked)
{
	const struct episode *e = scene_episode(scene, thread, asked->to_ns - 1);
	const struct wait *w = e ? &scene->waits[e->last] : NULL;
	uint64_t until = asked->since_ns + limit_of(scene, LIMIT_serving_before_ns) + limit_of(scene, LIMIT_turned_to_ns);

	return rule_holds(scene, RULE_began_late) && w && e->slices == 1 && asked->since_ns && w->start_ns > until &&
	       (!w->timeout_ns || w->timeout_ns > asked->to_ns - asked->since_ns);
}

/* It was made long after that was asked, when others of its process were there. */
static bool born_late(const struct scene *scene, uint32_t thread, const struct request_asked *asked)
{
	uint64_t born = serving_born(scene, thread);

	return rule_holds(scene, RULE_born_late) && asked->since_ns &&
	       born > asked->since_ns + limit_of(scene, LIMIT_serving_before_ns) + limit_of(scene, LIMIT_turned_to_ns);
}

/* It stands in its wait since before who asked was born. */
static bool is_older(const struct scene *scene, uint32_t thread, const struct request_asked *asked)
{
	const struct episode *e = scene_episode(scene, thread, asked->to_ns - 1);
	uint64_t born = serving_born(scene, asked->thread), before = limit_of(scene, LIMIT_serving_before_ns);

	return rule_holds(scene, RULE_older_than_asker) && !asked->unaccepted && e && born > before && scene->waits[e->first].start_ns < born - before;
}

/* It sleeps and looks since before anything is known of it: as one does that looks after something by its clock. */
static bool always_slept(const struct scene *scene, uint32_t thread, const struct request_asked *asked)
{
	const struct episode *e = scene_episode(scene, thread, asked->to_ns - 1);
	uint64_t pause = e ? (e->end_ns - e->start_ns) / e->slices : 0;

	return e && e->slices > 1 && e->start_ns <= scene->start_ns + pause && rule_holds(scene, RULE_slept_before);
}

/* `own`: the connection, as the server has it; 0: not known. */
static void choose(const struct scene *scene, const struct ends *ends, uint32_t process, const struct request_asked *asked, uint64_t own,
		   struct choice *best)
{
	const struct tables *tables = scene->tables;
	bool asked_listens = false, listens = false;

	SCENE_EACH_MATE(scene, process, i) {
		struct choice c;

		if (tables->threads[i].start_ns >= asked->to_ns || tables->threads[i].end_ns < asked->to_ns ||
		    is_of_another(scene, ends, i, asked, own))
			continue;
		c = choice_of(scene, ends, i, asked);
		c.elsewhere = c.work == WORK_MAYBE && served_another(scene, ends, i, asked, own);
		c.late = c.work == WORK_MAYBE && (began_late(scene, i, asked) || born_late(scene, i, asked));
		if (c.work == WORK_WAITS && own && !scene_is_pipe(own) && is_older(scene, i, asked))
			c.work = WORK_OLDER;
		c.late |= c.work == WORK_SLEEPS && always_slept(scene, i, asked);
		if (c.work == WORK_SLEEPS && c.late && rule_holds(scene, RULE_beats_on))
			c.work = WORK_OLDER;
		/* it went to rest for something else, while another listens to who asked */
		if (c.late && own && !asked_listens && rule_holds(scene, RULE_late_beside)) {
			listens = owed_listens(scene, ends, scene_pid(scene, process), own, asked->from_ns);
			asked_listens = true;
		}
		if (c.late && listens)
			continue;
		if (c.work && is_better(&c, best))
			*best = c;
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
	return choice_of(scene, ends, thread, asked).work > WORK_MAYBE;
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
