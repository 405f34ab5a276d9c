/* What the agent tells the BPF programs before they are loaded: constants of
 * each object's read-only data, so that the verifier drops what is switched
 * off. */
#ifndef RECORD_CONFIG_H
#define RECORD_CONFIG_H

#include "trace/event.h"

/* Offset of a per-CPU variable from the run queue's, which every program can
 * reach; ABSENT where the kernel has none of that name. */
#define PERCPU_ABSENT ((__INT64_TYPE__)1 << 62)

struct record_config {
	u64 ring_bytes;          /* a power of two */
	__INT64_TYPE__ preempt_count; /* from runqueues, as the next three */
	__INT64_TYPE__ hrtimer_bases;
	__INT64_TYPE__ timer_bases;
	__INT64_TYPE__ softnet_data;
	u32 timer_base_count;    /* elements of timer_bases */
	u32 timer_base_bytes;    /* size of one */
	u32 own_pid;             /* the agent's process, left out */
	u32 sample_period_ns;
	u8 switch_has_state;     /* sched_switch passes the state it leaves in */
	u8 filtered;             /* any filter is on */
	u8 filter_pids;          /* which are: each one has its map */
	u8 filter_tids;
	u8 filter_cpus;
	u8 filter_cgroups;
	u8 filter_users;
	u8 follow_forks;         /* children of filtered processes pass too */
	u8 full;                 /* the full level is on */
	u8 stacks;               /* STACKS_ of what takes stacks */
	u8 uring_passes_entry;   /* io_uring_complete passes the queue's entry (6.16) instead of its parts */
	u8 narrow;               /* no switches and wake-ups between threads that the filter leaves out */
	u8 names;                /* of calls that fail, also what they name is recorded: a path, an address */
	u8 reserved[3];
};

#define STACKS_WAITS 1u
#define STACKS_WAKES 2u
#define STACKS_MESSAGES 4u
#define STACKS_SYSCALLS 8u
#define STACKS_SAMPLES 16u
#define STACKS_PROBES 32u
#define STACKS_WATCHES 64u
#define STACKS_SLEEPERS 128u /* of threads that wait, in snapshots; STACKS_WAITS takes these, too */

/* Where a trace point's record has the first integers of its own, or what a function's,
 * instruction's or mark's probe is asked for: an element of the map `probe_fields`, at the probe's number.
 * Of functions and instructions `offset` is a register's place in struct user_registers; each step reads memory so far
 * behind what the one before gave. */
#define PROBE_FIELDS 3
#define PROBE_TEXT PROBE_FIELDS
#define PROBE_STEPS 4        /* as PROBE_VALUE_STEPS of probe/probe_value.h */
#define PROBE_TEXT_BYTES 64
struct probe_fields {
	struct {
		u16 offset;
		u8 bytes;        /* 1, 2, 4, 8; 0 none */
		u8 is_signed;
		u8 steps;
		u8 text;         /* of which the address is `text_behind` what the last step gave */
		u8 argument;     /* of a mark: of which argument, from 1, it is read, in the place of a register */
		u8 reserved;
		int displacement[PROBE_STEPS];
		int text_behind;
	} at[PROBE_FIELDS + 1];  /* the last, PROBE_TEXT: a text beside the values */
};

#define STACKS_FUNCTIONS 4096u /* functions of the kernel whose names are told, at most */
#define OWN_CHILDREN 64u /* a power of two */

/* Changes while programs run; one element of the map `live`. */
struct record_live {
	u64 realtime_offset_ns;  /* CLOCK_REALTIME less CLOCK_MONOTONIC */
	u32 own_children[OWN_CHILDREN]; /* processes that the agent has started since, by their lowest bits: left out too */
};

#endif
