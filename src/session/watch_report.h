/* What the watchpoints of a trace saw: who came to each, how often, from where. */
#ifndef SESSION_WATCH_REPORT_H
#define SESSION_WATCH_REPORT_H

#include "session/command.h"

int watch_report(struct command_context *context, const char *path, bool as_json, struct err *err);

#endif
