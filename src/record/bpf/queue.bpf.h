/* How much waits in an object: bytes that a reader has not taken yet, or that
 * the other end has not. An unread queue tells who did not do his part. Loops
 * are bounded; where there are more buffers than are counted the number is too
 * small, never 0. */
#ifndef RECORD_BPF_QUEUE_BPF_H
#define RECORD_BPF_QUEUE_BPF_H

#include "record/bpf/object.bpf.h"

#define QUEUE_MAX_BUFFERS 1024 /* more than small messages fill a socket's default room, or a pipe of 1 MiB has */

#define CONNECTS_MOST_NS 3600000000000ull /* the kernel gives up long before */

struct queue_walk {
	struct pipe_buffer *buffers;
	u32 tail, head, size;      /* of a pipe's buffers */
	u32 is_unix;
	struct sk_buff_head *queue;
	struct sk_buff *buffer;
	u32 bytes;
};

/* By bpf_loop: a loop of the program's own is followed through all its turns when it is loaded. */
static long queue_pipe_step(u64 index, struct queue_walk *walk)
{
	if (walk->tail == walk->head)
		return 1;
	u64 at = walk->tail & (walk->size - 1);
	walk->bytes += GET((struct pipe_buffer *)((u64)walk->buffers + at * bpf_core_type_size(struct pipe_buffer)), len);
	walk->tail++;
	return 0;
}

static __noinline u32 queue_pipe(struct inode *inode)
{
	struct pipe_inode_info *pipe = GET(inode, i_pipe);
	if (!pipe)
		return 0;
	struct queue_walk walk = { .buffers = GET(pipe, bufs), .head = GET(pipe, head), .tail = GET(pipe, tail),
				   .size = GET(pipe, ring_size) };
	bpf_loop(QUEUE_MAX_BUFFERS, queue_pipe_step, &walk, 0);
	return walk.bytes;
}

static long queue_buffer_step(u64 index, struct queue_walk *walk)
{
	struct sk_buff *buffer = walk->buffer;
	if (!buffer || (u64)buffer == (u64)walk->queue)
		return 1;
	u32 length = GET(buffer, len);
	if (walk->is_unix) {
		u32 consumed = GET((struct unix_skb_parms *)&buffer->cb, consumed);
		length = length > consumed ? length - consumed : 0;
	}
	walk->bytes += length;
	walk->buffer = GET(buffer, next);
	return 0;
}

static __noinline u32 queue_buffers(struct sk_buff_head *queue, u32 is_unix)
{
	struct queue_walk walk = { .queue = queue, .buffer = GET(queue, next), .is_unix = is_unix };
	bpf_loop(QUEUE_MAX_BUFFERS, queue_buffer_step, &walk, 0);
	return walk.bytes;
}

static __always_inline u32 queue_terminal(struct tty_struct *tty)
{
	if (!bpf_core_type_exists(struct n_tty_data))
		return 0;
	struct n_tty_data *data = tty ? GET(tty, disc_data) : NULL;
	return data ? GET(data, commit_head) - GET(data, read_tail) : 0;
}

/* Requests to a file system in user space that it has not answered. */
static __always_inline u32 queue_fuse(struct file *file)
{
	if (!bpf_core_type_exists(struct fuse_dev) || !bpf_core_field_exists(((struct fuse_conn *)0)->num_waiting))
		return 0;
	/* the low bits of private_data are flags */
	struct fuse_dev *device = (struct fuse_dev *)((u64)GET(file, private_data) & ~7ull);
	struct fuse_conn *connection = device ? GET_MODULE(device, fc) : NULL;
	return connection ? GET_MODULE(connection, num_waiting.counter) : 0;
}

/* Bytes to be received; of a listening socket connections, of an inotify group
 * and an epoll set events, of a timerfd expirations, of a FUSE connection requests. */
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
	case OBJECT_KIND_fuse:
		return queue_fuse(at->file);
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

/* What went over the connection last was sent from here: nothing ever came, or before. The clock of both ticks in milliseconds; of what
 * went in one tick only an acknowledgement that came behind all data tells that something was sent after those. */
static __always_inline bool queue_spoke_last(const struct object_at *at)
{
	if (at->kind != OBJECT_KIND_tcp || !at->sk || at->state == SOCKET_LISTENS)
		return false;
	struct tcp_sock *sk = (struct tcp_sock *)at->sk;
	if (!GET(sk, bytes_sent))
		return false;
	int later = GET(sk, lsndtime) - GET((struct inet_connection_sock *)at->sk, icsk_ack.lrcvtime);
	return !GET(sk, bytes_received) || later > 0 || (!later && GET(sk, snd_wl1) == GET(sk, rcv_nxt));
}

/* When the first packet of a connection to which nobody has answered was sent; 0 not known. The kernel keeps milliseconds, of 32 bits. */
static __always_inline u64 queue_connects_since(struct tcp_sock *sk)
{
	u32 began_ms = GET(sk, retrans_stamp);
	u64 now = bpf_ktime_get_ns(), for_ns = (u64)((u32)(now / 1000000) - began_ms) * 1000000;

	return began_ms && for_ns < CONNECTS_MOST_NS && for_ns < now ? now - for_ns : 0;
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
