/* The maps that the unwinder and the agent share; record/stack_maps.h says what
 * their elements are. */
#ifndef RECORD_BPF_STACK_TABLES_BPF_H
#define RECORD_BPF_STACK_TABLES_BPF_H

#include "record/bpf/config.bpf.h"
#include "record/stack_maps.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, STACK_PROCESSES_MAX);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, u32);
	__type(value, struct stack_process);
} stack_processes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, STACK_MAPPINGS_MAX);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, u32);
	__type(value, struct stack_mapping);
} stack_mappings SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, STACK_PAGES_MAX);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, u32);
	__type(value, struct stack_page);
} stack_pages SEC(".maps");

struct stack_shard_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(key_size, sizeof(u32));
	__uint(value_size, sizeof(struct stack_shard));
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, STACK_SHARDS_MAX);
	__type(key, u32);
	__array(values, struct stack_shard_map);
} stack_rows SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, STACK_RULES_MAX);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, u32);
	__type(value, struct unwind_rule);
} stack_rules SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1u << STACK_MEMO_SHIFT);
	__type(key, u32);
	__type(value, u64);
} stack_memo SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, u32);
	__type(value, struct stack_now);
} stack_now SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 2u << STACK_KNOWN_SHIFT);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, u32);
	__type(value, u64);
} stack_known SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1u << STACK_LAST_SHIFT);
	__type(key, u32);
	__type(value, struct stack_last);
} stack_lasts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, PYTHON_OFFSETS_MAX);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, u32);
	__type(value, struct python_offsets);
} python_offsets SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1u << PYTHON_TOLD_SHIFT);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, u32);
	__type(value, u64);
} python_told SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, STACK_RING_BYTES);
} stack_ring SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, STACK_COUNTS);
	__type(key, u32);
	__type(value, u64);
} stack_counts SEC(".maps");

/* Which layout of mappings a process has, kept right at the moments when only the kernel is quick enough: a
 * forked child starts with its parent's, a new program, or what an earlier process of its number had, with none. */
static __always_inline void stack_process_forget(u32 tgid)
{
	bpf_map_delete_elem(&stack_processes, &tgid);
}

static __always_inline void stack_process_fork(u32 parent, u32 child)
{
	struct stack_process *layout = parent != child ? bpf_map_lookup_elem(&stack_processes, &parent) : NULL;

	if (layout)
		bpf_map_update_elem(&stack_processes, &child, layout, BPF_ANY);
	else if (parent != child)
		stack_process_forget(child);
}

#endif
