/* Signals that ask a recorder to stop, or tell that a child has ended, as
 * something to read. */
#ifndef RECORD_SIGNALS_H
#define RECORD_SIGNALS_H

#include <signal.h>

#include "base/err.h"

/* Blocks SIGINT, SIGTERM, SIGHUP and SIGCHLD; returns a descriptor from which
 * they are read without waiting (struct signalfd_siginfo), or -errno.
 * ret_before, which may be NULL, is the mask that was. */
int signals_open(sigset_t *ret_before, struct err *err);

#endif
