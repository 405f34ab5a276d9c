/* A loaded trace and what has been worked out about it: tables, names, scene.
 * Commands open it and ask; what is costly is made when first asked for.
 *
 * A trace that is not small is never laid out whole: it lies in blocks of time
 * (trace/blocks.h), and scene, tables and diagnoser are those of the stretch that is
 * looked at. session_look() turns to another one; threads' numbers are then others. */
#ifndef SESSION_SESSION_H
#define SESSION_SESSION_H

#include "diagnose/diagnosis.h"
#include "diagnose/hangs.h"
#include "diagnose/judgement.h"

struct blocks;

struct session {
	struct trace *trace;
	struct trace *part;       /* that the scene is of; NULL: the whole trace */
	const struct tables *tables;
	struct names *names;
	struct scene *scene;      /* NULL before the first look */
	struct diagnoser *diagnoser;
	uint32_t root_pid;        /* the recorded command, 0 none */
	bool elsewhere;           /* it is not asked about: see session_hangs_elsewhere */
	bool temporary;           /* the trace goes when the session does: no index is written */
	bool once;                /* one question is asked */
	bool from_head;           /* ... and is answered from the head of the file on, see session_hurry */
	struct judgement *judgement; /* by which it is judged */
	bool judgement_changed;   /* by the person: what the index says was found otherwise */
	struct blocks *blocks;    /* NULL: the trace is small, the scene is of all of it */
	struct arena look_arena;  /* of what the part stands on */
	uint32_t looks;           /* how often another stretch was turned to */
	struct life *life;        /* of the process that was asked about last; NULL none */
	uint32_t life_pid;
};

struct session_options {
	struct judgement *judgement; /* as the person wants, NULL: as usual; the session takes it over */
	const char *index;        /* folder of the index; NULL: where the trace is */
	bool once;                /* one question is asked, and it is closed */
};

/* A small trace is looked at whole at once; of a larger one nothing is, yet. */
int session_open(const char *path, struct session *ret_session, struct err *err);
int session_open_with(const char *path, const struct session_options *options, struct session *ret_session, struct err *err);
void session_close(struct session *session);
/* Of the blocks of long traces; 0: the usual one. For tests: of traces that are not small at all. */
uint64_t session_block_weight(void);
/* How many bytes have been written to the trace since it was opened. */
uint64_t session_grown(const struct session *session);
/* Has what was found out about the trace written to its index. */
void session_save_index(struct session *session);
/* Where that is, of a trace that is not small: a file; of a trace of several files the folder. */
const char *session_index_path(const struct session *session, struct arena *arena);

/* False when the process surely was not there at any moment from the one to the other, of a long trace. */
bool session_process_lives(struct session *session, uint32_t pid, uint64_t from_ns, uint64_t to_ns);

/* Before a question about a moment on: if it is the only one, and much lies between what is known and the moment, it is
 * answered from the head of the file before it on. What began earlier is then known as far as the recorder told it there. */
void session_hurry(struct session *session, uint64_t from_ns);
/* Makes sure that the scene holds the window, and something before and behind it. Of
 * one with too many events for that it holds the end, and what stands before. */
int session_look(struct session *session, uint64_t from_ns, uint64_t to_ns, struct err *err);
/* Of a long trace: of a window with too many events that part which begins as it does. *ret_to_ns: up to where that goes, at most the window's end. */
int session_look_at_begin(struct session *session, uint64_t from_ns, uint64_t to_ns, uint64_t *ret_to_ns, struct err *err);
/* Hangs as hangs_find finds them, but over all of the trace or the options' window. With
 * blocks, `thread` is the thread's tid: the scene may be of another stretch. */
int session_hangs(struct session *session, struct arena *arena, const struct hangs_options *options, const struct hang **ret_hangs,
		  size_t *ret_count, struct err *err);
/* The same of a recording of a command and of the whole machine besides (as that of `sleep 60`): where the command did not
 * hang for certain, as those found tell, others may have, about which nobody asks. If any did, they take the place of those, and the session
 * is about them from then on. */
int session_hangs_elsewhere(struct session *session, struct arena *arena, const struct hangs_options *options, const struct hang **ret_hangs,
			    size_t *ret_count, struct err *err);
/* Turns to the hang, whose thread is then of the scene. `outer`: to the one that is
 * meant with it, for whose sake it counts (hangs_find orders them so). */
int session_turn_to(struct session *session, struct arena *arena, struct hang *hang, uint32_t pid, bool outer, struct err *err);
/* Numbers differ from part to part: that of its thread in what is looked at now. */
int session_find_thread(const struct session *session, struct hang *hang, struct err *err);

/* A time as a person writes it: seconds since the trace's start ("12.5", "12.5s",
 * "300ms"), CLOCK_MONOTONIC ns ("@123456789"), or the wall clock ("14:03:07.5",
 * local time of the trace's day). */
int session_time(const struct session *session, const char *text, uint64_t *ret_ns, struct err *err);
/* From one such time to another (NULL: the trace's ends), or the last so many nanoseconds (0: not asked for). */
int session_window(const struct session *session, const char *from, const char *to, uint64_t last_ns, uint64_t *ret_from_ns, uint64_t *ret_to_ns,
		   struct err *err);
/* Start of the last mark that contains the text; -ENOENT. */
int session_mark(const struct session *session, const char *text, uint64_t *ret_ns, struct err *err);
/* The thread to ask about for a pid, -ENOENT with a helpful sentence; of those in the
 * scene. */
int session_process(const struct session *session, uint32_t pid, uint32_t *ret_thread, struct err *err);

#endif
