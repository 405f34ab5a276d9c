/* Whether an instruction that came to watched memory reads or writes it: told by its code,
 * which the watchpoints' program keeps where it meets a place for the first time. */
#ifndef RECORD_WATCH_SITES_H
#define RECORD_WATCH_SITES_H

#include <stdint.h>

#include "probe/instruction.h"

struct watch_sites;

/* `kept`: the map with the code. */
struct watch_sites *watch_sites_new(int kept);
void watch_sites_free(struct watch_sites *sites);
/* Of the thread that was stopped behind it. May be called by several threads; allocates nothing. */
enum instruction_access watch_sites_access(struct watch_sites *sites, uint32_t pid, uint64_t ip);

#endif
