/* What the server answers: the session of `argus debug`, asked by a page. */
#ifndef UI_SERVED_H
#define UI_SERVED_H

#include "session/debug.h"
#include "session/overview.h"
#include "session/tiles.h"
#include "ui/http.h"

struct served {
	struct debug *debug;
	const char *build;       /* of Argus */
	struct overview overview; /* without threads: not made yet */
	struct tiles *tiles;     /* of a long trace; NULL: not made yet */
	uint32_t opened;         /* how often the trace was opened anew */
	uint32_t looks;          /* of the session, when its answer was found */
	struct arena arena;      /* of one request */
};

void served_done(struct served *served);
void served_answer(void *data, const struct http_request *request, struct http_reply *reply);

#endif
