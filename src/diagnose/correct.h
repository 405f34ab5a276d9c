/* A person's corrections, laid over a scene. The scene as it was built is kept,
 * so that laying another set over it starts from there. */
#ifndef DIAGNOSE_CORRECT_H
#define DIAGNOSE_CORRECT_H

#include "base/vec.h"
#include "diagnose/scene.h"

enum correction_kind {
	CORRECT_CUT,        /* the wake-up or message from_event has nothing to do with to_event */
	CORRECT_JOIN,       /* from_event made the thread of to_event go on */
	CORRECT_BOUNDARY,   /* at from_event the thread begins something new */
	CORRECT_IDLE,       /* the wait that from_event began, and its like, are harmless */
	CORRECT_NAME        /* the object has a name */
};

struct correction {
	enum correction_kind kind;
	uint64_t from_event, to_event;
	uint64_t object;
	const char *name;   /* copied */
};

struct corrections vec(struct correction);

/* -ENOENT, with the statement that cannot be applied in words: no such event, or
 * one of another kind; the scene is then as it was built. */
int scene_correct(struct scene *scene, const struct corrections *corrections, struct err *err);

#endif
