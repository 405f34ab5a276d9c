/* The diagnosis of one window while it goes on: the walk, whom it asked about, and
 * which of the suspects it followed. Private to the diagnosis. */
#ifndef DIAGNOSE_INVESTIGATION_H
#define DIAGNOSE_INVESTIGATION_H

#include "base/map.h"
#include "diagnose/account.h"
#include "diagnose/describe.h"
#include "diagnose/diagnoser.h"

#define FORK_WIDTH 3

/* A wait that nobody is seen to have ended, and who should have: the best first,
 * another thread each. */
struct fork {
	uint32_t episode;
	struct suspect suspects[FORK_WIDTH];
	unsigned count;           /* 0: nobody is known */
	unsigned chosen;          /* that the walk follows */
	bool alone;               /* only the waiting thread itself could have ended it */
};

/* Another way to another culprit than the one that was found. */
struct rival {
	uint32_t thread;
	const struct suspect *over; /* that it leads over */
	const char *words;        /* what it did there */
	uint8_t confidence;       /* per cent */
};

struct investigation {
	struct arena *arena;
	struct diagnoser *diagnoser;
	const struct scene *scene;
	const struct diagnose_request *request;
	struct describer describer;
	struct diagnosis *d;
	struct inquiry inquiry;
	struct pieces pieces;
	struct walk_steps steps;
	struct accounts accounts;
	const struct account *culprit;
	struct suspects suspects;     /* scratch */
	struct vec(struct suspect) alternatives;
	struct vec(struct fork *) forks; /* in the arena */
	struct vec(struct rival) rivals; /* the best first */
	struct map asked;             /* episode -> index into forks + 1 */
	uint32_t circle[64];
	unsigned circle_count;
	uint64_t circle_ns;           /* time that it filled */
	uint32_t doubted;             /* episode + 1 whose waker is not followed where others are suspected */
	uint32_t beat;                /* a thread whose wake-ups of the victim are not what that waits for */
	uint64_t retried_ns;          /* of the window, in which the victim tried again and again */
};

void investigation_init(struct investigation *v, struct arena *arena, struct diagnoser *diagnoser,
			const struct diagnose_request *request);
void investigation_done(struct investigation *v);
/* Walks from the victim, following each fork's choice, and adds up; forks met for the
 * first time choose their best. */
void investigation_walk(struct investigation *v);
/* Charges the running time of a spinning thread to the one it spins for, which is not the one that spins for it, `before`, 0 none; true
 * when another is the culprit then. */
bool investigation_charge_spinning(struct investigation *v, uint32_t thread, uint32_t before);
/* Of whom is asked about at this moment, and looks again and again, as its calls tell (looked_at.h): charges the window to the one that is to bring what it
 * looks for, or to nobody; true when another is the culprit then. */
bool investigation_looks(const struct investigation *v);
bool investigation_charge_looking(struct investigation *v);
/* A walk that asks as this one does, and finds out whose the pieces' time is. */
struct walk investigation_walk_of(struct investigation *v);
void investigation_add_up(struct investigation *v);
/* The step of the walk that leads to the culprit. */
uint32_t investigation_culprit_step(const struct investigation *v);
/* The fork at the wait that the step came from, NULL when none was met there. */
struct fork *investigation_fork(const struct investigation *v, uint32_t step);
/* The same by the wait's episode. */
struct fork *investigation_fork_of(const struct investigation *v, uint32_t episode);

/* Looks for a better way at the forks, and keeps it, and the rivals of what it found:
 * see beam.c. */
void beam_search(struct investigation *v);

#endif
