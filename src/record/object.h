/* Numbers of kernel objects, computed alike in BPF and in user space: what a
 * thread waits on, what a message goes through, what a file lock is on.
 *
 * A number holds the OBJECT_KIND_ in its top byte and 56 bits below it: for
 * what has an inode, the inode's number mixed with its device (as the kernel
 * numbers devices: major << 20 | minor); for a character or block device its
 * own number; for what hides behind a shared anonymous inode (eventfd,
 * timerfd, epoll set, inotify group, ...) a hash of its address. Addresses and
 * inodes are used again: a number means an object only together with a time. */
#ifndef RECORD_OBJECT_H
#define RECORD_OBJECT_H

#include "trace/event.h"

#define OBJECT_LOW_BITS ((1ull << OBJECT_KIND_SHIFT) - 1)

static inline u64 object_hash(u64 x)
{
	x ^= x >> 32;
	x *= 0xd6e8feb86659fd93ull;
	x ^= x >> 32;
	x *= 0xd6e8feb86659fd93ull;
	x ^= x >> 32;
	return x;
}

static inline u64 object_of(u64 kind, u64 low)
{
	return kind << OBJECT_KIND_SHIFT | (low & OBJECT_LOW_BITS);
}

static inline u64 object_of_inode(u64 kind, u32 device, u64 inode)
{
	return object_of(kind, inode ^ (u64)device * 0x9e3779b97f4a7c15ull);
}

/* The inode's number, if the object has one and lies on that device; far above OBJECT_INODES, where it does not. */
static inline u64 object_inode_on(u64 object, u32 device)
{
	return object_of_inode(0, device, object);
}

/* Above all numbers of inodes that file systems on devices give. */
#define OBJECT_INODES (1ull << 40)

/* Both have inodes, of one device. */
static inline u64 object_same_device(u64 one, u64 other)
{
	return object_of(0, one ^ other) < OBJECT_INODES;
}

static inline u64 object_of_device(u32 device)
{
	return object_of(OBJECT_KIND_device, device);
}

static inline u64 object_of_address(u64 kind, u64 address)
{
	return object_of(kind, object_hash(address));
}

/* SysV and POSIX identifiers of message queues and semaphore sets. */
static inline u64 object_of_ipc(u64 kind, u32 id)
{
	return object_of(kind, 1ull << 40 | id);
}

#endif
