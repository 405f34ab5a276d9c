/* Requests of a server: on a socket of its own, from the first bytes that it read to the
 * last that it sent before it read again, whichever of its threads and processes did either.
 * They are found by messages, which only a trace of the full level has; without, by waits and
 * wake-ups (requests_lean.h). */
#ifndef PATH_REQUESTS_H
#define PATH_REQUESTS_H

#include "path/naming.h"

enum request_group {
	GROUP_NONE,
	GROUP_PORT,        /* the server's own */
	GROUP_SOCKET,      /* kind, and the path of a Unix socket */
	GROUP_FUNCTION     /* in which the answer was sent */
};

struct request {
	uint64_t start_ns, end_ns;
	uint64_t event;           /* that read it */
	uint64_t object;
	uint32_t thread;          /* that answered it at last */
	uint32_t group;           /* text, 0 none */
};

enum requests_found {
	FOUND_MESSAGES,
	FOUND_CLIENTS,     /* waits of clients on the machine, and turns that they began */
	FOUND_TURNS        /* turns that something from outside began */
};

struct requests {
	enum requests_found by;
	struct vec(struct request) list;  /* answered ones, the shortest first */
	uint64_t unanswered;      /* begun, and not answered in the window */
	uint64_t since_ns;        /* when the first of those began */
	uint32_t waits_thread;    /* that has it, or of its client waits for it */
};

/* Of the process and those that descend from it. */
void requests_find(struct naming *naming, const struct ends *ends, uint32_t pid, enum request_group by, uint64_t from_ns, uint64_t to_ns,
		   struct requests *ret_requests);
/* One more that was begun then and is not answered. */
void requests_add_unanswered(struct requests *requests, uint64_t start_ns, uint32_t thread);
void requests_done(struct requests *requests);
/* The duration that so many per mille of them do not exceed. */
uint64_t requests_quantile(const struct requests *requests, unsigned per_mille);

#endif
