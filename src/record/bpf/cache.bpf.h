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

/* Of a file, what tells it from others at the same address. */
struct cache_key {
	u64 file, operations;
	u64 inside;             /* of its private data and its inode's number */
};

/* A line of the processor's cache. */
struct cached {
	struct cache_key key;
	u64 number;
	u64 channels[2];        /* OBJECT_SENDS, OBJECT_RECEIVES */
	struct sock *sk;
	u32 peer;
	u8 kind;
	u8 state;
	u8 reserved[2];
};
_Static_assert(sizeof(struct cached) == 64, "an entry is a line of the processor's cache");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, CACHE_ENTRIES); /* the loader makes it as many for each processor */
	__uint(map_flags, BPF_F_MMAPABLE);  /* for its alignment */
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
	entry->key.file = 0;
	entry->number = at.number;
	entry->channels[OBJECT_SENDS] = object_channel(&at, OBJECT_SENDS);
	entry->channels[OBJECT_RECEIVES] = object_channel(&at, OBJECT_RECEIVES);
	entry->sk = at.sk;
	entry->peer = object_peer(&at);
	entry->kind = at.kind;
	entry->state = at.state;
	return cache_keeps(&at);
}

static __always_inline bool cache_read(struct cache_key *key, struct file *file)
{
	u64 private, inode_number;

	if (KERNEL_CASTS) {
		struct file *direct = bpf_rdonly_cast(file, bpf_core_type_id_kernel(struct file));
		struct inode *inode = direct->f_inode;
		if (!inode)
			return false;
		private = (u64)direct->private_data;
		key->operations = (u64)direct->f_op;
		inode_number = inode->i_ino;
	} else {
		struct inode *inode = GET(file, f_inode);
		if (!inode)
			return false;
		private = (u64)GET(file, private_data);
		key->operations = (u64)GET(file, f_op);
		inode_number = GET(inode, i_ino);
	}
	key->file = (u64)file;
	key->inside = private ^ inode_number * 0x9e3779b97f4a7c15ull;
	return true;
}

/* What is behind the file; never NULL but where there is no file. Valid until
 * the next call. */
static __always_inline struct cached *cache_find(struct file *file)
{
	struct cache_key key;

	if (!file)
		return NULL;
	u32 at = (((u64)file >> 6 ^ (u64)file >> 16) & (CACHE_ENTRIES - 1)) + bpf_get_smp_processor_id() * CACHE_ENTRIES;
	struct cached *entry = bpf_map_lookup_elem(&cache, &at);
	if (!entry || !cache_read(&key, file))
		return NULL;
	if (entry->key.file == key.file && entry->key.inside == key.inside && entry->key.operations == key.operations)
		return entry;
	if (cache_fill((u64)file, entry)) {
		entry->key.operations = key.operations;
		entry->key.inside = key.inside;
		entry->key.file = key.file;
	}
	return entry;
}

#endif
