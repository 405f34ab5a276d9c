/* What the watchpoints' program and the agent share. */
#ifndef RECORD_WATCH_MAPS_H
#define RECORD_WATCH_MAPS_H

#include "trace/event.h"

#define WATCHES_MOST 256u        /* places, of all processes */
#define WATCH_SITES_MOST 2048u   /* instructions whose code is kept */
#define WATCH_SITE_BEFORE 128u   /* bytes of it, a power of two */
#define WATCH_SITE_AFTER 16u

/* Of a watched place, or of an instruction that came to one. */
struct watch_key {
	u64 address;
	u32 pid, zero;
};

struct watch_state {
	u64 last;                /* value when last seen */
	u64 whole;               /* address of the whole, of which this may be a piece */
	u64 hits;
	u32 number;              /* of the watch_point */
	u32 bytes;               /* of the whole */
	u32 limit;               /* hits a second and thread; 0 none */
	u32 access;              /* reads are recorded too */
	u64 off;                 /* disarmed */
};

/* Where registers lead at a place of code, and that a thread came there. */
#define WATCH_CODES_MOST 64u

struct watch_code {
	u16 base, index;         /* places in struct user_registers; index UINT16_MAX: none */
	u32 scale;
	u64 displacement;        /* may be negative */
};

struct watch_arrival {
	u64 address;
	u32 pid, spec;
};

/* What the iterator over a process's threads hands over: struct watch_thread of probe/thread_block.h. */
struct watch_thread_found {
	u32 tid, zero;
	u64 pointer;
};

struct watch_pace_key {
	u32 tid, number;
};

struct watch_pace {
	u64 since_ns, hits;
};

struct watch_site {
	u32 before, after;       /* bytes of code that are kept */
	u8 code[2 * WATCH_SITE_BEFORE]; /* those before end in the middle (the verifier sees no closer bound) */
};

#endif
