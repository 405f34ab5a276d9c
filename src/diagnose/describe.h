/* Words for threads, objects, waits and stacks, for answers. */
#ifndef DIAGNOSE_DESCRIBE_H
#define DIAGNOSE_DESCRIBE_H

#include "diagnose/diagnosis.h"

struct describer {
	struct arena *arena;
	const struct scene *scene;
	const struct ends *ends;
	struct names *names;       /* NULL: frames are left out */
	uint32_t victim;
};

void describe_thread(const struct describer *d, uint32_t thread, uint64_t time, struct actor *ret_actor);
/* "FIFO /tmp/in", "TCP socket 127.0.0.1:80", "futex"; NULL when nothing is known. */
const char *describe_object(const struct describer *d, uint64_t object);
/* "waiting in read on FIFO /tmp/in", "sleeping", ... */
const char *describe_wait(const struct describer *d, const struct wait *wait);
/* Interrupt that ended a wait: "the network", "a timer", "block device I/O". */
const char *describe_source(const struct wait *wait);
/* Texts of a stack's frames, kernel frames first when both are given; innermost
 * first, NULL-terminated; never NULL. */
const char *const *describe_stack(const struct describer *d, uint32_t ustack, uint32_t kstack);
/* The innermost frame outside the C library and the kernel into the actor. */
void describe_place(const struct describer *d, uint32_t ustack, struct actor *actor);
/* True for a function with a name, of the program or its libraries, that says
 * what was going on. */
bool describe_is_named(const struct name *name);
/* "8.014 s", "35 ms". */
const char *describe_time(struct arena *arena, uint64_t ns);

#endif
