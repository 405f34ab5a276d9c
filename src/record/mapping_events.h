/* What the kernel says about processes' code as it happens: new executable
 * mappings, forks, programs started. From perf's side-band events, one small
 * buffer per processor. */
#ifndef RECORD_MAPPING_EVENTS_H
#define RECORD_MAPPING_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "record/modules.h"
#include "record/rings.h"

struct mapping_events;

struct mapping_events_calls {
	/* `source`, its texts and `file`, if that was opened, are valid during the call only. */
	void (*mapped)(void *data, const struct module_source *source, const struct module_file *file, uint64_t time_ns);
	void (*forked)(void *data, pid_t parent, pid_t child, uint64_t time_ns); /* a process, not a thread */
	void (*started)(void *data, pid_t pid, uint64_t time_ns);               /* another program */
	void (*ended)(void *data, pid_t pid, pid_t tid, uint64_t time_ns);
	void (*lost)(void *data);                                               /* look at everything anew */
};

int mapping_events_open(struct mapping_events **ret_events, struct err *err);
void mapping_events_close(struct mapping_events *events);
/* Sleeps until there is something, at most so long. `also_fd` ends it too; -1 none. */
void mapping_events_wait(struct mapping_events *events, int also_fd, int timeout_ms);
/* Asks anew for those of processors that have come back. True when some may
 * have been missed. */
bool mapping_events_renew(struct mapping_events *events, const struct rings *rings);
/* Takes in what has happened, to be handed out later, and lets `open` hold the
 * files that were mapped, which may be gone by then:
 * for one who is long about something else, from within the calls below too. */
void mapping_events_gather(struct mapping_events *events, struct module_file (*open)(void *data, const struct module_source *source),
			   void *data);
/* Hands out what happened up to `until_ns` (now, at the latest), all processors'
 * in the order of time. */
bool mapping_events_read(struct mapping_events *events, uint64_t until_ns, const struct mapping_events_calls *calls, void *data);

#endif
