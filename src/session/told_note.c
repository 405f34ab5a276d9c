/* See told_note.h. */
#include "session/told_note.h"

#include <string.h>

#include "base/map.h"
#include "trace/blocks.h"

#define NOTE_TOLD 0xfffff1u     /* kind of the note: 24 bits, beyond those of processes (hang_notes.c) */

struct told_note {
	uint64_t hangs;           /* a number that differs when any of them does */
	uint64_t number;
};

static uint64_t number_of(const struct hang *hangs, size_t count)
{
	uint64_t sum = count;

	for (size_t i = 0; i < count; i++)
		sum = hash_u64(hash_u64(hash_u64(sum ^ hangs[i].tid) ^ hangs[i].start_ns) ^ hangs[i].end_ns);
	return sum;
}

/* Judged as the person wants it may be another one. */
static bool is_noted(const struct session *session)
{
	return session->blocks && !session->judgement_changed;
}

size_t told_note_read(const struct session *session, const struct hang *hangs, size_t count)
{
	struct told_note note = { 0 };
	size_t size = 0;
	const void *bytes = is_noted(session) ? blocks_noted(session->blocks, 0, NOTE_TOLD, &size) : NULL;

	if (!bytes || size != sizeof(note))
		return 0;
	memcpy(&note, bytes, sizeof(note));
	return note.hangs == number_of(hangs, count) && note.number <= count ? (size_t)note.number : 0;
}

void told_note_write(struct session *session, const struct hang *hangs, size_t count, size_t number)
{
	const struct told_note note = { number_of(hangs, count), number };

	if (is_noted(session))
		blocks_note(session->blocks, 0, NOTE_TOLD, &note, sizeof(note));
}
