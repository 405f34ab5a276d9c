/* What a person has added to a trace: edges cut, kept and joined, boundaries,
 * waits that are harmless, names for objects, rules that do not hold, limits.
 *
 * It is kept as statements of the rule language (docs/rules.md), and `without RULE;` and
 * `limit NAME=VALUE;` of those that `argus rules` lists, one a line, in
 * a readable file beside the trace (FILE.know), and laid over a scene: taking a
 * statement back lays the others over it anew. */
#ifndef SESSION_KNOWLEDGE_H
#define SESSION_KNOWLEDGE_H

#include "base/buf.h"
#include "base/vec.h"
#include "diagnose/scene.h"

struct knowledge {
	struct vec(char *) statements;   /* as written, without the line's end; owned */
	size_t saved;                    /* how many of them are in the file */
	size_t taken_back;               /* that are still in it */
	char *path;
};

/* Reads the file if there is one. */
int knowledge_open(struct knowledge *knowledge, const char *trace_path, struct err *err);
void knowledge_done(struct knowledge *knowledge);

/* Checks and adds one statement; the scene is not touched. */
int knowledge_add(struct knowledge *knowledge, const char *statement, struct err *err);
/* Takes the last one back; -ENOENT when there is none. */
int knowledge_undo(struct knowledge *knowledge, struct err *err);
/* Adds what another file holds. */
int knowledge_read(struct knowledge *knowledge, const char *path, struct err *err);
/* Writes all to the file: 0600, never through a link. */
int knowledge_save(struct knowledge *knowledge, const char *path, struct err *err);
/* True when some statement changes how it is judged. */
bool knowledge_judges(const struct knowledge *knowledge);
/* How much the file differs. */
static inline size_t knowledge_unsaved(const struct knowledge *knowledge)
{
	return knowledge->statements.length - knowledge->saved + knowledge->taken_back;
}
/* Lays all over the scene and its judgement, instead of what was laid over them before. */
int knowledge_apply(const struct knowledge *knowledge, struct scene *scene, struct err *err);

#endif
