/* Words of memory that several processes have mapped, in which a futex lies: in which memory that is, and which
 * processes have it mapped, too. Only they can end the wait.
 *
 * In the trace such a word is a channel, and each process that has it mapped has an end of it open without a
 * descriptor (`fd` -1): what one does there reaches all others. The end of a process that waits is the object its wait
 * names; that of the others is the channel's own number.
 *
 * Mappings are read from /proc/PID/maps, which waits for a lock of that process: by a child alone (processes.h). */
#ifndef RECORD_SHARED_WORDS_H
#define RECORD_SHARED_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "trace/event.h"

#define SHARED_WORDS_MOST 64u  /* in one snapshot */
#define SHARED_WORD_NAME 120u

struct task_found;

struct shared_word {
	uint64_t device, inode;    /* of the file, named or not, that is mapped; inode 0: none */
	uint64_t offset;           /* of the word in it */
	bool unnamed;              /* no name leads to the file, or to the memory, any more: nobody can open it anew */
	char name[SHARED_WORD_NAME];
};

/* That lies at the address in the process's memory; false where that is its own. */
bool shared_word_at(uint32_t pid, uint64_t address, struct shared_word *ret_word);
/* Which of the words the process has mapped, by bits. */
uint64_t shared_words_mapped(uint32_t pid, const struct shared_word *words, size_t count);

/* Words that threads wait for, each once, of whom nobody is known who could end that. */
struct shared_words vec(struct shared_word);

/* What the thread waits for, and the end that its process has of it. */
void shared_words_note(struct shared_words *words, const struct task_found *found, const struct shared_word *word, bool has_owner,
		       struct event_descriptor *ret_descriptor);
/* As another process has it. */
void shared_word_describe(const struct shared_word *word, struct event_descriptor *ret_descriptor);

#endif
