/* Threads that sleep for a kernel lock just now, and for which: contention_end does not tell whether a lock was waited for asleep,
 * and a task tells of mutexes alone, on most kernels. */
#ifndef RECORD_BPF_CONTENDED_BPF_H
#define RECORD_BPF_CONTENDED_BPF_H

#ifdef RECORD_BPF_WAIT_BPF_H
#error "wait.bpf.h, which asks this, comes behind it"
#endif

#include "record/bpf/kernel.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8192);
	__type(key, u32);
	__type(value, u64);        /* the lock's address, its kind in the low bits, as in task_struct.blocker */
} contended SEC(".maps");

/* What wait.bpf.h asks where it is compiled beside this. */
#define WAIT_CONTENDED(tid) wait_contended(tid)
static __always_inline u64 wait_contended(u32 tid)
{
	u64 *blocker = bpf_map_lookup_elem(&contended, &tid);

	return blocker ? *blocker : 0;
}

#endif
