/* Where processors execute, at each tick of their sampling clocks. Runs in a
 * hard interrupt (in a non-maskable one where the hardware's clock is used). */
#include "record/bpf/filter.bpf.h"
#include "record/bpf/ring.bpf.h"
#include "record/bpf/stack.bpf.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

SEC("perf_event")
int on_sample(void *context)
{
	struct task_struct *current = bpf_get_current_task_btf();
	u32 tid = current->pid;
	struct ring *ring;

	if (!tid || config_is_own(current->tgid) || !filter_passes(current))
		return 0;
	ring = ring_here();
	if (!ring)
		return 0;
	u64 now = bpf_ktime_get_ns();
	u32 ustack = stack_user(context, STACKS_SAMPLES);
	u32 kstack = stack_kernel(context, STACKS_SAMPLES);
	struct event_sample *e = ring_begin(ring, EVENT_sample, tid, now, sizeof(*e));
	if (!e)
		return 0;
	e->ustack = ustack;
	e->kstack = kstack;
	e->period_ns = config.sample_period_ns;
	ring_end(ring);
	return 0;
}
