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

bool way_wait_is_kept(const struct meaning *m, const struct wait *w)
{
	switch (w->kind) {
	case WAIT_KIND_write: case WAIT_KIND_connect: case WAIT_KIND_stop:
		return true;
	case WAIT_KIND_futex:
		return (wait_has_owner(w) && w->hint_kind != HINT_KIND_thread_exit) || word_lock_is(m->f.diagnoser->names, m->scene->tables, w) ||
		       one_time_awaits(m->f.diagnoser->names, m->scene->tables, w);
	default:
		return wait_is_in_kernel(w) || (w->kind == WAIT_KIND_read && object_kind(w->object) == OBJECT_KIND_fifo);
	}
}

static bool is_free_between(const struct meaning *m, unsigned first, unsigned last)
{
	for (unsigned i = first; i <= last; i++) {
		const struct wait *w = way_wait(m, i);

		if ((w && way_wait_is_kept(m, w)) || (i && !way_link_is_open(m->v->steps.items[m->way[i]].link)))
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
