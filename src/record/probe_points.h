/* Where probes go: what the person wrote, found in programs and libraries.
 *
 *	[NAME=]FILE:FUNCTION            a function is entered
 *	[NAME=]FILE:FUNCTION%return     ... returns
 *	[NAME=]FILE:FUNCTION%leave      ... is left, by each of its returns and jumps to others
 *	[NAME=]FILE:FUNCTION+N          an instruction so many bytes behind its beginning is reached
 *	[NAME=]FILE:0xADDRESS           ... by its address as FILE was linked
 *	[NAME=]FILE:SOURCE:LINE         a line of its source, by debug information
 *	[NAME=]FILE+0xOFFSET            ... by its offset in FILE
 *	[NAME=]FILE:FUNCTION(A, B, C)   what `arg1` to `arg3` are instead: parameters, fields, texts (probe/probe_value.h)
 *	[NAME=]FILE:...%fields=A,B,C    what `arg1` to `arg3` are instead: a register (r15), memory ([rsp+48], [rdi:4]); of a mark its arg5
 *	[NAME=]FILE:...%text=A          the text there beside them, also behind %fields=
 *	[NAME=]PID:FUNCTION             the same in one process, wherever it has the function
 *	[NAME=]usdt:FILE:PROVIDER:MARK  a place that the program's authors marked
 *	[NAME=]tracepoint:CATEGORY:NAME a trace point of the kernel
 *
 * FILE is a path, a program of PATH, or a library's name ("libc", "libc.so.6").
 * A probe inside of an instruction would break the program: a place that is no function's
 * beginning is taken only where an instruction begins, counted from the function's. */
#ifndef RECORD_PROBE_POINTS_H
#define RECORD_PROBE_POINTS_H

#include <stdbool.h>
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
	const char *near;      /* a place near by where it does not, and the values are the same; NULL: none, or not looked for */
	bool leaves;           /* it is where a function is left */
	uint32_t kind;         /* PROBE_KIND_ */
	pid_t pid;             /* 0: any process */
	const char *values[PROBE_FIELDS]; /* what the fields are, as they were asked for; NULL: they have no names */
	const char *pack;      /* that it is of; NULL: the person asked for it */
	uint32_t group;        /* of its pack's probes: turned off and on together; 0: of none */
	bool optional;         /* where it cannot be placed the recording goes on without it */
	struct probe_fields fields; /* what is asked for at functions and instructions; all 0: the first arguments */
	struct probe_place *places; /* of functions */
	size_t place_count;
};

struct code;
struct opened_code;

struct probe_points {
	struct probe_point *items;  /* their numbers are their places + 1 */
	size_t count;
	double pack_budget;         /* share of a processor that packs' probes may take, 0 all */
	const char *packs, *packs_unfit; /* those that are on; what of which does not fit here: for the machine record; NULL none */
	struct opened_code *opened; /* the file whose code was asked for last, until probe_points_close() */
	bool same_names;            /* one name at several places, of several files: a pack's probe in copies of a library */
};

/* Adds what one text asks for; the failure says what is wrong with it. */
int probe_points_add(struct arena *arena, struct probe_points *points, const char *text, struct err *err);
/* The code of a file, `open` as we reach it; valid until the next call, also of probe_points_add(). */
int probe_points_code(struct arena *arena, struct probe_points *points, const char *open, const char *file, struct code **ret_code,
		      struct err *err);
/* Once all are added. */
void probe_points_close(struct probe_points *points);
/* The path that FILE means. */
int probe_points_file(struct arena *arena, const char *name, const char **ret_path, struct err *err);

#endif
