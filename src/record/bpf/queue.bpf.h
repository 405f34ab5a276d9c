/* How much waits in an object: bytes that a reader has not taken yet, or that
 * the other end has not. An unread queue tells who did not do his part. Loops
 * are bounded; where there are more buffers than are counted the number is too
 * small, never 0. */
#ifndef RECORD_BPF_QUEUE_BPF_H
#define RECORD_BPF_QUEUE_BPF_H

#include "record/bpf/object.bpf.h"

#define QUEUE_MAX_BUFFERS 1024 /* more than small messages fill a socket's default room, or a pipe of 1 MiB has */

static __noinline u32 queue_pipe(struct inode *inode)
{
	struct pipe_inode_info *pipe = GET(inode, i_pipe);
	if (!pipe)
		return 0;
	u32 head = GET(pipe, head), tail = GET(pipe, tail), size = GET(pipe, ring_size), bytes = 0;
	struct pipe_buffer *buffers = GET(pipe, bufs);
	for (u32 i = 0; i < QUEUE_MAX_BUFFERS; i++) {
		if (tail == head)
			break;
		u64 at = tail & (size - 1);
		bytes += GET((struct pipe_buffer *)((u64)buffers + at * bpf_core_type_size(struct pipe_buffer)), len);
		tail++;
	}
	return bytes;
}

static __noinline u32 queue_buffers(struct sk_buff_head *queue, u32 is_unix)
{
	struct sk_buff *buffer = GET(queue, next);
	u32 bytes = 0;
	for (u32 i = 0; i < QUEUE_MAX_BUFFERS; i++) {
		if (!buffer || (u64)buffer == (u64)queue)
			break;
		u32 length = GET(buffer, len);
		if (is_unix) {
			u32 consumed = GET((struct unix_skb_parms *)&buffer->cb, consumed);
			length = length > consumed ? length - consumed : 0;
		}
		bytes += length;
		buffer = GET(buffer, next);
	}
	return bytes;
}

static __always_inline u32 queue_terminal(struct tty_struct *tty)
{
	if (!bpf_core_type_exists(struct n_tty_data))
		return 0;
	struct n_tty_data *data = tty ? GET(tty, disc_data) : NULL;
	return data ? GET(data, commit_head) - GET(data, read_tail) : 0;
}

/* Bytes to be received; of a listening socket connections, of an inotify group
 * and an epoll set events, of a timerfd expirations. */
__noinline u32 queue_unread(const struct object_at *at)
{
	if (!at)
		return 0;
	switch (at->kind) {
	case OBJECT_KIND_pipe:
	case OBJECT_KIND_fifo:
		return queue_pipe(GET(at->file, f_inode));
	case OBJECT_KIND_eventfd:
		if (bpf_core_type_exists(struct eventfd_ctx))
			return GET((struct eventfd_ctx *)at->context, count);
		return 0;
	case OBJECT_KIND_timerfd:
		if (bpf_core_type_exists(struct timerfd_ctx))
			return GET((struct timerfd_ctx *)at->context, ticks);
		return 0;
	case OBJECT_KIND_inotify:
		return GET((struct fsnotify_group *)at->context, q_len);
	case OBJECT_KIND_epoll: {
		struct eventpoll *set = (struct eventpoll *)at->context;
		return (u64)GET(set, rdllist.next) != (u64)&set->rdllist;
	}
	case OBJECT_KIND_tty:
		return queue_terminal((struct tty_struct *)at->context);
	}
	if (!at->sk)
		return 0;
	if (at->state == SOCKET_LISTENS)
		return at->family == FAMILY_UNIX ? GET(at->sk, sk_receive_queue.qlen) : GET(at->sk, sk_ack_backlog);
	if (at->kind == OBJECT_KIND_tcp)
		return GET((struct tcp_sock *)at->sk, rcv_nxt) - GET((struct tcp_sock *)at->sk, copied_seq);
	u32 bytes = queue_buffers(&at->sk->sk_receive_queue, at->family == FAMILY_UNIX);
	if (at->kind == OBJECT_KIND_udp)
		bytes += queue_buffers(&((struct udp_sock *)at->sk)->reader_queue, false);
	return bytes;
}

/* Bytes sent that the other end, or its host, has not taken. */
static __always_inline u32 queue_unsent(const struct object_at *at)
{
	if (at->kind == OBJECT_KIND_tty)
		return at->context ? queue_terminal(GET((struct tty_struct *)at->context, link)) : 0;
	if (!at->sk || at->state == SOCKET_LISTENS)
		return 0;
	if (at->kind == OBJECT_KIND_tcp)
		return GET((struct tcp_sock *)at->sk, write_seq) - GET((struct tcp_sock *)at->sk, snd_una);
	if (at->family == FAMILY_UNIX && at->kind != OBJECT_KIND_unix_dgram) {
		struct sock *peer = GET((struct unix_sock *)at->sk, peer);
		return peer ? queue_buffers(&peer->sk_receive_queue, true) : 0;
	}
	return 0;
}

#endif
