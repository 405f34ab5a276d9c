/* What the state iterator hands to user space through its file: one record for
 * each thing found, of `size` bytes in all, a multiple of 8. */
#ifndef RECORD_BPF_STATE_H
#define RECORD_BPF_STATE_H

#include "trace/event.h"

#define STATE_TEXT_BYTES 256
#define STATE_SET_ITEMS 1000     /* of one epoll set or inotify group, at most: see STATE_SHOWN_BYTES */

/* What one descriptor may take of the iterator's buffer, which is of eight pages: one that took more would end the walk over all
 * others. A set that holds more is told in part. */
#define STATE_SHOWN_BYTES 32000u

enum state_record_type { STATE_RECORD_DESCRIPTOR, STATE_RECORD_POLL_ITEM, STATE_RECORD_WATCH, STATE_RECORD_FUSE_ASKED, STATE_RECORD_BLOCKED,
			 STATE_RECORD_CALL_HELD };

struct state_record {
	u16 size;
	u16 type;                /* enum state_record_type */
	u32 pid;
};

struct state_descriptor {
	struct state_record head;
	struct event_descriptor descriptor;
	u64 own[2], peer[2];     /* of internet sockets; network byte order, IPv4 mapped into IPv6 */
	u16 own_port, peer_port;
	u16 family;
	u16 text_bytes;
	u32 text_is_peer;
	u32 reserved;
	char text[STATE_TEXT_BYTES]; /* path; of Unix sockets sun_path, the peer's when text_is_peer */
};

struct state_poll_item {
	struct state_record head;
	struct event_poll_item item;
};

struct state_fuse_asked {
	struct state_record head; /* of the thread that waits */
	struct event_fuse_asked asked;
};

struct state_call_held {
	struct state_record head; /* of the thread that waits */
	struct event_call_held held;
};

struct state_sleeper {
	struct state_record head;
	u32 tid, reserved;
	u64 switches;
	char comm[16];
};

#define STATE_NAME_BYTES 64      /* of one of the names that make a path */
#define STATE_NAMES 12

struct state_watch {
	struct state_record head;
	struct event_watch watch;
	u32 device;              /* of the file system, as the kernel has it */
	u16 names_bytes;
	u16 whole;               /* the names reach the file system's root */
	char names[STATE_TEXT_BYTES + STATE_NAME_BYTES]; /* of the file, of its folder and so on, each ended by a NUL */
};

#endif
