/* Changes of files that somebody watches by inotify or fanotify: the writer's
 * side, from the marks on the file and on its directory. Notified of writes and of
 * files made; what only changes names is in renamed.bpf.h. */
#ifndef RECORD_BPF_WATCHED_BPF_H
#define RECORD_BPF_WATCHED_BPF_H

#include "record/bpf/object.bpf.h"
#include "record/bpf/ring.bpf.h"

#define WATCHED_MODIFY 0x2u
#define WATCHED_CREATE 0x100u
#define WATCHED_MARKS 8        /* of one inode */
#define WATCHED_NAME_BYTES 64

/* Everything by address, so that the verifier looks at it once. */
struct watched {
	u64 now;
	struct inode *inode;    /* that is marked: the file, or its directory */
	u64 object;             /* what changed */
	const unsigned char *name; /* of a directory's entry, else NULL */
	u32 tid, mask, ustack;
};

__noinline int watched_tell(const struct watched *w)
{
	if (!w)
		return 0;
	struct fsnotify_mark_connector *connector = GET(w->inode, i_fsnotify_marks);
	u64 node = connector ? kernel_word(&connector->list.first) : 0;

	for (int i = 0; i < WATCHED_MARKS && node; i++) {
		struct fsnotify_mark *mark = (void *)(node - bpf_core_field_offset(struct fsnotify_mark, obj_list));
		struct ring *ring = ring_here();
		node = kernel_word((void *)node);
		if (!ring || !(GET(mark, mask) & w->mask))
			continue;
		u64 group = (u64)GET(mark, group);
		struct event_file_event *e = ring_begin(ring, EVENT_file_event, w->tid, w->now, sizeof(*e) + WATCHED_NAME_BYTES);
		if (!e)
			return 0;
		e->object = w->object;
		e->watcher = object_of_address(OBJECT_KIND_inotify, group);
		e->mask = w->mask;
		e->ustack = w->ustack;
		__builtin_memset(e + 1, 0, WATCHED_NAME_BYTES);
		if (w->name)
			bpf_probe_read_kernel_str(e + 1, WATCHED_NAME_BYTES, w->name);
		ring_end(ring);
	}
	return 0;
}

/* A file was written to, or made. */
static __always_inline void watched_change(struct file *file, u64 object, u32 mask, u32 tid, u64 now, u32 ustack)
{
	struct inode *inode = GET(file, f_inode);
	struct dentry *entry = GET(file, f_path.dentry), *parent = entry ? GET(entry, d_parent) : NULL;
	struct inode *directory = parent ? GET(parent, d_inode) : NULL;

	if (inode && GET(inode, i_fsnotify_mask) & mask) {
		struct watched w = { .now = now, .inode = inode, .object = object, .tid = tid, .mask = mask, .ustack = ustack };
		watched_tell(&w);
	}
	if (directory && directory != inode && GET(directory, i_fsnotify_mask) & mask) {
		struct watched w = { .now = now, .inode = directory, .object = object, .name = GET(entry, d_name.name),
				     .tid = tid, .mask = mask, .ustack = ustack };
		watched_tell(&w);
	}
}

#endif
