/* Making and freeing of what is kept between questions, see diagnoser.h. */
#include "diagnose/diagnoser.h"

#include <stdlib.h>

#include "diagnose/own_ends.h"

struct diagnoser *diagnoser_new(struct scene *scene, struct names *names)
{
	struct diagnoser *d = mem_zalloc(sizeof(*d));

	arena_init(&d->arena);
	d->scene = scene;
	d->names = names;
	ends_build(&d->arena, scene, &d->ends);
	own_ends_note_sleeps(scene, &d->ends);
	side_init(&d->side, scene, names);
	d->busies = busies_new(scene, names);
	d->addresses = address_names_new(scene->trace, scene->tables, names);
	return d;
}

void diagnoser_free(struct diagnoser *diagnoser)
{
	if (!diagnoser)
		return;
	address_names_free(diagnoser->addresses);
	busies_free(diagnoser->busies);
	free(diagnoser->hangs_found.hangs);
	side_done(&diagnoser->side);
	ends_done(&diagnoser->ends);
	arena_done(&diagnoser->arena);
	free(diagnoser);
}

const struct scene *diagnoser_scene(const struct diagnoser *diagnoser)
{
	return diagnoser->scene;
}

const struct ends *diagnoser_ends(const struct diagnoser *diagnoser)
{
	return &diagnoser->ends;
}

struct side *diagnoser_side(struct diagnoser *diagnoser)
{
	return &diagnoser->side;
}

struct hangs_found *diagnoser_hangs_found(struct diagnoser *diagnoser)
{
	return &diagnoser->hangs_found;
}
