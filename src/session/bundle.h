/* What a bug report needs, in one archive, without what is nobody's business: names of
 * the host, of its users and of their folders, command lines, and what programs said. */
#ifndef SESSION_BUNDLE_H
#define SESSION_BUNDLE_H

#include "session/command.h"

/* Facts about this machine and recorder; of the trace, where one is named (NULL none), what
 * `argus info` tells. Tells on `notes` what is in it. */
int bundle_write(const struct command_context *context, const char *path, const char *trace_path, struct err *err);

#endif
