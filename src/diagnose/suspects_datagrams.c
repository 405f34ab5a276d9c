/* Who leaves datagrams unread: the kernel keeps no word of who sent them (see suspects.h). */
#include <stdlib.h>
#include <string.h>

#include "diagnose/question.h"
#include "diagnose/shared_word.h"

/* Number of the port at the end of a text that ends there. */
static unsigned long port_of(const char *text, const char *end)
{
	while (end > text && end[-1] != ':')
		end--;
	return end > text ? strtoul(end, NULL, 10) : 0;
}

/* Where a text ends that begins with an address and its port. */
static size_t place_length(const char *text)
{
	return strcspn(text, " ");
}

/* What is sent there comes to who is bound here. */
static bool reaches(const char *to, const char *bound)
{
	size_t length = place_length(bound);

	return port_of(to, to + place_length(to)) == port_of(bound, bound + length) &&
	       (!strncmp(bound, "0.0.0.0:", 8) || !strncmp(bound, "[::]:", 5) || (place_length(to) == length && !strncmp(to, bound, length)));
}

/* The process may have sent the datagrams that lie there: a socket of its is bound where they came from, or sends to where that one is
 * bound, or to anybody. */
static bool may_have_sent(const struct question *q, uint32_t thread, const struct descriptor *to)
{
	const struct ends *ends = q->inquiry->ends;
	struct row row = ends_of_process(ends, scene_pid(q->scene, thread));
	const char *from = strstr(to->text, "-> ");

	for (uint32_t i = 0; i < row.count; i++) {
		const struct descriptor *d = ends_at(ends, row, i);
		const char *far = strstr(d->text, "-> ");

		if (d->at.kind != OBJECT_KIND_udp || d->pid == to->pid)
			continue;
		if (from ? reaches(from + 3, d->text) : !far || reaches(far + 3, to->text))
			return true;
	}
	return !row.count;
}

/* A socket of it is connected to that one, so what it sends over it lies there. */
static bool is_connected_to(const struct question *q, uint32_t thread, const struct descriptor *to)
{
	struct row row = ends_of_process(q->inquiry->ends, scene_pid(q->scene, thread));

	for (uint32_t i = 0; i < row.count; i++) {
		const struct descriptor *d = ends_at(q->inquiry->ends, row, i);

		if (d->at.kind == OBJECT_KIND_udp && d->pid != to->pid && d->at.channel_out && d->at.channel_out == to->at.channel_in && d->time >= q->from)
			return true;
	}
	return false;
}

/* It lay there before the recording, as the first look at it tells: who sent it was not seen, however much is recorded. */
static bool lay_there_before(const struct question *q, const struct descriptor *d)
{
	struct row row = ends_of_object(q->inquiry->ends, d->at.object);

	for (uint32_t i = 0; i < row.count; i++) {
		const struct descriptor *first = ends_at(q->inquiry->ends, row, i);

		if (first->pid == d->pid && first->at.fd == d->at.fd)
			return first->time < d->time && first->at.queued && first->time <= q->scene->start_ns + limit_of(q->scene, LIMIT_one_snapshot_ns);
	}
	return false;
}

/* It stands in something else than to listen, or sleep: whoever keeps it there keeps it from reading. */
static bool is_kept(const struct question *q, uint32_t thread, uint64_t time_ns)
{
	const struct episode *e = rule_holds(q->scene, RULE_kept_from_reading) ? scene_episode(q->scene, thread, time_ns) : NULL;
	const struct wait *w = e && e->start_ns <= time_ns ? &q->scene->waits[e->last] : NULL;

	if (!w || w->idle)
		return false;
	switch (w->kind) {
	case WAIT_KIND_sleep: case WAIT_KIND_epoll: case WAIT_KIND_poll: case WAIT_KIND_accept: case WAIT_KIND_stop: case WAIT_KIND_read:
		return false;
	case WAIT_KIND_futex: /* of a word that it waits for still nobody may be known to be about to change it */
		return w->end != WAIT_END_OPEN || wait_has_owner(w) || (word_shared(q->inquiry->ends, w) && rule_holds(q->scene, RULE_faces_by_memory));
	default:
		return true;
	}
}

void ask_unread_datagrams(struct question *q)
{
	const struct tables *tables = q->scene->tables;
	struct trails *trails = &q->inquiry->trails;
	uint32_t relay = 0;

	/* The last one that took the request and rests, as if it had sent it on. */
	for (uint32_t i = 1; i < trails->length; i++)
		if (trails->items[i].end == TRAIL_AT_REST)
			relay = i;
	if ((q->wait->kind != WAIT_KIND_poll && q->wait->kind != WAIT_KIND_read && q->wait->kind != WAIT_KIND_epoll) || only_looks(q))
		return;
	for (uint32_t i = 0; i < q->inquiry->ends->unread.count; i++) {
		const struct descriptor *d = ends_at(q->inquiry->ends, q->inquiry->ends->unread, i);
		struct suspect s = { .confidence = relay ? weight_of(q) : limit(q, LIMIT_unread_without_relay) };
		uint32_t thread;
		bool kept;

		if (d->time < q->from || (q->scene->messages_seen && !lay_there_before(q, d)))
			continue;
		thread = tables_process(tables, d->pid, d->time);
		if (!thread || thread == q->episode->thread || !may_have_sent(q, relay ? trails->items[relay].thread : q->episode->thread, d))
			continue;
		kept = is_kept(q, thread, d->time);
		if (relay && kept && is_connected_to(q, trails->items[relay].thread, d))
			s.confidence = limit(q, LIMIT_unread_connected);
		s.hop_count = relay ? follow_hops(trails, relay, s.hops) : 0;
		if (s.hop_count + 1 > WALK_MAX_HOPS)
			continue;
		s.hops[s.hop_count++] = (struct hop){ .from_ns = relay ? trails->items[relay].rest_ns : q->from,
			.thread = thread, .link = LINK_MESSAGE, .confidence = s.confidence, .final = !kept };
		vec_push(q->suspects, s);
	}
}
