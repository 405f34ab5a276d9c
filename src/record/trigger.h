/* Seeing hangs while they last, so that the recorder can save what led to them.
 *
 * Looked for now and then, cheaply: a socket, pipe or terminal that its reader
 * has left unread for too long although it has read it before; a thread in one
 * uninterruptible sleep for too long; a window that does not answer; a command of the user's that says so by
 * succeeding. Each hang is reported once, until it is over. */
#ifndef RECORD_TRIGGER_H
#define RECORD_TRIGGER_H

#include <stdint.h>

#include "base/err.h"

struct triggers_options {
	uint64_t unread_ns;      /* 0: not looked for */
	uint64_t blocked_ns;     /* 0: not looked for */
	uint64_t window_ns;      /* windows that do not answer for so long; 0: not looked for */
	const char *display;     /* X11 display whose windows they are */
	const char *command;     /* run by the shell; NULL none */
	uint64_t command_ns;     /* how often */
};

#define TRIGGER_TEXT_BYTES 256

struct triggers;

/* The texts of the options must stay. */
int triggers_open(const struct triggers_options *options, struct triggers **ret_triggers, struct err *err);
void triggers_close(struct triggers *triggers);
/* 1 when a hang is seen that was not before, with its words; 0 none. */
int triggers_check(struct triggers *triggers, uint64_t now_ns, char text[TRIGGER_TEXT_BYTES], struct err *err);
/* A child process has ended; 1 when it was the user's command and it says that there is a hang. */
int triggers_child(struct triggers *triggers, int pid, int status, char text[TRIGGER_TEXT_BYTES]);

#endif
