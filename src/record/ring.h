/* One processor's ring, as the BPF programs and the agent share it.
 *
 * A ring is one element of an array map that the agent has mapped. Programs
 * write records (struct record, then the payload and the tail) one behind the
 * other; a record that begins before the ring's end may reach into the slack
 * behind it, so that each is contiguous. Positions only grow; where a record
 * lies is its position modulo the ring's size.
 *
 * Programs on one processor interrupt each other strictly inside out, so a
 * position is taken with one addition and the outermost program publishes for
 * all inside it: `done` is the position up to which records are whole. It can
 * step back for a moment (an interrupt between reading and storing it); the
 * agent ignores that.
 *
 * Where little happens the agent sleeps long, and sets a limit at which it is
 * woken once; else the limit is where the ring counts as full. Before all programs
 * are attached and from when they begin to go the ring is closed: half of what
 * happens would tell of causes that are not there. */
#ifndef RECORD_RING_H
#define RECORD_RING_H

#include "trace/event.h"

#define RING_SLACK 4096u        /* no record is longer */
#define RING_DATA 4096u         /* records begin behind the head page */
#define RING_WAKE_SHIFT 3 /* a ring an eighth full wakes the agent from a long sleep */
#define RING_RESERVE (256u << 10) /* kept free for interrupts inside a program that is about to take room */

struct ring {
	/* written by programs */
	u64 head;               /* next position to be taken */
	u64 done;               /* records before it are whole */
	u32 depth;              /* programs between taking room and publishing */
	u32 hotplugs;           /* steps of this processor's going off line and coming back; written by any */
	u64 lost;               /* records dropped since the start */
	u64 lost_from_ns;       /* time of the first drop that the agent has not seen */
	u64 lost_to_ns;         /* time of the last drop */
	u64 percpu_base;        /* address of this processor's per-CPU area, less the run queue's offset in it; 0 not found yet */
	u64 block_request;      /* request that this processor completes just now */
	u64 block_until_ns;     /* ... and until when that may explain a wake-up */
	u64 idle_from_ns;       /* since when this processor rests; 0 it does not */
	u64 idle_ns;            /* how long it has rested before */
	u32 stack, stack_tid;   /* taken for the program that runs next (take_stack), and whose it is */
	u64 pad0[4];
	/* written by the agent */
	u64 tail;               /* records before it may be overwritten */
	u64 limit;              /* fill at which programs look closer: the agent is to be woken, or the ring is full */
	u64 lost_seen;          /* value of `lost` up to which it is reported */
	u64 open;               /* 0: nothing is recorded, for not all programs are attached; the limit is 0 then */
	u64 pad1[4];
};

#ifndef __bpf__
_Static_assert(sizeof(struct ring) <= RING_DATA, "a ring's head fits its page");
#endif

#endif
