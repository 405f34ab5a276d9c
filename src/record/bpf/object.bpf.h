/* From a descriptor to what is behind it: the object's number, the channels it
 * sends to and receives from, the process at the other end.
 *
 *	struct object_at at;
 *	if (object_find(&at, object_file(task, fd)))
 *		... at.number, object_peer(&at), object_channel(&at, OBJECT_SENDS)
 *
 * A channel is a direction-specific identity, equal for the sends and for the
 * receives that they fill: a pipe's or FIFO's own number; of Unix sockets and
 * terminals the end that receives (a datagram socket by its name, if it has
 * one); of TCP the directed addresses; of UDP the port that receives. Reads only; what cannot be read is
 * 0. What is not inlined is global, so that the verifier looks at it once.
 * Nothing holds the objects meanwhile: a descriptor that another thread
 * closes just now can give the number of an object that is gone. */
#ifndef RECORD_BPF_OBJECT_BPF_H
#define RECORD_BPF_OBJECT_BPF_H

#include "record/bpf/kernel.h"
#include "record/object.h"

#define S_IFMT_BITS 0170000
#define S_IFSOCK_BITS 0140000
#define S_IFREG_BITS 0100000
#define S_IFBLK_BITS 0060000
#define S_IFDIR_BITS 0040000
#define S_IFCHR_BITS 0020000
#define S_IFIFO_BITS 0010000

#define MAGIC_ANONYMOUS 0x09041934ul
#define MAGIC_PIDFS 0x50494446ul
#define MAGIC_PIPE 0x50495045ul
#define MAGIC_MQUEUE 0x19800202ul

#define O_NONBLOCK_BIT 04000u
#define O_DIRECT_BIT 040000u

#define FAMILY_UNIX 1
#define FAMILY_INET 2
#define FAMILY_INET6 10
#define FAMILY_NETLINK 16
#define TYPE_STREAM 1
#define TYPE_DGRAM 2
#define TYPE_SEQPACKET 5
#define PROTOCOL_TCP 6
#define PROTOCOL_UDP 17
#define SOCKET_CONNECTS 2
#define SOCKET_LISTENS 10

/* First eight characters of the names of anonymous inodes, as a word. */
#define NAME8(a, b, c, d, e, f, g, h) \
	((u64)(a) | (u64)(b) << 8 | (u64)(c) << 16 | (u64)(d) << 24 | (u64)(e) << 32 | (u64)(f) << 40 | \
	 (u64)(g) << 48 | (u64)(h) << 56)
#define NAME_EVENTFD NAME8('[', 'e', 'v', 'e', 'n', 't', 'f', 'd')
#define NAME_EPOLL NAME8('[', 'e', 'v', 'e', 'n', 't', 'p', 'o')
#define NAME_TIMERFD NAME8('[', 't', 'i', 'm', 'e', 'r', 'f', 'd')
#define NAME_SIGNALFD NAME8('[', 's', 'i', 'g', 'n', 'a', 'l', 'f')
#define NAME_FANOTIFY NAME8('[', 'f', 'a', 'n', 'o', 't', 'i', 'f')
#define NAME_INOTIFY NAME8('i', 'n', 'o', 't', 'i', 'f', 'y', 0)
#define NAME_PIDFD NAME8('[', 'p', 'i', 'd', 'f', 'd', ']', 0)
#define NAME_USERFAULTFD NAME8('[', 'u', 's', 'e', 'r', 'f', 'a', 'u')
#define NAME_SECCOMP NAME8('s', 'e', 'c', 'c', 'o', 'm', 'p', ' ')
#define NAME_URING NAME8('[', 'i', 'o', '_', 'u', 'r', 'i', 'n')

#define OBJECT_SENDS 0
#define OBJECT_RECEIVES 1

struct object_at {
	struct file *file;
	struct sock *sk;        /* of a socket, else NULL */
	u64 number;
	u64 context;            /* address that distinguishes what shares an inode; a terminal's */
	u16 family;             /* of a socket */
	u8 kind;                /* OBJECT_KIND_ */
	u8 state;               /* TCP state of a socket, 10 listening (Unix sockets too) */
	bool non_blocking;
};

/* NULL when the task has no such descriptor. */
static __always_inline struct file *object_file(struct task_struct *task, int fd)
{
	struct files_struct *files = GET(task, files);
	if (!files)
		return NULL;
	struct fdtable *table = GET(files, fdt);
	if (!table || (u32)fd >= GET(table, max_fds))
		return NULL;
	return (struct file *)kernel_word(GET(table, fd) + (u32)fd);
}

/* The same of the current task, whose structures the verifier knows: a load each. */
static __always_inline struct file *object_file_here(int fd)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct files_struct *files = UNKEPT(task)->files;
	if (!files)
		return NULL;
	struct fdtable *table = files->fdt;
	if (!table || (u32)fd >= table->max_fds)
		return NULL;
	return (struct file *)kernel_word(table->fd + (u32)fd);
}

static __always_inline bool object_is_terminal(u32 device)
{
	u32 major = device >> 20;
	/* tty and console, /dev/tty and ptmx, both ends of ptys, ttyAMA, hvc */
	return major == 4 || (major == 5 && device != (5u << 20 | 3)) || (major >= 128 && major <= 143) ||
	       major == 204 || major == 229;
}

static __always_inline u8 object_socket_kind(u16 family, u16 type, u16 protocol)
{
	if (family == FAMILY_UNIX)
		return type == TYPE_STREAM ? OBJECT_KIND_unix_stream :
		       type == TYPE_DGRAM ? OBJECT_KIND_unix_dgram : OBJECT_KIND_unix_seqpacket;
	if (family == FAMILY_INET || family == FAMILY_INET6) {
		if (type == TYPE_STREAM && protocol == PROTOCOL_TCP)
			return OBJECT_KIND_tcp;
		if (type == TYPE_DGRAM && protocol == PROTOCOL_UDP)
			return OBJECT_KIND_udp;
	}
	return family == FAMILY_NETLINK ? OBJECT_KIND_netlink : OBJECT_KIND_socket;
}

/* The first eight characters of the file's name. */
static __always_inline u64 object_name_word(struct file *file)
{
	struct dentry *dentry = GET(file, f_path.dentry);
	const unsigned char *name = dentry ? GET(dentry, d_name.name) : NULL;
	return name ? kernel_word(name) : 0;
}

static __always_inline u8 object_anonymous_kind(struct file *file)
{
	u64 word = object_name_word(file);
	if (word == NAME_EVENTFD)
		return OBJECT_KIND_eventfd;
	if (word == NAME_EPOLL)
		return OBJECT_KIND_epoll;
	if (word == NAME_TIMERFD)
		return OBJECT_KIND_timerfd;
	if (word == NAME_SIGNALFD)
		return OBJECT_KIND_signalfd;
	if (word == NAME_FANOTIFY || word == NAME_INOTIFY)
		return OBJECT_KIND_inotify;
	if (word == NAME_PIDFD)
		return OBJECT_KIND_pidfd;
	if (word == NAME_URING)
		return OBJECT_KIND_uring;
	if (word == NAME_SECCOMP)
		return OBJECT_KIND_seccomp;
	if (word == NAME_USERFAULTFD)
		return OBJECT_KIND_userfaultfd;
	return OBJECT_KIND_anonymous;
}

/* Fills the rest of `at` from its file. */
__noinline int object_find_rest(struct object_at *at)
{
	if (!at)
		return false;
	struct file *file = at->file;
	struct inode *inode = file ? GET(file, f_inode) : NULL;
	if (!inode)
		return false;
	at->non_blocking = (GET(file, f_flags) & O_NONBLOCK_BIT) != 0;
	u16 type = GET(inode, i_mode) & S_IFMT_BITS;
	if (type == S_IFCHR_BITS || type == S_IFBLK_BITS) {
		u32 device = GET(inode, i_rdev);
		if (type == S_IFCHR_BITS && object_is_terminal(device)) {
			struct tty_file_private *private = GET(file, private_data);
			at->context = private ? (u64)GET(private, tty) : 0;
			at->kind = OBJECT_KIND_tty;
			at->number = object_of_address(OBJECT_KIND_tty, at->context);
			return true;
		}
		if (device == (10u << 20 | 229) && bpf_core_type_exists(struct fuse_dev)) {
			/* the low bits of private_data are flags */
			struct fuse_dev *fuse = (struct fuse_dev *)((u64)GET(file, private_data) & ~7ull);
			struct fuse_conn *connection = fuse ? GET_MODULE(fuse, fc) : NULL;
			at->kind = OBJECT_KIND_fuse;
			at->number = object_of(OBJECT_KIND_fuse, connection ? GET_MODULE(connection, dev) : 0);
			return true;
		}
		at->kind = OBJECT_KIND_device;
		at->number = object_of_device(device);
		return true;
	}
	struct super_block *super = GET(inode, i_sb);
	u32 device = super ? GET(super, s_dev) : 0;
	if (type == S_IFSOCK_BITS) {
		struct socket *socket = GET(file, private_data);
		struct sock *sk = socket ? GET(socket, sk) : NULL;
		at->kind = OBJECT_KIND_socket;
		if (sk) {
			at->sk = sk;
			at->family = GET(sk, __sk_common.skc_family);
			at->state = GET(sk, __sk_common.skc_state);
			at->kind = object_socket_kind(at->family, GET(sk, sk_type), GET(sk, sk_protocol));
		}
		at->number = object_of_inode(at->kind, device, GET(inode, i_ino));
		return true;
	}
	u64 magic = super ? GET(super, s_magic) : 0;
	if (magic == MAGIC_ANONYMOUS) {
		at->context = (u64)GET(file, private_data);
		at->kind = object_anonymous_kind(file);
		at->number = object_of_address(at->kind, at->context);
		return true;
	}
	if (type == S_IFIFO_BITS)
		at->kind = magic == MAGIC_PIPE ? OBJECT_KIND_pipe : OBJECT_KIND_fifo;
	else if (magic == MAGIC_PIDFS)
		at->kind = OBJECT_KIND_pidfd;
	else if (magic == MAGIC_MQUEUE)
		at->kind = OBJECT_KIND_queue;
	else
		at->kind = type == S_IFDIR_BITS ? OBJECT_KIND_directory : OBJECT_KIND_file;
	at->number = object_of_inode(at->kind, device, GET(inode, i_ino));
	return true;
}

/* Fills `at`; false when there is no file or nothing is known of it. */
static __always_inline bool object_find(struct object_at *at, struct file *file)
{
	__builtin_memset(at, 0, sizeof(*at));
	if (!file)
		return false;
	at->file = file;
	return object_find_rest(at);
}

/* Addresses of an internet socket, IPv4 ones mapped into IPv6. */
struct object_addresses {
	u64 own[2], peer[2];
	u16 own_port, peer_port;
};

static __always_inline void object_map_ipv4(u64 to[2], u32 address)
{
	to[0] = 0;
	to[1] = 0xffff0000ull | (u64)address << 32;
}

static __always_inline void object_addresses(struct object_addresses *a, struct sock *sk, u16 family)
{
	a->own_port = GET(sk, __sk_common.skc_num);
	a->peer_port = __builtin_bswap16(GET(sk, __sk_common.skc_dport));
	if (family == FAMILY_INET6) {
		struct in6_addr *own = &sk->__sk_common.skc_v6_rcv_saddr;
		struct in6_addr *peer = &sk->__sk_common.skc_v6_daddr;
		a->own[0] = kernel_word(own);
		a->own[1] = kernel_word((char *)own + 8);
		a->peer[0] = kernel_word(peer);
		a->peer[1] = kernel_word((char *)peer + 8);
	} else {
		object_map_ipv4(a->own, GET(sk, __sk_common.skc_rcv_saddr));
		object_map_ipv4(a->peer, GET(sk, __sk_common.skc_daddr));
	}
}

static __always_inline bool object_is_loopback(const u64 address[2])
{
	if (address[0])
		return false;
	return address[1] == 1ull << 56 ||
	       ((u32)address[1] == 0xffff0000u && (address[1] >> 32 & 0xff) == 127);
}

static __always_inline bool object_is_local(const u64 own[2], const u64 peer[2])
{
	return object_is_loopback(peer) || (own[0] == peer[0] && own[1] == peer[1]);
}

static __always_inline u64 object_namespace(struct sock *sk)
{
	struct net *net = GET(sk, __sk_common.skc_net.net);
	return net ? GET(net, ns.inum) : 0;
}

/* A port of this network namespace: the channel of all that is sent to it from
 * within. Senders see 127.0.0.1 where the receiver is bound to any address, so
 * the address is no part of it. */
static __always_inline u64 object_local_port(u64 kind, u64 namespace, u16 port)
{
	return object_of(kind, object_hash(namespace << 16 | port) | 1);
}

static __always_inline u64 object_remote_port(u64 kind, const u64 to[2], u16 port)
{
	return object_of(kind, object_hash(object_hash(to[0]) + object_hash(to[1] ^ 0x5bd1e995) + port) & ~1ull);
}

static __always_inline u64 object_tcp_channel(struct sock *sk, u16 family, bool receives)
{
	struct object_addresses a;
	object_addresses(&a, sk, family);
	if (!a.peer_port)
		return 0;
	/* equal addresses can be used in several namespaces at once, but only
	 * inside one of them, while both hosts of a connection must agree */
	u64 salt = object_is_local(a.own, a.peer) ? object_namespace(sk) : 0;
	u64 own = object_hash(a.own[0]) + object_hash(a.own[1] ^ a.own_port);
	u64 peer = object_hash(a.peer[0]) + object_hash(a.peer[1] ^ a.peer_port);
	u64 from = receives ? peer : own, to = receives ? own : peer;
	return object_of(OBJECT_KIND_tcp, object_hash(from * 3 + to + salt));
}

/* Channel of a listening socket: its accepts, and the connects they take up. */
static __always_inline u64 object_listener(const struct object_at *at)
{
	if (at->family == FAMILY_UNIX)
		return object_of_address(at->kind, (u64)at->sk);
	return object_local_port(at->kind, object_namespace(at->sk), GET(at->sk, __sk_common.skc_num));
}

#define NAME_BYTES 108u /* of sun_path */

#define NAME_UNREADABLE ~0ull

/* Up to eight bytes of a name. Not static, for the verifier to follow it once, and not with each word. */
__noinline u64 object_unix_word(u64 address, u32 bytes, u32 user)
{
	u64 word = 0, size = bytes < 8 ? bytes : 8;

	KEEP_LIMITS(size);
	if (user ? bpf_probe_read_user(&word, size, (void *)address) : bpf_probe_read_kernel(&word, size, (void *)address))
		return NAME_UNREADABLE;
	return word;
}

/* Channel of the datagram socket bound to a Unix name, which lies at an address of
 * the kernel's or (`user`) the program's: a path up to its NUL; an abstract name, which
 * begins with one and belongs to a network namespace. Senders that name their receiver
 * know nothing else. 0 when it cannot be read. */
static __always_inline u64 object_unix_name(u64 address, u32 bytes, u32 namespace, u32 user)
{
	u64 hash = 0, path = ~0ull;

	if (bytes > NAME_BYTES)
		bytes = NAME_BYTES;
	for (u32 i = 0; i < NAME_BYTES; i += 8) {
		KEEP_APART(bytes);
		if (i >= bytes)
			break;
		u64 word = object_unix_word(address + i, bytes - i, user);
		if (word == NAME_UNREADABLE)
			return 0;
		if (!i && !(u8)word) {
			path = 0;
			hash = bytes + object_hash(namespace);
		}
		/* that of both kinds one way goes on */
		KEEP_APART(path);
		KEEP_APART(hash);
		/* the lowest byte that is 0, by its highest bit */
		u64 zeros = (word - 0x0101010101010101ull) & ~word & 0x8080808080808080ull & path, first = zeros & -zeros;
		if (zeros) {
			word &= (first >> 7) - 1;
			if (word)
				hash = object_hash(hash ^ word);
			break;
		}
		hash = object_hash(hash ^ word);
	}
	return object_of(OBJECT_KIND_unix_dgram, hash);
}

static __always_inline u64 object_unix_channel(u8 kind, struct sock *receiver)
{
	if (kind == OBJECT_KIND_unix_dgram) {
		struct unix_address *address = GET((struct unix_sock *)receiver, addr);
		u32 bytes = address ? GET(address, len) : 0;
		if (bytes > 2)
			return object_unix_name((u64)&address->name[0].sun_path, bytes - 2, object_namespace(receiver), false);
	}
	return object_of_address(kind, (u64)receiver);
}

/* The channel the object receives from or sends to; 0 when it has none, or
 * when it is not known from the object alone (an unconnected datagram socket's
 * destination). */
__noinline u64 object_channel(const struct object_at *at, u32 receives)
{
	if (!at)
		return 0;
	struct sock *sk = at->sk;
	switch (at->kind) {
	case OBJECT_KIND_pipe:
	case OBJECT_KIND_fifo:
	case OBJECT_KIND_eventfd:
	case OBJECT_KIND_timerfd:
	case OBJECT_KIND_signalfd:
	case OBJECT_KIND_inotify:
	case OBJECT_KIND_queue:
	case OBJECT_KIND_fuse:
		return at->number;
	case OBJECT_KIND_tty:
		if (receives)
			return at->number;
		if (!at->context)
			return 0;
		u64 link = (u64)GET((struct tty_struct *)at->context, link);
		return link ? object_of_address(OBJECT_KIND_tty, link) : 0;
	case OBJECT_KIND_unix_stream:
	case OBJECT_KIND_unix_dgram:
	case OBJECT_KIND_unix_seqpacket:
		if (!sk)
			return 0;
		if (!receives)
			sk = GET((struct unix_sock *)sk, peer);
		return sk ? object_unix_channel(at->kind, sk) : 0;
	case OBJECT_KIND_tcp:
		if (!sk)
			return 0;
		if (at->state == SOCKET_LISTENS)
			return receives ? object_listener(at) : 0;
		return object_tcp_channel(sk, at->family, receives);
	case OBJECT_KIND_udp: {
		if (!sk)
			return 0;
		if (receives)
			return object_local_port(OBJECT_KIND_udp, object_namespace(sk), GET(sk, __sk_common.skc_num));
		struct object_addresses a;
		object_addresses(&a, sk, at->family);
		if (!a.peer_port)
			return 0;
		if (object_is_local(a.own, a.peer))
			return object_local_port(OBJECT_KIND_udp, object_namespace(sk), a.peer_port);
		return object_remote_port(OBJECT_KIND_udp, a.peer, a.peer_port);
	}
	case OBJECT_KIND_netlink:
	case OBJECT_KIND_socket:
		return receives ? at->number : 0;
	}
	return 0;
}

/* Number of the other end of a Unix socket, 0 when it has no descriptor yet. */
static __always_inline u64 object_peer_number(const struct object_at *at)
{
	if (at->family != FAMILY_UNIX || !at->sk)
		return 0;
	struct sock *peer = GET((struct unix_sock *)at->sk, peer);
	struct socket *socket = peer ? GET(peer, sk_socket) : NULL;
	if (!socket)
		return 0;
	struct inode *inode = (struct inode *)((u64)socket + bpf_core_field_offset(struct socket_alloc, vfs_inode));
	struct super_block *super = GET(inode, i_sb);
	return object_of_inode(at->kind, super ? GET(super, s_dev) : 0, GET(inode, i_ino));
}

/* Process at the other end of a Unix socket as it was when they connected; 0
 * unknown. A hint: the descriptor may have been handed on since. */
static __always_inline u32 object_peer(const struct object_at *at)
{
	if (at->family != FAMILY_UNIX || !at->sk)
		return 0;
	struct pid *pid = GET(at->sk, sk_peer_pid);
	return pid ? GET(pid, numbers[0].nr) : 0;
}

#endif
