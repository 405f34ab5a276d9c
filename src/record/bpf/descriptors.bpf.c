/* The state found: every open descriptor with its object, channels and queue,
 * what epoll sets and inotify groups watch, and who waits for a file system in user space. Read as a file: each read()
 * walks on, so a walk over many processes holds up nobody. */
#include "record/bpf/object.bpf.h"
#include "record/bpf/queue.bpf.h"
#include "record/bpf/state.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

u32 state_only;     /* process to look at; 0 all */
u32 state_skip;     /* Argus's own process */
u32 state_details;  /* also epoll sets and watches */

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct state_descriptor);
} scratch SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct state_watch);
} watch_room SEC(".maps");

static u32 state_room; /* left of that */

static __always_inline bool state_write(struct seq_file *seq, void *record, u32 bytes)
{
	if (state_room < bytes)
		return false;
	state_room -= bytes;
	bpf_seq_write(seq, record, bytes);
	return true;
}

#define WATCH_NAMES_AT __builtin_offsetof(struct state_watch, names)
#define QUEUE_READS 3
#define DESCRIPTOR_TEXT_AT __builtin_offsetof(struct state_descriptor, text)

static __always_inline void state_addresses(struct state_descriptor *out, const struct object_at *at)
{
	if (at->family == FAMILY_INET || at->family == FAMILY_INET6) {
		struct object_addresses a;
		object_addresses(&a, at->sk, at->family);
		__builtin_memcpy(out->own, a.own, sizeof(out->own));
		__builtin_memcpy(out->peer, a.peer, sizeof(out->peer));
		out->own_port = a.own_port;
		out->peer_port = a.peer_port;
	} else if (at->family == FAMILY_UNIX) {
		struct unix_sock *sk = (struct unix_sock *)at->sk;
		struct unix_address *address = GET(sk, addr);
		if (!address) {
			struct unix_sock *peer = (struct unix_sock *)GET(sk, peer);
			address = peer ? GET(peer, addr) : NULL;
			out->text_is_peer = 1;
		}
		/* the length counts the family's two bytes */
		u32 length = address ? GET(address, len) - 2 : 0;
		if (!address || length > 108)
			return;
		bpf_probe_read_kernel(out->text, length, &address->name[0].sun_path);
		out->text_bytes = length;
	}
}

static __always_inline bool state_has_path(u8 kind)
{
	return kind == OBJECT_KIND_file || kind == OBJECT_KIND_directory || kind == OBJECT_KIND_fifo ||
	       kind == OBJECT_KIND_tty || kind == OBJECT_KIND_device || kind == OBJECT_KIND_queue;
}

struct state_walk {
	struct seq_file *seq;
	struct rb_node *node;
	struct list_head *mark, *marks_end;
	u64 set;
	u32 pid;
	u8 from;            /* of the node's: 0 parent, 1 left child, 2 right child */
	bool has_numbers;   /* watch descriptors */
};

/* One step through the tree of an epoll set. */
static long state_poll_step(u64 index, struct state_walk *walk)
{
	struct rb_node *node = walk->node;
	if (!node)
		return 1;
	if (walk->from == 0) {
		struct epitem *item = (struct epitem *)((u64)node - bpf_core_field_offset(struct epitem, rbn));
		struct state_poll_item out = {
			.head = { sizeof(out), STATE_RECORD_POLL_ITEM, walk->pid },
			.item = { .set = walk->set, .fd = GET(item, ffd.fd), .events = GET(item, event.events) },
		};
		struct object_at at;
		if (object_find(&at, GET(item, ffd.file)))
			out.item.object = at.number;
		if (!state_write(walk->seq, &out, sizeof(out)))
			return 1;
		struct rb_node *left = GET(node, rb_left);
		if (left) {
			walk->node = left;
			return 0;
		}
	}
	if (walk->from < 2) {
		struct rb_node *right = GET(node, rb_right);
		if (right) {
			walk->node = right;
			walk->from = 0;
			return 0;
		}
	}
	struct rb_node *parent = (struct rb_node *)(GET(node, __rb_parent_color) & ~3ull);
	walk->from = parent && (u64)GET(parent, rb_left) == (u64)node ? 1 : 2;
	walk->node = parent;
	return 0;
}

/* The names on the way from the file to its file system's root: where those are mounted is not known here. Not static: the
 * verifier follows its loop once. */
__noinline int state_names(struct state_watch *out, u64 inode)
{
	if (!out)
		return 0;
	out->names_bytes = out->whole = 0;
	if (!bpf_core_field_exists(((struct inode *)0)->i_dentry) || !bpf_core_field_exists(((struct dentry *)0)->d_u.d_alias))
		return 0;
	u64 alias = kernel_word((void *)(inode + bpf_core_field_offset(struct inode, i_dentry)));
	u64 at = alias ? alias - bpf_core_field_offset(struct dentry, d_u.d_alias) : 0;
	u32 bytes = 0;
	for (int i = 0; i < STATE_NAMES; i++) {
		struct dentry *dentry = (struct dentry *)at;
		u64 parent = at ? (u64)GET(dentry, d_parent) : 0;
		if (!parent || parent == at) {
			out->whole = parent != 0;
			break;
		}
		if (bytes >= STATE_TEXT_BYTES)
			break;
		KEEP_LIMITS(bytes);
		long length = bpf_probe_read_kernel_str(out->names + (bytes & (STATE_TEXT_BYTES - 1)), STATE_NAME_BYTES, GET(dentry, d_name.name));
		if (length <= 1 || length == STATE_NAME_BYTES)
			break;
		bytes += length;
		at = parent;
	}
	out->names_bytes = bytes;
	return 0;
}

static long state_watch_step(u64 index, struct state_walk *walk)
{
	struct list_head *at = walk->mark;
	if (!at || (u64)at == (u64)walk->marks_end)
		return 1;
	struct fsnotify_mark *mark = (struct fsnotify_mark *)((u64)at - bpf_core_field_offset(struct fsnotify_mark, g_list));
	struct fsnotify_mark_connector *connector = GET(mark, connector);
	walk->mark = GET(at, next);
	if (!connector)
		return 0;
	u64 object = (u64)GET(connector, obj);
	/* before 6.10 the connector held the address of the inode's member, which points back to it */
	if (object && kernel_word((void *)object) == (u64)connector)
		object -= bpf_core_field_offset(struct inode, i_fsnotify_marks);
	/* the first kind of object is an inode; before 5.x numbered from 1 */
	if (!object || GET(connector, type) != bpf_core_enum_value(enum fsnotify_obj_type, FSNOTIFY_OBJ_TYPE_INODE))
		return 0;
	struct inode *inode = (struct inode *)object;
	struct super_block *super = GET(inode, i_sb);
	bool directory = (GET(inode, i_mode) & S_IFMT_BITS) == S_IFDIR_BITS;
	u32 zero = 0, device = super ? GET(super, s_dev) : 0;
	struct state_watch *out = bpf_map_lookup_elem(&watch_room, &zero);
	if (!out)
		return 1;
	out->watch = (struct event_watch){
		.watcher = walk->set,
		.object = object_of_inode(directory ? OBJECT_KIND_directory : OBJECT_KIND_file, device, GET(inode, i_ino)),
		.mask = GET(mark, mask),
		.descriptor = walk->has_numbers ? GET((struct inotify_inode_mark *)mark, wd) : 0,
	};
	out->device = device;
	state_names(out, object);
	u32 names = (out->names_bytes + 7u) & ~7u;
	if (names > sizeof(out->names))
		names = sizeof(out->names);
	out->head = (struct state_record){ WATCH_NAMES_AT + names, STATE_RECORD_WATCH, walk->pid };
	return !state_write(walk->seq, out, WATCH_NAMES_AT + names);
}

#define FUSE_HASH_SIZE 256 /* lists of requests that the server has taken */

struct state_fuse_walk {
	struct seq_file *seq;
	u64 list, at;       /* the list's head; the next one in it */
	u64 taken;          /* the array of lists; the first of them to come */
	u32 lists, connection;
};

/* One step through the requests that have not been taken, then through those that have. */
static long state_fuse_step(u64 index, struct state_fuse_walk *walk)
{
	if (!walk->at || walk->at == walk->list) {
		if (!walk->taken || walk->lists++ == FUSE_HASH_SIZE)
			return 1;
		walk->list = walk->taken;
		walk->at = kernel_word((void *)walk->list);
		walk->taken += 2 * sizeof(void *);
		return 0;
	}
	struct fuse_req *request = (struct fuse_req *)(walk->at - bpf_core_field_offset(struct fuse_req, list));
	struct list_head *queue = (struct list_head *)((u64)request + bpf_core_field_offset(struct fuse_req, waitq.head));
	u64 waits = kernel_word(queue);
	walk->at = kernel_word((void *)walk->at);
	if (!waits || waits == (u64)queue)
		return 0; /* nobody waits for it */
	struct wait_queue_entry *entry = (struct wait_queue_entry *)(waits - bpf_core_field_offset(struct wait_queue_entry, entry));
	struct task_struct *task = GET(entry, private);
	struct state_fuse_asked out = {
		.head = { sizeof(out), STATE_RECORD_FUSE_ASKED, task ? GET(task, pid) : 0 },
		.asked = { .unique = GET_MODULE(request, in.h.unique), .connection = walk->connection, .opcode = GET_MODULE(request, in.h.opcode) },
	};
	return !state_write(walk->seq, &out, sizeof(out));
}

/* Who waits for this file system in user space. */
static __always_inline void state_walk_fuse(struct seq_file *seq, struct file *file)
{
	if (!bpf_core_type_exists(struct fuse_req) || !bpf_core_field_exists(((struct fuse_dev *)0)->pq.processing))
		return;
	struct fuse_dev *device = (struct fuse_dev *)((u64)GET(file, private_data) & ~7ull);
	struct fuse_conn *connection = device ? GET_MODULE(device, fc) : NULL;
	if (!connection)
		return;
	u64 pending = (u64)connection + bpf_core_field_offset(struct fuse_conn, iq.pending);
	struct state_fuse_walk walk = { .seq = seq, .list = pending, .at = kernel_word((void *)pending),
					.taken = (u64)GET_MODULE(device, pq.processing), .connection = GET_MODULE(connection, dev) };
	bpf_loop(FUSE_HASH_SIZE + STATE_SET_ITEMS, state_fuse_step, &walk, 0);
}

struct fanotify_group_private_data {
	struct wait_queue_head access_waitq;
} __attribute__((preserve_access_index));

struct fsnotify_group___held {
	struct fanotify_group_private_data fanotify_data;
} __attribute__((preserve_access_index));

struct userfaultfd_ctx {
	struct wait_queue_head fault_pending_wqh, fault_wqh;
} __attribute__((preserve_access_index));

struct state_held_walk {
	struct seq_file *seq;
	u64 object, at, end;
};

static long state_held_step(u64 index, struct state_held_walk *walk)
{
	if (!walk->at || walk->at == walk->end)
		return 1;
	struct wait_queue_entry *entry = (struct wait_queue_entry *)(walk->at - bpf_core_field_offset(struct wait_queue_entry, entry));
	struct task_struct *task = GET(entry, private);
	struct state_call_held out = {
		.head = { sizeof(out), STATE_RECORD_CALL_HELD, task ? GET(task, pid) : 0 }, .held = { .object = walk->object },
	};
	walk->at = kernel_word((void *)walk->at);
	return !state_write(walk->seq, &out, sizeof(out));
}

/* Who waits in that queue for who has the object open. */
static __always_inline void state_walk_held(struct seq_file *seq, u64 object, u64 queue)
{
	u64 list = queue + bpf_core_field_offset(struct wait_queue_head, head);
	struct state_held_walk walk = { .seq = seq, .object = object, .at = kernel_word((void *)list), .end = list };
	bpf_loop(STATE_SET_ITEMS, state_held_step, &walk, 0);
}

static __always_inline void state_walk_faults(struct seq_file *seq, struct object_at *at)
{
	if (!bpf_core_field_exists(((struct userfaultfd_ctx *)0)->fault_wqh))
		return;
	state_walk_held(seq, at->number, at->context + bpf_core_field_offset(struct userfaultfd_ctx, fault_pending_wqh));
	state_walk_held(seq, at->number, at->context + bpf_core_field_offset(struct userfaultfd_ctx, fault_wqh));
}

/* Of an io_uring, as far as it is read. */
struct io_hash_bucket {
	struct hlist_head list;
} __attribute__((preserve_access_index));

struct io_hash_table {
	struct io_hash_bucket *hbs;
	unsigned int hash_bits;
} __attribute__((preserve_access_index));

struct io_ring_ctx {
	struct io_hash_table cancel_table;
	struct io_hash_table cancel_table_locked; /* up to 6.13, of requests that began under the ring's lock */
} __attribute__((preserve_access_index));

struct io_kiocb {
	struct file *file;
	u32 apoll_events;
	struct hlist_node hash_node;
} __attribute__((preserve_access_index));

#define URING_HASH_BITS_MOST 8
#define URING_EVENTS 0x7ffu /* of what poll tells: the rest says how it is waited for */

struct state_uring_walk {
	struct seq_file *seq;
	u64 set, bucket, node;
	u32 buckets, pid;
};

/* One step through the requests that wait until their file has something, or room. */
static long state_uring_step(u64 index, struct state_uring_walk *walk)
{
	if (!walk->node) {
		if (!walk->buckets)
			return 1;
		walk->buckets--;
		walk->node = (u64)GET((struct io_hash_bucket *)walk->bucket, list.first);
		walk->bucket += bpf_core_type_size(struct io_hash_bucket);
		return 0;
	}
	struct io_kiocb *request = (struct io_kiocb *)(walk->node - bpf_core_field_offset(struct io_kiocb, hash_node));
	struct state_poll_item out = {
		.head = { sizeof(out), STATE_RECORD_POLL_ITEM, walk->pid },
		.item = { .set = walk->set, .fd = ~0u, .events = GET(request, apoll_events) & URING_EVENTS },
	};
	struct object_at at;
	walk->node = (u64)GET((struct hlist_node *)walk->node, next);
	if (object_find(&at, GET(request, file)))
		out.item.object = at.number;
	return !state_write(walk->seq, &out, sizeof(out));
}

static __always_inline void state_walk_requests(struct state_uring_walk *walk, u64 table, u32 bits)
{
	if (!table || bits > URING_HASH_BITS_MOST)
		return;
	walk->bucket = table;
	walk->buckets = 1u << bits;
	walk->node = 0;
	bpf_loop((1 << URING_HASH_BITS_MOST) + STATE_SET_ITEMS, state_uring_step, walk, 0);
}

static __always_inline void state_walk_uring(struct seq_file *seq, struct object_at *at, u32 pid)
{
	if (!bpf_core_field_exists(((struct io_ring_ctx *)0)->cancel_table) || !bpf_core_field_exists(((struct io_kiocb *)0)->hash_node) ||
	    !bpf_core_field_exists(((struct io_kiocb *)0)->apoll_events))
		return;
	struct io_ring_ctx *ring = (struct io_ring_ctx *)at->context;
	struct state_uring_walk walk = { .seq = seq, .set = at->number, .pid = pid };
	state_walk_requests(&walk, (u64)GET(ring, cancel_table.hbs), GET(ring, cancel_table.hash_bits));
	if (bpf_core_field_exists(ring->cancel_table_locked))
		state_walk_requests(&walk, (u64)GET(ring, cancel_table_locked.hbs), GET(ring, cancel_table_locked.hash_bits));
}

static __always_inline void state_walk_set(struct seq_file *seq, struct object_at *at, u32 pid, u32 queued)
{
	struct state_walk walk = { .seq = seq, .set = at->number, .pid = pid };
	if (at->kind == OBJECT_KIND_epoll) {
		walk.node = GET((struct eventpoll *)at->context, rbr.rb_root.rb_node);
		/* each node is passed up to three times */
		bpf_loop(3 * STATE_SET_ITEMS, state_poll_step, &walk, 0);
	} else if (at->kind == OBJECT_KIND_inotify) {
		struct fsnotify_group *group = (struct fsnotify_group *)at->context;
		walk.mark = GET(group, marks_list.next);
		walk.marks_end = &group->marks_list;
		walk.has_numbers = object_name_word(at->file) == NAME_INOTIFY;
		bpf_loop(STATE_SET_ITEMS, state_watch_step, &walk, 0);
		if (!walk.has_numbers && bpf_core_field_exists(((struct fsnotify_group___held *)0)->fanotify_data.access_waitq))
			state_walk_held(seq, at->number, at->context + bpf_core_field_offset(struct fsnotify_group___held, fanotify_data.access_waitq));
	} else if (at->kind == OBJECT_KIND_userfaultfd) {
		state_walk_faults(seq, at);
	} else if (at->kind == OBJECT_KIND_uring) {
		state_walk_uring(seq, at, pid);
	} else if (at->kind == OBJECT_KIND_fuse && queued) {
		state_walk_fuse(seq, at->file);
	}
}

/* What is queued at a moment that is told: others go on sending and receiving, so it
 * is read before and after the clock. */
static __always_inline void state_queues(struct event_descriptor *to, struct object_at *at)
{
	for (int i = 0; i < QUEUE_READS; i++) {
		to->queued = queue_unread(at);
		to->read_ns = bpf_ktime_get_ns();
		if (queue_unread(at) == to->queued)
			break;
	}
	to->unsent = queue_unsent(at);
}

/* The process whose end a pidfd tells: since Linux 6.9 a pidfd's inode has it. */
static __always_inline u32 state_awaited(struct file *file)
{
	struct inode *inode = GET(file, f_inode);
	struct super_block *super = inode ? GET(inode, i_sb) : NULL;
	bool of_inode = super && GET(super, s_magic) == MAGIC_PIDFS;
	struct pid *pid = of_inode ? (struct pid *)GET(inode, i_private) : (struct pid *)GET(file, private_data);
	return pid ? GET(pid, numbers[0].nr) : 0;
}

/* What the object tells. Its ways are many: as a global function the verifier follows
 * them once, and not each of them through all that comes behind. */
__noinline int state_fill(struct state_descriptor *out, struct object_at *at)
{
	if (!out || !at)
		return 0;
	out->descriptor.object = at->number;
	out->descriptor.channel_in = object_channel(at, OBJECT_RECEIVES);
	out->descriptor.channel_out = object_channel(at, OBJECT_SENDS);
	out->descriptor.peer = at->kind == OBJECT_KIND_pidfd ? state_awaited(at->file) : object_peer(at);
	state_queues(&out->descriptor, at);
	out->descriptor.kind = at->kind;
	out->descriptor.state = at->state;
	out->family = at->family;
	out->text_bytes = 0;
	out->text_is_peer = 0;
	if (at->sk)
		state_addresses(out, at);
	return 0;
}

SEC("iter/task_file")
int state_descriptors(struct bpf_iter__task_file *ctx)
{
	struct task_struct *task = ctx->task;
	struct file *file = ctx->file;
	if (!task || !file)
		return 0;
	u32 pid = task->tgid, zero = 0;
	if (pid == state_skip || (state_only && pid != state_only))
		return 0;
	struct state_descriptor *out = bpf_map_lookup_elem(&scratch, &zero);
	struct object_at at;
	if (!out || !object_find(&at, file))
		return 0;
	out->descriptor.fd = ctx->fd;
	out->descriptor.access = file->f_mode & 3;
	state_fill(out, &at);
	out->descriptor.spoke_ns = 0;
	if (queue_spoke_last(&at)) {
		out->descriptor.access |= DESCRIPTOR_SPOKE_LAST;
		out->descriptor.spoke_ns = GET((struct tcp_sock *)at.sk, tcp_mstamp) * 1000;
	} else if (at.kind == OBJECT_KIND_tcp && at.sk && at.state == SOCKET_CONNECTS) {
		out->descriptor.spoke_ns = queue_connects_since((struct tcp_sock *)at.sk);
	}
	if (!at.sk && state_has_path(at.kind)) {
		long length = bpf_d_path(&file->f_path, out->text, sizeof(out->text));
		if (length > 0)
			out->text_bytes = length - 1;
	}
	u32 text = (out->text_bytes + 7u) & ~7u;
	if (text > STATE_TEXT_BYTES)
		text = STATE_TEXT_BYTES;
	out->head.type = STATE_RECORD_DESCRIPTOR;
	out->head.pid = pid;
	out->head.size = DESCRIPTOR_TEXT_AT + text;
	state_room = STATE_SHOWN_BYTES;
	state_write(ctx->meta->seq, out, DESCRIPTOR_TEXT_AT + text);
	if (state_details)
		state_walk_set(ctx->meta->seq, &at, pid, out->descriptor.queued);
	return 0;
}

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
} __attribute__((preserve_access_index));

#define TASK_UNINTERRUPTIBLE_BIT 2u
#define TASK_NOLOAD_BIT 0x400u

/* Threads in an uninterruptible sleep, but for kernel threads that idle so. */
SEC("iter/task")
int state_blocked(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	if (!task || !(task->__state & TASK_UNINTERRUPTIBLE_BIT) || task->__state & TASK_NOLOAD_BIT)
		return 0;
	struct state_sleeper out = {
		.head = { sizeof(out), STATE_RECORD_BLOCKED, task->tgid },
		.tid = task->pid,
		.switches = task->nvcsw + task->nivcsw,
	};
	__builtin_memcpy(out.comm, task->comm, sizeof(out.comm));
	bpf_seq_write(ctx->meta->seq, &out, sizeof(out));
	return 0;
}
