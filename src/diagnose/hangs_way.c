/* See hangs_way.h. */
#include "diagnose/hangs_way.h"

#include "diagnose/leads.h"
#include "diagnose/one_time.h"
#include "diagnose/word_lock.h"

const struct wait *way_wait(const struct meaning *m, unsigned i)
{
	const struct scene *scene = m->scene;
	uint32_t episode;

	if (i + 1 == m->count)
		return m->end->state == SPAN_WAITING && m->end->wait ? &scene->waits[m->end->wait] : NULL;
	episode = m->v->steps.items[m->way[i + 1]].episode;
	return episode ? &scene->waits[scene->episodes[episode - 1].last] : NULL;
}

uint64_t way_known_from(const struct meaning *m)
{
	return m->hang->start_ns > m->scene->start_ns ? m->hang->start_ns : m->scene->start_ns;
}

bool way_link_is_open(uint8_t link)
{
	switch (link) {
	case LINK_SELF: case LINK_WAKE: case LINK_CREATOR: case LINK_MESSAGE: case LINK_SENT: case LINK_ACTIVITY: case LINK_PEER: case LINK_CHILD:
	case LINK_ASKED: case LINK_STARTED: case LINK_SIMILAR: case LINK_AWAITED: case LINK_PROCESS:
		return true;
	default:
		return false;
	}
}

/* All that its process does is to wait, without a limit, for a set of things among which is no connection, though it has one that a client began: who
 * asked over that is not heard meanwhile, so it does not listen for what comes next. */
static bool hears_no_client(const struct meaning *m, const struct wait *w)
{
	const struct scene *scene = m->scene;
	uint32_t pid = scene_pid(scene, w->thread);
	struct row row = ends_of_process(m->f.ends, pid);
	bool known = false, serves = false;

	if (!rule_holds(scene, RULE_hears_no_client) || w->kind != WAIT_KIND_epoll || w->timeout_ns || pid == scene_pid(scene, m->hang->thread))
		return false;
	SCENE_EACH_MATE(scene, w->thread, mate)
		if (mate != w->thread && scene->tables->threads[mate].end_ns > w->start_ns)
			return false;
	for (uint32_t i = 0; i < scene->poll_item_count; i++) {
		const struct poll_item *item = &scene->poll_items[i];

		if (item->set != w->object || item->time < w->start_ns || item->time > w->end_ns)
			continue;
		if (scene_is_socket(item->object))
			return false;
		known = true;
	}
	for (uint32_t i = 0; known && i < row.count; i++)
		serves |= ends_role(m->f.ends, ends_at(m->f.ends, row, i)->at.object) == END_SERVER;
	return serves;
}

bool way_wait_is_kept(const struct meaning *m, const struct wait *w)
{
	switch (w->kind) {
	case WAIT_KIND_epoll:
		return hears_no_client(m, w);
	case WAIT_KIND_write: case WAIT_KIND_connect: case WAIT_KIND_stop:
		return true;
	case WAIT_KIND_futex:
		return (wait_has_owner(w) && w->hint_kind != HINT_KIND_thread_exit) || word_lock_is(m->f.diagnoser->names, m->scene->tables, w) ||
		       (rule_holds(m->scene, RULE_lock_of_a_type) && word_lock_of_type(m->f.diagnoser->names, m->scene->tables, w)) ||
		       one_time_awaits(m->f.diagnoser->names, m->scene->tables, w);
	default:
		return wait_is_in_kernel(w) || (w->kind == WAIT_KIND_read && object_kind(w->object) == OBJECT_KIND_fifo);
	}
}

/* Who let the thread go on last before that time, where it listened: one of another process; 0 not known. */
static uint32_t let_go_on_by(const struct scene *scene, uint32_t thread, uint64_t before_ns)
{
	for (uint32_t i = scene_waits_from(scene, thread, before_ns); i-- > scene->threads[thread].wait;)
		if (hangs_listens(scene->waits[i].kind) && scene->waits[i].end == WAIT_END_THREAD && !scene_same_process(scene, scene->waits[i].waker, thread))
			return scene->waits[i].waker;
	return 0;
}

/* For whom it is at work: who asked it last, or, of a thread that was made for one client, the one that made it. */
static uint32_t asked_last(const struct meaning *m, const struct wait *its)
{
	const struct scene *scene = m->scene;
	const struct thread *t = &scene->tables->threads[its->thread];
	uint32_t client = let_go_on_by(scene, its->thread, its->start_ns);

	return client || !t->creator || !scene_same_process(scene, t->creator, its->thread) ? client : let_go_on_by(scene, t->creator, t->start_ns);
}

/* It was let go on there again and again, as a pool's thread is for each piece of work. */
static bool waits_for_work(const struct meaning *m, const struct wait *its)
{
	const struct scene *scene = m->scene;
	uint32_t visits = 0;

	for (uint32_t i = scene->threads[its->thread].wait; i < scene_waits_end(scene, its->thread); i++)
		visits += scene->waits[i].site == its->site && scene->waits[i].end == WAIT_END_THREAD;
	return visits >= limit_of(scene, LIMIT_rest_visits);
}

/* The thread there is one of the server's whose thread before it waits for it, and is at work for another client than the one that waits. */
static bool serves_another(const struct meaning *m, unsigned i)
{
	const struct scene *scene = m->scene;
	const struct wait *before = i > 1 ? way_wait(m, i - 1) : NULL, *its = way_wait(m, i);
	uint32_t client;

	if (!before || !its || (before->kind != WAIT_KIND_futex && before->kind != WAIT_KIND_semaphore) || hangs_listens(its->kind) ||
	    waits_for_work(m, its) || !rule_holds(scene, RULE_kept_by_a_client) || !scene_same_process(scene, before->thread, its->thread) ||
	    scene_same_process(scene, its->thread, m->hang->thread) || scene_descends_from(scene, m->hang->thread, scene_pid(scene, its->thread)))
		return false;
	client = asked_last(m, its);
	/* what a process started itself is no client of it */
	if (client && scene_descends_from(scene, client, scene_pid(scene, its->thread)))
		return false;
	for (unsigned k = 0; client && k <= i; k++)
		if (scene_same_process(scene, client, way_thread(m, k)))
			return false;
	return client != 0;
}

static bool is_free_between(const struct meaning *m, unsigned first, unsigned last)
{
	for (unsigned i = first; i <= last; i++) {
		const struct wait *w = way_wait(m, i);

		if ((w && way_wait_is_kept(m, w)) || (i && (!way_link_is_open(m->v->steps.items[m->way[i]].link) || serves_another(m, i))))
			return false;
	}
	return true;
}

bool way_free_to(const struct meaning *m, unsigned last)
{
	return is_free_between(m, 0, last);
}

bool way_free_from(const struct meaning *m, unsigned first)
{
	unsigned last = first;

	while (last + 1 < m->count && m->v->steps.items[m->way[last + 1]].link != LINK_FLAG)
		last++;
	return is_free_between(m, first, last);
}

bool way_rests_at(struct meaning *m, const struct wait *w)
{
	if (m->f.thread != w->thread || !m->f.places.length) {
		m->f.thread = w->thread;
		m->f.leads = leads_process(m->scene, w->thread);
		hangs_learn_places(&m->f);
	}
	return hangs_rests_at(&m->f, w);
}

bool way_is_circle(struct meaning *m)
{
	for (unsigned i = 1; i < m->count; i++) {
		const struct wait *w = way_wait(m, i);
		uint8_t link = m->v->steps.items[m->way[i]].link;

		if (link == LINK_STARTED || link == LINK_PROCESS || link == LINK_SIMILAR || (w && way_rests_at(m, w)))
			return false;
	}
	return m->end->charge == CHARGE_CIRCLE && m->count > 1;
}

bool way_is_free(struct meaning *m)
{
	return m->end->state != SPAN_STOPPED && !way_is_circle(m) && way_free_to(m, m->count - 1);
}

/* What the culprit did for longest, as far as it is known: before a part of a long trace begins only the last is. */
static const struct piece *longest_of(const struct investigation *v)
{
	const struct piece *longest = &v->pieces.items[v->culprit->biggest];

	for (size_t i = 0; i < v->pieces.length; i++) {
		const struct piece *p = &v->pieces.items[i];

		if (p->thread == longest->thread && p->state != SPAN_UNKNOWN &&
		    (longest->state == SPAN_UNKNOWN || p->end_ns - p->start_ns > longest->end_ns - longest->start_ns))
			longest = p;
	}
	return longest;
}

/* The way from the victim to the culprit; false where it is too long, or leads nowhere. */
static bool find_way(struct meaning *m)
{
	uint32_t step = investigation_culprit_step(m->v);
	unsigned depth = 1;

	if (!m->v->culprit)
		return false;
	for (uint32_t at = step; at; at = m->v->steps.items[at].parent)
		depth++;
	if (depth > MOST_WAY)
		return false;
	m->count = depth;
	for (uint32_t at = step; depth--; at = m->v->steps.items[at].parent)
		m->way[depth] = at;
	m->end = longest_of(m->v);
	return true;
}

bool way_look(struct meaning *m, const struct finder *f, const struct hang *hang, struct investigation *v, struct diagnose_request *request,
	      struct arena *arena)
{
	*request = (struct diagnose_request){ .thread = hang->thread, .from_ns = hang->start_ns, .to_ns = hang->end_ns };
	*m = (struct meaning){ .f = *f, .hang = hang, .scene = f->scene, .v = v };
	m->f.thread = hang->thread;
	m->f.places = (typeof(m->f.places)){ 0 };
	arena_init(arena);
	investigation_init(v, arena, f->diagnoser, request);
	investigation_walk(v);
	return find_way(m);
}

void way_done(struct meaning *m, struct investigation *v, struct arena *arena)
{
	vec_done(&m->f.places);
	investigation_done(v);
	arena_done(arena);
}

uint32_t way_there_before(const struct scene *scene, uint32_t thread, uint64_t from_ns)
{
	uint32_t pid = scene_pid(scene, thread);

	for (unsigned i = 0; i < MOST_WAY; i++) {
		uint32_t first = tables_process(scene->tables, pid, scene->tables->threads[thread].start_ns);

		if (!first || scene->tables->threads[first].start_ns <= from_ns)
			break;
		pid = scene->tables->threads[first].parent_pid;
		thread = first;
	}
	return pid;
}

/* That process had itself turned to the thread's just before: what it is sent then is its answer, and asks it for nothing. */
static bool is_answered(const struct scene *scene, uint32_t thread, uint32_t pid, uint64_t time)
{
	uint64_t slack = limit_of(scene, LIMIT_asked_before_ns);
	uint32_t first = tables_process(scene->tables, pid, time);

	if (first)
		SCENE_EACH_MATE(scene, first, mate)
			for (uint32_t k = scene_wakes_from(scene, mate, time > slack ? time - slack : 0);
			     k < scene_wakes_end(scene, mate) && scene->wakes[k].time < time; k++)
				if (scene_same_process(scene, scene->wakes[k].target, thread))
					return true;
	return false;
}

bool way_was_asked(const struct meaning *m, unsigned last, uint32_t pid)
{
	const struct scene *scene = m->scene;
	uint64_t slack = limit_of(scene, LIMIT_asked_before_ns), length = m->hang->end_ns - m->hang->start_ns;
	uint64_t from = m->hang->start_ns > slack ? m->hang->start_ns - slack : 0, to = m->hang->start_ns + slack + part_of(scene, LIMIT_edge, length);

	for (unsigned i = 0; i <= last; i++)
		SCENE_EACH_MATE(scene, way_thread(m, i), mate) {
			const struct row *messages = &scene->threads[mate].messages;

			if (scene_pid(scene, mate) == pid)
				return true;
			for (uint32_t k = scene_wakes_from(scene, mate, from); k < scene_wakes_end(scene, mate) && scene->wakes[k].time <= to; k++)
				if (scene_pid(scene, scene->wakes[k].target) == pid && !is_answered(scene, mate, pid, scene->wakes[k].time))
					return true;
			for (uint32_t k = scene_messages_from(scene, mate, from); k < messages->count; k++) {
				const struct message message = scene_message(scene, messages->items[k]);

				if (message.start_ns > to)
					break;
				if (message_sent(&message) && message.peer == pid && !is_answered(scene, mate, pid, message.start_ns))
					return true;
			}
		}
	return false;
}
