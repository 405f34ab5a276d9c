/* Sorted indices over the descriptor snapshots, see ends.h. */
#include "diagnose/ends.h"

#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/search.h"
#include "diagnose/judgement.h"

typedef uint64_t (*key_of)(const struct descriptor *descriptor);

static uint64_t object_key(const struct descriptor *d) { return d->at.object; }
static uint64_t channel_key(const struct descriptor *d) { return d->at.channel_in; }
static uint64_t answering_key(const struct descriptor *d) { return d->at.channel_out; }
static uint64_t unread_key(const struct descriptor *d) { return d->at.kind == OBJECT_KIND_udp && d->at.queued; }
static uint64_t pid_key(const struct descriptor *d) { return d->pid; }

/* A descriptor's place; they lie in the order of time. */
struct keyed {
	uint64_t key, then;
	uint32_t place;
};

static int compare(const void *a, const void *b)
{
	const struct keyed *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	if (x->then != y->then)
		return x->then < y->then ? -1 : 1;
	return x->place < y->place ? -1 : x->place > y->place;
}

static bool is_of_windows(const struct descriptor *d)
{
	return d->text && (strstr(d->text, "/.X11-unix/X") || strstr(d->text, "/wayland-"));
}

static struct row sorted(struct arena *arena, const struct tables *tables, key_of key, key_of then)
{
	struct keyed *keyed = mem_alloc(arena_array_bytes(sizeof(*keyed), tables->descriptor_count + 1));
	uint32_t count = 0, *items;

	for (size_t i = 0; i < tables->descriptor_count; i++) {
		uint64_t of = key(&tables->descriptors[i]);

		if (of)
			keyed[count++] = (struct keyed){ of, then ? then(&tables->descriptors[i]) : 0, (uint32_t)i };
	}
	qsort(keyed, count, sizeof(*keyed), compare);
	items = arena_array(arena, uint32_t, count);
	for (uint32_t i = 0; i < count; i++)
		items[i] = keyed[i].place;
	free(keyed);
	return (struct row){ items, count };
}

/* The kernel names a socket that asks for credentials without a name, also one of a pair:
 * five hexadecimal digits, that nobody could have connected to unless it was listened at. */
static bool named_by_kernel(const char *name, const struct map *listeners)
{
	return name[0] == '@' && strlen(name) == 6 && strspn(name + 1, "0123456789abcdef") == 5 &&
	       !map_find(listeners, hash_bytes(name, 6));
}

/* There, or at all of the machine's addresses. */
static bool is_listened_at(const struct map *listeners, const char *address, size_t length)
{
	static const char *const any[] = { "0.0.0.0", "[::]" };
	size_t port = length;
	char text[32];

	while (port && address[port - 1] != ':')
		port--;
	if (!port || map_find(listeners, hash_bytes(address, length)))
		return port > 0;
	for (size_t i = 0; i < sizeof(any) / sizeof(any[0]); i++) {
		int bytes = snprintf(text, sizeof(text), "%s:%.*s", any[i], (int)(length - port), address + port);

		if (bytes > 0 && (size_t)bytes < sizeof(text) && map_find(listeners, hash_bytes(text, (size_t)bytes)))
			return true;
	}
	return false;
}

/* Connections made and accepted tell it, and so do descriptors: the end that
 * connected is shown with an arrow to the other, the end that was accepted has
 * the listener's address, and TCP's its port. */
static void learn_roles(const struct scene *scene, struct map *roles, struct map *listeners)
{
	const struct tables *tables = scene->tables;

	for (size_t i = 0; i < tables->descriptor_count; i++) {
		const struct descriptor *d = &tables->descriptors[i];

		if (d->at.state == TCP_LISTEN) {
			map_put(roles, d->at.object, END_LISTENER);
			map_put(listeners, hash_bytes(d->text, strlen(d->text)), i + 1);
		}
	}
	for (size_t i = 0; i < tables->descriptor_count; i++) {
		const struct descriptor *d = &tables->descriptors[i];
		const char *arrow = strstr(d->text, "-> ");
		size_t local;

		if (d->at.kind != OBJECT_KIND_unix_stream && d->at.kind != OBJECT_KIND_unix_seqpacket &&
		    d->at.kind != OBJECT_KIND_tcp)
			continue;
		if (d->at.state == TCP_LISTEN || !d->text[0])
			continue;
		if (d->at.kind != OBJECT_KIND_tcp && named_by_kernel(arrow == d->text ? arrow + 3 : d->text, listeners))
			continue;
		if (d->at.kind != OBJECT_KIND_tcp) {
			map_put(roles, d->at.object, arrow == d->text ? END_CLIENT : END_SERVER);
			continue;
		}
		local = arrow ? (size_t)(arrow - d->text) - (arrow > d->text && arrow[-1] == ' ') : strlen(d->text);
		map_put(roles, d->at.object, is_listened_at(listeners, d->text, local) ? END_SERVER : END_CLIENT);
	}
	for (uint32_t i = 0; i < scene->connections.count; i++) {
		const struct message m = scene_message(scene, scene->connections.items[i]);

		if (m.kind == MESSAGE_KIND_connect)
			map_put(roles, m.object, END_CLIENT);
		else if (m.kind == MESSAGE_KIND_accept && m.result >= 0)
			map_put(roles, m.object, END_SERVER);
	}
}

static void learn_set_roles(const struct scene *scene, struct ends *ends)
{
	for (uint32_t i = 0; i < scene->poll_item_count; i++) {
		const struct poll_item *p = &scene->poll_items[i];
		enum end_role role = ends_role(ends, p->object);
		bool fresh;
		uint64_t *known;

		if (!p->set || role == END_UNKNOWN)
			continue;
		known = map_at(&ends->set_roles, p->set, &fresh);
		if (fresh || role > *known)
			*known = role;
	}
}

static struct row begun(struct arena *arena, const struct ends *ends)
{
	uint32_t *items, count = 0;

	for (uint32_t i = 0; i < ends->by_pid.count; i++)
		count += ends_role(ends, ends_at(ends, ends->by_pid, i)->at.object) == END_CLIENT;
	items = arena_array(arena, uint32_t, count);
	count = 0;
	for (uint32_t i = 0; i < ends->by_pid.count; i++)
		if (ends_role(ends, ends_at(ends, ends->by_pid, i)->at.object) == END_CLIENT)
			items[count++] = ends->by_pid.items[i];
	return (struct row){ items, count };
}

static void learn_windows(struct ends *ends)
{
	for (size_t i = 0; i < ends->tables->descriptor_count; i++)
		if (is_of_windows(&ends->tables->descriptors[i]))
			map_put(&ends->windows, ends->tables->descriptors[i].pid, 1);
}

void ends_build(struct arena *arena, const struct scene *scene, struct ends *ret_ends)
{
	const struct tables *tables = scene->tables;

	ret_ends->tables = tables;
	ret_ends->judgement = scene->judgement;
	ret_ends->by_object = sorted(arena, tables, object_key, NULL);
	ret_ends->by_channel = sorted(arena, tables, channel_key, answering_key);
	ret_ends->by_pid = sorted(arena, tables, pid_key, NULL);
	ret_ends->unread = sorted(arena, tables, unread_key, NULL);
	map_init(&ret_ends->roles);
	map_init(&ret_ends->set_roles);
	map_init(&ret_ends->windows);
	map_init(&ret_ends->listeners);
	map_init(&ret_ends->accepted);
	learn_roles(scene, &ret_ends->roles, &ret_ends->listeners);
	ret_ends->asking = begun(arena, ret_ends);
	learn_set_roles(scene, ret_ends);
	learn_windows(ret_ends);
	ends_note_accepted(scene, ret_ends);
}

void ends_done(struct ends *ends)
{
	map_done(&ends->roles);
	map_done(&ends->set_roles);
	map_done(&ends->windows);
	map_done(&ends->listeners);
	map_done(&ends->accepted);
}

enum end_role ends_role(const struct ends *ends, uint64_t object)
{
	const uint64_t *role = object ? map_find(&ends->roles, object) : NULL;

	return role ? (enum end_role)*role : END_UNKNOWN;
}

enum end_role ends_set_role(const struct ends *ends, uint64_t set)
{
	const uint64_t *item = set ? map_find(&ends->set_roles, set) : NULL;
	enum end_role role = ends_role(ends, set);

	return item && *item > role ? (enum end_role)*item : role;
}

static struct row part(const struct ends *ends, struct row all, key_of key, uint64_t value)
{
	uint32_t low = 0, high = all.count, end, last = all.count;

	if (!value)
		return (struct row){ 0 };
	SEARCH(low, high, middle, key(ends_at(ends, all, middle)) < value);
	end = low;
	SEARCH(end, last, middle, key(ends_at(ends, all, middle)) <= value); /* a server has thousands */
	return (struct row){ all.items + low, end - low };
}

struct row ends_of_object(const struct ends *ends, uint64_t object)
{
	return part(ends, ends->by_object, object_key, object);
}

struct row ends_receiving(const struct ends *ends, uint64_t channel)
{
	return part(ends, ends->by_channel, channel_key, channel);
}

/* Of the row, those that send to the channel, or to none as nobody receives from it any more. */
static struct row answering(const struct ends *ends, struct row row, uint64_t channel)
{
	uint32_t open = 0, from, to;

	while (open < row.count && !ends_at(ends, row, open)->at.channel_out)
		open++;
	for (from = open; from < row.count && ends_at(ends, row, from)->at.channel_out != channel; )
		from++;
	for (to = from; to < row.count && ends_at(ends, row, to)->at.channel_out == channel; )
		to++;
	return from < to ? (struct row){ row.items + from, to - from } : (struct row){ row.items, open };
}

/* A channel of datagrams is a port: of those that are bound to it who is where the connected one sends to, or else at all addresses. */
static struct row at_address(const struct ends *ends, struct row row, const struct descriptor *d)
{
	const char *arrow = strstr(d->text, "-> ");
	const struct descriptor *any = NULL;

	for (uint32_t i = arrow ? row.count : 0; i-- > 0; ) {
		const struct descriptor *other = ends_at(ends, row, i);

		if (!strcmp(other->text, arrow + 3))
			return ends_of_object(ends, other->at.object);
		if (!strncmp(other->text, "0.0.0.0:", 8) || !strncmp(other->text, "[::]:", 5))
			any = any ? any : other;
	}
	return any ? ends_of_object(ends, any->at.object) : row;
}

struct row ends_far(const struct ends *ends, const struct descriptor *d)
{
	struct row row = ends_receiving(ends, d->at.channel_out);
	bool both_ways = (d->at.kind == OBJECT_KIND_tcp || d->at.kind == OBJECT_KIND_unix_stream) && d->at.channel_in;

	if (d->at.kind == OBJECT_KIND_udp && row.count > 1 && judgement_holds(ends->judgement, RULE_bound_there))
		return at_address(ends, row, d);
	/* a channel's number may come again for another connection, once that is closed */
	return both_ways ? answering(ends, row, d->at.channel_in) : row;
}

struct row ends_of_process(const struct ends *ends, uint32_t pid)
{
	return part(ends, ends->by_pid, pid_key, pid);
}

bool ends_is_newest(const struct ends *ends, struct row row, uint32_t i)
{
	return ends_at(ends, row, i)->time + judgement_limit(ends->judgement, LIMIT_one_snapshot_ns) >= ends_at(ends, row, row.count - 1)->time;
}

struct row ends_begun_by(const struct ends *ends, uint32_t pid)
{
	return part(ends, ends->asking, pid_key, pid);
}

static const struct descriptor *listener_at(const struct ends *ends, const char *address, size_t length)
{
	const uint64_t *known = map_find(&ends->listeners, hash_bytes(address, length));

	return known ? &ends->tables->descriptors[*known - 1] : NULL;
}

const struct descriptor *ends_listener(const struct ends *ends, const struct descriptor *client)
{
	const char *arrow = strstr(client->text, "-> "), *port;
	const struct descriptor *found;
	char any[32];
	int length;

	if (!arrow || client->at.state == TCP_LISTEN)
		return NULL;
	found = listener_at(ends, arrow + 3, strlen(arrow + 3));
	port = strrchr(arrow, ':');
	if (found || client->at.kind != OBJECT_KIND_tcp || !port)
		return found;
	length = snprintf(any, sizeof(any), "0.0.0.0%.8s", port);
	found = listener_at(ends, any, (size_t)length);
	if (found)
		return found;
	length = snprintf(any, sizeof(any), "[::]%.8s", port);
	return listener_at(ends, any, (size_t)length);
}

/* Whenever it was looked at, no connection waited there to be accepted. */
static bool has_no_queue(const struct ends *ends, const struct descriptor *listener)
{
	struct row row = ends_of_object(ends, listener->at.object);
	bool looked_at = false;

	for (uint32_t i = 0; i < row.count; i++) {
		if (ends_at(ends, row, i)->at.queued)
			return false;
		looked_at |= ends_at(ends, row, i)->at.read_ns != 0;
	}
	return looked_at;
}

/* In the snapshot that found the connection made, no connection waited to be accepted where it leads, of however many that listen there. */
static bool was_accepted(const struct ends *ends, const struct descriptor *client, const struct descriptor *listener)
{
	const struct tables *tables = ends->tables;
	uint64_t slack = judgement_limit(ends->judgement, LIMIT_one_snapshot_ns);
	bool looked_at = false;

	for (size_t i = 0; i < tables->descriptor_count; i++) {
		const struct descriptor *d = &tables->descriptors[i];

		if (d->at.state != TCP_LISTEN || d->at.kind != OBJECT_KIND_tcp || d->time + slack < client->time || strcmp(d->text, listener->text) != 0)
			continue;
		if (d->at.queued || !d->at.read_ns)
			return false;
		looked_at = true;
	}
	return looked_at;
}

bool ends_let_go(const struct ends *ends, const struct descriptor *client)
{
	const struct descriptor *listener;

	if (client->at.kind != OBJECT_KIND_tcp || !ends_has_none(ends, client) || !judgement_holds(ends->judgement, RULE_let_go))
		return false;
	listener = ends_listener(ends, client);
	return listener && was_accepted(ends, client, listener);
}

bool ends_kept_out(const struct ends *ends, const struct descriptor *client)
{
	const struct descriptor *listener = client->at.kind == OBJECT_KIND_tcp && client->at.state == TCP_SYN_SENT ? ends_listener(ends, client) : NULL;

	return listener && judgement_holds(ends->judgement, RULE_kept_out) && has_no_queue(ends, listener);
}

bool ends_has_none(const struct ends *ends, const struct descriptor *client)
{
	return (client->at.kind != OBJECT_KIND_tcp || client->at.state == TCP_ESTABLISHED) && client->at.channel_out &&
	       !ends_far(ends, client).count;
}

bool ends_not_accepted(const struct ends *ends, const struct descriptor *client)
{
	if (client->at.state == TCP_SYN_SENT)
		return !ends_kept_out(ends, client);
	return ends_has_none(ends, client) && !map_find(&ends->accepted, client->at.object) && !ends_let_go(ends, client);
}

bool ends_lead_to_windows(const struct ends *ends, struct row row)
{
	for (uint32_t i = 0; i < row.count; i++)
		if (is_of_windows(ends_at(ends, row, i)))
			return true;
	return false;
}

bool ends_has_windows(const struct ends *ends, uint32_t pid)
{
	return pid && map_find(&ends->windows, pid);
}

bool ends_is_window_server(const struct ends *ends, uint32_t pid)
{
	struct row row = ends_of_process(ends, pid);

	for (uint32_t i = 0; i < row.count; i++)
		if (is_of_windows(ends_at(ends, row, i)) && ends_role(ends, ends_at(ends, row, i)->at.object) >= END_SERVER)
			return true;
	return false;
}

bool ends_shows_windows_of(const struct ends *ends, uint32_t server, uint32_t pid)
{
	struct row row = ends_of_process(ends, pid);

	for (uint32_t i = 0; i < row.count; i++)
		if (is_of_windows(ends_at(ends, row, i)) && ends_at(ends, row, i)->at.peer == server)
			return true;
	return false;
}

bool ends_is_terminal_master(const struct ends *ends, uint64_t object)
{
	struct row row = object_kind(object) == OBJECT_KIND_tty ? ends_of_object(ends, object) : (struct row){ 0 };

	for (uint32_t i = 0; i < row.count; i++) {
		const char *path = ends_at(ends, row, i)->text, *name = path ? strrchr(path, '/') : NULL;

		if (name && strcmp(name, "/ptmx") == 0)
			return true;
	}
	return false;
}

bool ends_shows_terminals(const struct ends *ends, uint32_t pid)
{
	struct row row = ends_of_process(ends, pid);

	for (uint32_t i = 0; i < row.count; i++)
		if (ends_is_terminal_master(ends, ends_at(ends, row, i)->at.object))
			return true;
	return false;
}

uint64_t ends_listened_to(const struct ends *ends, uint32_t pid, const struct wait *wait)
{
	struct row row;

	if (wait->kind != WAIT_KIND_poll || wait->detail)
		return wait->kind == WAIT_KIND_poll ? wait->detail : wait->object;
	row = wait->argument == 1 && (wait->syscall == SYS_select || wait->syscall == SYS_pselect6) ? ends_of_process(ends, pid) : (struct row){ 0 };
	for (uint32_t i = 0; i < row.count; i++)
		if (!ends_at(ends, row, i)->at.fd)
			return ends_at(ends, row, i)->at.object;
	return 0;
}

bool ends_listens_at_terminals(const struct ends *ends, uint32_t pid, const struct wait *wait)
{
	uint64_t object;

	if (!ends_shows_terminals(ends, pid))
		return false;
	if (wait_is_loop_rest(wait))
		return true;
	object = ends_listened_to(ends, pid, wait);
	/* of those that select() looks at nothing is known */
	return wait->kind == WAIT_KIND_poll ? !object || ends_is_terminal_master(ends, object)
					    : wait->kind == WAIT_KIND_read && ends_is_terminal_master(ends, object);
}

bool ends_lies_unread(const struct ends *ends, const struct wait *writes)
{
	struct row own = ends_of_object(ends, writes->object);

	for (uint32_t i = 0; i < own.count; i++) {
		struct row far = ends_far(ends, ends_at(ends, own, i));

		for (uint32_t k = 0; k < far.count; k++) {
			const struct descriptor *other = ends_at(ends, far, k);

			if (other->at.queued && other->time >= writes->start_ns && other->time <= writes->end_ns)
				return true;
		}
	}
	return false;
}

/* Each of its threads stood in something else for most of the wait. */
static bool is_away_from_terminals(const struct ends *ends, const struct scene *scene, uint32_t process, const struct wait *wait)
{
	uint64_t end = wait->end_ns < scene->end_ns ? wait->end_ns : scene->end_ns;
	uint64_t begin = wait->start_ns > scene->start_ns ? wait->start_ns : scene->start_ns;

	SCENE_EACH_MATE(scene, process, i) {
		const struct thread *t = &scene->tables->threads[i];
		const struct episode *e = end ? scene_episode(scene, i, end - 1) : NULL;

		if (t->start_ns >= end || t->end_ns < end)
			continue;
		if (!e || e->end_ns < end || (e->start_ns > begin && !most_of(scene, end - e->start_ns, end - begin)) ||
		    ends_listens_at_terminals(ends, t->pid, &scene->waits[e->last]))
			return false;
	}
	return true;
}

bool ends_terminal_unattended(const struct ends *ends, const struct scene *scene, uint64_t object, const struct wait *wait)
{
	struct row row = object_kind(object) == OBJECT_KIND_tty && rule_holds(scene, RULE_unattended) ? ends_of_object(ends, object) : (struct row){ 0 };
	struct row far = row.count ? ends_far(ends, ends_at(ends, row, row.count - 1)) : (struct row){ 0 };
	bool found = false;

	if (!far.count || ends_is_terminal_master(ends, object))
		return false;
	for (uint32_t i = 0; i < far.count; i++) {
		uint32_t process = tables_process(scene->tables, ends_at(ends, far, i)->pid, wait->end_ns - 1);

		if (!process)
			continue;
		if (!is_away_from_terminals(ends, scene, process, wait))
			return false;
		found = true;
	}
	return found;
}

/* One that has the other end of the connection: that process (0 any), as that object (0 any). */
static bool is_faced_by(const struct ends *ends, uint64_t object, uint32_t pid, uint64_t other)
{
	struct row row = ends_of_object(ends, object);

	for (uint32_t i = 0; i < row.count; i++) {
		struct row far = ends_far(ends, ends_at(ends, row, i));

		for (uint32_t j = 0; j < far.count; j++)
			if ((!pid || ends_at(ends, far, j)->pid == pid) && (!other || ends_at(ends, far, j)->at.object == other))
				return true;
	}
	return false;
}

bool ends_faces(const struct ends *ends, uint64_t object, uint32_t pid)
{
	return pid && is_faced_by(ends, object, pid, 0);
}

bool ends_are_two(const struct ends *ends, uint64_t one, uint64_t other)
{
	return other && is_faced_by(ends, one, 0, other);
}

bool ends_is_datagram(uint64_t object)
{
	return object_kind(object) == OBJECT_KIND_udp || object_kind(object) == OBJECT_KIND_unix_dgram;
}

bool ends_is_connected_datagram(const struct ends *ends, uint64_t object)
{
	struct row row = ends_is_datagram(object) ? ends_of_object(ends, object) : (struct row){ 0 };

	return row.count && ends_at(ends, row, row.count - 1)->at.channel_out;
}

bool ends_asks_by_datagram(const struct scene *scene, const struct ends *ends, uint64_t object)
{
	struct row row = ends_is_datagram(object) ? ends_of_object(ends, object) : (struct row){ 0 };
	const char *port;
	uint64_t number;

	if (!rule_holds(scene, RULE_asks_by_datagram) || !row.count)
		return false;
	if (ends_is_connected_datagram(ends, object))
		return true;
	port = object_kind(object) == OBJECT_KIND_udp ? strrchr(ends_at(ends, row, row.count - 1)->text, ':') : NULL;
	number = port ? strtoull(port + 1, NULL, 10) : 0;
	return number >= limit_of(scene, LIMIT_port_chosen_from) && number <= limit_of(scene, LIMIT_port_chosen_to);
}
