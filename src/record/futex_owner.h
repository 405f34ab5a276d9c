/* Who holds what a thread waits for in futex(), as far as the lock's own memory
 * tells: the same reading in BPF, where the thread sleeps, and in user space.
 *
 * glibc keeps the number of a mutex's owner beside its word, in the word itself
 * where the mutex is robust or inherits priority, and that of an rwlock's writer
 * behind its words. Other locks have 2 or 3 in their words, too: the rest must
 * look like glibc's before a number is believed, and even then it is a hint. */
#ifndef RECORD_FUTEX_OWNER_H
#define RECORD_FUTEX_OWNER_H

#include "trace/event.h"

#define FUTEX_OWNER_WORDS 12u /* 4 bytes each, from the awaited word on; at most */

#define FUTEX_OWNER_TID 0x3fffffffu
#define FUTEX_OWNER_MOST 0x400000u     /* no thread's number is greater (PID_MAX_LIMIT): what is there is none */
#define FUTEX_OWNER_WAITERS 0x80000000u
#define FUTEX_OWNER_CEILING 0x7ffffu  /* below: the state of a mutex with a priority ceiling */

/* Commands of futex(). */
#define FUTEX_OWNER_COMMAND 0x7fu
#define FUTEX_OWNER_PRIVATE 0x80u
#define FUTEX_OWNER_WAIT 0u
#define FUTEX_OWNER_LOCK_PI 6u
#define FUTEX_OWNER_WAIT_BITSET 9u
#define FUTEX_OWNER_LOCK_PI2 13u

#define FUTEX_OWNER_INLINE static inline __attribute__((always_inline))

/* How many words are needed to tell; 0: the call alone tells. */
FUTEX_OWNER_INLINE u32 futex_owner_words(u32 op, u32 value)
{
	u32 command = op & FUTEX_OWNER_COMMAND;

	if (command == FUTEX_OWNER_LOCK_PI || command == FUTEX_OWNER_LOCK_PI2)
		return 1;
	if (command != FUTEX_OWNER_WAIT && command != FUTEX_OWNER_WAIT_BITSET)
		return 0;
	if ((value & FUTEX_OWNER_CEILING) == 2 || value & FUTEX_OWNER_WAITERS)
		return 5;
	return value == 3 ? FUTEX_OWNER_WORDS : 0;
}

/* pthread_mutex_t from its word on: word, depth, owner, users, kind. */
FUTEX_OWNER_INLINE u32 futex_owner_of_mutex(u32 value, const u32 *words)
{
	if (words[4] & ~0x3ffu || words[0] != value)
		return 0;
	if (value & FUTEX_OWNER_WAITERS)
		return words[4] & 0x10 ? value & FUTEX_OWNER_TID : 0; /* robust */
	return words[3] && words[2] <= FUTEX_OWNER_TID && (value == 2 || words[4] & 0x40) ? words[2] : 0;
}

/* pthread_rwlock_t from a word on, behind which the writer stands after so many others: two that are
 * always 0, the writer, whether it is shared, elision and padding, the kind. */
FUTEX_OWNER_INLINE u32 futex_owner_of_rwlock(const u32 *words)
{
	if (words[-2] || words[-1] || !words[0] || words[0] > FUTEX_OWNER_TID || words[1] > 1)
		return 0;
	return words[2] || words[3] || words[4] || words[5] || words[6] > 3 ? 0 : words[0];
}

/* The thread's number, 0 unknown, and what kind of hint that is. */
FUTEX_OWNER_INLINE u32 futex_owner(u32 op, u32 value, const u32 *words, u8 *ret_kind)
{
	u32 command = op & FUTEX_OWNER_COMMAND, owner = 0;

	*ret_kind = 0;
	switch (futex_owner_words(op, value)) {
	case 1:
		owner = words[0] & FUTEX_OWNER_TID;
		*ret_kind = owner ? HINT_KIND_pi_owner : 0;
		break;
	case 5:
		owner = futex_owner_of_mutex(value, words);
		*ret_kind = owner ? HINT_KIND_mutex_owner : 0;
		break;
	case FUTEX_OWNER_WORDS:
		/* readers wait for the word of the phase, writers for the one behind it */
		owner = futex_owner_of_rwlock(words + 4);
		if (!owner)
			owner = futex_owner_of_rwlock(words + 3);
		*ret_kind = owner ? HINT_KIND_rwlock_writer : 0;
		break;
	}
	if (owner > FUTEX_OWNER_MOST)
		owner = *ret_kind = 0;
	/* who joins a thread awaits the word that holds its number until it ends */
	if (!owner && !(op & FUTEX_OWNER_PRIVATE) && value > 2 && value <= FUTEX_OWNER_MOST &&
	    (command == FUTEX_OWNER_WAIT || command == FUTEX_OWNER_WAIT_BITSET)) {
		owner = value;
		*ret_kind = HINT_KIND_thread_exit;
	}
	return owner;
}

#endif
