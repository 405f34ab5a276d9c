/* When a process or a thread was there: who asks about it need not look where it was not. */
#ifndef SESSION_LIFE_H
#define SESSION_LIFE_H

#include <stdbool.h>
#include <stdint.h>

struct life;
struct trace;

/* From births and ends of threads, which it reads the trace for. Where one of them was not recorded it was there for longer
 * than that says, never for less. Free with life_free. */
struct life *life_of_process(const struct trace *trace, uint32_t pid);
struct life *life_of_thread(const struct trace *trace, uint32_t tid);
/* False when it surely was not there at any moment from the one to the other. */
bool life_is_there(const struct life *life, uint64_t from_ns, uint64_t to_ns);
void life_free(struct life *life);

#endif
