/* Of who waits, though nobody asks about it, for another that it may have asked: who keeps it, as a guess. No claim, for it may only listen. */
#ifndef SESSION_NOW_PERHAPS_H
#define SESSION_NOW_PERHAPS_H

#include "diagnose/answer.h"
#include "diagnose/ends.h"
#include "diagnose/scene.h"
#include "diagnose/standing.h"
#include "session/session.h"

/* Who keeps it, as far as that is known; NULL: nobody but itself is. */
const struct actor *now_perhaps_keeper(const struct diagnosis *diagnosis);
/* It has one, which is sure enough, neither one of its own kind nor at rest, and stood since the look began. */
bool now_perhaps_tells(const struct scene *scene, const struct ends *ends, const struct diagnosis *diagnosis, const struct standing *standing,
		       uint64_t from_ns);
/* A line. */
void now_perhaps_text(struct arena *arena, const struct diagnosis *diagnosis, uint64_t for_ns, struct buf *buf);
/* Who keeps it, below the line of one of which nothing else is told; nothing where nobody is known. */
void now_perhaps_keeper_text(struct arena *arena, const struct diagnosis *diagnosis, struct buf *buf);
/* Of one that is asked about, and answered each time that it asks: who is to bring what it may look for. */
void now_perhaps_answered_text(struct arena *arena, const struct diagnosis *diagnosis, struct buf *buf);
/* Whose word lies in memory that nobody else has mapped. */
void now_lost_text(struct arena *arena, const struct session *session, const struct diagnosis *diagnosis, const struct standing *standing, struct buf *buf);

#endif
