/* Messages that nobody waited for, see script_messages.h. */
#include "path/script_messages.h"

#include <stdlib.h>

#include "graph/graph.h"

/* What one call took of what one thread had sent. */
struct pair {
	struct message sent, taken;
};

struct pairs vec(struct pair);

/* True when the thread waited in the call. */
static bool has_waited(const struct scene *scene, const struct message *m)
{
	uint32_t wait = scene_waits_from(scene, m->thread, m->start_ns);

	return wait < scene_waits_end(scene, m->thread) && scene->waits[wait].start_ns < m->time;
}

/* The call that took it; false when it is not known, is the sender's own, or waited. */
static bool find_taken(const struct naming *naming, const struct message *sent, struct message *ret_taken)
{
	const struct scene *scene = naming->scene;
	struct graph_edge edge;
	const struct row *row;

	if (!graph_edge_of_event(scene->graph, sent->thread, sent->time, sent->number, MECHANISM_message, &edge) || edge.removed ||
	    edge.to_thread == sent->thread || edge.to_thread >= scene->thread_count || naming_is_kernel(naming, edge.to_thread))
		return false;
	row = &scene->threads[edge.to_thread].messages;
	for (uint32_t i = scene_messages_from(scene, edge.to_thread, edge.to_ns); i < row->count; i++) {
		*ret_taken = scene_message(scene, row->items[i]);
		if (ret_taken->time > edge.to_ns)
			return false;
		if (ret_taken->number == (uint32_t)edge.to_event)
			return ret_taken->start_ns > sent->start_ns && !has_waited(scene, ret_taken);
	}
	return false;
}

static int by_taken(const void *a, const void *b)
{
	const struct pair *x = a, *y = b;

	if (x->taken.number != y->taken.number)
		return x->taken.number < y->taken.number ? -1 : 1;
	if (x->sent.thread != y->sent.thread)
		return x->sent.thread < y->sent.thread ? -1 : 1;
	return x->sent.number < y->sent.number ? -1 : x->sent.number > y->sent.number;
}

static int by_time(const void *a, const void *b)
{
	const struct script_message *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	if (x->ns != y->ns)
		return x->ns < y->ns ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

static void find_pairs(const struct naming *naming, uint32_t thread, const struct script_question *q, struct pairs *pairs)
{
	const struct scene *scene = naming->scene;
	const struct row *row = &scene->threads[thread].messages;

	for (uint32_t i = scene_messages_from(scene, thread, q->from_ns); i < row->count; i++) {
		struct pair pair = { .sent = scene_message(scene, row->items[i]) };

		if (pair.sent.time > q->to_ns)
			break;
		if (pair.sent.start_ns >= q->from_ns && message_sent(&pair.sent) && find_taken(naming, &pair.sent, &pair.taken) &&
		    pair.taken.start_ns < q->to_ns)
			vec_push(pairs, pair);
	}
}

void script_messages_find(struct naming *naming, const struct script_question *q, struct script_messages *ret_messages)
{
	const struct scene *scene = naming->scene;
	struct pairs pairs = { 0 };

	*ret_messages = (struct script_messages){ 0 };
	for (uint32_t i = 1; i < scene->thread_count && scene->graph && scene->messages_seen; i++)
		if (!naming_is_kernel(naming, i))
			find_pairs(naming, i, q, &pairs);
	if (pairs.length)
		qsort(pairs.items, pairs.length, sizeof(*pairs.items), by_taken);
	for (size_t i = 0; i < pairs.length; i++) {
		const struct pair *p = &pairs.items[i], *next = i + 1 < pairs.length ? p + 1 : NULL;
		uint64_t ns = p->sent.start_ns;

		/* Who has sent the last has sent all before it. */
		if (next && next->taken.number == p->taken.number && next->sent.thread == p->sent.thread)
			continue;
		if (has_waited(scene, &p->sent))
			ns = p->sent.time < p->taken.start_ns ? p->sent.time : p->taken.start_ns;
		vec_push(&ret_messages->sent, ((struct script_message){ ns, p->sent.number, p->sent.thread }));
		vec_push(&ret_messages->taken, ((struct script_message){ p->taken.start_ns, p->sent.number, p->taken.thread }));
	}
	vec_done(&pairs);
	if (ret_messages->sent.length) {
		qsort(ret_messages->sent.items, ret_messages->sent.length, sizeof(*ret_messages->sent.items), by_time);
		qsort(ret_messages->taken.items, ret_messages->taken.length, sizeof(*ret_messages->taken.items), by_time);
	}
}

void script_messages_done(struct script_messages *messages)
{
	vec_done(&messages->sent);
	vec_done(&messages->taken);
}
