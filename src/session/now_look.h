/* How `argus now` comes to a trace of this moment, and to the next ones.
 *
 * Where a flight recorder runs it is asked for a snapshot, and the last of what it has
 * seen is taken with it: what has moved meanwhile is known, so nothing need be waited
 * for. Else a recorder of its own looks for a while between two snapshots; it goes on for
 * as long as looks are taken. Where BPF may not be used /proc tells what it can. */
#ifndef SESSION_NOW_LOOK_H
#define SESSION_NOW_LOOK_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "record/filter.h"
#include "session/command.h"

#define NOW_LOOK_NS 500000000u

struct now_look {
	/* given */
	struct command_context *context;
	const char *path;          /* of the trace */
	const char *other_path;    /* of every second trace; NULL: one look is taken */
	uint64_t look_ns;
	bool patient;              /* the person has said how long: that is waited for */
	const struct filter *calls; /* of these processes each system call is recorded; NULL: of none */

	int signals;               /* what asks to end it */
	sigset_t before;
	struct recorder *recorder; /* our own; NULL none */
	const char *recording;     /* where it writes */
	const char *taken;         /* the trace of the last look */
	bool by_flight;            /* the last look was taken by a flight recorder */
	bool ask;                  /* a flight recorder may be there */
	bool over_proc;            /* BPF may not be used */
};

int now_look_open(struct now_look *look, struct err *err);
/* The trace is at `taken` then, and stays there until the next look. -EINTR: it was asked to end. */
int now_look_take(struct now_look *look, struct err *err);
/* Nobody said how long. */
bool now_look_may_repeat(const struct now_look *look);
/* For so long, with each system call of those: what they look at between their sleeps. */
int now_look_repeat(struct now_look *look, uint64_t look_ns, const struct filter *calls, struct err *err);
/* Waits; -EINTR as above. */
int now_look_pause(struct now_look *look, uint64_t ns);
void now_look_close(struct now_look *look);

#endif
