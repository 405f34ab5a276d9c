/* What is asked of the recording service (docs/man/service.md), and what it answers.
 *
 * One message each, on a socket that keeps messages apart (SOCK_SEQPACKET). A request is
 * lines: a verb, then KEY=VALUE; with `record` and `snap` the message carries the
 * descriptor of the file that the trace is to be written to. Answers are a word and its
 * text: `started`, `progress`, `note`, and last `end`. */
#ifndef RECORD_SERVICE_REQUEST_H
#define RECORD_SERVICE_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

#define SERVICE_SOCKET "/run/argus.socket"
#define SERVICE_REQUEST_BYTES 8192
#define SERVICE_ANSWER_BYTES (64u << 10)
#define SERVICE_TEXT_BYTES 1024

enum service_verb { SERVICE_RECORD, SERVICE_SNAP, SERVICE_MARK, SERVICE_STATUS, SERVICE_VERBS };

struct service_request {
	uint32_t verb;                     /* enum service_verb */
	/* record */
	uint64_t full;                     /* 1: the full level */
	uint64_t stacks;                   /* STACKS_ of config.h */
	uint64_t hz;                       /* CPU samples */
	uint64_t ring;                     /* bytes of memory of a processor's ring, 0 by the machine */
	uint64_t duration_ns, bytes;       /* at most; 0 no limit but the service's */
	uint64_t child;                    /* a command's process, whose children are recorded with it; 0 none */
	char pids[SERVICE_TEXT_BYTES], tids[SERVICE_TEXT_BYTES], cpus[SERVICE_TEXT_BYTES];
	char command[SERVICE_TEXT_BYTES];  /* for the trace's head */
	uint64_t last_ns;                  /* snap: only so much; 0 all */
	char text[SERVICE_TEXT_BYTES];     /* mark */
};

/* -EINVAL with words when a text has a newline or is too long. */
int service_request_put(const struct service_request *request, struct buf *to, struct err *err);
/* `text` need not end with a NUL. Takes nothing that service_request_put does not write. */
int service_request_parse(const char *text, size_t length, struct service_request *ret_request, struct err *err);

#endif
