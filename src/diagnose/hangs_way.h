/* The way from who hangs to who is thought to keep it, as the rules look at it by which that may be meant. Private to hangs_meant.c. */
#ifndef DIAGNOSE_HANGS_WAY_H
#define DIAGNOSE_HANGS_WAY_H

#include "diagnose/hangs_rest.h"
#include "diagnose/investigation.h"

#define MOST_WAY 32

struct meaning {
	struct finder f;              /* of the thread whose places are known */
	const struct hang *hang;
	const struct scene *scene;
	const struct investigation *v;
	uint32_t way[MOST_WAY];       /* steps, from the victim's to the culprit's */
	unsigned count;
	const struct piece *end;      /* the longest that the culprit is charged with */
};

struct diagnose_request;

/* Walks from the victim; what is found lies in the arena. False: it leads nowhere. */
bool way_look(struct meaning *m, const struct finder *f, const struct hang *hang, struct investigation *v, struct diagnose_request *request,
	      struct arena *arena);
void way_done(struct meaning *m, struct investigation *v, struct arena *arena);

static inline uint32_t way_thread(const struct meaning *m, unsigned i)
{
	return m->v->steps.items[m->way[i]].thread;
}

/* What the thread there waited for, that the next one ended or should have; the culprit's, where it waits itself; NULL it does not. */
const struct wait *way_wait(const struct meaning *m, unsigned i);
/* By what another has, inside the kernel, or as it cannot write. */
bool way_wait_is_kept(const struct meaning *m, const struct wait *w);
/* Since when it is known what others did meanwhile: a part of a long trace may begin long after the hang. */
uint64_t way_known_from(const struct meaning *m);
/* Up to there nobody is kept by what another has, stands inside the kernel, or cannot write. */
bool way_free_to(const struct meaning *m, unsigned last);
/* The same from there to the culprit, or to where one looks for something, and is only thought to look for what the next one does. */
bool way_free_from(const struct meaning *m, unsigned first);
/* All along the way, and whom it leads to neither stands stopped nor waits for one of those. */
bool way_is_free(struct meaning *m);
/* Each of them waits for the next, by what was seen: none of them rests, and none is but thought to be the next. */
bool way_is_circle(struct meaning *m);
/* By which the next one on the way did something, or is known to be about to; by others it has what the one before needs. */
bool way_link_is_open(uint8_t link);
bool way_rests_at(struct meaning *m, const struct wait *w);
/* The process that was there as the hang began, of which the thread, or who started it, is. */
uint32_t way_there_before(const struct scene *scene, uint32_t thread, uint64_t from_ns);
/* One of that process was let go on, or sent something, by one of those on the way, up to `last`, as the hang began, and was not but answered. */
bool way_was_asked(const struct meaning *m, unsigned last, uint32_t pid);

#endif
