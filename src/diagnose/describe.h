/* Words for threads, objects, waits and stacks, for answers. */
#ifndef DIAGNOSE_DESCRIBE_H
#define DIAGNOSE_DESCRIBE_H

#include "diagnose/diagnosis.h"

struct address_names;
struct busies;

struct describer {
	struct arena *arena;
	const struct scene *scene;
	const struct ends *ends;
	struct names *names;       /* NULL: frames are left out */
	uint32_t victim;
	struct busies *busies;     /* of this scene; NULL: what threads computed is not told */
	struct address_names *addresses; /* NULL: functions that events name by address are not */
};

void describe_thread(const struct describer *d, uint32_t thread, uint64_t time, struct actor *ret_actor);
/* "FIFO /tmp/in", "TCP socket 127.0.0.1:80", "futex"; NULL when nothing is known. */
const char *describe_object(const struct describer *d, uint64_t object);
/* "stopped", or "frozen" by the control group's freezer. */
const char *describe_stop(const struct wait *w);
/* "waiting in read on FIFO /tmp/in", "sleeping", ... */
const char *describe_wait(const struct describer *d, const struct wait *wait);
/* Interrupt that ended a wait: "a packet from outside", "a timer", "block device I/O". */
const char *describe_source(const struct wait *wait);
/* The same of a packet of that thread, which was on its way: 0 not known. */
const char *describe_packet(const struct describer *d, const struct wait *wait, uint32_t sender);
/* Texts of a stack's frames, kernel frames first when both are given; innermost
 * first, NULL-terminated; never NULL. */
const char *const *describe_stack(const struct describer *d, uint32_t ustack, uint32_t kstack);
/* Which frame of such a list is the first of the program's own script, else of any, from 1; 0 none. */
unsigned describe_script(const struct describer *d, const char *const *frames);
/* The innermost frame outside the C library and the kernel into the actor. */
void describe_place(const struct describer *d, uint32_t ustack, struct actor *actor);
/* The function that the actor's thread spent the time in, on the processor, into the actor. */
void describe_busy(const struct describer *d, uint64_t from_ns, uint64_t to_ns, struct actor *actor);
/* True for the C library, the loader and the kernel, in which a program only waits or works for
 * itself; and for the functions that begin a program. */
bool describe_is_plumbing(const char *module);
bool describe_is_start(const char *function);
/* "8.014 s", "35 ms". */
const char *describe_time(struct arena *arena, uint64_t ns);

#endif
