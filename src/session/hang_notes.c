/* See hang_notes.h. */
#include "session/hang_notes.h"

#include <string.h>
#include <sys/stat.h>

#include "diagnose/judgement.h"
#include "trace/blocks.h"

#define NOTE_HANGS 1u          /* kind of the note; of one process, more by its number */

struct note_head {
	uint64_t program[2];       /* another build may find others */
	uint64_t to_ns;
	uint32_t root_pid, pid, count, cut;
};

struct note_hang {
	uint64_t start_ns, end_ns;
	uint32_t tid, pid, weight, awaits, slices, rule;
	char comm[16];
};

static struct note_head note_head(const struct hang_notes_key *key)
{
	struct note_head head = { .to_ns = key->to_ns, .root_pid = key->root_pid, .pid = key->pid };
	struct stat st;

	if (!stat("/proc/self/exe", &st)) {
		head.program[0] = (uint64_t)st.st_size;
		head.program[1] = (uint64_t)st.st_mtim.tv_sec * 1000000000u + (uint64_t)st.st_mtim.tv_nsec;
	}
	return head;
}

bool hang_notes_read(struct arena *arena, struct blocks *blocks, const struct hang_notes_key *key, const struct hang **ret_hangs,
		     size_t *ret_count, bool *ret_cut)
{
	struct note_head want = note_head(key), head;
	size_t size = 0, count = 0;
	const char *bytes = blocks_noted(blocks, key->block, NOTE_HANGS + key->pid, &size);
	struct hang *hangs;

	if (!bytes || size < sizeof(head))
		return false;
	memcpy(&head, bytes, sizeof(head));
	want.count = head.count;
	want.cut = head.cut != 0;
	if (memcmp(&head, &want, sizeof(head)) || size != sizeof(head) + head.count * sizeof(struct note_hang))
		return false;
	hangs = arena_array(arena, struct hang, head.count);
	for (uint32_t i = 0; i < head.count; i++) {
		struct note_hang n;

		memcpy(&n, bytes + sizeof(head) + i * sizeof(n), sizeof(n));
		if (n.start_ns >= n.end_ns || !n.rule || n.rule >= RULE_COUNT)
			continue;
		hangs[count++] = (struct hang){
			.thread = n.tid, .start_ns = n.start_ns, .end_ns = n.end_ns, .weight = n.weight, .awaits = n.awaits, .slices = n.slices,
			.rule = n.rule, .tid = n.tid, .pid = n.pid,
			.comm = arena_strndup(arena, n.comm, strnlen(n.comm, sizeof(n.comm))) };
	}
	*ret_hangs = hangs;
	*ret_count = count;
	*ret_cut = head.cut;
	return true;
}

void hang_notes_write(struct blocks *blocks, const struct hang_notes_key *key, const struct hang *hangs, size_t count, bool cut)
{
	struct note_head head = note_head(key);
	struct arena arena;
	char *bytes;

	arena_init(&arena);
	head.count = (uint32_t)count;
	head.cut = cut;
	bytes = arena_alloc(&arena, sizeof(head) + count * sizeof(struct note_hang), 8);
	memcpy(bytes, &head, sizeof(head));
	for (size_t i = 0; i < count; i++) {
		const struct hang *h = &hangs[i];
		struct note_hang n = { .start_ns = h->start_ns, .end_ns = h->end_ns, .tid = h->tid, .pid = h->pid, .weight = h->weight,
				       .awaits = h->awaits, .slices = h->slices, .rule = h->rule };

		strncpy(n.comm, h->comm, sizeof(n.comm) - 1);
		memcpy(bytes + sizeof(head) + i * sizeof(n), &n, sizeof(n));
	}
	blocks_note(blocks, key->block, NOTE_HANGS + key->pid, bytes, sizeof(head) + count * sizeof(struct note_hang));
	arena_done(&arena);
}
