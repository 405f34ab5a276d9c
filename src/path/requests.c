/* Requests of a server, see requests.h. */
#include "path/requests.h"

#include <string.h>

#define LOOK_MOST_NS 15000u /* on a processor: to wake up, look and wait again; to ask anew takes longer */

struct piece_of {
	uint64_t object, time;
	uint32_t message;         /* index */
	uint32_t thread;
};

static int by_object(const void *a, const void *b)
{
	const struct piece_of *x = a, *y = b;

	if (x->object != y->object)
		return x->object < y->object ? -1 : 1;
	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return x->message < y->message ? -1 : x->message > y->message;
}

static int by_duration(const void *a, const void *b)
{
	const struct request *x = a, *y = b;
	uint64_t m = x->end_ns - x->start_ns, n = y->end_ns - y->start_ns;

	if (m != n)
		return m < n ? -1 : 1;
	return x->start_ns < y->start_ns ? -1 : x->start_ns > y->start_ns;
}

static bool is_socket(uint64_t object)
{
	switch (object_kind(object)) {
	case OBJECT_KIND_tcp:
	case OBJECT_KIND_unix_stream:
	case OBJECT_KIND_unix_seqpacket:
	case OBJECT_KIND_socket:
		return true;
	default:
		return false;
	}
}

/* "127.0.0.1:80 -> 10.0.0.1:4000": the first port; of the other end the second. */
static const char *port_of(struct naming *naming, const struct ends *ends, uint64_t object, bool other_end)
{
	struct row row = ends_of_object(ends, object);

	for (uint32_t i = 0; i < row.count; i++) {
		const char *text = ends_at(ends, row, i)->text, *other = strstr(text, " -> ");
		size_t length;

		text = other_end && other ? other + 4 : text;
		length = strcspn(text, " ");

		while (length && text[length - 1] != ':')
			length--;
		if (length)
			return arena_printf(&naming->arena, "port %.*s", (int)strcspn(text + length, " "), text + length);
	}
	return "a port that is not known";
}

static uint32_t group_of(struct naming *naming, const struct ends *ends, enum request_group by, uint64_t object, bool other_end, uint32_t ustack)
{
	const char *words;

	switch (by) {
	case GROUP_NONE:
		return 0;
	case GROUP_PORT:
		return texts_add(naming->texts, port_of(naming, ends, object, other_end));
	case GROUP_SOCKET:
		words = object_kind(object) == OBJECT_KIND_tcp ? port_of(naming, ends, object, other_end) : describe_object(&naming->describer, object);
		return texts_add(naming->texts, words ? words : "a socket");
	case GROUP_FUNCTION:
		return naming_stack(naming, ustack).function;
	}
	return 0;
}

/* One socket's messages, in the order of time. Whoever is asked reads first. */
static void find_on(struct naming *naming, const struct ends *ends, const struct piece_of *pieces, size_t count, enum request_group by,
		    struct requests *requests)
{
	struct request r = { 0 };
	enum end_role role = ends_role(ends, pieces[0].object);
	bool open = false, answered = false, client = role == END_CLIENT;

	for (size_t i = 0; i < count && !client; i++) {
		struct message m = scene_message(naming->scene, pieces[i].message);

		if (m.kind == MESSAGE_KIND_accept || m.kind == MESSAGE_KIND_connect || m.result <= 0 || m.flags & MESSAGE_FLAGS_peek) {
			client |= m.kind == MESSAGE_KIND_connect;
			continue;
		}
		if (!(m.flags & MESSAGE_FLAGS_receive)) {
			/* What was asked before the window began is answered in it. */
			client |= !open && role != END_SERVER;
			r.end_ns = m.time;
			r.thread = pieces[i].thread;
			r.group = group_of(naming, ends, by, m.object, false, m.ustack);
			answered = open;
			continue;
		}
		if (answered)
			vec_push(&requests->list, r);
		if (!open || answered)
			r = (struct request){ .start_ns = m.time, .event = m.number, .object = m.object };
		open = true;
		answered = false;
	}
	if (answered && !client)
		vec_push(&requests->list, r);
	requests->unanswered += open && !answered && !client;
}

static void find_by_messages(struct naming *naming, const struct ends *ends, uint32_t pid, enum request_group by, uint64_t from_ns,
			     uint64_t to_ns, struct requests *ret_requests)
{
	const struct scene *scene = naming->scene;
	struct vec(struct piece_of) pieces = { 0 };

	for (uint32_t i = 1; i < scene->thread_count; i++) {
		const struct row *row = &scene->threads[i].messages;

		if (!scene_descends_from(scene, i, pid))
			continue;
		for (uint32_t k = scene_messages_from(scene, i, from_ns); k < row->count; k++) {
			struct message m = scene_message(scene, row->items[k]);

			if (m.time > to_ns)
				break;
			if (is_socket(m.object))
				vec_push(&pieces, ((struct piece_of){ m.object, m.time, row->items[k], i }));
		}
	}
	if (pieces.length)
		qsort(pieces.items, pieces.length, sizeof(*pieces.items), by_object);
	for (size_t i = 0, end; i < pieces.length; i = end) {
		for (end = i; end < pieces.length && pieces.items[end].object == pieces.items[i].object; end++)
			;
		find_on(naming, ends, pieces.items + i, end - i, by, ret_requests);
	}
	vec_done(&pieces);
}

/* ---- without messages ---- */

/* Of a poll the first of its objects tells, of an epoll set what was ever put into it. */
static bool is_for_network(const struct ends *ends, const struct wait *w)
{
	switch (w->kind) {
	case WAIT_KIND_read: return is_socket(w->object);
	case WAIT_KIND_poll: return is_socket(w->detail);
	case WAIT_KIND_epoll: return ends_set_role(ends, w->object) != END_UNKNOWN;
	default: return false;
	}
}

/* True for calls that take what came. */
static bool receives(unsigned call)
{
	static const uint8_t kinds[] = {
#define WAIT(number, kind, object, limit, argument) [number] = WAIT_KIND_##kind,
#include "record/waits.def"
#undef WAIT
	};

	return call < sizeof(kinds) && kinds[call] == WAIT_KIND_read;
}

/* Wake-ups that are no answers: who takes a message from a socket makes room there, which wakes
 * those, too, that wait for another one. */
static void find_room_made(const struct scene *scene, uint64_t from_ns, uint64_t to_ns, struct map *numbers)
{
	struct trace_filter filter = { .from_ns = from_ns, .to_ns = to_ns };
	struct trace_cursor *cursor;
	const struct event *e;

	trace_filter_add(&filter, EVENT_wake);
	cursor = trace_cursor_new(scene->trace, &filter);
	while ((e = trace_cursor_next(cursor)))
		if (receives(event_as(e, wake)->syscall))
			map_put(numbers, e->number, 1);
	trace_cursor_free(cursor);
}

/* A client's wait for the server: which of the two asked is known by who is asked about, or who connected. */
static bool is_of_client(const struct scene *scene, const struct ends *ends, uint32_t pid, const struct wait *w)
{
	return w->end == WAIT_END_THREAD && w->waker && is_for_network(ends, w) && scene_pid(scene, w->thread) != pid &&
	       !scene_same_process(scene, w->thread, w->waker) && scene_descends_from(scene, w->waker, pid) &&
	       !scene_is_system(scene, w->thread) && (w->kind != WAIT_KIND_read || ends_role(ends, w->object) != END_SERVER);
}

/* True when the thread goes on waiting for the same, after it looked whether it was there. */
static bool only_looks(const struct scene *scene, uint32_t wait)
{
	const struct wait *w = &scene->waits[wait], *next = w + 1;
	struct state_times times;

	if (wait + 1 >= scene_waits_end(scene, w->thread) || next->object != w->object || next->kind != w->kind)
		return false;
	scene_state_times(scene, w->thread, w->end_ns, next->start_ns, &times);
	return times.ns[SPAN_RUNNING] <= LOOK_MOST_NS;
}

static void find_by_clients(struct naming *naming, const struct ends *ends, uint32_t pid, enum request_group by, uint64_t from_ns,
			    uint64_t to_ns, struct requests *requests)
{
	const struct scene *scene = naming->scene;
	struct map room_made;

	map_init(&room_made);
	find_room_made(scene, from_ns, to_ns, &room_made);
	for (uint32_t i = 1; i < scene->thread_count; i++) {
		const struct wait *first = NULL; /* of the waits for one answer */
		uint64_t answered = 0;           /* object on which the thread was answered last */

		for (uint32_t k = scene_waits_from(scene, i, from_ns); k < scene_waits_end(scene, i) && scene->waits[k].start_ns < to_ns; k++) {
			const struct wait *w = &scene->waits[k];

			requests->unanswered += w->end == WAIT_END_OPEN && answered && w->object == answered;
			if (w->start_ns < from_ns || w->end_ns > to_ns || !is_of_client(scene, ends, pid, w))
				continue;
			first = first ? first : w;
			if (map_find(&room_made, w->end_event) && only_looks(scene, k))
				continue;
			vec_push(&requests->list, ((struct request){ .start_ns = first->start_ns, .end_ns = w->end_ns, .event = first->begin_event,
				.object = w->object, .thread = w->waker, .group = group_of(naming, ends, by, w->object, true, w->ustack) }));
			answered = w->object;
			first = NULL;
		}
	}
	map_done(&room_made);
}

static void find_by_turns(struct naming *naming, const struct ends *ends, uint32_t pid, enum request_group by, uint64_t from_ns,
			  uint64_t to_ns, struct requests *requests)
{
	const struct scene *scene = naming->scene;

	for (uint32_t i = 1; i < scene->thread_count; i++) {
		const struct wait *asked = NULL;

		if (!scene_descends_from(scene, i, pid))
			continue;
		for (uint32_t k = scene_waits_from(scene, i, from_ns); k < scene_waits_end(scene, i) && scene->waits[k].start_ns < to_ns; k++) {
			const struct wait *w = &scene->waits[k];

			if (asked && w->site == asked->site) {
				vec_push(&requests->list, ((struct request){ .start_ns = asked->end_ns, .end_ns = w->start_ns,
					.event = asked->end_event, .object = asked->object, .thread = i,
					.group = group_of(naming, ends, by, asked->object, false, w->ustack) }));
				asked = NULL;
			}
			if (!asked && w->end == WAIT_END_SOURCE && is_for_network(ends, w) && w->end_ns < to_ns)
				asked = w;
		}
		requests->unanswered += asked != NULL;
	}
}

void requests_find(struct naming *naming, const struct ends *ends, uint32_t pid, enum request_group by, uint64_t from_ns, uint64_t to_ns,
		   struct requests *ret_requests)
{
	*ret_requests = (struct requests){ .by = naming->scene->messages_seen ? FOUND_MESSAGES : FOUND_CLIENTS };
	if (ret_requests->by == FOUND_MESSAGES)
		find_by_messages(naming, ends, pid, by, from_ns, to_ns, ret_requests);
	else
		find_by_clients(naming, ends, pid, by, from_ns, to_ns, ret_requests);
	if (ret_requests->by == FOUND_CLIENTS && !ret_requests->list.length) {
		ret_requests->by = FOUND_TURNS;
		find_by_turns(naming, ends, pid, by, from_ns, to_ns, ret_requests);
	}
	if (ret_requests->list.length)
		qsort(ret_requests->list.items, ret_requests->list.length, sizeof(*ret_requests->list.items), by_duration);
}

void requests_done(struct requests *requests)
{
	vec_done(&requests->list);
}

uint64_t requests_quantile(const struct requests *requests, unsigned per_mille)
{
	size_t count = requests->list.length, at = (count * per_mille + 999) / 1000;

	if (!count)
		return 0;
	at = at ? at - 1 : 0;
	return requests->list.items[at].end_ns - requests->list.items[at].start_ns;
}
