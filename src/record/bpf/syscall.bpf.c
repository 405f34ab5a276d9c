/* Every system call, one record at its end: a message where it moved bytes
 * over an object that carries messages, else the call itself.
 *
 * At the entry only the time is kept, in a slot of the thread's; at the exit
 * the registers still hold the arguments. What a call works on is looked for
 * only where its class says so (calls.def). */
#include "record/bpf/message.bpf.h"
#include "record/bpf/cache.bpf.h"
#include "record/bpf/call.bpf.h"
#include "record/bpf/call_name.bpf.h"
#include "record/bpf/filter.bpf.h"
#include "record/bpf/renamed.bpf.h"
#include "record/bpf/watched.bpf.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* Threads in calls at once, by the low bits of their tids; where two fall on
 * one slot, the duration of one is not known. */
#define SLOTS 131072u

struct slot {
	u64 start_ns;
	u32 tid;
	u32 number;
};

static struct slot slots[SLOTS];

enum {
	FULL_plain, FULL_fd, FULL_fd4, FULL_futex, FULL_creates, FULL_pipe, FULL_socketpair,
	FULL_read, FULL_write, FULL_sendto, FULL_recvfrom, FULL_sendmsg, FULL_recvmsg, FULL_sendmmsg, FULL_recvmmsg,
	FULL_accept, FULL_connect, FULL_splice, FULL_tee, FULL_vmsplice, FULL_sendfile, FULL_copy,
	FULL_queue_send, FULL_queue_receive, FULL_mq_send, FULL_mq_receive, FULL_semaphore, FULL_timer, FULL_timerfd, FULL_itimer,
	FULL_renames, FULL_makes, FULL_removes
};

struct full_call {
	u8 class, first, second, listed;
};

static const struct full_call full_calls[CALL_MAX] = {
#define CALL(number, class, first, second) [number] = { FULL_##class, first, second, 1 },
#include "record/calls.def"
#undef CALL
};

/* struct msghdr and struct mmsghdr as user programs have them */
struct user_message {
	u64 name;
	u32 name_bytes, pad0;
	u64 parts, part_count;
	u64 control, control_bytes;
	u32 flags, pad1;
};

struct user_messages {
	struct user_message message;
	u32 bytes, pad;
};

#define SOL_SOCKET_NUMBER 1u
#define SCM_RIGHTS_NUMBER 1u
#define CALL_ALARM 37
#define FILE_CREATED (1u << 20) /* FMODE_CREATED */
#define DATAGRAMS_KEPT 32 /* records of one sendmmsg or recvmmsg */

SEC("tp_btf/sys_enter")
int BPF_PROG(full_enter, struct pt_regs *registers, long number)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task_btf();
	u32 tid = task->pid;
	struct slot *slot = &slots[tid & (SLOTS - 1)];
	slot->tid = tid;
	slot->number = number;
	slot->start_ns = bpf_ktime_get_ns();
	return 0;
}

/* The nth argument; 0 where n says none. */
static __always_inline u64 full_argument(const struct ended *call, u32 n)
{
	return call->arguments[n & (ENDED_ARGUMENTS - 1)];
}

/* The user's stack, if stacks of one of these uses are on; of what is outside of
 * the filter only messages are recorded. */
static __always_inline u32 full_stack(const struct ended *call, u8 uses)
{
	if (call->outside)
		uses &= STACKS_MESSAGES;
	return config.stacks & uses ? stack_walk() : 0;
}

/* Whether calls of the class concern others than who calls: they may carry
 * messages, or change files that somebody watches. */
static __always_inline bool full_reaches_others(u8 class)
{
	return (class >= FULL_read && class <= FULL_semaphore) || class == FULL_creates || class >= FULL_renames;
}

static __always_inline int full_write(const struct ended *call, u64 object, u64 arg0, u64 arg1)
{
	struct ring *ring = ring_here();
	if (!ring || call->outside)
		return 0;
	struct event_syscall *e = ring_begin(ring, EVENT_syscall, call->tid, call->now, sizeof(*e));
	if (!e)
		return 0;
	e->object = object;
	e->arg0 = arg0;
	e->arg1 = arg1;
	e->duration_ns = call->duration_ns;
	e->result = call->result;
	e->ustack = call->ustack;
	e->number = call->number;
	e->reserved = 0;
	ring_end(ring);
	return 0;
}

__noinline int full_record(const struct ended *call, u64 object, u64 arg0, u64 arg1)
{
	return call ? full_write(call, object, arg0, arg1) : 0;
}

static __always_inline int full_queue(const struct ended *call, u64 object, long bytes, u8 flags)
{
	struct ring *ring = ring_here();
	if (!ring)
		return 0;
	struct event_queue_message *e = ring_begin(ring, EVENT_queue_message, call->tid, call->now, sizeof(*e));
	if (!e)
		return 0;
	e->object = object;
	e->duration_ns = call->duration_ns;
	e->bytes = bytes > 0 ? bytes : 0;
	e->result = call->result;
	e->ustack = call->ustack;
	e->number = call->number;
	e->flags = flags;
	e->reserved = 0;
	ring_end(ring);
	return 0;
}

/* A record of one of the two ends of a call that moves bytes between them;
 * true when that end carries messages. */
__noinline int full_end(const struct ended *call, int fd, u8 flags)
{
	struct object_at at;
	struct message m = { .argument = fd, .flags = flags };

	if (!call)
		return false;
	m.bytes = call->result;
	if (!object_find(&at, object_file_here(fd)) || !message_carries(&at))
		return false;
	message_emit(call, &at, &m);
	return true;
}

/* Both ends; the call is recorded as one when neither carries messages. */
static __always_inline int full_between(const struct ended *call, int in, int out, u8 in_flags, u64 bytes)
{
	u64 ends = (u32)in | (u64)(u32)out << 32;
	KEEP_APART(ends); /* in one register: stack is short */
	bool received = full_end(call, (int)ends, MESSAGE_FLAGS_receive | MESSAGE_FLAGS_part | in_flags);
	bool sent = full_end(call, (int)(ends >> 32), received ? 0 : MESSAGE_FLAGS_part);
	struct object_at at;

	if (sent && received)
		return 0;
	/* the other end's record, which is the call's own */
	object_find(&at, object_file_here(received ? (int)(ends >> 32) : (int)ends));
	return full_record(call, at.number, ends, bytes);
}

static __always_inline u8 full_flags(u64 user_flags)
{
	return (user_flags & MSG_PEEK_BIT ? MESSAGE_FLAGS_peek : 0) |
	       (user_flags & MSG_DONTWAIT_BIT ? MESSAGE_FLAGS_non_blocking : 0);
}

/* MESSAGE_FLAGS_ that a message's control data and flags tell, by its header's address. */
__noinline u32 full_control(u64 header, bool receives)
{
	struct {
		u64 bytes;
		u32 level, type;
	} control;
	struct {
		u64 control, bytes;
		u32 flags, pad;
	} tail;
	u8 flags = 0;

	if (bpf_probe_read_user(&tail, sizeof(tail), (void *)(header + __builtin_offsetof(struct user_message, control))))
		return 0;
	if (receives && tail.flags & MSG_CUT_BIT)
		flags |= MESSAGE_FLAGS_truncated;
	if (tail.control && tail.bytes >= sizeof(control) && !bpf_probe_read_user(&control, sizeof(control), (void *)tail.control) &&
	    control.level == SOL_SOCKET_NUMBER && control.type == SCM_RIGHTS_NUMBER)
		flags |= MESSAGE_FLAGS_descriptors;
	return flags;
}

/* Channel of the receiver that the header of a message that is sent names; 0 none. */
static __always_inline u64 full_receiver(const struct object_at *at, u64 header)
{
	struct {
		u64 name;
		u32 bytes, pad;
	} head;

	if (bpf_probe_read_user(&head, sizeof(head), (void *)header) || !head.name)
		return 0;
	return message_named(at, head.name, head.bytes);
}

/* One message by its header's address. */
__noinline int full_one_message(const struct ended *call, const struct object_at *at, struct message *m, u64 header)
{
	if (!call || !at || !m)
		return 0;
	if (call->result >= 0) {
		bool receives = m->flags & MESSAGE_FLAGS_receive;
		m->flags |= full_control(header, receives);
		if (!receives)
			m->channel = full_receiver(at, header);
	}
	return message_emit(call, at, m);
}

/* One datagram of several. */
static __always_inline int full_datagram(const struct ended *call, const struct object_at *at, struct message *m, u64 header)
{
	m->bytes = 0;
	m->channel = 0;
	bpf_probe_read_user(&m->bytes, sizeof(m->bytes), (void *)(header + __builtin_offsetof(struct user_messages, bytes)));
	return full_one_message(call, at, m, header);
}

/* sendmmsg and recvmmsg: a record for each datagram; those behind the last one
 * kept are counted in its `argument`. */
__noinline int full_messages(const struct ended *call, u8 flags)
{
	struct message m = { .argument = 1 };
	struct object_at at;

	if (!call || !object_find(&at, object_file_here(call->arguments[0])))
		return 0;
	u64 array = call->arguments[1];
	int count = call->result;
	flags |= full_flags(call->arguments[3]);
	m.flags = flags;
	if (count <= 0)
		return message_emit(call, &at, &m);
	for (int i = 0; i < DATAGRAMS_KEPT - 1; i++) {
		if (i >= count - 1)
			break;
		m.flags = flags | MESSAGE_FLAGS_part;
		full_datagram(call, &at, &m, array);
		array += sizeof(struct user_messages);
	}
	m.flags = flags;
	m.argument = count > DATAGRAMS_KEPT ? count - DATAGRAMS_KEPT + 1 : 1;
	return full_datagram(call, &at, &m, array);
}

/* The listening socket that a connect reached, as accepts have it for channel. */
static __always_inline u64 full_connect_channel(const struct object_at *at)
{
	struct object_addresses a;

	if (at->kind == OBJECT_KIND_tcp) {
		object_addresses(&a, at->sk, at->family);
		if (object_is_local(a.own, a.peer))
			return object_local_port(OBJECT_KIND_tcp, object_namespace(at->sk), a.peer_port);
		return object_remote_port(OBJECT_KIND_tcp, a.peer, a.peer_port);
	}
	struct unix_sock *peer = (struct unix_sock *)GET((struct unix_sock *)at->sk, peer);
	if (!peer || !bpf_core_field_exists(peer->listener))
		return 0;
	u64 listener = (u64)GET(peer, listener);
	return listener ? object_of_address(at->kind, listener) : 0;
}

__noinline int full_connection(const struct ended *call, int fd, bool accepts)
{
	struct object_at at, made;
	struct message m = { .argument = fd };

	if (!call)
		return 0;
	if (!object_find(&at, object_file_here(fd)) || !at.sk)
		return full_record(call, at.number, (u32)fd, 0);
	if (at.kind != OBJECT_KIND_tcp && at.kind != OBJECT_KIND_unix_stream && at.kind != OBJECT_KIND_unix_seqpacket)
		return full_record(call, at.number, (u32)fd, 0);
	if (accepts) {
		m.kind = MESSAGE_KIND_accept;
		m.flags = MESSAGE_FLAGS_receive;
		m.channel = object_listener(&at);
		if (call->result >= 0 && object_find(&made, object_file_here(call->result)))
			return message_emit(call, &made, &m);
	} else {
		m.kind = MESSAGE_KIND_connect;
		m.channel = call->result && call->result != ERROR_IN_PROGRESS ? 0 : full_connect_channel(&at);
	}
	return message_emit(call, &at, &m);
}

/* Calls that leave two descriptors in the program's memory: both are the first
 * argument, the second end's object is the second. */
__noinline int full_pair(const struct ended *call, u64 address)
{
	struct object_at first = { 0 }, second = { 0 };
	int fds[2] = { -1, -1 };

	if (!call)
		return 0;
	if (!call->result && !bpf_probe_read_user(fds, sizeof(fds), (void *)address)) {
		object_find(&first, object_file_here(fds[0]));
		object_find(&second, object_file_here(fds[1]));
	}
	return full_record(call, first.number, (u32)fds[0] | (u64)(u32)fds[1] << 32, second.number);
}

__noinline int full_queue_call(const struct ended *call, u8 class)
{
	struct object_at at;

	if (!call)
		return 0;
	int id = call->arguments[0];
	if (class == FULL_semaphore) {
		short operation[3] = { 0 };
		bpf_probe_read_user(operation, sizeof(operation), (void *)call->arguments[1]);
		return full_queue(call, object_of_ipc(OBJECT_KIND_semaphore, id), 0,
				  operation[1] > 0 ? 0 : MESSAGE_FLAGS_receive);
	}
	bool receives = class == FULL_queue_receive || class == FULL_mq_receive;
	long bytes = call->result < 0 ? 0 : receives ? call->result : (long)call->arguments[2];
	u8 flags = receives ? MESSAGE_FLAGS_receive : 0;
	if (call->result == ERROR_WOULD_BLOCK)
		flags |= MESSAGE_FLAGS_would_block;
	if (class == FULL_queue_send || class == FULL_queue_receive)
		return full_queue(call, object_of_ipc(OBJECT_KIND_queue, id), bytes, flags);
	object_find(&at, object_file_here(id));
	return full_queue(call, at.number, bytes, flags);
}

__noinline int full_two_ended(const struct ended *call, u8 class)
{
	if (!call)
		return 0;
	int first = call->arguments[0], second = call->arguments[1];
	switch (class) {
	case FULL_splice:
	case FULL_copy:
		return full_between(call, first, call->arguments[2], 0, call->arguments[4]);
	case FULL_tee:
		return full_between(call, first, second, MESSAGE_FLAGS_peek, call->arguments[2]);
	default:
		return full_between(call, second, first, 0, call->arguments[3]);
	}
}

/* A send or receive whose header or name in the program's memory matters. */
__noinline int full_named(const struct ended *call, u8 class)
{
	struct object_at at;
	struct message m = { 0 };

	if (!call)
		return 0;
	if (!object_find(&at, object_file_here(call->arguments[0])))
		return 0;
	m.bytes = call->result;
	m.argument = call->arguments[0];
	switch (class) {
	case FULL_sendto:
		m.flags = full_flags(call->arguments[3]);
		if (call->result >= 0 && call->arguments[4])
			m.channel = message_named(&at, call->arguments[4], call->arguments[5]);
		return message_emit(call, &at, &m);
	case FULL_sendmsg:
		m.flags = full_flags(call->arguments[2]);
		return full_one_message(call, &at, &m, call->arguments[1]);
	default:
		m.flags = MESSAGE_FLAGS_receive | full_flags(call->arguments[2]);
		return full_one_message(call, &at, &m, call->arguments[1]);
	}
}

/* Calls on one descriptor that may carry messages; true for those whose message
 * headers matter. */
__noinline int full_descriptor(struct ended *call, u8 class, u32 arguments)
{
	if (!call)
		return false;
	int fd = call->arguments[0];
	struct file *file = object_file_here(fd);
	struct cached *found = cache_find(file);
	struct message m = { .bytes = call->result, .argument = fd };

	call->ustack = full_stack(call, found && class != FULL_fd && message_kinds[found->kind & 31] ? STACKS_MESSAGES
												     : STACKS_SYSCALLS);
	if (!found)
		return full_write(call, 0, fd, full_argument(call, arguments >> 8));
	if (class == FULL_write && found->kind == OBJECT_KIND_file && call->result > 0)
		watched_change(file, found->number, WATCHED_MODIFY, call->tid, call->now, call->ustack);
	if (class == FULL_fd && found->kind == OBJECT_KIND_inotify)
		renamed_learn(file);
	if (class == FULL_fd || !message_kinds[found->kind & 31])
		return full_write(call, found->number, full_argument(call, arguments & 0xff),
				  full_argument(call, arguments >> 8));
	switch (class) {
	case FULL_write:
		/* may be set at any time, at the writer's end alone */
		if ((found->kind == OBJECT_KIND_pipe || found->kind == OBJECT_KIND_fifo) && GET(file, f_flags) & O_DIRECT_BIT)
			m.kind = MESSAGE_KIND_packet;
		break;
	case FULL_read:
		m.flags = MESSAGE_FLAGS_receive;
		if (found->kind == OBJECT_KIND_inotify)
			renamed_learn(file);
		break;
	case FULL_recvfrom:
		m.flags = MESSAGE_FLAGS_receive | full_flags(call->arguments[3]);
		break;
	case FULL_sendto:
		if (found->kind != OBJECT_KIND_tcp && call->arguments[4])
			return true;
		m.flags = full_flags(call->arguments[3]);
		break;
	case FULL_sendmsg:
	case FULL_recvmsg:
		/* what a TCP socket's message header says changes nothing */
		if (found->kind != OBJECT_KIND_tcp)
			return true;
		m.flags = full_flags(call->arguments[2]) | (class == FULL_recvmsg ? MESSAGE_FLAGS_receive : 0);
		break;
	default:
		return true;
	}
	m.channel = found->channels[m.flags & MESSAGE_FLAGS_receive ? OBJECT_RECEIVES : OBJECT_SENDS];
	message_write(call, found->number, found->kind, found->sk, found->peer, (GET(file, f_flags) & O_NONBLOCK_BIT) != 0, &m);
	return false;
}

/* When the timer that the call sets will fire, CLOCK_MONOTONIC; 0 it is
 * disarmed, 1 not known. */
static __always_inline u64 full_expiry(const struct ended *call, u8 class)
{
	u64 spec[4] = { 0 }, now = call->now - call->duration_ns, first = call->arguments[0];

	if (class == FULL_itimer && call->number == CALL_ALARM)
		return first ? now + first * 1000000000ull : 0;
	if (bpf_probe_read_user(spec, sizeof(spec), (void *)call->arguments[class == FULL_itimer ? 1 : 2]))
		return 1;
	if (class == FULL_itimer)
		return spec[2] || spec[3] ? now + spec[2] * 1000000000ull + spec[3] * 1000 : 0;
	u64 expiry = spec[2] * 1000000000ull + spec[3];
	if (!expiry)
		return 0;
	if (!(call->arguments[1] & 1))
		return now + expiry;
	/* absolute: far beyond the time since boot it is the wall clock's */
	u64 offset = config_realtime_offset();
	return offset && expiry > offset ? expiry - offset : expiry;
}

/* Calls that set timers: the call's own record, and the timer's. */
__noinline int full_timer(const struct ended *call, u8 class)
{
	struct object_at at = { 0 };
	struct ring *ring = ring_here();

	if (!call || !ring)
		return 0;
	u64 first = call->arguments[0], second = call->arguments[1], timer;
	if (class == FULL_timerfd)
		object_find(&at, object_file_here(first));
	full_record(call, at.number, first, second);
	/* only the real-time interval timer is a timer of its own */
	if (call->outside || call->result < 0 || (class == FULL_itimer && call->number != CALL_ALARM && first))
		return 0;
	if (class == FULL_timerfd)
		timer = at.context;
	else
		timer = (u64)(u32)bpf_get_current_pid_tgid() >> 32 << 32 | (class == FULL_itimer ? 0xffffffffu : (u32)first);
	u64 expiry = full_expiry(call, class);
	if (!expiry) {
		struct event_timer_cancel *cancel = ring_begin(ring, EVENT_timer_cancel, call->tid, call->now, sizeof(*cancel));
		if (!cancel)
			return 0;
		cancel->timer = timer;
		ring_end(ring);
		return 0;
	}
	struct event_timer_arm *e = ring_begin(ring, EVENT_timer_arm, call->tid, call->now, sizeof(*e));
	if (!e)
		return 0;
	e->timer = timer;
	e->function = 0;
	e->expires_ns = expiry;
	e->object = at.number;
	e->ustack = call->ustack;
	e->kind = class == FULL_timerfd ? TIMER_KIND_timerfd : class == FULL_timer ? TIMER_KIND_posix : TIMER_KIND_itimer;
	e->reserved0 = 0;
	e->reserved = 0;
	ring_end(ring);
	return 0;
}

/* Calls that change names, which those who watch folders learn. */
__noinline int full_names(const struct ended *call, u8 class, u64 from, u64 to)
{
	if (!call)
		return 0;
	if (!call->result && class == FULL_renames) {
		renamed_tell(from, RENAMED_FROM, call->now, call->tid, call->ustack);
		renamed_tell(to, RENAMED_TO, call->now, call->tid, call->ustack);
	} else if (!call->result) {
		renamed_tell(from ? from : to, class == FULL_makes ? RENAMED_MADE : RENAMED_REMOVED, call->now, call->tid, call->ustack);
	}
	return full_record(call, 0, from, to);
}

__noinline int full_special(const struct ended *call, u8 class, u32 arguments)
{
	struct object_at at = { 0 };

	if (!call)
		return 0;
	u64 arg0 = full_argument(call, arguments & 0xff), arg1 = full_argument(call, arguments >> 8);
	switch (class) {
	case FULL_fd4:
		object_find(&at, object_file_here(call->arguments[4]));
		break;
	case FULL_creates:
		if (call->result >= 0 && object_find(&at, object_file_here(call->result)) &&
		    at.kind == OBJECT_KIND_file && GET(at.file, f_mode) & FILE_CREATED)
			watched_change(at.file, at.number, WATCHED_CREATE, call->tid, call->now, call->ustack);
		break;
	case FULL_futex:
		at.number = call_futex(bpf_get_current_task_btf(), call->arguments[0]);
		break;
	}
	return full_record(call, at.number, arg0, arg1);
}

/* What is known of a call's number, which older kernels' verifiers want to see
 * limited where it is used. */
static __always_inline struct full_call full_info(u64 number)
{
	const struct full_call none = { 0 };

	if (number >= CALL_MAX)
		return none;
	KEEP_LIMITS(number);
	return full_calls[number & (CALL_MAX - 1)];
}

SEC("tp_btf/sys_exit")
int BPF_PROG(full_exit, struct pt_regs *registers, long result)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task_btf();
	if (config_is_own(task->tgid))
		return 0;
	u32 tid = task->pid;
	const struct slot *slot = &slots[tid & (SLOTS - 1)];
	/* the registers of sigreturn are the interrupted code's again */
	u64 number = slot->tid == tid ? slot->number : registers->orig_ax;
	bool outside = !filter_passes(task);
	struct full_call info = full_info(number);
	if (outside && !full_reaches_others(info.class))
		return 0;
	struct ended call = {
		.arguments = { registers->di, registers->si, registers->dx, registers->r10, registers->r8, registers->r9 },
		.outside = outside,
		.now = bpf_ktime_get_ns(), .result = result, .tid = tid, .number = SYSCALL_NONE,
	};
	/* its fields are read from there, not kept a second time: stack is short */
	__asm__ volatile("" : : "r"(&call) : "memory");
	if (slot->tid == tid)
		call.duration_ns = call.now - slot->start_ns;
	if (call_is_32bit(task))
		info.listed = 0;
	else if (number < CALL_MAX)
		call.number = number;
	if (config.names && !outside && result <= 0 && result >= ERROR_LEAST && call.number < CALL_MAX) {
		u32 path = full_paths[call.number & (CALL_MAX - 1)];
		if ((path || call.number == CALL_CONNECT) && (result || path & NAMES_LOOKS))
			full_name(&call, path & (NAMES_LOOKS - 1));
	}
	if (!info.listed) {
		call.ustack = full_stack(&call, STACKS_SYSCALLS);
		return full_record(&call, 0, call.arguments[0], call.arguments[1]);
	}
	if (info.class == FULL_fd || (info.class >= FULL_read && info.class <= FULL_recvmmsg)) {
		if (!full_descriptor(&call, info.class, info.first | info.second << 8))
			return 0;
		if (info.class == FULL_sendmmsg || info.class == FULL_recvmmsg)
			return full_messages(&call, info.class == FULL_recvmmsg ? MESSAGE_FLAGS_receive : 0);
		return full_named(&call, info.class);
	}
	call.ustack = full_stack(&call, info.class >= FULL_accept && info.class <= FULL_semaphore ? STACKS_MESSAGES : STACKS_SYSCALLS);
	if (info.class >= FULL_splice && info.class <= FULL_copy && info.class != FULL_vmsplice)
		return full_two_ended(&call, info.class);
	if (info.class == FULL_accept || info.class == FULL_connect)
		return full_connection(&call, call.arguments[0], info.class == FULL_accept);
	if (info.class >= FULL_queue_send && info.class <= FULL_semaphore)
		return full_queue_call(&call, info.class);
	if (info.class == FULL_vmsplice && full_end(&call, call.arguments[0], 0))
		return 0;
	/* from here: chains through full_special() would have too much stack for older kernels */
	if (info.class >= FULL_timer && info.class <= FULL_itimer)
		return full_timer(&call, info.class);
	if (info.class == FULL_pipe || info.class == FULL_socketpair)
		return full_pair(&call, call.arguments[info.class == FULL_pipe ? 0 : 3]);
	if (info.class >= FULL_renames)
		return full_names(&call, info.class, full_argument(&call, info.first), full_argument(&call, info.second));
	return full_special(&call, info.class, info.first | info.second << 8);
}
