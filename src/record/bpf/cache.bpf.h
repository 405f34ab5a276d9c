/* What was found behind a file, kept per processor: a file's object, channels
 * and peer do not change while it is open (but for those of unconnected and
 * datagram sockets, which are not kept), and finding them costs more than all
 * else that a record costs. A file is known again by its address, its private
 * data, its operations and its inode's number together: inode numbers of pipes
 * and sockets are not used again soon, and what shares the anonymous inode has
 * its number from its private data.
 *
 * For programs that run in a thread's context only, never in interrupts. */
#ifndef RECORD_BPF_CACHE_BPF_H
#define RECORD_BPF_CACHE_BPF_H

#include "record/bpf/object.bpf.h"

#define CACHE_ENTRIES 1024u
#define SOCKET_ESTABLISHED 1

struct cached {
	u64 file, private, operations, inode;
	u64 number;
	u64 channels[2];        /* OBJECT_SENDS, OBJECT_RECEIVES */
	struct sock *sk;
	u32 peer;
	u8 kind;
	u8 state;
	u8 reserved[2];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, CACHE_ENTRIES);
	__type(key, u32);
	__type(value, struct cached);
} cache SEC(".maps");

static __always_inline bool cache_keeps(const struct object_at *at)
{
	switch (at->kind) {
	case OBJECT_KIND_tcp:
		return at->state == SOCKET_ESTABLISHED;
	case OBJECT_KIND_unix_stream:
	case OBJECT_KIND_unix_seqpacket:
		return at->state == SOCKET_ESTABLISHED && object_peer(at);
	case OBJECT_KIND_unix_dgram:
	case OBJECT_KIND_udp:
	case OBJECT_KIND_socket:
	case OBJECT_KIND_netlink:
		return false;
	}
	return true;
}

/* Fills the entry anew. */
__noinline int cache_fill(u64 file, struct cached *entry)
{
	struct object_at at = { .file = (struct file *)file };
	if (!entry)
		return 0;
	object_find_rest(&at);
	entry->file = 0;
	entry->number = at.number;
	entry->channels[OBJECT_SENDS] = object_channel(&at, OBJECT_SENDS);
	entry->channels[OBJECT_RECEIVES] = object_channel(&at, OBJECT_RECEIVES);
	entry->sk = at.sk;
	entry->peer = object_peer(&at);
	entry->kind = at.kind;
	entry->state = at.state;
	return cache_keeps(&at);
}

/* What is behind the file; never NULL but where there is no file. Valid until
 * the next call. */
static __always_inline struct cached *cache_find(struct file *file)
{
	if (!file)
		return NULL;
	u32 at = (u32)((u64)file >> 6 ^ (u64)file >> 16) & (CACHE_ENTRIES - 1);
	struct cached *entry = bpf_map_lookup_elem(&cache, &at);
	struct inode *inode = GET(file, f_inode);
	if (!entry || !inode)
		return NULL;
	u64 private = (u64)GET(file, private_data), operations = (u64)GET(file, f_op), number = GET(inode, i_ino);
	if (entry->file == (u64)file && entry->private == private && entry->operations == operations &&
	    entry->inode == number)
		return entry;
	if (cache_fill((u64)file, entry)) {
		entry->file = (u64)file;
		entry->private = private;
		entry->operations = operations;
		entry->inode = number;
	}
	return entry;
}

#endif
