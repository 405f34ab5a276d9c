/* Names that come, go and change: rename, unlink, mkdir and their like have no
 * descriptor to start from, only a path. But who is notified of it has a queue: what
 * the call has just put there, under the last part of its path, says which
 * inotify groups watch. Groups are known from their watches and reads. What a
 * watcher has read before the call ends is missed; its wake-up tells then. */
#ifndef RECORD_BPF_RENAMED_BPF_H
#define RECORD_BPF_RENAMED_BPF_H

#include "record/bpf/object.bpf.h"
#include "record/bpf/ring.bpf.h"

#define RENAMED_GROUPS 64
#define RENAMED_NAME_BYTES 32  /* compared */
#define RENAMED_PATH_BYTES 256
#define RENAMED_LAST 2         /* events of a call in one group */
#define RENAMED_FROM 0x40u     /* IN_MOVED_FROM, ... */
#define RENAMED_TO 0x80u
#define RENAMED_MADE 0x100u
#define RENAMED_REMOVED 0x200u

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct fsnotify_event {
	struct list_head list;
};

struct fsnotify_group___queue {
	struct list_head notification_list;
	unsigned int q_len;
};

struct list_head___both {
	struct list_head *next, *prev;
};

struct inotify_event_info {
	struct fsnotify_event fse;
	u32 mask;
	char name[];
};

#pragma clang attribute pop

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, RENAMED_GROUPS);
	__type(key, u64);
	__type(value, u8);
} watch_groups SEC(".maps");

struct renamed_path {
	char text[RENAMED_PATH_BYTES];
	u32 last;                      /* where the last part begins */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct renamed_path);
} renamed_paths SEC(".maps");

struct bpf_map;

struct renamed {
	u64 now;
	u32 tid, ustack, mask;
	union {
		char name[RENAMED_NAME_BYTES];
		u64 words[RENAMED_NAME_BYTES / 8];
	};
};

/* The group behind an inotify descriptor. */
static __always_inline void renamed_learn(struct file *file)
{
	u64 group = (u64)GET(file, private_data);
	u8 one = 1;

	if (group && !bpf_map_lookup_elem(&watch_groups, &group))
		bpf_map_update_elem(&watch_groups, &group, &one, BPF_ANY);
}

static long renamed_step(u64 index, struct renamed_path **context)
{
	struct renamed_path *path = *context;
	u32 at = index & (RENAMED_PATH_BYTES - 1);

	if (!path->text[at])
		return 1;
	if (path->text[at] == '/')
		path->last = at + 1;
	return 0;
}

static long renamed_group(struct bpf_map *map, u64 *key, u8 *one, struct renamed *r)
{
	u64 group = *key, head = group + bpf_core_field_offset(struct fsnotify_group___queue, notification_list);
	struct list_head___both *at = (void *)head;

	if (!GET((struct fsnotify_group___queue *)group, q_len))
		return 0;
	for (int i = 0; i < RENAMED_LAST; i++) {
		union {
			char name[RENAMED_NAME_BYTES];
			u64 words[RENAMED_NAME_BYTES / 8];
		} found = { .words = { 0 } };

		at = (void *)GET(at, prev);
		if (!at || (u64)at == head)
			return 0;
		struct inotify_event_info *info = (void *)((u64)at - bpf_core_field_offset(struct inotify_event_info, fse.list));
		u32 mask = GET(info, mask);
		if (!(mask & r->mask))
			continue;
		bpf_probe_read_kernel_str(found.name, sizeof(found.name), &info->name);
		if (found.words[0] != r->words[0] || found.words[1] != r->words[1] || found.words[2] != r->words[2] ||
		    found.words[3] != r->words[3])
			continue;
		struct ring *ring = ring_here();
		if (!ring)
			return 0;
		struct event_file_event *e = ring_begin(ring, EVENT_file_event, r->tid, r->now, sizeof(*e) + RENAMED_NAME_BYTES);
		if (!e)
			return 0;
		e->object = 0;
		e->watcher = object_of_address(OBJECT_KIND_inotify, group);
		e->mask = r->mask;
		e->ustack = r->ustack;
		__builtin_memcpy(e + 1, r->name, RENAMED_NAME_BYTES);
		ring_end(ring);
		return 0;
	}
	return 0;
}

/* The call has ended well; `path` is the program's, of a name that it made, moved
 * or removed, as the mask says. */
__noinline int renamed_tell(u64 path, u32 mask, u64 now, u32 tid, u32 ustack)
{
	u32 zero = 0;
	struct renamed_path *at = bpf_map_lookup_elem(&renamed_paths, &zero);
	struct renamed r = { .now = now, .tid = tid, .ustack = ustack, .mask = mask, .words = { 0 } };

	if (!at || !path || !bpf_core_type_exists(struct inotify_event_info))
		return 0;
	at->last = 0;
	if (bpf_probe_read_user_str(at->text, sizeof(at->text), (void *)path) <= 1)
		return 0;
	bpf_loop(RENAMED_PATH_BYTES - 1, renamed_step, &at, 0);
	if (bpf_probe_read_user_str(r.name, sizeof(r.name), (void *)(path + at->last)) <= 1)
		return 0;
	bpf_for_each_map_elem(&watch_groups, renamed_group, &r, 0);
	return 0;
}

#endif
