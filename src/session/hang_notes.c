/* See hang_notes.h. */
#include "session/hang_notes.h"

#include <string.h>
#include <sys/stat.h>

#include "diagnose/judgement.h"
#include "trace/blocks.h"

/* Kinds of notes; of one process, more by its number. */
#define NOTE_HANGS 1u
#define NOTE_ELSEWHERE 0x800000u

struct note_head {
	uint64_t program[2];       /* another build may find others */
	uint64_t to_ns;
	uint32_t root_pid, pid, count, cuts;
};

struct note_hang {
	uint64_t start_ns, end_ns, least_ns;
	uint32_t tid, pid, weight, awaits, slices, rule, meant, unended, served[HANG_SERVED];
	char comm[16], program[16];
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

/* Both are asked one after the other where the recorded command did not hang. */
static uint32_t kind_of(const struct hang_notes_key *key)
{
	return (key->root_pid == HANGS_ELSEWHERE ? NOTE_ELSEWHERE : NOTE_HANGS) + key->pid;
}

static size_t note_bytes(const struct note_head *head)
{
	return sizeof(*head) + head->count * sizeof(struct note_hang) + head->cuts * sizeof(struct hangs_cut);
}

static void read_hangs(struct arena *arena, const char *bytes, uint32_t count, struct hang_note *note)
{
	struct hang *hangs = arena_array(arena, struct hang, count);

	for (uint32_t i = 0; i < count; i++) {
		struct note_hang n;

		memcpy(&n, bytes + i * sizeof(n), sizeof(n));
		if (n.start_ns >= n.end_ns || !n.rule || n.rule >= RULE_COUNT || n.meant >= RULE_COUNT)
			continue;
		hangs[note->count++] = (struct hang){
			.thread = n.tid, .start_ns = n.start_ns, .end_ns = n.end_ns, .weight = n.weight, .awaits = n.awaits, .slices = n.slices,
			.rule = n.rule, .meant = n.meant, .unended = n.unended, .tid = n.tid, .pid = n.pid, .least_ns = n.least_ns,
			.comm = arena_strndup(arena, n.comm, strnlen(n.comm, sizeof(n.comm))),
			.program = n.program[0] ? arena_strndup(arena, n.program, strnlen(n.program, sizeof(n.program))) : NULL };
		memcpy(hangs[note->count - 1].served, n.served, sizeof(n.served));
	}
	note->hangs = hangs;
}

bool hang_notes_read(struct arena *arena, struct blocks *blocks, const struct hang_notes_key *key, struct hang_note *ret_note)
{
	struct note_head want = note_head(key), head;
	size_t size = 0;
	const char *bytes = blocks_noted(blocks, key->block, kind_of(key), &size);
	struct hangs_cut *cuts;

	if (!bytes || size < sizeof(head))
		return false;
	memcpy(&head, bytes, sizeof(head));
	want.count = head.count;
	want.cuts = head.cuts;
	if (memcmp(&head, &want, sizeof(head)) || size != note_bytes(&head))
		return false;
	bytes += sizeof(head);
	*ret_note = (struct hang_note){ .cut_count = head.cuts };
	read_hangs(arena, bytes, head.count, ret_note);
	cuts = arena_array(arena, struct hangs_cut, head.cuts);
	if (head.cuts)
		memcpy(cuts, bytes + head.count * sizeof(struct note_hang), head.cuts * sizeof(*cuts));
	ret_note->cuts = cuts;
	return true;
}

void hang_notes_write(struct blocks *blocks, const struct hang_notes_key *key, const struct hang_note *note)
{
	struct note_head head = note_head(key);
	struct arena arena;
	char *bytes, *at;

	arena_init(&arena);
	head.count = (uint32_t)note->count;
	head.cuts = (uint32_t)note->cut_count;
	bytes = arena_alloc(&arena, note_bytes(&head), 8);
	memcpy(bytes, &head, sizeof(head));
	at = bytes + sizeof(head);
	for (size_t i = 0; i < note->count; i++) {
		const struct hang *h = &note->hangs[i];
		struct note_hang n = { .start_ns = h->start_ns, .end_ns = h->end_ns, .tid = h->tid, .pid = h->pid, .weight = h->weight,
				       .awaits = h->awaits, .slices = h->slices, .rule = h->rule, .meant = h->meant, .least_ns = h->least_ns,
				       .unended = h->unended };

		memcpy(n.served, h->served, sizeof(n.served));
		strncpy(n.comm, h->comm, sizeof(n.comm) - 1);
		if (h->program)
			strncpy(n.program, h->program, sizeof(n.program) - 1);
		memcpy(at, &n, sizeof(n));
		at += sizeof(n);
	}
	if (note->cut_count)
		memcpy(at, note->cuts, note->cut_count * sizeof(*note->cuts));
	blocks_note(blocks, key->block, kind_of(key), bytes, note_bytes(&head));
	arena_done(&arena);
}
