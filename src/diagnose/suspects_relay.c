/* Of a relay that rests: it listens to who asked it, and to one other process, and passes on what comes from the one to the other. What
 * it was asked for it has passed on, so it waits for that other one (see suspects.h). */
#include <sys/epoll.h>

#include "diagnose/judgement.h"
#include "diagnose/own_ends.h"
#include "diagnose/owed.h"
#include "diagnose/question.h"
#include "diagnose/serving.h"

#define RELAYED_MOST 8u

/* What the wait listens to, as it was found last, each thing once. */
struct listened {
	uint64_t objects[RELAYED_MOST];
	unsigned count;
	unsigned bells;            /* besides, that no other process has */
	bool more;
};

static void find_listened(const struct question *q, const struct wait *w, struct listened *ret)
{
	uint32_t tid = scene_tid(q->scene, w->thread), pid = scene_pid(q->scene, w->thread);
	uint64_t newest = 0;

	*ret = (struct listened){ 0 };
	for (uint32_t i = q->scene->poll_item_count; i-- > 0; ) {
		const struct poll_item *p = &q->scene->poll_items[i];
		uint64_t object;
		unsigned at = 0;

		if (w->kind == WAIT_KIND_epoll ? !p->set || p->set != w->object : p->set || p->pid != tid || p->time < w->start_ns)
			continue;
		if (newest && p->time + limit_of(q->scene, LIMIT_one_snapshot_ns) < newest)
			break;
		newest = newest ? newest : p->time;
		object = own_ends_polled(q->inquiry->ends, p, pid);
		while (at < ret->count && ret->objects[at] != object)
			at++;
		if (own_ends_has_both(q->inquiry->ends, object, pid) || (!scene_is_pipe(object) && ends_faces(q->inquiry->ends, object, pid)) ||
		    object_kind(object) == OBJECT_KIND_timerfd) {
			ret->bells++;
			continue;
		}
		if (!object || at < ret->count)
			continue;
		if (ret->count == RELAYED_MOST) {
			ret->more = true;
			return;
		}
		ret->objects[ret->count++] = object;
	}
}

/* Of those that write to the pipe, or have the connection's other end, the one that was there first: what it started may have that from it. */
static uint32_t who_is_behind(const struct question *q, uint64_t object)
{
	const struct ends *ends = q->inquiry->ends;
	const struct tables *tables = q->scene->tables;
	struct row row = ends_of_object(ends, object);
	uint32_t pid = scene_pid(q->scene, q->wait->thread), found = 0;

	if (!scene_is_pipe(object)) {
		for (uint32_t i = row.count; i-- > 0; )
			if (ends_at(ends, row, i)->pid == pid)
				return suspects_neighbour(q->scene, ends, ends_at(ends, row, i), q->from, q->to);
		return 0;
	}
	for (uint32_t i = 0; i < row.count; i++) {
		const struct descriptor *d = ends_at(ends, row, i);
		uint32_t other = d->pid != pid && d->at.access & 2 ? tables_process(tables, d->pid, q->from) : 0;

		if (other && alive(q, other) && (!found || tables->threads[other].start_ns < tables->threads[found].start_ns))
			found = other;
	}
	return found;
}

/* One of its process waits for the relay. */
static bool is_asker(const struct question *q, uint32_t process)
{
	for (unsigned i = 0; i + 1 < q->waiting_count; i++)
		if (scene_same_process(q->scene, q->waiting[i], process) && !scene_same_process(q->scene, q->waiting[i], q->wait->thread))
			return true;
	return false;
}

bool suspects_reads_from_us(const struct question *q, uint32_t process)
{
	const struct ends *ends = q->inquiry->ends;
	uint32_t pid = scene_pid(q->scene, q->wait->thread);

	SCENE_EACH_MATE(q->scene, process, i) {
		const struct wait *w = stands_in(q, i);
		struct row row = w && w->kind == WAIT_KIND_read ? ends_of_object(ends, w->object) : (struct row){ 0 };
		uint32_t its = scene_pid(q->scene, process);

		for (uint32_t k = 0; k < row.count; k++) {
			const struct descriptor *d = ends_at(ends, row, k);

			if (scene_is_pipe(w->object) ? d->pid == pid && d->at.access & 2 : d->pid == its && ends_faces(ends, d->at.object, pid))
				return true;
		}
	}
	return false;
}

/* The thread that listens to the connection, and passes on what comes over it; else the process's that serves it. */
static uint32_t who_of_it(const struct question *q, uint32_t process, uint64_t object)
{
	const struct ends *ends = q->inquiry->ends;
	struct row row = scene_is_pipe(object) ? (struct row){ 0 } : ends_of_object(ends, object);
	uint32_t pid = scene_pid(q->scene, q->wait->thread), thread = 0;
	struct request_asked asked = { .thread = q->wait->thread, .since_ns = serving_asked_since(q->scene, q->episode),
				       .from_ns = q->from, .to_ns = q->to };

	for (uint32_t i = row.count; i-- > 0 && !thread; ) {
		struct row far = ends_at(ends, row, i)->pid == pid ? ends_far(ends, ends_at(ends, row, i)) : (struct row){ 0 };

		thread = far.count ? serving_holder(q->scene, ends, far, &asked) : 0;
		thread = thread || !far.count ? thread : suspects_listener(q, process, ends_at(ends, far, far.count - 1)->at.object);
	}
	return thread && scene_same_process(q->scene, thread, process) ? thread : process;
}

uint32_t suspects_listener(const struct question *q, uint32_t process, uint64_t connection)
{
	uint32_t found = 0;
	struct listened listened;

	SCENE_EACH_MATE(q->scene, process, i) {
		const struct wait *w = alive(q, i) ? stands_in(q, i) : NULL;
		bool has = false;

		if (!w || (w->kind != WAIT_KIND_poll && w->kind != WAIT_KIND_epoll))
			continue;
		find_listened(q, w, &listened);
		for (unsigned k = 0; k < listened.count; k++)
			has |= listened.objects[k] == connection;
		if (has && found)
			return 0;
		found = has ? i : found;
	}
	return found;
}

bool suspects_listens_inside(const struct question *q)
{
	struct listened listened;

	find_listened(q, q->wait, &listened);
	return listened.bells && !listened.count;
}

/* It is no relay that listens for new connections, or to a person, or of whose other ends nothing is known. */
void ask_relay(struct question *q)
{
	const struct wait *w = q->wait;
	uint32_t found = 0;
	uint64_t object = 0;
	bool asked = false;
	struct listened listened;
	size_t kept = 0;

	if ((w->kind != WAIT_KIND_poll && w->kind != WAIT_KIND_epoll) || w->end != WAIT_END_OPEN || w->idle || only_looks(q) || q->waiting_count < 2)
		return;
	find_listened(q, w, &listened);
	if (listened.more || listened.count < 2 || listened.count > limit_of(q->scene, LIMIT_relay_ends))
		return;
	for (unsigned i = 0; i < listened.count; i++) {
		uint32_t other = who_is_behind(q, listened.objects[i]);

		if (!other || scene_is_system(q->scene, other) || ends_role(q->inquiry->ends, listened.objects[i]) == END_LISTENER)
			return;
		if (is_asker(q, other)) {
			asked = true;
			continue;
		}
		if (suspects_reads_from_us(q, other))
			continue;
		if (found && !scene_same_process(q->scene, found, other))
			return;
		found = other;
		object = listened.objects[i];
	}
	if (!asked || !found)
		return;
	/* who asked it does not keep it as well */
	for (size_t i = 0; i < q->suspects->length; i++)
		if (!is_asker(q, suspects_thread(&q->suspects->items[i])))
			q->suspects->items[kept++] = q->suspects->items[i];
	q->suspects->length = kept;
	suspect_thread(q, who_of_it(q, found, object), LINK_PEER, weight_of(q), 0);
}

static uint64_t heard(const struct wait *w)
{
	return w->kind == WAIT_KIND_read ? w->object : w->kind == WAIT_KIND_poll ? w->detail : 0;
}

static bool is_one_of(const struct ends *ends, struct row row, uint64_t object)
{
	for (uint32_t i = 0; object && i < row.count; i++)
		if (ends_at(ends, row, i)->at.object == object)
			return true;
	return false;
}

/* In a loop, or at that end of a connection. */
static bool comes_to_listen(const struct question *q, uint32_t thread, struct row far)
{
	const struct scene *scene = q->scene;

	for (uint32_t i = scene_waits_from(scene, thread, q->from); i < scene_waits_end(scene, thread) && scene->waits[i].start_ns < q->to; i++)
		if (wait_is_loop_rest(&scene->waits[i]) || is_one_of(q->inquiry->ends, far, heard(&scene->waits[i])))
			return true;
	return false;
}

/* Of the process with that end of a connection who stands in something else than that all the time, or computes; 0 none. */
static uint32_t who_stands(const struct question *q, struct row far)
{
	const struct scene *scene = q->scene;
	const struct ends *ends = q->inquiry->ends;
	struct request_asked asked = { .thread = q->wait->thread, .from_ns = q->from, .to_ns = q->to };
	uint32_t thread = serving_holder(scene, ends, far, &asked);
	const struct wait *w;

	if (!thread || !serving_is_known(scene, ends, thread, &asked))
		return 0;
	/* one that sleeps may look after something of its own, beside another that listens */
	w = stands_in(q, thread);
	SCENE_EACH_MATE(scene, thread, i)
		if (i == thread ? comes_to_listen(q, i, far) : w && w->kind == WAIT_KIND_sleep && alive(q, i) && comes_to_listen(q, i, far))
			return 0;
	return thread;
}

uint32_t suspects_beyond(const struct question *q, uint32_t server)
{
	const struct ends *ends = q->inquiry->ends;
	struct row row = ends_of_process(ends, scene_pid(q->scene, server));
	uint32_t found = 0;

	for (uint32_t i = row.count; rule_holds(q->scene, RULE_beyond) && i-- > 0 && ends_is_newest(ends, row, i); ) {
		const struct descriptor *d = ends_at(ends, row, i);
		enum end_role role = ends_role(ends, d->at.object);
		uint32_t other = role == END_CLIENT || (role == END_UNKNOWN && !scene_is_pipe(d->at.object)) ? who_stands(q, ends_far(ends, d)) : 0;

		if (!other || scene_same_process(q->scene, other, server) || scene_same_process(q->scene, other, q->wait->thread) ||
		    is_asker(q, other) || is_waiting(q, other) || scene_is_system(q->scene, other))
			continue;
		if (found && !scene_same_process(q->scene, found, other))
			return 0;
		found = other;
	}
	return found;
}
