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

/* Each probe's hits, also those that the filter leaves out: they cost the same. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, PROBES_MOST + 1);
	__type(key, u32);
	__type(value, u64);
} probe_hits SEC(".maps");

struct probe_values {
	u64 arg[PROBE_FIELDS + 1], result;
	struct probe_fields *fields; /* of which texts are asked for; NULL none */
};

static __always_inline bool probe_wanted(u64 cookie)
{
	u32 number = cookie;
	u64 *hits = bpf_map_lookup_elem(&probe_hits, &number);
	struct task_struct *task = bpf_get_current_task_btf();

	if (hits)
		(*hits)++;
	return !config_is_own(GET(task, tgid)) && filter_passes(task);
}

/* The texts that the probe is asked for, an event each. */
static __always_inline void probe_texts(struct ring *ring, u32 tid, u32 number, const struct probe_values *values)
{
	for (int i = 0; i <= PROBE_TEXT; i++) {
		struct event_probe_text *e;

		if (!values->fields->at[i].text)
			continue;
		e = ring_begin_shared(ring, EVENT_probe_text, tid, bpf_ktime_get_ns(), sizeof(*e) + PROBE_TEXT_BYTES);
		if (!e)
			continue;
		e->probe = number;
		e->argument = i + 1;
		__builtin_memset(e + 1, 0, PROBE_TEXT_BYTES);
		bpf_probe_read_user_str(e + 1, PROBE_TEXT_BYTES, (void *)values->arg[i]);
		ring_end_shared(ring);
	}
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
	if (values->fields)
		probe_texts(ring, tid, (u32)cookie, values);
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

/* So many bytes, signed or not, as 64 bits. */
static __always_inline u64 probe_widen(u64 value, u32 bytes, bool is_signed)
{
	u32 unused = (64 - bytes * 8) & 63;

	return is_signed ? (u64)((long long)(value << unused) >> unused) : value << unused >> unused;
}

/* The value at the end of the steps from a register or argument; of a text its address. */
static __noinline u64 probe_value(u64 value, struct probe_fields *fields, u32 i)
{
	u64 next;

	if (!fields || i > PROBE_TEXT)
		return 0;
	u32 steps = fields->at[i].steps, bytes = fields->at[i].bytes & 15;
	bool text = fields->at[i].text;

	if (!bytes)
		return 0;
	KEEP_LIMITS(bytes);
	if (bytes > 8)
		return 0;
	if (!steps)
		value += fields->at[i].displacement[0];
	for (u32 s = 0; s < PROBE_STEPS && s < steps; s++) {
		u32 wanted = s + 1 == steps && !text ? bytes : 8;

		next = 0;
		if (bpf_probe_read_user(&next, wanted, (void *)(value + fields->at[i].displacement[s])))
			return 0;
		value = next;
	}
	if (text)
		return value + fields->at[i].text_behind;
	return probe_widen(value, bytes, fields->at[i].is_signed);
}

/* Whether the probe is asked for something in the place of this of its first arguments, or for a text beside them. */
static __always_inline bool probe_is_asked(const struct probe_fields *fields, u32 i)
{
	return fields->at[i == PROBE_TEXT ? i : 0].bytes;
}

static __always_inline void probe_take(struct probe_values *values, struct probe_fields *fields, u32 i, u64 base)
{
	values->arg[i] = probe_value(base, fields, i);
	if (fields->at[i].text)
		values->fields = fields;
}

/* What the probe is asked for instead of the first arguments. */
static __always_inline void probe_asked(struct user_registers *registers, u64 cookie, struct probe_values *values)
{
	u32 number = cookie;
	struct probe_fields *fields = bpf_map_lookup_elem(&probe_fields, &number);

	if (!fields)
		return;
	for (int i = 0; i <= PROBE_TEXT; i++) {
		u64 base = 0;

		if (!probe_is_asked(fields, i))
			continue;
		if (fields->at[i].offset < sizeof(*registers))
			bpf_probe_read_kernel(&base, 8, (void *)registers + fields->at[i].offset);
		probe_take(values, fields, i, base);
	}
}

SEC("uprobe")
int on_probe_function(struct user_registers *registers)
{
	struct probe_values values = { 0 };

	if (!probe_wanted(bpf_get_attach_cookie(registers)))
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

	if (!probe_wanted(bpf_get_attach_cookie(registers)))
		return 0;
	return probe_emit_thread(registers, bpf_get_attach_cookie(registers), &values);
}

SEC("usdt")
int on_probe_usdt(struct pt_regs *context)
{
	struct probe_values values = { 0 };
	u64 cookie = bpf_usdt_cookie(context);
	u32 number = cookie;
	struct probe_fields *fields = bpf_map_lookup_elem(&probe_fields, &number);

	if (!fields || !probe_wanted(cookie))
		return 0;
	for (int i = 0; i <= PROBE_TEXT; i++) {
		bool asked = probe_is_asked(fields, i);
		u32 argument = asked ? fields->at[i].argument : i == PROBE_TEXT ? 0 : i + 1;
		long base = 0;

		if (!argument || bpf_usdt_arg(context, argument - 1, &base))
			continue;
		if (asked)
			probe_take(&values, fields, i, base);
		else
			values.arg[i] = base;
	}
	return probe_emit_thread(context, cookie, &values);
}

SEC("tp")
int on_probe_tracepoint(void *context)
{
	struct probe_values values = { 0 };
	u64 cookie = bpf_get_attach_cookie(context);
	u32 number = cookie;
	struct probe_fields *fields = bpf_map_lookup_elem(&probe_fields, &number);

	if (!fields || !probe_wanted(cookie))
		return 0;
	for (int i = 0; i < PROBE_FIELDS; i++) {
		u64 value = 0;
		u32 bytes = fields->at[i].bytes & 15;

		if (!bytes || bytes > 8 || bpf_probe_read_kernel(&value, bytes, context + fields->at[i].offset))
			continue;
		values.arg[i] = probe_widen(value, bytes, fields->at[i].is_signed);
	}
	return probe_emit(context, cookie, &values);
}
