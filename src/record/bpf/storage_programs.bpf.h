/* What threads wait for below the system call: block I/O, file locks, the
 * kernel's own sleeping locks, user-space file systems. */
#ifndef RECORD_BPF_STORAGE_PROGRAMS_BPF_H
#define RECORD_BPF_STORAGE_PROGRAMS_BPF_H

#include "record/bpf/context.bpf.h"
#include "record/bpf/file_lock.bpf.h"
#include "record/bpf/stack.bpf.h"
#include "record/bpf/contended.bpf.h"
#include "record/bpf/wait.bpf.h"

/* How long after a completion began its wake-ups are put down to it. */
#define BLOCK_WAKES_NS 100000

/* include/trace/events/lock.h */
#define CONTENTION_SPIN 1u

#define REQUEST_OPERATION 0xffu

struct gendisk {
	int major, first_minor;
} __attribute__((preserve_access_index));

struct request_queue {
	struct gendisk *disk;
} __attribute__((preserve_access_index));

struct request {
	struct request_queue *q;
	unsigned int cmd_flags;
	unsigned int __data_len;
	u64 __sector;
} __attribute__((preserve_access_index));

/* before 5.17 */
struct request___old {
	struct gendisk *rq_disk;
} __attribute__((preserve_access_index));

static __always_inline u32 request_device(struct request *request)
{
	struct request___old *old = (void *)request;
	struct gendisk *disk = NULL;

	if (bpf_core_field_exists(old->rq_disk)) {
		disk = GET(old, rq_disk);
	} else {
		struct request_queue *queue = GET(request, q);
		if (queue && bpf_core_field_exists(queue->disk))
			disk = GET(queue, disk);
	}
	return disk ? GET(disk, major) << 20 | GET(disk, first_minor) : 0;
}

SEC("tp_btf/block_rq_issue")
int on_block_issue(u64 *context)
{
	/* until 5.10 the queue came first */
	struct request *request = (void *)context[0];
	struct task_struct *current = bpf_get_current_task_btf();
	struct ring *ring = ring_here();
	if (!ring)
		return 0;
	u64 now = bpf_ktime_get_ns();
	u32 stack = stack_taken(ring, GET(current, pid), STACKS_WAITS);
	struct event_block_issue *e = ring_begin(ring, EVENT_block_issue, GET(current, pid), now, sizeof(*e));
	if (!e)
		return 0;
	e->request = (u64)request;
	e->sector = GET(request, __sector);
	e->device = request_device(request);
	e->bytes = GET(request, __data_len);
	e->operation = GET(request, cmd_flags) & REQUEST_OPERATION;
	e->ustack = stack;
	ring_end(ring);
	return 0;
}

/* block/blk-core.c: from blk_status_t */
static __always_inline int status_errno(u8 status)
{
	switch (status) {
	case 0:
		return 0;
	case 1:
		return -95;
	case 2:
		return -110;
	case 3:
		return -28;
	case 4:
		return -67;
	case 5:
		return -121;
	case 6:
		return -52;
	case 7:
		return -61;
	case 8:
		return -84;
	case 9:
		return -12;
	}
	return -5;
}

SEC("tp_btf/block_rq_complete")
int on_block_complete(u64 *context)
{
	struct request *request = (void *)context[0];
	struct task_struct *current = bpf_get_current_task_btf();
	struct ring *ring = ring_here();
	if (!ring)
		return 0;
	u64 now = bpf_ktime_get_ns();
	ring->block_request = (u64)request;
	ring->block_until_ns = now + BLOCK_WAKES_NS;
	struct event_block_complete *e = ring_begin(ring, EVENT_block_complete, GET(current, pid), now, sizeof(*e));
	if (!e)
		return 0;
	e->request = (u64)request;
	e->sector = GET(request, __sector);
	e->device = request_device(request);
	e->bytes = context[2];
	e->error = status_errno(context[1]);
	e->reserved = 0;
	ring_end(ring);
	return 0;
}

static __always_inline int file_lock_event(u64 *context, bool flock)
{
	struct inode *inode = (void *)context[0];
	void *lock = (void *)context[1];
	int result = context[2];
	struct task_struct *current = bpf_get_current_task_btf();
	struct ring *ring = ring_here();
	if (!ring || !lock || !inode)
		return 0;
	struct super_block *super = GET(inode, i_sb);
	u32 flags = file_lock_flags(lock), type = file_lock_type(lock), blocker = 0;
	u64 start = file_lock_start(lock), end = file_lock_end(lock);
	if (result == FILE_LOCK_REFUSED || result == FILE_LOCK_DEFERRED)
		blocker = file_lock_holder(inode, flock, file_lock_owner(lock), type, start, end);
	u64 now = bpf_ktime_get_ns();
	struct event_file_lock *e = ring_begin(ring, EVENT_file_lock, GET(current, pid), now, sizeof(*e));
	if (!e)
		return 0;
	e->object = object_of_inode(OBJECT_KIND_file, super ? GET(super, s_dev) : 0, GET(inode, i_ino));
	e->start = start;
	e->end = end;
	e->owner = file_lock_pid(lock);
	e->result = result;
	e->type = type;
	e->family = flags & FILE_LOCK_DESCRIPTION ? LOCK_FAMILY_description :
		    flags & FILE_LOCK_LEASE ? LOCK_FAMILY_lease : flock ? LOCK_FAMILY_flock : LOCK_FAMILY_posix;
	e->flags = !!(flags & FILE_LOCK_SLEEP);
	e->reserved = 0;
	e->blocker = blocker;
	e->generation = GET(inode, i_generation);
	e->reserved0 = 0;
	ring_end(ring);
	return 0;
}

SEC("tp_btf/posix_lock_inode")
int on_posix_lock(u64 *context)
{
	return file_lock_event(context, false);
}

SEC("tp_btf/flock_lock_inode")
int on_flock(u64 *context)
{
	return file_lock_event(context, true);
}

SEC("tp_btf/contention_begin")
int on_contention(u64 *context)
{
	u64 lock = context[0];
	u32 flags = context[1];
	struct task_struct *current;
	struct ring *ring;
	u32 tid;

	if (flags & CONTENTION_SPIN)
		return 0;
	current = bpf_get_current_task_btf();
	tid = GET(current, pid);
	ring = ring_here();
	if (!ring || !tid || config_is_own(GET(current, tgid)))
		return 0;
	u64 blocker = lock | wait_blocker_kind(flags);
	if (bpf_map_update_elem(&contended, &tid, &blocker, BPF_ANY))
		return 0;
	u64 now = bpf_ktime_get_ns();
	u32 stack = stack_kernel(context, STACKS_WAITS);
	struct event_lock_wait *e = ring_begin(ring, EVENT_lock_wait, tid, now, sizeof(*e));
	if (!e)
		return 0;
	e->lock = lock;
	e->owner = wait_lock_owner(lock, flags);
	e->flags = flags;
	e->kstack = stack;
	e->reserved = 0;
	ring_end(ring);
	return 0;
}

SEC("tp_btf/contention_end")
int on_contention_end(u64 *context)
{
	struct task_struct *current = bpf_get_current_task_btf();
	u32 tid = GET(current, pid);
	u64 lock = context[0], *waited = bpf_map_lookup_elem(&contended, &tid);
	struct ring *ring;

	if (!waited || (*waited & ~BLOCKER_BITS) != lock)
		return 0;
	bpf_map_delete_elem(&contended, &tid);
	ring = ring_here();
	if (!ring)
		return 0;
	u64 now = bpf_ktime_get_ns();
	struct event_lock_got *e = ring_begin(ring, EVENT_lock_got, tid, now, sizeof(*e));
	if (!e)
		return 0;
	e->lock = lock;
	e->result = context[1];
	e->reserved = 0;
	ring_end(ring);
	return 0;
}

static __always_inline u32 fuse_connection(struct fuse_req *request)
{
	struct fuse_mount *mount = GET_MODULE(request, fm);
	struct fuse_conn *connection = mount ? GET_MODULE(mount, fc) : NULL;
	return connection ? GET_MODULE(connection, dev) : 0;
}

SEC("tp_btf/fuse_request_send")
int on_fuse_send(u64 *context)
{
	struct fuse_req *request = (void *)context[0];
	struct task_struct *current = bpf_get_current_task_btf();
	struct ring *ring = ring_here();
	if (!ring || !request)
		return 0;
	u64 now = bpf_ktime_get_ns();
	u32 stack = stack_taken(ring, GET(current, pid), STACKS_WAITS);
	struct event_fuse_send *e = ring_begin(ring, EVENT_fuse_send, GET(current, pid), now, sizeof(*e));
	if (!e)
		return 0;
	e->unique = GET_MODULE(request, in.h.unique);
	e->connection = fuse_connection(request);
	e->opcode = GET_MODULE(request, in.h.opcode);
	e->bytes = GET_MODULE(request, in.h.len);
	e->ustack = stack;
	ring_end(ring);
	return 0;
}

SEC("tp_btf/fuse_request_end")
int on_fuse_end(u64 *context)
{
	struct fuse_req *request = (void *)context[0];
	struct task_struct *current = bpf_get_current_task_btf();
	struct ring *ring = ring_here();
	if (!ring || !request)
		return 0;
	u64 now = bpf_ktime_get_ns();
	struct event_fuse_end *e = ring_begin(ring, EVENT_fuse_end, GET(current, pid), now, sizeof(*e));
	if (!e)
		return 0;
	e->unique = GET_MODULE(request, in.h.unique);
	e->connection = fuse_connection(request);
	e->error = GET_MODULE(request, out.h.error);
	ring_end(ring);
	return 0;
}

#endif
