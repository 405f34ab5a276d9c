/* A recording of one process that runs already: until it ends, the time is over, enough
 * was recorded, or the person has seen enough. */
#ifndef SESSION_PROCESS_RECORDING_H
#define SESSION_PROCESS_RECORDING_H

#include "record/recorder.h"
#include "session/command.h"

/* A process by its number, or by what it is called when that is one process alone. */
int process_find(const char *text, pid_t *ret_pid, struct err *err);
/* `want` needs no filter. `begun`: what is said once it records. The option --duration counts. */
int process_record(struct command_context *context, pid_t pid, struct recorder_options *want, const char *begun, struct err *err);

#endif
