/* See proc_sockets.h. */
#include "record/proc_sockets.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/map.h"
#include "base/vec.h"
#include "trace/event.h"

#define BLOCK_BYTES 65536
#define ANSWER_S 2
#define STATE_LISTENS 10

struct proc_sockets {
	struct vec(struct proc_socket) list;
	struct map by_inode;       /* place in the list + 1 */
	struct map by_way;         /* TCP: hash of "own -> peer" to inode */
};

struct proc_sockets *proc_sockets_new(void)
{
	struct proc_sockets *sockets = mem_zalloc(sizeof(*sockets));

	map_init(&sockets->by_inode);
	map_init(&sockets->by_way);
	return sockets;
}

void proc_sockets_free(struct proc_sockets *sockets)
{
	if (!sockets)
		return;
	vec_done(&sockets->list);
	map_done(&sockets->by_inode);
	map_done(&sockets->by_way);
	free(sockets);
}

const struct proc_socket *proc_sockets_find(const struct proc_sockets *sockets, uint64_t inode)
{
	const uint64_t *place = map_find(&sockets->by_inode, inode);

	return place ? &sockets->list.items[*place - 1] : NULL;
}

size_t proc_sockets_count(const struct proc_sockets *sockets)
{
	return sockets->list.length;
}

static void add(struct proc_sockets *sockets, const struct proc_socket *socket)
{
	if (!socket->inode || map_find(&sockets->by_inode, socket->inode))
		return;
	vec_push(&sockets->list, *socket);
	map_put(&sockets->by_inode, socket->inode, sockets->list.length);
}

static uint64_t way(const struct inet_diag_sockid *id, bool back)
{
	uint64_t hash = back ? (uint64_t)id->idiag_dport << 16 | id->idiag_sport : (uint64_t)id->idiag_sport << 16 | id->idiag_dport;

	for (unsigned i = 0; i < 4; i++) {
		hash = hash_u64(hash ^ (back ? id->idiag_dst[i] : id->idiag_src[i]));
		hash = hash_u64(hash + (back ? id->idiag_src[i] : id->idiag_dst[i]));
	}
	return hash;
}

static void put_address(char *to, size_t size, int family, const void *address, uint16_t port)
{
	static const unsigned char mapped[12] = { [10] = 0xff, [11] = 0xff };
	char text[INET6_ADDRSTRLEN] = "?";

	/* as the snapshots' own program writes it */
	if (family == AF_INET6 && !memcmp(address, mapped, sizeof(mapped))) {
		family = AF_INET;
		address = (const char *)address + sizeof(mapped);
	}
	inet_ntop(family, address, text, sizeof(text));
	snprintf(to, size, family == AF_INET6 ? "[%s]:%u" : "%s:%u", text, ntohs(port));
}

/* IPv4 over an IPv6 socket has both forms at its two ends. */
static void to_ipv6(struct inet_diag_sockid *id, int family)
{
	for (unsigned side = 0; family == AF_INET && side < 2; side++) {
		uint32_t *words = side ? id->idiag_dst : id->idiag_src, address = words[0];

		memset(words, 0, 16);
		words[2] = htonl(0xffff);
		words[3] = address;
	}
}

static void take_inet(struct proc_sockets *sockets, const struct inet_diag_msg *m)
{
	struct inet_diag_sockid id = m->id;
	struct proc_socket socket = { .inode = m->idiag_inode, .kind = OBJECT_KIND_tcp, .state = m->idiag_state,
				      .queued = m->idiag_rqueue, .unsent = m->idiag_wqueue };
	char own[64], peer[64];

	if (m->idiag_family != AF_INET && m->idiag_family != AF_INET6)
		return;
	put_address(own, sizeof(own), m->idiag_family, id.idiag_src, id.idiag_sport);
	put_address(peer, sizeof(peer), m->idiag_family, id.idiag_dst, id.idiag_dport);
	if (id.idiag_dport)
		snprintf(socket.text, sizeof(socket.text), "%s -> %s", own, peer);
	else
		snprintf(socket.text, sizeof(socket.text), "%s", own);
	to_ipv6(&id, m->idiag_family);
	if (id.idiag_dport && m->idiag_inode) {
		map_put(&sockets->by_way, way(&id, false), m->idiag_inode);
		socket.peer = way(&id, true); /* until they are joined */
	}
	add(sockets, &socket);
}

static uint8_t unix_kind(uint8_t type)
{
	return type == SOCK_STREAM ? OBJECT_KIND_unix_stream : type == SOCK_DGRAM ? OBJECT_KIND_unix_dgram : OBJECT_KIND_unix_seqpacket;
}

static void take_unix(struct proc_sockets *sockets, const struct unix_diag_msg *m, size_t bytes)
{
	struct proc_socket socket = { .inode = m->udiag_ino, .kind = unix_kind(m->udiag_type), .state = m->udiag_state };
	const char *at = (const char *)m + NLMSG_ALIGN(sizeof(*m)), *end = (const char *)m + bytes;

	while (end - at >= (ptrdiff_t)sizeof(struct rtattr)) {
		struct rtattr a;
		size_t length;

		memcpy(&a, at, sizeof(a));
		if (a.rta_len < sizeof(a) || a.rta_len > (size_t)(end - at))
			break;
		length = a.rta_len - sizeof(a);
		if (a.rta_type == UNIX_DIAG_NAME) {
			if (length >= sizeof(socket.text))
				length = sizeof(socket.text) - 1;
			memcpy(socket.text, at + sizeof(a), length);
			if (length && !socket.text[0])
				socket.text[0] = '@';
		} else if (a.rta_type == UNIX_DIAG_PEER && length >= sizeof(uint32_t)) {
			uint32_t peer;

			memcpy(&peer, at + sizeof(a), sizeof(peer));
			socket.peer = peer;
		} else if (a.rta_type == UNIX_DIAG_RQLEN && length >= sizeof(struct unix_diag_rqlen)) {
			struct unix_diag_rqlen queues;

			memcpy(&queues, at + sizeof(a), sizeof(queues));
			socket.queued = queues.udiag_rqueue;
			socket.unsent = socket.state == STATE_LISTENS ? 0 : queues.udiag_wqueue;
		}
		if (NLMSG_ALIGN(a.rta_len) > (size_t)(end - at))
			break;
		at += NLMSG_ALIGN(a.rta_len);
	}
	add(sockets, &socket);
}

bool proc_sockets_take(struct proc_sockets *sockets, const void *block, size_t bytes)
{
	const char *at = block;

	while (bytes >= sizeof(struct nlmsghdr)) {
		struct nlmsghdr head;
		const void *data = at + NLMSG_HDRLEN;
		size_t length;

		memcpy(&head, at, sizeof(head));
		if (head.nlmsg_type == NLMSG_DONE || head.nlmsg_type == NLMSG_ERROR || head.nlmsg_len < NLMSG_HDRLEN || head.nlmsg_len > bytes)
			return false;
		length = head.nlmsg_len - NLMSG_HDRLEN;
		if (length && *(const uint8_t *)data == AF_UNIX && length >= sizeof(struct unix_diag_msg))
			take_unix(sockets, data, length);
		else if (length >= sizeof(struct inet_diag_msg))
			take_inet(sockets, data);
		if (NLMSG_ALIGN(head.nlmsg_len) >= bytes)
			return true;
		at += NLMSG_ALIGN(head.nlmsg_len);
		bytes -= NLMSG_ALIGN(head.nlmsg_len);
	}
	return true;
}

void proc_sockets_join(struct proc_sockets *sockets)
{
	for (size_t i = 0; i < sockets->list.length; i++) {
		struct proc_socket *s = &sockets->list.items[i];

		if (s->kind == OBJECT_KIND_tcp) {
			const uint64_t *inode = map_find(&sockets->by_way, s->peer);

			s->peer = inode ? *inode : 0;
		}
	}
	for (size_t i = 0; i < sockets->list.length; i++) {
		struct proc_socket *s = &sockets->list.items[i];
		const struct proc_socket *peer = s->kind == OBJECT_KIND_tcp || !s->peer ? NULL : proc_sockets_find(sockets, s->peer);

		/* an end without a name is told by the other's */
		if (peer && !s->text[0] && peer->text[0] && peer->text[0] != '-')
			snprintf(s->text, sizeof(s->text), "-> %.*s", PROC_SOCKET_TEXT - 8, peer->text);
	}
}

static void list(struct proc_sockets *sockets, const void *request, size_t bytes)
{
	struct timeval limit = { .tv_sec = ANSWER_S };
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	uint32_t *block = mem_alloc(BLOCK_BYTES);

	if (fd >= 0) {
		setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
		if (send(fd, request, bytes, 0) == (ssize_t)bytes)
			for (ssize_t got; (got = recv(fd, block, BLOCK_BYTES, 0)) > 0 && proc_sockets_take(sockets, block, (size_t)got);)
				;
		close(fd);
	}
	free(block);
}

struct proc_sockets *proc_sockets_read(void)
{
	static const uint8_t families[] = { AF_INET, AF_INET6 };
	struct proc_sockets *sockets = proc_sockets_new();
	struct {
		struct nlmsghdr head;
		struct unix_diag_req request;
	} local = {
		.head = { .nlmsg_len = sizeof(local), .nlmsg_type = SOCK_DIAG_BY_FAMILY, .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP },
		.request = { .sdiag_family = AF_UNIX, .udiag_states = UINT32_MAX, .udiag_show = UDIAG_SHOW_NAME | UDIAG_SHOW_PEER | UDIAG_SHOW_RQLEN },
	};

	list(sockets, &local, sizeof(local));
	for (size_t i = 0; i < sizeof(families); i++) {
		struct {
			struct nlmsghdr head;
			struct inet_diag_req_v2 request;
		} inet = {
			.head = { .nlmsg_len = sizeof(inet), .nlmsg_type = SOCK_DIAG_BY_FAMILY, .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP },
			.request = { .sdiag_family = families[i], .sdiag_protocol = IPPROTO_TCP, .idiag_states = UINT32_MAX },
		};

		list(sockets, &inet, sizeof(inet));
	}
	proc_sockets_join(sockets);
	return sockets;
}
