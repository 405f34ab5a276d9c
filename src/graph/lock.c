/* File locks: the release that made a grant possible. A grant is one's due to a
 * release only when the lock had been refused or put off before. */
#include <errno.h>

#include "graph/build.h"

#define RELEASES 8

struct release {
	uint64_t ns, start, end;
	uint32_t event, row, tid, owner;
	uint32_t generation;    /* of the file: its inode may be another's later */
};

struct locked_file {
	struct release releases[RELEASES]; /* a ring */
	uint32_t next;
};

struct file_locks {
	struct map file_of;     /* object -> index */
	struct vec(struct locked_file) files;
	struct map refused;     /* file and owner -> time of the first refusal */
};

void locks_init(struct builder *b)
{
	b->locks = mem_zalloc(sizeof(*b->locks));
}

void locks_done(struct builder *b)
{
	if (!b->locks)
		return;
	map_done(&b->locks->file_of);
	map_done(&b->locks->refused);
	vec_done(&b->locks->files);
	free(b->locks);
}

static struct locked_file *file_at(struct file_locks *locks, uint64_t object)
{
	bool new;
	uint64_t *index = map_at(&locks->file_of, object, &new);

	if (new) {
		*index = locks->files.length;
		vec_push(&locks->files, (struct locked_file){ .next = 0 });
	}
	return &locks->files.items[*index];
}

static void granted(struct builder *b, const struct event *e, const struct event_file_lock *l, struct slot *slot, uint64_t refused_ns)
{
	struct locked_file *file = file_at(b->locks, l->object);
	const struct release *best = NULL;

	for (unsigned i = 0; i < RELEASES; i++) {
		const struct release *r = &file->releases[i];

		if (!r->event || r->owner == l->owner || r->generation != l->generation || r->end < l->start || r->start > l->end || r->ns < refused_ns)
			continue;
		if (!best || r->ns > best->ns)
			best = r;
	}
	if (best) {
		const struct slot *from = slot_find(b, best->tid);

		edge_add(b, &(struct stored_edge){
			.from_ns = best->ns, .to_ns = e->time, .from_row = best->row, .to_row = slot->row,
			.from_event = best->event, .to_event = b->event, .rule = BUILTIN_file_lock, .kind = MECHANISM_file_lock,
			.confidence = mechanism_infos[MECHANISM_file_lock].confidence },
			 from ? from : &b->nobody, slot);
	}
}

void file_lock_event(struct builder *b, const struct event *e, struct slot *slot)
{
	const struct event_file_lock *l = event_as(e, file_lock);
	uint64_t key = hash_u64(hash_u64(l->object) ^ l->generation) ^ ((uint64_t)l->owner << 8 | l->family), *refused;

	if (slot->row == GRAPH_NONE)
		return;
	if (l->type == LOCK_TYPE_unlock) {
		struct locked_file *file = file_at(b->locks, l->object);

		if ((int32_t)l->result)
			return;
		file->releases[file->next++ % RELEASES] = (struct release){
			.ns = e->time, .start = l->start, .end = l->end, .event = b->event, .row = slot->row, .tid = e->tid,
			.owner = l->owner, .generation = l->generation };
		return;
	}
	if ((int32_t)l->result == -EAGAIN || (int32_t)l->result == 1) {
		bool new;

		refused = map_at(&b->locks->refused, key, &new);
		if (new)
			*refused = e->time;
		return;
	}
	if ((int32_t)l->result)
		return;
	refused = map_find(&b->locks->refused, key);
	if (!refused)
		return;
	granted(b, e, l, slot, *refused);
	map_remove(&b->locks->refused, key);
}
