/* What the recording service does for one caller, in a process of its own: `argus service`
 * accepts and forks. */
#ifndef SESSION_SERVICE_WORK_H
#define SESSION_SERVICE_WORK_H

#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "record/service_conf.h"

#define SERVICE_GROUPS_MOST 1024u

/* Recordings and snapshots under way, by the process that makes each; shared by all of them. */
struct service_slots {
	_Atomic pid_t makers[SERVICE_RECORDINGS_MOST];
};

struct service_caller {
	int fd;
	struct ucred who;
	gid_t groups[SERVICE_GROUPS_MOST];
	uint32_t group_count;
	const struct service_conf *conf;
	const char *group;          /* whose members may ask */
	struct service_slots *slots;
};

/* Reads who is at the other end. */
int service_caller_read(struct service_caller *caller, struct err *err);
/* Sends the last answer and hangs up. */
void service_end(int fd, int code, const char *text);
/* Reads one request, does it and answers. */
void service_work(struct service_caller *caller);

#endif
