/* File locks from /proc/locks: who holds them, who waits for whom. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "record/object.h"
#include "record/state.h"

/* 1: POSIX  ADVISORY  WRITE 2291 fe:01:2621 0 EOF
 * 1: -> POSIX  ADVISORY  WRITE 2305 fe:01:2621 0 EOF */
static int parse_line(const char *line, uint32_t *pid, uint64_t *number, struct event_lock_held *lock)
{
	char family[16], rule[16], type[16], end[24];
	int32_t owner;
	unsigned major, minor;
	uint64_t inode;
	int at = 0;
	memset(lock, 0, sizeof(*lock));
	if (sscanf(line, "%" SCNu64 ": %n", number, &at) != 1 || !at)
		return -EINVAL;
	line += at;
	while (!strncmp(line, "-> ", 3)) {
		lock->blocked = 1;
		line += 3;
	}
	if (sscanf(line, " %15s %15s %15s %" SCNd32 " %x:%x:%" SCNu64 " %" SCNu64 " %23s", family, rule, type, &owner,
		   &major, &minor, &inode, &lock->start, end) != 9)
		return -EINVAL;
	if (!strcmp(end, "EOF"))
		lock->end = INT64_MAX;
	else if (sscanf(end, "%" SCNu64, &lock->end) != 1)
		return -EINVAL;
	if (!strcmp(family, "FLOCK"))
		lock->family = LOCK_FAMILY_flock;
	else if (!strcmp(family, "OFDLCK"))
		lock->family = LOCK_FAMILY_description;
	else if (!strcmp(family, "LEASE") || !strcmp(family, "DELEG"))
		lock->family = LOCK_FAMILY_lease;
	else if (!strcmp(family, "POSIX") || !strcmp(family, "ACCESS"))
		lock->family = LOCK_FAMILY_posix;
	else
		return -EINVAL;
	lock->type = !strcmp(type, "WRITE") ? LOCK_TYPE_write : !strcmp(type, "READ") ? LOCK_TYPE_read : LOCK_TYPE_unlock;
	lock->object = object_of_inode(OBJECT_KIND_file, (uint32_t)major << 20 | minor, inode);
	*pid = owner > 0 ? (uint32_t)owner : 0;
	return 0;
}

int state_parse_locks(const char *text, pid_t only, struct state_sink *sink, struct err *err)
{
	uint64_t holder_number = 0;
	uint32_t holder = 0;
	while (*text) {
		const char *next = strchr(text, '\n');
		uint32_t pid;
		uint64_t number;
		struct event_lock_held lock;
		/* a last line without its end was cut off by the buffer */
		if (!next)
			break;
		if (parse_line(text, &pid, &number, &lock) == 0) {
			if (!lock.blocked) {
				holder_number = number;
				holder = pid;
			} else if (number == holder_number) {
				lock.blocker = holder;
			}
			if (!only || (pid_t)pid == only || (pid_t)lock.blocker == only) {
				int code = sink->event(sink, pid, EVENT_lock_held, &lock, NULL, 0, err);
				if (code < 0)
					return code;
			}
		}
		text = next + 1;
	}
	return 0;
}
