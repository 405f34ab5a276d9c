/* What is told without being asked about. */
#ifndef SESSION_NOW_SURE_H
#define SESSION_NOW_SURE_H

#include "diagnose/diagnosis.h"
#include "diagnose/standing.h"

/* Though nobody has said that it is stuck: it is known who holds what it waits for, or that another owes it an answer. */
bool now_sure(const struct scene *scene, struct names *names, const struct standing *standing, const struct diagnosis *diagnosis, uint64_t from_ns);

/* Who is to blame is of another process, and stands in something of which it is known why it lasts: nobody else is to be looked for behind it. */
bool now_ends_known(const struct scene *scene, const struct diagnosis *diagnosis);

/* It is kept, but by whom is only guessed: told apart. */
bool now_doubted(const struct scene *scene, struct names *names, const struct standing *standing, const struct diagnosis *diagnosis);

#endif
