/* What a recording was for: its command, or the processes it was told to watch.
 * Others leave their marks in it too, as far as they woke those. */
#ifndef SESSION_RECORDED_H
#define SESSION_RECORDED_H

#include "infer/observe.h"

/* That was recorded; NULL none: the whole machine, or processes that ran already. */
const char *recorded_command(const struct trace *trace);
/* The process of the command: the recorder's own child. 0: none. */
uint32_t recorded_root(const struct trace *trace, const struct tables *tables);
/* All that ran then, besides. */
bool recorded_whole_machine(const struct trace *trace);
/* The one process, or thread, that the recorder was told to watch. 0: none, or several. */
uint32_t recorded_only(const struct trace *trace);

/* Narrows a scope that names nobody to what the recording was for; as it is where that
 * was the whole machine. Lists lie in the arena. */
void recorded_scope(struct arena *arena, const struct trace *trace, const struct tables *tables, struct observe_scope *scope);

#endif
