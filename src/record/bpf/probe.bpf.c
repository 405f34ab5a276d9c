/* Places in programs, libraries and the kernel that the person asked for: uprobes,
 * USDT marks, trace points. The attachment's cookie is the probe's number.
 *
 * A uprobe runs in the thread, and on a kernel that preempts itself another
 * thread may come between on the same processor, whose probes do not end before
 * this one goes on: preemption is switched off where the kernel lets programs
 * do that, and the ring's words are changed by single operations. */
#include "record/bpf/filter.bpf.h"
#include "record/bpf/preempt.bpf.h"
#include "record/bpf/registers.bpf.h"
#include "record/bpf/ring.bpf.h"
#include "record/bpf/stack.bpf.h"

#include <bpf/usdt.bpf.h>

char LICENSE[] SEC("license") = "Dual MIT/GPL";

#define USER_CODE_64 0x33 /* code segment of 64-bit programs */

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, PROBES_MOST + 1);
	__type(key, u32);
	__type(value, struct probe_fields);
} probe_fields SEC(".maps");

struct probe_values {
	u64 arg[PROBE_FIELDS], result;
};

static __always_inline bool probe_wanted(void)
{
	struct task_struct *task = bpf_get_current_task_btf();

	return !config_is_own(GET(task, tgid)) && filter_passes(task);
}

static __always_inline int probe_emit(void *context, u64 cookie, const struct probe_values *values)
{
	struct task_struct *task = bpf_get_current_task_btf();
	u32 tid = GET(task, pid);
	struct ring *ring = ring_here();
	if (!ring)
		return 0;
	u64 now = bpf_ktime_get_ns();
	u32 stack = stack_user(context, STACKS_PROBES);
	struct event_probe *e = ring_begin_shared(ring, EVENT_probe, tid, now, sizeof(*e));
	if (!e)
		return 0;
	e->arg1 = values->arg[0];
	e->arg2 = values->arg[1];
	e->arg3 = values->arg[2];
	e->result = values->result;
	e->probe = (u32)cookie;
	e->ustack = stack;
	ring_end_shared(ring);
	return 0;
}

/* From a thread, which may be preempted. The unwinder is a function of its own,
 * which the verifier lets be called without preemption since 6.16. */
static __always_inline int probe_emit_thread(void *context, u64 cookie, const struct probe_values *values)
{
	if (PREEMPT_KNOWN) {
		bpf_preempt_disable();
		probe_emit(context, cookie, values);
		bpf_preempt_enable();
	} else {
		probe_emit(context, cookie, values);
	}
	return 0;
}

/* What the probe is asked for instead of the first arguments. */
static __always_inline void probe_asked(struct user_registers *registers, u64 cookie, struct probe_values *values)
{
	u32 number = cookie;
	struct probe_fields *fields = bpf_map_lookup_elem(&probe_fields, &number);

	if (!fields || !fields->at[0].bytes)
		return;
	for (int i = 0; i < PROBE_FIELDS; i++) {
		u64 value = 0;

		if (fields->at[i].bytes && fields->at[i].offset < sizeof(*registers))
			bpf_probe_read_kernel(&value, 8, (void *)registers + fields->at[i].offset);
		if (fields->at[i].memory && bpf_probe_read_user(&value, 8, (void *)(value + fields->at[i].displacement)))
			value = 0;
		values->arg[i] = value;
	}
}

SEC("uprobe")
int on_probe_function(struct user_registers *registers)
{
	struct probe_values values = { 0 };

	if (!probe_wanted())
		return 0;
	if (registers->cs == USER_CODE_64) {
		values.arg[0] = registers->di;
		values.arg[1] = registers->si;
		values.arg[2] = registers->dx;
		probe_asked(registers, bpf_get_attach_cookie(registers), &values);
	}
	return probe_emit_thread(registers, bpf_get_attach_cookie(registers), &values);
}

SEC("uretprobe")
int on_probe_return(struct user_registers *registers)
{
	struct probe_values values = { .result = registers->ax };

	if (!probe_wanted())
		return 0;
	return probe_emit_thread(registers, bpf_get_attach_cookie(registers), &values);
}

SEC("usdt")
int on_probe_usdt(struct pt_regs *context)
{
	struct probe_values values = { 0 };

	if (!probe_wanted())
		return 0;
	for (int i = 0; i < PROBE_FIELDS; i++) {
		long value = 0;

		if (!bpf_usdt_arg(context, i, &value))
			values.arg[i] = value;
	}
	return probe_emit_thread(context, bpf_usdt_cookie(context), &values);
}

SEC("tp")
int on_probe_tracepoint(void *context)
{
	struct probe_values values = { 0 };
	u64 cookie = bpf_get_attach_cookie(context);
	u32 number = cookie;
	struct probe_fields *fields = bpf_map_lookup_elem(&probe_fields, &number);

	if (!fields || !probe_wanted())
		return 0;
	for (int i = 0; i < PROBE_FIELDS; i++) {
		u64 value = 0;
		u32 bytes = fields->at[i].bytes & 15;

		if (!bytes || bytes > 8 || bpf_probe_read_kernel(&value, bytes, context + fields->at[i].offset))
			continue;
		u32 unused = (64 - bytes * 8) & 63;
		values.arg[i] = fields->at[i].is_signed ? (u64)((long long)(value << unused) >> unused) : value;
	}
	return probe_emit(context, cookie, &values);
}
