/* See path_part.h. */
#include "session/path_part.h"

#include <signal.h>

static void *make(void *data)
{
	struct path_part *part = data;
	int r = blocks_part(part->blocks, part->first, part->last, part->to_ns, &part->arena, &part->trace, &part->err);

	if (!r)
		r = scene_build_lazily(part->trace, part->room, &part->scene, &part->err);
	if (!r)
		r = names_open(part->trace, part->scene->tables, NULL, &part->names, &part->err);
	part->status = r;
	return NULL;
}

void path_part_begin(struct path_part *part, bool beside)
{
	sigset_t all, before;

	arena_init(&part->arena);
	if (beside) {
		/* Signals are for the program's own threads. */
		sigfillset(&all);
		pthread_sigmask(SIG_SETMASK, &all, &before);
		part->beside = !pthread_create(&part->thread, NULL, make, part);
		pthread_sigmask(SIG_SETMASK, &before, NULL);
	}
	if (!part->beside)
		make(part);
}

static void await(struct path_part *part)
{
	if (part->beside)
		pthread_join(part->thread, NULL);
	part->beside = false;
}

int path_part_end(struct path_part *part, struct err *err)
{
	await(part);
	if (part->status && err)
		*err = part->err;
	return part->status;
}

void path_part_free(struct path_part *part)
{
	await(part);
	if (part->names)
		names_close(part->names);
	scene_free(part->scene);
	if (part->trace)
		trace_close(part->trace);
	arena_done(&part->arena);
}
