/* A message's record: what a system call sent or received over an object that
 * carries messages. */
#ifndef RECORD_BPF_MESSAGE_BPF_H
#define RECORD_BPF_MESSAGE_BPF_H

#include "record/bpf/object.bpf.h"
#include "record/bpf/ring.bpf.h"
#include "record/bpf/stack.bpf.h"

#define ERROR_WOULD_BLOCK (-11)
#define ERROR_IN_PROGRESS (-115)

#define MSG_PEEK_BIT 0x2u
#define MSG_CUT_BIT 0x20u
#define MSG_DONTWAIT_BIT 0x40u

/* A system call that ends just now. */
#define ENDED_ARGUMENTS 8u /* six, and 0 for none; a power of two */
struct ended {
	u64 arguments[ENDED_ARGUMENTS];
	u64 now, duration_ns;
	long result;
	u32 tid;
	u32 ustack;             /* taken where the program begins: it needs many frames of the verifier's few */
	u16 number;
	bool outside;           /* of the filter: only its messages are recorded, somebody inside may be their peer */
};

/* One record to be made of it. */
struct message {
	u64 channel;            /* 0: the object tells */
	int bytes;
	int argument;
	u8 kind;                /* MESSAGE_KIND_, 0: the object tells */
	u8 flags;
};

/* MESSAGE_KIND_ by OBJECT_KIND_, plus 1; 0 for what carries no messages. */
static const u8 message_kinds[32] = {
	[OBJECT_KIND_pipe] = MESSAGE_KIND_pipe + 1,
	[OBJECT_KIND_fifo] = MESSAGE_KIND_pipe + 1,
	[OBJECT_KIND_unix_stream] = MESSAGE_KIND_unix_stream + 1,
	[OBJECT_KIND_unix_dgram] = MESSAGE_KIND_unix_dgram + 1,
	[OBJECT_KIND_unix_seqpacket] = MESSAGE_KIND_unix_seqpacket + 1,
	[OBJECT_KIND_tcp] = MESSAGE_KIND_tcp + 1,
	[OBJECT_KIND_udp] = MESSAGE_KIND_udp + 1,
	[OBJECT_KIND_netlink] = MESSAGE_KIND_netlink + 1,
	[OBJECT_KIND_socket] = MESSAGE_KIND_other + 1,
	[OBJECT_KIND_eventfd] = MESSAGE_KIND_eventfd + 1,
	[OBJECT_KIND_timerfd] = MESSAGE_KIND_timerfd + 1,
	[OBJECT_KIND_signalfd] = MESSAGE_KIND_signalfd + 1,
	[OBJECT_KIND_inotify] = MESSAGE_KIND_inotify + 1,
	[OBJECT_KIND_tty] = MESSAGE_KIND_tty + 1,
	[OBJECT_KIND_fuse] = MESSAGE_KIND_fuse + 1,
};

static __always_inline bool message_carries(const struct object_at *at)
{
	return message_kinds[at->kind & 31];
}

static __always_inline bool message_is_stream(u8 kind)
{
	return kind == MESSAGE_KIND_pipe || kind == MESSAGE_KIND_unix_stream || kind == MESSAGE_KIND_tcp ||
	       kind == MESSAGE_KIND_unix_seqpacket || kind == MESSAGE_KIND_tty;
}

/* The record. `m` is whole but for its kind and the flags that follow from the rest. */
static __always_inline int message_write(const struct ended *call, u64 object, u8 object_kind, struct sock *sk,
					 u32 peer, bool non_blocking, const struct message *m)
{
	bool receives = m->flags & MESSAGE_FLAGS_receive;
	u8 kind = m->kind ? m->kind : message_kinds[object_kind & 31] - 1, flags = m->flags;
	int bytes = m->bytes > 0 ? m->bytes : 0;
	struct ring *ring = ring_here();
	u64 position = 0;

	if (!ring)
		return 0;
	if (object_kind == OBJECT_KIND_tcp && sk && bytes) {
		struct tcp_sock *tcp = (struct tcp_sock *)sk;
		position = receives ? GET(tcp, copied_seq) : GET(tcp, write_seq);
		/* the kernel has counted the bytes already, unless they were only looked at */
		if (!(flags & MESSAGE_FLAGS_peek))
			position = (u32)(position - bytes);
	}
	if (non_blocking)
		flags |= MESSAGE_FLAGS_non_blocking;
	if (call->result == ERROR_WOULD_BLOCK)
		flags |= MESSAGE_FLAGS_would_block;
	if (receives && !call->result && message_is_stream(kind))
		flags |= MESSAGE_FLAGS_end_of_file;
	struct event_message *e = ring_begin(ring, EVENT_message, call->tid, call->now, sizeof(*e));
	if (!e)
		return 0;
	e->object = object;
	e->channel = m->channel;
	e->position = position;
	e->duration_ns = call->duration_ns;
	e->bytes = bytes;
	e->peer = peer;
	e->argument = m->argument;
	e->result = call->result;
	e->ustack = call->ustack;
	e->number = call->number;
	e->kind = kind;
	e->flags = flags;
	ring_end(ring);
	return 0;
}

/* The same by the object. */
__noinline int message_emit(const struct ended *call, const struct object_at *at, struct message *m)
{
	if (!call || !at || !m)
		return 0;
	if (!m->channel)
		m->channel = object_channel(at, m->flags & MESSAGE_FLAGS_receive);
	return message_write(call, at->number, at->kind, at->sk, object_peer(at), at->non_blocking, m);
}

/* Channel of a datagram sent to a name in the sender's memory; 0 when the name
 * tells none. */
__noinline u64 message_named(const struct object_at *at, u64 address, u32 length)
{
	struct {
		u16 family, port;
		u32 ipv4;
		u64 ipv6[2];
	} name = { 0 };
	u64 to[2];

	if (!at || !address || length < 3 || !at->sk)
		return 0;
	if (at->kind == OBJECT_KIND_unix_dgram)
		return object_unix_name(address + 2, length - 2, object_namespace(at->sk), true);
	if (at->kind != OBJECT_KIND_udp || bpf_probe_read_user(&name, length < 24 ? 16 : 24, (void *)address))
		return 0;
	if (name.family == FAMILY_INET6 && length >= 24) {
		to[0] = name.ipv6[0];
		to[1] = name.ipv6[1];
	} else if (name.family == FAMILY_INET) {
		object_map_ipv4(to, name.ipv4);
	} else {
		return 0;
	}
	struct object_addresses a;
	u16 port = __builtin_bswap16(name.port);
	object_addresses(&a, at->sk, at->family);
	if (object_is_local(a.own, to))
		return object_local_port(OBJECT_KIND_udp, object_namespace(at->sk), port);
	return object_remote_port(OBJECT_KIND_udp, to, port);
}

#endif
