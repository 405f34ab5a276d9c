/* See far_host.h. */
#include "diagnose/far_host.h"

#include <netinet/tcp.h>
#include <string.h>

#define ARROW " -> "

/* Without the port; 0 where it has none. */
static size_t host_length(const char *address)
{
	const char *port = strrchr(address, ':');

	return port ? (size_t)(port - address) : 0;
}

/* Both ends are one address, or the other one is loopback's. */
static bool is_here(const char *own, size_t own_length, const char *far, size_t far_length)
{
	return (own_length == far_length && strncmp(own, far, far_length) == 0) || strncmp(far, "127.", 4) == 0 ||
	       strncmp(far, "[::1]", 5) == 0 || strncmp(far, "[::ffff:127.", 12) == 0;
}

static const char *far_address(const struct descriptor *d)
{
	const char *arrow = d->at.kind == OBJECT_KIND_tcp || d->at.kind == OBJECT_KIND_udp ? strstr(d->text, ARROW) : NULL;

	return arrow && host_length(arrow + strlen(ARROW)) ? arrow + strlen(ARROW) : NULL;
}

static const char *address_of(const struct descriptor *d)
{
	const char *far = far_address(d), *arrow = far ? far - strlen(ARROW) : NULL;
	const char *own_port = arrow;

	if (!far)
		return NULL;
	while (own_port > d->text && *own_port != ':')
		own_port--;
	return is_here(d->text, (size_t)(own_port - d->text), far, host_length(far)) ? NULL : far;
}

/* The connection that the wait listens to, as it was looked at last, whose other end is elsewhere; NULL none. */
static const struct descriptor *socket_of(const struct describer *d, const struct wait *w)
{
	uint32_t pid = scene_pid(d->scene, w->thread);
	uint64_t object = ends_listened_to(d->ends, pid, w);
	struct row row = object ? ends_of_object(d->ends, object) : (struct row){ 0 };
	const struct descriptor *socket = NULL;

	for (uint32_t i = 0; i < row.count; i++)
		if (ends_at(d->ends, row, i)->pid == pid && address_of(ends_at(d->ends, row, i)))
			socket = ends_at(d->ends, row, i);
	return socket;
}

/* Its connection to this machine itself, as it was looked at last, to which nobody has answered: what is sent is dropped on the way, for where nobody
 * listens that is said at once, and a full queue is the listener's doing. */
static const struct descriptor *dropped_here(const struct describer *d, const struct wait *w)
{
	uint32_t pid = scene_pid(d->scene, w->thread);
	uint64_t object = rule_holds(d->scene, RULE_dropped_here) ? ends_listened_to(d->ends, pid, w) : 0;
	struct row row = object ? ends_of_object(d->ends, object) : (struct row){ 0 };

	for (uint32_t i = row.count; i-- > 0; ) {
		const struct descriptor *its = ends_at(d->ends, row, i);

		if (its->pid == pid)
			return its->at.kind == OBJECT_KIND_tcp && its->at.state == TCP_SYN_SENT && far_address(its) && !address_of(its) &&
					       (ends_kept_out(d->ends, its) || !ends_listener(d->ends, its)) ? its : NULL;
	}
	return NULL;
}

static const char *since(const struct describer *d, const struct descriptor *socket)
{
	uint64_t asked = socket->at.spoke_ns;

	return asked && asked < d->scene->end_ns ? arena_printf(d->arena, ", for %s", describe_time(d->arena, d->scene->end_ns - asked)) : "";
}

const char *far_host_kept_out(const struct describer *d, const struct wait *w)
{
	const struct descriptor *socket = socket_of(d, w), *here = socket ? NULL : dropped_here(d, w);

	if (here)
		return arena_printf(d->arena, "the way to %s (TCP), over which nothing came while it was connecting%s", far_address(here), since(d, here));
	if (socket && ends_lost(d->ends, socket))
		return arena_printf(d->arena, "the way to %s (TCP), over which neither an answer nor the closing of the other end came", address_of(socket));
	if (!socket || !ends_kept_out(d->ends, socket))
		return NULL;
	return arena_printf(d->arena, "the way to %s (TCP), over which nothing came while it was connecting%s", address_of(socket), since(d, socket));
}

const char *far_host_silent(const struct describer *d, const struct wait *w)
{
	const struct descriptor *socket = rule_holds(d->scene, RULE_far_host) ? socket_of(d, w) : NULL;
	const char *address;

	if (!socket || ends_far(d->ends, socket).count)
		return NULL;
	address = arena_printf(d->arena, "%s (%s)", address_of(socket), socket->at.kind == OBJECT_KIND_tcp ? "TCP" : "UDP");
	if (ends_let_go(d->ends, socket))
		return arena_printf(d->arena, "%s, where the connection was accepted and nobody has it open any more: no word of that came", address);
	if (socket->at.state == TCP_SYN_SENT && socket->at.kind == OBJECT_KIND_tcp)
		return arena_printf(d->arena, "%s, which did not accept the connection%s", address, since(d, socket));
	if (w->kind == WAIT_KIND_write)
		return arena_printf(d->arena, "%s, which did not take what it was sent", address);
	return arena_printf(d->arena, "%s, from where nothing came", address);
}
