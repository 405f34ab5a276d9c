/* A script that tries for something by a command, which fails each time, and sleeps by children in between: what it runs tells what for. */
#ifndef DIAGNOSE_TRIED_COMMAND_H
#define DIAGNOSE_TRIED_COMMAND_H

#include "diagnose/scene.h"

struct tried_command {
	const char *command;    /* its command line */
	const char *path;       /* the last word of that, where it is one with a slash; "" it is not */
	uint32_t times;
	uint64_t number;        /* of the event by which the last of them began */
};

/* In that time the thread's process ran the command, and no other that failed; it may have ended well at last. */
bool tried_command_find(const struct scene *scene, uint32_t thread, uint64_t from_ns, uint64_t to_ns, struct tried_command *ret_tried);

#endif
