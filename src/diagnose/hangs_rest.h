/* Where a thread rests: the places in the program to which it comes back to wait
 * for new work, told from those where it waits for what it asked for. Private to
 * the finding of hangs. */
#ifndef DIAGNOSE_HANGS_REST_H
#define DIAGNOSE_HANGS_REST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "diagnose/hangs.h"
#include "diagnose/judgement.h"

struct place {
	uint32_t site;
	uint32_t visits;
	uint32_t depth;            /* of its stack, 0 unknown */
	uint64_t total_ns;
	uint64_t longest_ns, next_ns;  /* visit, and the longest but that */
	uint64_t limit_ns, deadline_ns; /* of the last wait that set itself a limit */
	uint32_t limits;           /* waits that did */
	uint8_t kind;
	bool own_times;            /* its limits are when the thread has something to do by itself */
	bool open_to_all;          /* other programs than the one asked were listened to there */
	uint32_t wait;             /* one of the waits there */
};

struct finder {
	struct diagnoser *diagnoser;
	const struct scene *scene;
	const struct ends *ends;
	const struct hangs_options *options;
	struct vec(struct hang) hangs;
	struct vec(struct place) places;   /* of the thread looked at */
	struct trails *trails;             /* scratch */
	struct hang *hang;                 /* that is being judged */
	uint32_t thread;
	bool leads;                        /* it stands for its process */
};

/* A wait of this kind ends when something comes. */
static inline bool hangs_listens(uint8_t kind)
{
	return kind == WAIT_KIND_poll || kind == WAIT_KIND_epoll || kind == WAIT_KIND_read || kind == WAIT_KIND_accept ||
	       kind == WAIT_KIND_signal || kind == WAIT_KIND_uring || kind == WAIT_KIND_queue;
}

static inline uint64_t hangs_listened_to(const struct wait *w)
{
	return w->kind == WAIT_KIND_poll ? w->detail : w->object;
}

/* What the person says is long, or else what is usual. */
static inline uint64_t hangs_long_ns(const struct finder *f, enum limit_id usual)
{
	return f->options->threshold_ns ? f->options->threshold_ns : limit_of(f->scene, usual);
}

/* On a busy machine all takes long: what counts is how much of that a thread worked. */
static inline uint64_t hangs_own_work_ns(const struct finder *f, enum limit_id usual)
{
	return hangs_long_ns(f, usual) * limit_of(f->scene, LIMIT_own_work) / 100;
}

/* True when the wait is a hang by one of the rules. */
bool hangs_judge_wait(struct finder *f, const struct episode *e, struct hang *ret_hang);
/* Gathers the places of f->thread. */
void hangs_learn_places(struct finder *f);
/* NULL when the thread was never seen to wait there. */
const struct place *hangs_place_of(const struct finder *f, const struct wait *w);
/* True for a connection to an X server or a Wayland compositor. */
bool hangs_is_window_server(const struct finder *f, uint64_t object);
/* True for a program with windows. */
bool hangs_has_windows(const struct finder *f);
/* Nobody asks, of no command in particular, about a program without windows: that it works
 * for long, by its own threads too, is what such programs are for. */
bool hangs_is_batch(const struct finder *f);
/* The whole machine was recorded, and nobody asks about any program of it. */
bool hangs_is_left_alone(const struct finder *f);
/* And the whole machine was recorded. */
bool hangs_is_unattended(const struct finder *f);
/* The wait is for what a person does: at a terminal, or in the windows its process has. */
bool hangs_awaits_person(const struct finder *f, const struct wait *w);
/* True when both are waits of one event loop, wherever in the program it was called: at
 * one place, or for the same set of things. */
bool hangs_same_loop(const struct finder *f, const struct episode *a, const struct episode *b);
/* True where a process that nobody asks about waits to be told what to do by the one that started it. */
bool hangs_told_by_parent(const struct finder *f, const struct wait *w);
/* The other waited for what the one that waits here writes to its standard output, or for errors, and this one listens to something else: who reads
 * its output owes it nothing. */
bool hangs_reads_output(const struct finder *f, const struct wait *other, const struct wait *w);
/* True when the wait is a rest: nothing is outstanding, the loop only listens. */
bool hangs_rests_at(const struct finder *f, const struct wait *w);

#endif
