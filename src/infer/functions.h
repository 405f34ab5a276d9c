/* Functions as inference knows them: a name in a module.
 *
 * A function is the same in two traces when the module's file name and the
 * function's name agree; neither addresses nor build-ids take part, so that
 * runs compare across address-space randomisation and rebuilds. A function
 * without a name is called by its start in the module ("+0x1a40") and agrees
 * only between equal builds. Owned by the arena given at functions_init. */
#ifndef INFER_FUNCTIONS_H
#define INFER_FUNCTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/map.h"
#include "base/vec.h"

/* What a module is to the program that runs its code. */
enum place {
	PLACE_unknown,
	PLACE_program,    /* the program's own binary, or a script that it runs */
	PLACE_plugin,     /* loaded by the program itself: outside of what it is linked with */
	PLACE_library,    /* linked with, directly or through other libraries */
	PLACE_runtime,    /* C library, loader, vDSO: every program's floor */
	PLACE_kernel,
	PLACE_system_call /* the frame between the program and the kernel */
};

struct function {
	const char *name;     /* never NULL */
	const char *module;   /* file name of the module; "" none */
	const char *path;     /* whole path of the module; "" none */
	enum place place;     /* PLACE_unknown where its module tells (modules.h); else of the kernel, a system call or a script */
	bool guessed;         /* the name is: see struct name */
};

struct functions {
	struct arena *arena;
	struct vec(struct function) list;   /* entry 0 stands for no function */
	struct map by_hash;                 /* first of a chain */
	struct vec(uint32_t) next;          /* chain of equal hashes */
};

void functions_init(struct functions *functions, struct arena *arena);
void functions_done(struct functions *functions);
/* The number of the function, a new one when it is not there yet. Texts are copied. */
uint32_t functions_add(struct functions *functions, const char *name, const char *path, enum place place);
static inline const struct function *functions_get(const struct functions *functions, uint32_t number)
{
	return &functions->list.items[number];
}

/* The part behind the last slash. */
const char *path_file_name(const char *path);

#endif
