/* Requests of a server, see requests.h. */
#include "path/requests_lean.h"

#include <string.h>

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

bool requests_is_socket(uint64_t object)
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

static size_t port_at(const char *text)
{
	size_t length = strcspn(text, " ");

	while (length && text[length - 1] != ':')
		length--;
	return length;
}

/* The one port at which the server listens; NULL when there are several, or none. */
static const char *listening_port(const struct requests_question *q)
{
	const struct tables *tables = q->naming->scene->tables;
	const char *found = NULL;

	for (size_t i = 0; i < tables->descriptor_count; i++) {
		const struct descriptor *d = &tables->descriptors[i];

		if (d->at.state != STATE_LISTENING || object_kind(d->at.object) != OBJECT_KIND_tcp || !port_at(d->text) ||
		    !scene_descends_from(q->naming->scene, tables_process(tables, d->pid, d->time), q->pid))
			continue;
		if (found && strcmp(found, d->text + port_at(d->text)))
			return NULL;
		found = d->text + port_at(d->text);
	}
	return found;
}

/* "127.0.0.1:80 -> 10.0.0.1:4000": the first port; of the other end the second. Of a connection of which nothing is told,
 * as it came and went in between, the server's only one. */
static const char *port_of(const struct requests_question *q, uint64_t object, bool other_end)
{
	struct row row = ends_of_object(q->ends, object);
	struct arena *arena = &q->naming->arena;
	const char *port;

	for (uint32_t i = 0; i < row.count; i++) {
		const char *text = ends_at(q->ends, row, i)->text, *other = strstr(text, " -> ");
		size_t length;

		text = other_end && other ? other + 4 : text;
		length = port_at(text);
		if (length)
			return arena_printf(arena, "port %.*s", (int)strcspn(text + length, " "), text + length);
	}
	if (object_kind(object) == OBJECT_KIND_unix_stream || object_kind(object) == OBJECT_KIND_unix_seqpacket)
		return "a Unix socket";
	port = object_kind(object) == OBJECT_KIND_tcp || object_kind(object) == OBJECT_KIND_epoll ? listening_port(q) : NULL;
	return port ? arena_printf(arena, "port %s", port) : "a port that is not known";
}

uint32_t requests_group(const struct requests_question *q, uint64_t object, bool other_end, uint32_t ustack)
{
	struct naming *naming = q->naming;
	const char *words;

	switch (q->by) {
	case GROUP_NONE:
		return 0;
	case GROUP_PORT:
		return texts_add(naming->texts, port_of(q, object, other_end));
	case GROUP_SOCKET:
		words = object_kind(object) == OBJECT_KIND_tcp ? port_of(q, object, other_end) : describe_object(&naming->describer, object);
		return texts_add(naming->texts, words ? words : "a socket");
	case GROUP_FUNCTION:
		return naming_stack(naming, ustack).function;
	}
	return 0;
}

/* One socket's messages, in the order of time. Whoever is asked reads first. */
static void find_on(const struct requests_question *q, const struct piece_of *pieces, size_t count, struct requests *requests)
{
	struct request r = { 0 };
	enum end_role role = ends_role(q->ends, pieces[0].object);
	bool open = false, answered = false, client = role == END_CLIENT;

	for (size_t i = 0; i < count && !client; i++) {
		struct message m = scene_message(q->naming->scene, pieces[i].message);

		if (m.kind == MESSAGE_KIND_accept || m.kind == MESSAGE_KIND_connect || m.result <= 0 || m.flags & MESSAGE_FLAGS_peek) {
			client |= m.kind == MESSAGE_KIND_connect;
			continue;
		}
		if (!(m.flags & MESSAGE_FLAGS_receive)) {
			/* What was asked before the window began is answered in it. */
			client |= !open && role != END_SERVER;
			r.end_ns = m.time;
			r.thread = pieces[i].thread;
			r.group = requests_group(q, m.object, false, m.ustack);
			answered = open;
			continue;
		}
		if (answered)
			vec_push(&requests->list, r);
		if (!open || answered)
			r = (struct request){ .start_ns = m.time, .event = m.number, .object = m.object, .thread = pieces[i].thread };
		open = true;
		answered = false;
	}
	if (answered && !client)
		vec_push(&requests->list, r);
	if (open && !answered && !client)
		requests_add_unanswered(requests, r.start_ns, r.thread);
}

static void find_by_messages(const struct requests_question *q, struct requests *ret_requests)
{
	const struct scene *scene = q->naming->scene;
	struct vec(struct piece_of) pieces = { 0 };

	for (uint32_t i = 1; i < scene->thread_count; i++) {
		const struct row *row = &scene->threads[i].messages;

		if (!scene_descends_from(scene, i, q->pid))
			continue;
		for (uint32_t k = scene_messages_from(scene, i, q->from_ns); k < row->count; k++) {
			struct message m = scene_message(scene, row->items[k]);

			if (m.time > q->to_ns)
				break;
			if (requests_is_socket(m.object))
				vec_push(&pieces, ((struct piece_of){ m.object, m.time, row->items[k], i }));
		}
	}
	if (pieces.length)
		qsort(pieces.items, pieces.length, sizeof(*pieces.items), by_object);
	for (size_t i = 0, end; i < pieces.length; i = end) {
		for (end = i; end < pieces.length && pieces.items[end].object == pieces.items[i].object; end++)
			;
		find_on(q, pieces.items + i, end - i, ret_requests);
	}
	vec_done(&pieces);
}

void requests_find(struct naming *naming, const struct ends *ends, uint32_t pid, enum request_group by, uint64_t from_ns, uint64_t to_ns,
		   struct requests *ret_requests)
{
	const struct requests_question q = { .naming = naming, .ends = ends, .pid = pid, .by = by, .from_ns = from_ns, .to_ns = to_ns };

	*ret_requests = (struct requests){ 0 };
	if (naming->scene->messages_seen)
		find_by_messages(&q, ret_requests);
	else
		requests_find_lean(&q, ret_requests);
	if (ret_requests->list.length)
		qsort(ret_requests->list.items, ret_requests->list.length, sizeof(*ret_requests->list.items), by_duration);
}

void requests_add_unanswered(struct requests *requests, uint64_t start_ns, uint32_t thread)
{
	if (!requests->unanswered++ || start_ns < requests->since_ns) {
		requests->since_ns = start_ns;
		requests->waits_thread = thread;
	}
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
