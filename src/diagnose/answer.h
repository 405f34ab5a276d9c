/* The parts of an answer: the chain, the path, the plan, the words, the JSON. */
#ifndef DIAGNOSE_ANSWER_H
#define DIAGNOSE_ANSWER_H

#include "base/json.h"
#include "diagnose/describe.h"
#include "diagnose/starved.h"
#include "diagnose/walk.h"

/* The chain from the pieces: adjoining pieces of one thread become one link when
 * they only alternate between states. */
void answer_chain(const struct describer *d, const struct pieces *pieces, const struct walk_steps *steps,
		  struct diagnosis *diagnosis);
/* False for links that texts leave out: too short to matter, of too many. */
bool answer_link_shown(const struct diagnosis *diagnosis, const struct chain_link *link);
/* The way from the victim to the step. */
void answer_path(const struct describer *d, const struct pieces *pieces, const struct walk_steps *steps, uint32_t step,
		 struct diagnosis *diagnosis);
/* In which callbacks of its packs the thread was at the time, and who had asked for them. */
void answer_callbacks(const struct describer *d, uint32_t thread, uint64_t time_ns, struct path_step *step);
void answer_callbacks_text(const struct describer *d, const struct diagnosis *diagnosis, struct buf *buf);
void answer_callbacks_json(struct json *json, const struct path_step *step);
/* What the culprit did and for how long, the longest first; and the same as a part of a sentence. */
void answer_doings(const struct describer *d, const struct pieces *pieces, struct diagnosis *diagnosis);
void answer_doings_text(const struct describer *d, const struct diagnosis *diagnosis, struct buf *buf);
/* The thread's longest wait in the window; NULL none. */
const struct wait *answer_longest_wait(const struct scene *scene, uint32_t thread, const struct diagnosis *g);
/* That a control group or a file system was frozen, and by whom, or nothing. */
void answer_frozen_text(const struct describer *d, const struct diagnosis *diagnosis, struct buf *buf);
/* That one on the way has not taken a signal that is to end it, and why; false: nothing was told. */
bool answer_kept_signal(const struct describer *d, const struct diagnosis *g, struct buf *buf);
/* That one on the way has as many descriptors open as it may, and to whom most of them lead; or nothing. */
void answer_kept_descriptors(const struct describer *d, const struct diagnosis *g, struct buf *buf);
/* That its terminal stopped the culprit, which reads from it in the background, or that a terminal's output was stopped. */
/* What the thread looks at, again and again, or waits to see change. `who`: it, in words; NULL: "it". */
void answer_looks_text(const struct describer *d, const char *who, uint32_t thread, uint64_t from_ns, uint64_t to_ns, struct buf *buf);
/* The command that a script on the way tries for something with, again and again, and that fails. */
void answer_runs_text(const struct describer *d, const struct diagnosis *g, struct buf *buf);
void answer_terminal_text(const struct describer *d, const struct diagnosis *g, struct buf *buf);
/* The sentence about those that did the same in turn with the culprit, or nothing. */
void answer_fellows_text(const struct describer *d, const struct diagnosis *diagnosis, struct buf *buf);
/* The circle of the threads, each of which waits for the next, and the time limit that broke it. */
void answer_circle(const struct describer *d, const struct pieces *pieces, const uint32_t *threads, unsigned count,
		   struct diagnosis *diagnosis);
/* What to record to know more; none when the evidence is good. */
void answer_plan(const struct describer *d, struct diagnosis *diagnosis);
/* The same as a command to type. */
void answer_plan_command(const struct diagnosis *diagnosis, struct buf *buf);
/* Sentences that a person can paste into a bug report. */
void answer_text(const struct describer *d, struct diagnosis *diagnosis);
/* What the baseline tells, for answers; the paragraph ends with a full stop. */
const struct contrast *answer_contrast(const struct describer *d, const struct baseline *baseline);
void answer_contrast_text(struct arena *arena, const struct contrast *contrast, struct buf *buf);
void answer_contrast_json(struct json *json, const char *key, const struct contrast *contrast);

/* "cgroup /x: quota of 40 ms in 100 ms used up". */
const char *answer_quota(struct arena *arena, const struct starved *starved);

/* The members of the answer's object (docs/json.md), into an open object. */
void answer_json(struct json *json, const struct diagnosis *diagnosis);

/* "comm (pid 12)" or "comm (thread 13 of 12)"; foreign text escaped. */
const char *answer_who(struct arena *arena, const struct actor *actor);
/* " in work (prog)", or nothing; foreign text escaped. */
void answer_place(struct arena *arena, struct buf *buf, const struct actor *actor);
/* The members that tell who it is, into an open object. */
void answer_actor_json(struct json *json, const struct actor *actor);

#endif
