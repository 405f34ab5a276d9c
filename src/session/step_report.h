/* The way in a file of `argus step`, as text or JSON: options --tid, --whole, --registers, --stacks, --taint, --json. */
#ifndef SESSION_STEP_REPORT_H
#define SESSION_STEP_REPORT_H

#include "session/command.h"

int step_report(struct command_context *context, const char *path, struct err *err);

#endif
