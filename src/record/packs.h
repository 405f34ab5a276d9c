/* The probes of a pack, placed in the programs and libraries that are here. */
#ifndef RECORD_PACKS_H
#define RECORD_PACKS_H

#include "base/arena.h"
#include "record/probe_points.h"
#include "rules/rules.h"

/* A probe that found no place, for this build of its file is none that the pack knows. */
struct pack_unfit {
	const char *probe;         /* NULL: all have found one */
	const char *file, *build;  /* "" the file is not here, or has no build-id */
};

/* Adds the pack's probes; `program` is what stands for $FILE in its targets, NULL none. Marks that
 * a file does not have are passed over: a program uses those that it needs. */
int packs_place(struct arena *arena, const struct rules *pack, const char *program, struct probe_points *points,
		struct pack_unfit *ret_unfit, struct err *err);

#endif
