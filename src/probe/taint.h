/* What in a stepped run derives from an input of a function: followed forward, instruction by instruction, through
 * registers, byte by byte, and through memory.
 *
 * The stepping recorded the registers at each place where the way is decided; what lies between is in the code. So
 * nothing is recorded for it, and any input can be asked of one recording. Values that only the way taken depends on
 * (a constant behind a branch) do not derive: the branch is marked. What code did that was not stepped through is not
 * known: what it returned derives if an argument did, or what one points to; what it wrote is not followed, but of
 * the C library's functions that copy or only read memory. */
#ifndef PROBE_TAINT_H
#define PROBE_TAINT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "probe/step_run.h"

struct taint_input {
	uint64_t function;       /* its beginning; each time it is entered */
	uint8_t place;           /* REGISTER_ */
	uint32_t bytes;          /* in memory where the register points; 0: the register's own value */
};

#define TAINT_INPUTS 4u
#define TAINT_BYTES_MOST 65536u

/* Of a pass, before its instruction. */
struct taint_mark {
	uint16_t derived;        /* registers with a byte that derives, a bit each */
	uint16_t behind;         /* registers that point to a byte that does */
	bool decides;            /* where the instruction leads depends on such a value */
};

struct taint {
	struct taint_mark *marks;          /* one per pass */
	uint64_t entered;                  /* times that the input came */
	uint64_t unknown;                  /* accesses of memory whose address is not known */
	uint64_t outside;                  /* calls not stepped through that were given what derives */
	uint64_t gaps;                     /* where the way between two places is not known */
};

/* FUNCTION:REGISTER[:BYTES][,...]; FUNCTION is a name or 0xADDRESS. */
int taint_parse(struct code *code, const char *text, struct taint_input inputs[TAINT_INPUTS], unsigned *ret_count, struct err *err);
void taint_find(struct step_run *run, const struct taint_input *inputs, unsigned count, struct taint *ret_taint);
void taint_done(struct taint *taint);

#endif
