/* Where probes go: what the person wrote, found in programs and libraries.
 *
 *	[NAME=]FILE:FUNCTION            a function is entered
 *	[NAME=]FILE:FUNCTION%return     ... returns
 *	[NAME=]FILE:FUNCTION+N          an instruction so many bytes behind its beginning is reached
 *	[NAME=]FILE:0xADDRESS           ... by its address as FILE was linked
 *	[NAME=]FILE:SOURCE:LINE         a line of its source, by debug information
 *	[NAME=]FILE:...%fields=A,B,C    what `arg1` to `arg3` are instead: a register (r15) or memory ([rsp+48])
 *	[NAME=]PID:FUNCTION             the same in one process, wherever it has the function
 *	[NAME=]usdt:FILE:PROVIDER:MARK  a place that the program's authors marked
 *	[NAME=]tracepoint:CATEGORY:NAME a trace point of the kernel
 *
 * FILE is a path, a program of PATH, or a library's name ("libc", "libc.so.6").
 * A probe inside of an instruction would break the program: a place that is no function's
 * beginning is taken only where an instruction begins, counted from the function's. */
#ifndef RECORD_PROBE_POINTS_H
#define RECORD_PROBE_POINTS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/err.h"
#include "record/config.h"

#define PROBE_PLACES_MOST 64u  /* functions of one name in one file */

struct probe_place {
	const char *file;      /* path, as the program's own process or we see it */
	const char *open;      /* path by which we reach it */
	uint64_t offset;       /* in the file */
};

struct probe_point {
	const char *name;      /* as events and rules call it */
	const char *written;   /* the whole text, for messages */
	const char *file;      /* of the first place; "" of trace points */
	const char *function;  /* function, PROVIDER:MARK, CATEGORY:NAME */
	const char *provider, *mark; /* USDT; of trace points category and name */
	const char *slow;      /* the instruction there, where a hit costs a single-step; NULL: it does not */
	uint32_t kind;         /* PROBE_KIND_ */
	pid_t pid;             /* 0: any process */
	struct probe_fields fields; /* what is asked for at functions and instructions; all 0: the first arguments */
	struct probe_place *places; /* of functions */
	size_t place_count;
};

struct probe_points {
	struct probe_point *items;  /* their numbers are their places + 1 */
	size_t count;
};

/* Adds what one text asks for; the failure says what is wrong with it. */
int probe_points_add(struct arena *arena, struct probe_points *points, const char *text, struct err *err);
/* The path that FILE means. */
int probe_points_file(struct arena *arena, const char *name, const char **ret_path, struct err *err);

#endif
