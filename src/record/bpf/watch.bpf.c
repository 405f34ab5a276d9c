/* Hits of hardware watchpoints: what was written or read, by whom, from where.
 *
 * The processor traps behind the instruction, so the value read here is the new one;
 * the old one is kept from last time. Whether an access that is not known to be a write
 * read or wrote, its instruction tells, which the agent decodes: the code before a place
 * is copied when the place is first met (record/watchpoints.h). */
#include "record/bpf/filter.bpf.h"
#include "record/bpf/registers.bpf.h"
#include "record/bpf/ring.bpf.h"
#include "record/bpf/stack.bpf.h"
#include "record/watch_maps.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, WATCHES_MOST);
	__type(key, struct watch_key);
	__type(value, struct watch_state);
} watches SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, struct watch_pace_key);
	__type(value, struct watch_pace);
} watch_paces SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, WATCH_SITES_MOST);
	__type(key, struct watch_key);
	__type(value, struct watch_site);
} watch_sites SEC(".maps");

/* Wakes the thread that disarms, and arms where registers led. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 65536);
} watch_calls SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, WATCH_CODES_MOST);
	__type(key, u32);
	__type(value, struct watch_code);
} watch_codes SEC(".maps");

/* Places that were told; `zero` is the spec's number + 1. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, struct watch_key);
	__type(value, u8);
} watch_told SEC(".maps");

/* The process whose threads are asked for. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u32);
} watch_process SEC(".maps");

static const struct watch_site no_site;
static const struct watch_pace no_pace;

struct watch_context {
	struct user_registers registers;
	u64 period, address;
};

static __always_inline u64 value_at(u64 address, u32 bytes)
{
	u64 value = 0;

	bytes = ((bytes - 1) & 7) + 1;
	bpf_probe_read_user(&value, bytes, (void *)address);
	return value;
}

/* Keeps the code before and behind a place that was not met before. */
static __noinline int watch_keep_site(u32 pid, u64 ip)
{
	struct watch_key key = { .address = ip, .pid = pid };
	struct watch_site *site;
	u32 before = WATCH_SITE_BEFORE;

	if (bpf_map_lookup_elem(&watch_sites, &key))
		return 0;
	if (bpf_map_update_elem(&watch_sites, &key, &no_site, BPF_NOEXIST))
		return 0;
	site = bpf_map_lookup_elem(&watch_sites, &key);
	if (!site)
		return 0;
	/* the page before may not be there */
	if (bpf_probe_read_user(site->code, WATCH_SITE_BEFORE, (void *)(ip - WATCH_SITE_BEFORE))) {
		before = ip & 4095;
		if (before > WATCH_SITE_BEFORE)
			before = WATCH_SITE_BEFORE;
		if (before && bpf_probe_read_user(site->code + ((WATCH_SITE_BEFORE - before) & (WATCH_SITE_BEFORE - 1)),
						  ((before - 1) & (WATCH_SITE_BEFORE - 1)) + 1, (void *)(ip - before)))
			before = 0;
	}
	if (!bpf_probe_read_user(site->code + WATCH_SITE_BEFORE, WATCH_SITE_AFTER, (void *)ip))
		site->after = WATCH_SITE_AFTER;
	site->before = before;
	return 0;
}

/* Whether the thread came too often in this second, for the first time. */
static __noinline int watch_is_too_fast(u32 number, u32 tid, u64 now, u64 limit)
{
	struct watch_pace_key key = { .tid = tid, .number = number };
	struct watch_pace *pace = bpf_map_lookup_elem(&watch_paces, &key);

	if (!pace) {
		bpf_map_update_elem(&watch_paces, &key, &no_pace, BPF_NOEXIST);
		pace = bpf_map_lookup_elem(&watch_paces, &key);
		if (!pace)
			return 0;
	}
	if (now - pace->since_ns > 1000000000ull) {
		pace->since_ns = now;
		pace->hits = 0;
	}
	return ++pace->hits > limit;
}

static __always_inline void watch_disarm(struct watch_state *state, struct ring *ring, u32 tid, u64 now)
{
	u64 number = state->number;

	if (__sync_fetch_and_or(&state->off, 1))
		return;
	bpf_ringbuf_output(&watch_calls, &number, sizeof(number), BPF_RB_FORCE_WAKEUP);
	struct event_watch_off *e = ring_begin(ring, EVENT_watch_off, tid, now, sizeof(*e));
	if (!e)
		return;
	e->hits = state->hits;
	e->watch = state->number;
	e->reason = WATCH_OFF_limit;
	ring_end(ring);
}

SEC("perf_event")
int on_watch(struct watch_context *context)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct watch_key key = { .address = context->address, .pid = GET(task, tgid) };
	struct watch_state *state = bpf_map_lookup_elem(&watches, &key);
	struct ring *ring = ring_here();
	u64 ip = context->registers.ip, value;
	u32 tid = GET(task, pid), flags = 0, number, bytes;
	bool kernel = !(context->registers.cs & 3), access;

	if (!state || !ring || !ring->open || state->off)
		return 0;
	u64 now = bpf_ktime_get_ns();
	if (state->limit && watch_is_too_fast(state->number, tid, now, state->limit)) {
		watch_disarm(state, ring, tid, now);
		return 0;
	}
	__sync_fetch_and_add(&state->hits, 1);
	number = state->number;
	bytes = state->bytes;
	access = state->access;
	value = value_at(state->whole, bytes);
	u64 old = __sync_lock_test_and_set(&state->last, value);
	if (kernel) {
		flags |= FLAG_ACCESS_kernel;
		/* a system call's own reading of it is told from a write by the value alone */
		if (old != value)
			access = false;
	} else if (access) {
		watch_keep_site(key.pid, ip);
	}
	u32 stack = stack_user(context, STACKS_WATCHES);
	u64 whole = state->whole;
	struct event_flag_write *e = ring_begin(ring, access ? EVENT_flag_access : EVENT_flag_write, tid, now, sizeof(*e));
	if (!e)
		return 0;
	e->address = whole;
	e->value = value;
	e->ustack = stack;
	e->rule = 0;
	e->old = old;
	e->instruction = ip;
	e->watch = number;
	e->flags = flags;
	ring_end(ring);
	return 0;
}

static __always_inline u64 watch_register(struct user_registers *registers, u16 place)
{
	u64 value = 0;

	if (place < sizeof(*registers))
		bpf_probe_read_kernel(&value, sizeof(value), (void *)registers + place);
	return value;
}

/* A thread is about to execute the instruction at whose registers a place is told. */
SEC("uprobe")
int on_watch_code(struct user_registers *registers)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct watch_arrival arrival = { .pid = GET(task, tgid), .spec = bpf_get_attach_cookie(registers) };
	u32 number = arrival.spec;
	struct watch_code *code = bpf_map_lookup_elem(&watch_codes, &number);
	u8 one = 1;

	if (!code || config_is_own(arrival.pid) || !filter_passes(task))
		return 0;
	arrival.address = watch_register(registers, code->base) + watch_register(registers, code->index) * code->scale +
			  code->displacement;
	struct watch_key key = { .address = arrival.address, .pid = arrival.pid, .zero = arrival.spec + 1 };
	if (bpf_map_lookup_elem(&watch_told, &key) || bpf_map_update_elem(&watch_told, &key, &one, BPF_NOEXIST))
		return 0;
	if (bpf_ringbuf_output(&watch_calls, &arrival, sizeof(arrival), BPF_RB_FORCE_WAKEUP))
		bpf_map_delete_elem(&watch_told, &key);
	return 0;
}

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
} __attribute__((preserve_access_index));

/* Where each thread of a process has its own variables. */
SEC("iter/task")
int watch_threads(struct bpf_iter__task *context)
{
	struct task_struct *task = context->task;
	u32 zero = 0, *pid = bpf_map_lookup_elem(&watch_process, &zero);
	struct watch_thread_found found = { 0 };

	if (!task || !pid || (u32)GET(task, tgid) != *pid || GET(task, exit_state))
		return 0;
	found.tid = GET(task, pid);
	found.pointer = GET(task, thread.fsbase);
	bpf_seq_write(context->meta->seq, &found, sizeof(found));
	return 0;
}
