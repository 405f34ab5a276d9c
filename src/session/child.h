/* The command that is recorded: its process exists, for whoever is to record it, before the command runs. */
#ifndef SESSION_CHILD_H
#define SESSION_CHILD_H

#include <signal.h>
#include <sys/types.h>

#include "base/err.h"

#define STATUS_NOT_FOUND 127
#define STATUS_NOT_EXECUTABLE 126

/* The command's process, stopped before its exec until it is let go. */
struct child {
	pid_t pid;
	int go;       /* writing a byte lets it exec */
	int failed;   /* reads the errno of a failed exec */
};

/* 0, or -ENOENT with words when no program of that name is there: before anything is recorded, and
 * written over what was recorded last. What is there may still fail to start. */
int child_look_for(const char *name, struct err *err);

/* Under sudo it will be the invoking user's; `mask`: the signals that it has blocked. */
int child_start(const char *const *words, const sigset_t *mask, struct child *ret_child, struct err *err);
/* Lets it exec; -errno when that fails. */
int child_go(struct child *child, const char *name, struct err *err);
void child_drop(struct child *child);
void child_kill(struct child *child);

#endif
