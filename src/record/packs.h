/* The probes of packs, placed in the programs and libraries that are here, or that processes have mapped. */
#ifndef RECORD_PACKS_H
#define RECORD_PACKS_H

#include "base/arena.h"
#include "base/buf.h"
#include "record/mapped_libraries.h"
#include "record/probe_points.h"
#include "rules/rules.h"

/* A probe that found no place, for this build of its file is none that the pack knows. */
struct pack_unfit {
	const char *probe;         /* NULL: all have found one */
	const char *file, *build;  /* "" the file is not here, or has no build-id */
};

/* Adds the pack's probes; `program` is what stands for $FILE in its targets, NULL none. Marks that
 * a file does not have are passed over: a program uses those that it needs. */
int packs_place(struct arena *arena, const struct rules *pack, const char *name, const char *program, struct probe_points *points,
		struct pack_unfit *ret_unfit, struct err *err);
/* Adds the libraries that the pack's probes are in. */
void packs_libraries(struct arena *arena, const struct rules *pack, struct mapped_libraries *libraries);
/* The same as packs_place() for each copy of the pack's libraries that a process has mapped and that is another file than
 * the one placed above: of a container, of a folder of its own, one that was replaced. What cannot be
 * placed is left out; `unfit` gets a line for each copy whose build the pack does not know. */
void packs_place_mapped(struct arena *arena, const struct rules *pack, const char *name, const struct mapped_libraries *libraries,
			struct probe_points *points, struct buf *unfit);
/* "it does not know this build of libx (1234...): without its probe y" */
const char *pack_unfit_words(struct arena *arena, const struct pack_unfit *unfit);

#endif
