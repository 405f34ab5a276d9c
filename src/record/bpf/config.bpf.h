/* The configuration as the programs see it, and what it filters. */
#ifndef RECORD_BPF_CONFIG_BPF_H
#define RECORD_BPF_CONFIG_BPF_H

#include "record/bpf/kernel.h"
#include "record/config.h"

const volatile struct record_config config;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, u32);
	__type(value, struct record_live);
} live SEC(".maps");

static __always_inline u64 config_realtime_offset(void)
{
	u32 zero = 0;
	struct record_live *now = bpf_map_lookup_elem(&live, &zero);
	return now ? now->realtime_offset_ns : 0;
}

/* Whether the process is a part of the recorder: the agent, or one that it has
 * started since, to look at processes or to save a snapshot. */
static __always_inline bool config_is_own(u32 pid)
{
	u32 zero = 0;
	struct record_live *now;

	if (pid == config.own_pid)
		return true;
	now = bpf_map_lookup_elem(&live, &zero);
	return now && pid && now->own_children[pid & (OWN_CHILDREN - 1)] == pid;
}

#endif
