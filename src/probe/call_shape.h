/* Calls back, found by how their code looks: where a function of a library calls what it was
 * given, between two calls of functions that have names. A main loop gives its lock up, calls
 * the callback and takes the lock again; so do pools. That looks alike in every build, also
 * where the calling function has no symbol, and the calls of named functions are places at
 * which a probe costs little. Of functions of other libraries the stubs are called, and
 * the second call may be a jump there, its function's last. */
#ifndef PROBE_CALL_SHAPE_H
#define PROBE_CALL_SHAPE_H

#include "probe/code.h"

/* Where a value is at the call before. */
struct shape_value {
	bool known;
	bool kept;                 /* the register still has it at the call behind */
	bool memory;               /* the 8 bytes where the register points to, so far on */
	uint8_t reg;               /* REGISTER_ */
	int64_t displacement;
};

#define SHAPE_ARGUMENTS 6

struct call_shape {
	uint64_t before, behind;   /* addresses of the two calls */
	struct shape_value arguments[SHAPE_ARGUMENTS]; /* of the call back */
	struct shape_value target; /* what is called */
	struct shape_value object; /* where that was read from */
};

struct call_shapes vec(struct call_shape);

/* What calls of the function of this name lead to: the stub for it, else the function; 0 for none. */
uint64_t call_shape_function(struct code *code, const char *name);
/* In the function and those that it calls (0: in all of the file), the places where `first` is called,
 * then something by its address, then `second` (0: `behind` is directly behind the call back). Without `first`, too, in the
 * function each call of something by its address, which is then `before` itself. Each place once, by address. */
void call_shapes_find(struct code *code, uint64_t function, uint64_t first, uint64_t second, struct call_shapes *shapes);
/* "rbx", "[rsp+48]": as %fields= takes it; NULL where it is not known. `behind`: at the second call, where
 * only registers that calls keep still have it. */
const char *shape_value_text(struct arena *arena, const struct shape_value *value, bool behind);

#endif
