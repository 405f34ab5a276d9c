/* What a watchpoint needs to know of others than the process it is set in: the threads that
 * have a variable of their own, the processes that share its memory. */
#ifndef RECORD_WATCH_OTHERS_H
#define RECORD_WATCH_OTHERS_H

#include "probe/watch_find.h"
#include "record/programs.h"

struct watch_others;

struct watch_others *watch_others_new(const struct programs *programs);
void watch_others_free(struct watch_others *others);

/* For struct watch_threads; `data` is a struct watch_others. The list is good until the next call. */
int watch_others_threads(void *data, pid_t pid, const struct watch_thread **ret_threads, size_t *ret_count, struct err *err);

/* The same memory in the other processes that map it: the place as each of them has it, in the arena, at
 * most so many; how many. Processes that cannot be looked into are passed over. */
size_t watch_others_sharing(struct arena *arena, const struct watch_place *place, struct watch_place *places, size_t most);

#endif
