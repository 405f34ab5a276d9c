/* The interactive session: questions to a loaded trace, one a line.
 *
 * A line is a verb and words. The answer is text in a buffer; nothing here
 * prints or reads. What the session holds (the hang looked at, its answer, where
 * on the slice one stands, the baseline, the knowledge) lasts between lines. */
#ifndef SESSION_DEBUG_H
#define SESSION_DEBUG_H

#include "diagnose/describe.h"
#include "session/knowledge.h"
#include "session/session.h"

/* A place on a slice: a thread at a moment. */
struct debug_place {
	uint32_t thread;
	uint64_t time_ns;
};

struct debug_hops vec(struct hop);

struct debug {
	struct session session;
	struct session base;             /* another trace, when base.trace is set */
	struct knowledge knowledge;
	struct arena arena;              /* of the answers that are kept */
	const struct hang *hangs;
	size_t hang_count;
	bool hangs_known;
	uint32_t looks;                /* of the session, when what was said was laid over it */
	struct diagnose_request request; /* what the answer is about */
	const struct diagnosis *diagnosis;  /* NULL: nothing asked yet */
	struct vec(struct debug_place) slice; /* where one stands is the last */
	struct debug_hops choices;       /* of the last `back` or `forward` that forked */
	struct similar_metrics metrics;  /* of the last `similar` */
	struct vec(const char *) lines;  /* given so far */
	int width;                       /* columns to write in, 0 not known */
	bool live;                       /* it may look into processes that run */
	bool begun;                    /* debug_begin() */
	bool quit;
};

int debug_open(struct debug *debug, const char *path, struct err *err);
/* Looks where the worst hang is, and lays what was said before over it. The first line does
 * so, too; until then a long trace is only open. */
int debug_begin(struct debug *debug, struct err *err);
void debug_close(struct debug *debug);

/* Looks at a stretch of the trace, with what was said of it laid over it. */
int debug_look_at(struct debug *debug, uint64_t from_ns, uint64_t to_ns, struct err *err);

/* Runs one line: questions parted by `;`, up to the first that fails. -EINVAL and others with words in err; the session goes on. */
int debug_line(struct debug *debug, const char *line, struct buf *out, struct err *err);

/* Words that may come behind the text of that length and begin like `begun`:
 * NULL-terminated, in the session's arena. *ret_files: files may. */
const char *const *debug_complete(struct debug *debug, const char *text, size_t length, const char *begun, bool *ret_files);

/* ---- between the files of the session ---- */

struct debug_words {
	unsigned count;
	char *items[32];
};

typedef int debug_run(struct debug *debug, const struct debug_words *words, struct buf *out, struct err *err);
debug_run debug_back, debug_forward, debug_slice, debug_here, debug_similar, debug_baseline, debug_diff, debug_search, debug_events,
	debug_event, debug_stack, debug_path, debug_timeline, debug_threads, debug_waits, debug_correct, debug_idle, debug_name, debug_undo,
	debug_knowledge, debug_save, debug_load, debug_spoken, debug_judge, debug_step, debug_watch, debug_diverge;

struct debug_verb {
	const char *name;
	const char *arguments;
	debug_run *run;
	const char *help;
	const char *words;               /* that may follow, for debug_complete; NULL none */
	const char *example;             /* may be typed as it stands */
};

/* NULL behind the last. */
const struct debug_verb *debug_verb(size_t index);

/* What was said of the trace, laid over what is looked at now. */
int debug_apply(struct debug *debug, struct err *err);
/* Says how the verb is used; -EINVAL. */
int debug_usage(const struct debug_words *words, struct err *err);
int debug_number(const char *text, uint64_t *ret_number, struct err *err);
/* The words from the given one on, as one text. */
const char *debug_join_words(struct debug *debug, const struct debug_words *words, unsigned from);
/* The hangs into the session, unless they are known. */
void debug_find_hangs(struct debug *debug);
/* Answers the session's request anew; the slice begins at the victim. `out` may be NULL. */
void debug_answer(struct debug *debug, struct buf *out);
/* Seconds since the trace's start. */
double debug_seconds(const struct debug *debug, uint64_t time_ns);
/* "comm (pid 12)" of a thread at a time. */
const char *debug_who(struct debug *debug, uint32_t thread, uint64_t time_ns);
/* For words about this trace, into the session's arena. */
struct describer debug_describer(struct debug *debug);
/* Asks again what was asked, and says the new answer in a line. */
void debug_answer_again(struct debug *debug, struct buf *out);
/* Puts the place on the slice and shows it. */
void debug_go(struct debug *debug, uint32_t thread, uint64_t time_ns, struct buf *out);
/* Where one stands; NULL, with words, when that is nowhere yet. */
const struct debug_place *debug_place_now(const struct debug *debug, struct err *err);
/* The wait that the thread was in at the moment, or that ended last before it; NULL none. */
const struct episode *debug_episode(const struct debug *debug, const struct debug_place *place);
/* Who set the thread going there, the likeliest first; -ENOENT when it had not waited. */
int debug_find_back(struct debug *debug, const struct debug_place *place, struct debug_hops *hops, struct err *err);
/* Whom it set to work. */
void debug_find_forward(struct debug *debug, const struct debug_place *place, struct debug_hops *hops);
/* The other trace as baseline, NULL when there is none. */
struct side *debug_base(const struct debug *debug);
/* -ENOENT while nothing was asked. */
int debug_need_answer(const struct debug *debug, struct err *err);

#endif
