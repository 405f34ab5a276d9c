/* What the processes whose numbers were asked about did when that was asked, before anything else was begun: until there is a recording of them
 * they may have gone on, or have ended. Of what it reads nothing can wait. */
#ifndef SESSION_NOW_ASKED_H
#define SESSION_NOW_ASKED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/options.h"

#define NOW_ASKED_MOST 64

struct now_asked_one {
	uint32_t number;            /* of a process or thread */
	char comm[32], place[64];   /* in the kernel; "" not known */
	char state;                 /* as /proc has it */
	uint64_t waited_ns;         /* so long it had not run; 0 not known */
	uint64_t asked_ns;
};

struct now_asked {
	struct now_asked_one list[NOW_ASKED_MOST];
	size_t count;
};

/* -ENOENT: there is none of a number. */
int now_asked_look(struct now_asked *asked, const struct options *given, struct err *err);
/* By its number, as written; NULL it was not there. */
const struct now_asked_one *now_asked_find(const struct now_asked *asked, const char *word);
/* What it did then, as a clause. */
void now_asked_text(struct arena *arena, const struct now_asked_one *one, struct buf *buf);

#endif
