/* Of a wait for changes of files: who has one of them open for writing; of who looks again and again for something: who
 * has that (see suspects.h). */
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "diagnose/group_limit.h"
#include "diagnose/looked_at.h"
#include "diagnose/own_ends.h"
#include "diagnose/question.h"
#include "diagnose/tried_command.h"
#include "diagnose/watched.h"
#include "diagnose/word_lock.h"

void ask_watched(struct question *q)
{
	struct watched watched;

	if (q->wait->end != WAIT_END_OPEN || q->wait->idle || only_looks(q))
		return;
	watched_find(q->scene, q->wait, q->from, q->to, &watched);
	if (!watched.writer || is_waiting(q, watched.writer) || (watched.writers > 1 && watched.standing_out != 1))
		return;
	suspect_thread(q, watched.writer, LINK_WRITES, watched.writers > 1 ? limit(q, LIMIT_one_writer_stands_out) : weight_of(q), 0);
}

/* The other processes that have the file open; `count`: how many. */
static uint32_t who_has(const struct question *q, const char *path, unsigned *ret_count)
{
	const struct tables *tables = q->scene->tables;
	uint32_t found = 0, pid = 0;

	*ret_count = 0;
	for (size_t i = tables->descriptor_count; path[0] && i-- > 0; ) {
		const struct descriptor *d = &tables->descriptors[i];
		uint32_t process = strcmp(d->text, path) || d->pid == pid ? 0 : tables_process(tables, d->pid, q->to - 1);

		if (!process || scene_same_process(q->scene, process, q->wait->thread) || process == found || !alive(q, process))
			continue;
		pid = d->pid;
		found = process;
		++*ret_count;
	}
	return found;
}

static bool is_kin(const struct scene *scene, uint32_t a, uint32_t b)
{
	const struct thread *x = &scene->tables->threads[a], *y = &scene->tables->threads[b];

	return y->tid == y->pid && x->pid != y->pid && (y->parent_pid == x->pid || (x->parent_pid > 1 && y->parent_pid == x->parent_pid));
}

/* Of its children, and of what its parent started besides, the one that is stopped, or kept by a lock or inside the kernel; 0 none, or
 * several: what it looks for may be that one's to make. */
static uint32_t kept_kin(const struct question *q)
{
	uint32_t found = 0;

	for (uint32_t i = 1; i < q->scene->thread_count; i++) {
		const struct wait *w = is_kin(q->scene, q->wait->thread, i) && alive(q, i) ? stands_in(q, i) : NULL;

		if (!w || w->start_ns > q->from || !wait_is_kept(w))
			continue;
		if (found)
			return 0;
		found = i;
	}
	return found;
}

/* The server that it asks again and again: by the connection, or by the address that it connects to; 0 not known. */
static uint32_t who_answers(const struct question *q, const struct looked_at *looked)
{
	const struct ends *ends = q->inquiry->ends;
	struct row row = looked->object ? ends_of_object(ends, looked->object) : (struct row){ 0 };
	const struct named_call *c = looked->call;
	struct descriptor to = { .at = { .kind = OBJECT_KIND_tcp } };
	const struct descriptor *listener;
	char text[64];

	for (uint32_t i = row.count; i-- > 0; )
		if (ends_at(ends, row, i)->pid == scene_pid(q->scene, q->wait->thread))
			return suspects_neighbour(q->scene, ends, ends_at(ends, row, i), q->from, q->to);
	row = looked->channel ? ends_receiving(ends, looked->channel) : (struct row){ 0 };
	for (uint32_t i = 0; i < row.count; i++)
		if (ends_at(ends, row, i)->pid != scene_pid(q->scene, q->wait->thread))
			return tables_process(q->scene->tables, ends_at(ends, row, i)->pid, q->to - 1);
	if (!c || c->family != AF_INET)
		return 0;
	snprintf(text, sizeof(text), "-> %u.%u.%u.%u:%u", (unsigned)(c->address[1] & 255), (unsigned)(c->address[1] >> 8 & 255),
		 (unsigned)(c->address[1] >> 16 & 255), (unsigned)(c->address[1] >> 24 & 255), c->port);
	to.text = text;
	listener = ends_listener(ends, &to);
	return listener ? tables_process(q->scene->tables, listener->pid, q->to - 1) : 0;
}

static bool is_kept(const struct question *q, uint32_t process)
{
	const struct wait *w = stands_in(q, process);

	if (!w || w->idle || w->start_ns > q->from)
		return false;
	return wait_is_kept(w) ||
	       ((w->kind == WAIT_KIND_child ||
		 (w->kind == WAIT_KIND_read && own_ends_children_write(q->scene, q->inquiry->ends, process, w->object))) &&
		suspects_kept_child(q->scene, q->inquiry->ends, process, q->from, q->to));
}

/* Of the server's other clients the only one that is stopped, or kept, itself or by a child of its own; 0 none, or several. */
static uint32_t kept_client(const struct question *q, uint32_t server)
{
	const struct ends *ends = q->inquiry->ends;
	struct row row = ends_of_process(ends, scene_pid(q->scene, server));
	uint32_t found = 0;

	for (uint32_t i = 0; i < row.count; i++) {
		const struct descriptor *d = ends_at(ends, row, i);
		uint32_t other = ends_role(ends, d->at.object) == END_SERVER ? suspects_neighbour(q->scene, ends, d, q->from, q->to) : 0;

		if (!other || other == found || scene_same_process(q->scene, other, q->wait->thread) || scene_same_process(q->scene, other, server) ||
		    !alive(q, other) || !is_kept(q, other))
			continue;
		if (found)
			return 0;
		found = other;
	}
	return found;
}

/* It is kin to one of those that wait, for the one that looks, and none of them. */
static bool is_kin_of_all(const struct question *q, uint32_t thread)
{
	bool kin = false;

	for (unsigned k = 0; k < q->waiting_count; k++) {
		if (scene_same_process(q->scene, q->waiting[k], thread))
			return false;
		kin |= is_kin(q->scene, q->waiting[k], thread);
	}
	return kin;
}

/* Of those the one that was stopped or kept so for most of the time, and since before: it may have what the others are refused. */
static uint32_t kept_kin_of_all(const struct question *q)
{
	uint32_t found = 0;

	for (uint32_t i = 1; i < q->scene->thread_count; i++) {
		const struct episode *e = is_kin_of_all(q, i) ? scene_episode(q->scene, i, q->from + (q->to - q->from) / 2) : NULL;

		if (!e || e->start_ns > q->from || !wait_is_kept(&q->scene->waits[e->last]) || e->end_ns < q->from ||
		    !most_of(q->scene, (e->end_ns < q->to ? e->end_ns : q->to) - q->from, q->to - q->from))
			continue;
		if (found)
			return 0;
		found = i;
	}
	return found;
}

/* What a server that answers has to answer next may be another's to tell it: its client's, its child's, or that of one who was started beside who asks. */
static void suspect_behind_answers(struct question *q, const struct looked_at *looked)
{
	uint32_t server = who_answers(q, looked), who = server ? kept_client(q, server) : 0;

	if (!server || scene_same_process(q->scene, server, q->wait->thread))
		return;
	who = who ? who : suspects_kept_child(q->scene, q->inquiry->ends, server, q->from, q->to);
	who = who ? who : kept_kin(q);
	if (who)
		suspect_thread(q, who, LINK_FLAG, limit(q, LIMIT_looked_kin), 0);
	else
		suspect_thread(q, server, LINK_PEER, limit(q, LIMIT_looked_server), 0);
}

bool suspects_by_looks(struct inquiry *inquiry, uint32_t thread, uint64_t from_ns, uint64_t to_ns, struct hop *ret_hop)
{
	const struct episode *e = scene_episode(inquiry->scene, thread, to_ns - 1);
	struct suspects suspects = { 0 };
	struct question q = { .inquiry = inquiry, .scene = inquiry->scene, .episode = e, .from = from_ns, .to = to_ns, .waiting = &thread, .waiting_count = 1,
			      .suspects = &suspects, .rule = RULE_looked_at };
	bool found;

	if (!e)
		return false;
	q.wait = &inquiry->scene->waits[e->last];
	ask_looked_at(&q);
	found = suspects.length > 0;
	if (found)
		*ret_hop = suspects.items[0].hops[0];
	vec_done(&suspects);
	return found;
}

void ask_tried_command(struct question *q)
{
	struct tried_command tried;
	unsigned count;
	uint32_t who;

	if (q->wait->kind != WAIT_KIND_child || !loop_is(q->scene, q->episode) || !tried_command_find(q->scene, q->wait->thread, q->from, q->to, &tried))
		return;
	who = who_has(q, tried.path, &count);
	if (count == 1 && !is_waiting(q, who))
		suspect_thread(q, who, LINK_HAS_IT, limit(q, LIMIT_looked_there), tried.number);
	else
		suspect_thread(q, kept_kin_of_all(q), LINK_FLAG, weight_of(q), 0);
}

void ask_looked_at(struct question *q)
{
	struct looked_at looked;
	unsigned count;
	uint32_t who;

	/* a lock that it tries for again and again is nothing that a call of its own tells of */
	if (word_lock_named(q->inquiry->now ? q->inquiry->now->names : NULL, q->scene->tables, q->wait))
		return;
	if (q->wait->end != WAIT_END_OPEN || !looked_at_known(q->scene) || !looked_at_may(q->scene, q->wait->thread, q->from, q->to) ||
	    !looked_at_find(q->scene, q->wait->thread, q->from, q->to, &looked))
		return;
	switch (looked.what) {
	case LOOKED_NOTHING:
		return;
	case LOOKED_ANSWERED:
		if (rule_holds(q->scene, RULE_asks_again) && !looked.several)
			suspect_behind_answers(q, &looked);
		return;
	case LOOKED_PRESENT:
	case LOOKED_DENIED:
		who = who_has(q, looked_at_path(&looked), &count);
		suspect_thread(q, count == 1 && !is_waiting(q, who) ? who : 0, LINK_HAS_IT, weight_of(q), looked.number);
		return;
	case LOOKED_CHILD:
		who = looked.target ? looked.target : scene_only_child(q->scene, q->wait->thread, q->from, q->to);
		suspect_thread(q, who, LINK_CHILD, limit(q, LIMIT_looked_child), looked.number);
		return;
	case LOOKED_DATA:
		suspect_ends_of(q, looked.object);
		return;
	case LOOKED_THERE:
		who = who_has(q, looked_at_path(&looked), &count);
		if (count == 1 && !is_waiting(q, who))
			suspect_thread(q, who, LINK_HAS_IT, limit(q, LIMIT_looked_there), looked.number);
		else
			suspect_thread(q, kept_kin(q), LINK_FLAG, limit(q, LIMIT_looked_kin), 0);
		return;
	case LOOKED_ABSENT:
	case LOOKED_ADDRESS:
		suspect_thread(q, kept_kin(q), LINK_FLAG, limit(q, LIMIT_looked_kin), 0);
		return;
	case LOOKED_PROCESS:
		suspect_thread(q, is_waiting(q, looked.target) ? 0 : looked.target, LINK_AWAITED, limit(q, LIMIT_alive_process), looked.number);
		return;
	}
}

void ask_fills_group(struct question *q)
{
	const struct group_limit *l = group_limit_refuses(q->scene, q->episode);

	if (l && l->most && most_of(q->scene, l->most_bytes, l->limit) && !scene_same_process(q->scene, l->most, q->wait->thread) && !is_waiting(q, l->most))
		suspect_thread(q, l->most, LINK_FILLS_GROUP, weight_of(q), 0);
}
