/* /etc/argus/argus.conf: what members of the group argus may ask of the recording service.
 *
 * A line: KEY = VALUE; # begins a comment. What the file does not say is as below. */
#ifndef RECORD_SERVICE_CONF_H
#define RECORD_SERVICE_CONF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define SERVICE_CONF_PATH "/etc/argus/argus.conf"
#define SERVICE_CONF_BYTES (64u << 10)
#define SERVICE_RECORDINGS_MOST 16u

struct service_conf {
	bool members_see_all;      /* members-see = own | all */
	char see_all[1024];        /* see-all: users and @groups that see all processes, a blank before and behind each */
	uint32_t recordings;       /* recordings and snapshots made at one time */
	uint64_t recording_bytes;  /* of one, at most */
	uint64_t recording_ns;     /* how long one may take */
};

/* `text` need not end with a NUL. */
int service_conf_parse(const char *text, size_t length, struct service_conf *ret_conf, struct err *err);
/* A file that is not there says nothing. One that others than root may write is refused. */
int service_conf_read(const char *path, struct service_conf *ret_conf, struct err *err);
/* `groups`: all that the user is in. */
bool service_conf_sees_all(const struct service_conf *conf, uint32_t uid, const uint32_t *groups, uint32_t group_count);

#endif
