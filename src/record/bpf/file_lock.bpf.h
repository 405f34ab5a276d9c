/* File locks as the kernel keeps them, in the form since 6.9 (file_lock_core)
 * and before; and who holds one that is in the way. */
#ifndef RECORD_BPF_FILE_LOCK_BPF_H
#define RECORD_BPF_FILE_LOCK_BPF_H

#include "record/bpf/kernel.h"

/* include/linux/filelock.h */
#define FILE_LOCK_LEASE 32u
#define FILE_LOCK_SLEEP 128u
#define FILE_LOCK_DESCRIPTION 1024u
#define FILE_LOCK_DEFERRED 1
#define FILE_LOCK_REFUSED (-11)
#define FILE_LOCK_WRITE 1u

#define FILE_LOCKS_WALKED 32

struct file_lock___old {
	struct list_head fl_list;
	void *fl_owner;
	unsigned int fl_flags;
	unsigned char fl_type;
	unsigned int fl_pid;
} __attribute__((preserve_access_index));

#define FILE_LOCK_SPLIT bpf_core_type_exists(struct file_lock_core)
#define FILE_LOCK_GET(lock, member) \
	(FILE_LOCK_SPLIT ? GET((struct file_lock *)(lock), c.flc_##member) : GET((struct file_lock___old *)(lock), fl_##member))

static __always_inline u32 file_lock_flags(void *lock)
{
	return FILE_LOCK_GET(lock, flags);
}

static __always_inline u8 file_lock_type(void *lock)
{
	return FILE_LOCK_GET(lock, type);
}

static __always_inline int file_lock_pid(void *lock)
{
	return FILE_LOCK_GET(lock, pid);
}

static __always_inline u64 file_lock_owner(void *lock)
{
	return (u64)FILE_LOCK_GET(lock, owner);
}

static __always_inline u64 file_lock_start(void *lock)
{
	return GET((struct file_lock *)lock, fl_start);
}

static __always_inline u64 file_lock_end(void *lock)
{
	return GET((struct file_lock *)lock, fl_end);
}

/* Not static, as with all that a loop does many times, for the verifier to follow it once. `kind` is the type, and
 * FILE_LOCK_WHOLE where ranges do not count; 1 << 32 and the process where the lock at that place of a list is in the way. */
#define FILE_LOCK_WHOLE 0x100u

__noinline u64 file_lock_in_way(u64 at, u64 owner, u32 kind, u64 start, u64 end)
{
	u64 link = FILE_LOCK_SPLIT ? bpf_core_field_offset(struct file_lock, c.flc_list)
				   : bpf_core_field_offset(struct file_lock___old, fl_list);
	void *lock = (void *)(at - link);
	bool writes = (u8)kind == FILE_LOCK_WRITE || file_lock_type(lock) == FILE_LOCK_WRITE;
	bool overlaps = kind & FILE_LOCK_WHOLE || (file_lock_start(lock) <= end && start <= file_lock_end(lock));

	if (!writes || !overlaps || file_lock_owner(lock) == owner)
		return 0;
	return 1ull << 32 | (u32)file_lock_pid(lock);
}

/* Process of the first lock on the inode that conflicts with one of this
 * owner, type and range; 0 none found. The list is read without its lock and
 * not to its end if it is long. */
static __always_inline int file_lock_holder(struct inode *inode, bool flock, u64 owner, u8 type, u64 start, u64 end)
{
	struct file_lock_context *context = GET(inode, i_flctx);
	if (!context)
		return 0;
	u64 list = (u64)context + (flock ? bpf_core_field_offset(struct file_lock_context, flc_flock)
					 : bpf_core_field_offset(struct file_lock_context, flc_posix));
	u64 at = kernel_word((void *)list);
	u32 kind = type | (flock ? FILE_LOCK_WHOLE : 0);
	for (int i = 0; i < FILE_LOCKS_WALKED && at && at != list; i++) {
		u64 holder = file_lock_in_way(at, owner, kind, start, end);
		if (holder)
			return holder;
		at = kernel_word((void *)at);
	}
	return 0;
}

#endif
