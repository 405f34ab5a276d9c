/* Asking the recording service (session/service_work.h), as one who may not record. */
#ifndef SESSION_SERVICE_ASK_H
#define SESSION_SERVICE_ASK_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "record/service_request.h"

struct service_call {
	int fd;               /* of the socket: readable when there is an answer */
};

enum service_word { SERVICE_STARTED, SERVICE_PROGRESS, SERVICE_NOTE, SERVICE_END };

struct service_answer {
	enum service_word word;
	char text[1024];      /* of a note; of an end with a failure, in which case ... */
	int code;             /* ... it is a negative errno, else 0 */
	uint64_t events, bytes, lost, ns; /* of a progress */
};

/* Whether there is a service, and this user may ask it; words for the user when not. */
int service_connect(struct service_call *ret_call, struct err *err);
/* `output`: the descriptor to pass, -1 none. Closes the call when it fails. */
int service_send(struct service_call *call, const struct service_request *request, int output, struct err *err);
/* The next answer. A status's text goes to `text`, which may be NULL. */
int service_receive(struct service_call *call, struct service_answer *ret_answer, struct buf *text, struct err *err);
/* Asks it to end a recording. */
void service_stop(struct service_call *call);
void service_hang_up(struct service_call *call);

/* A whole request of the recorder in the background, which may be another's: of itself where
 * it answers us, else by the service. `line` is for the recorder, `request` for the service. */
int service_ask_recorder(const char *line, const struct service_request *request, struct buf *reply, struct err *err);
/* A snapshot by the service into `path`. */
int service_snap(const char *path, uint64_t last_ns, struct err *err);

#endif
