/* Stepping: at each place where a thread's way through chosen functions is decided, its
 * registers before it. Places are uprobes, which the kernel takes away when the recorder
 * ends, however it ends; it carries out branches and near calls itself, so that such a
 * place costs a trap, not a single-step (probe/code.h chooses the places). */
#include "record/bpf/config.bpf.h"
#include "record/bpf/filter.bpf.h"
#include "record/bpf/preempt.bpf.h"
#include "record/bpf/registers.bpf.h"
#include "record/bpf/ring.bpf.h"
#include "record/step_maps.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, u32);
	__type(value, struct step_wish);
} step_wishes SEC(".maps");

static __always_inline int step_emit(struct user_registers *r, u32 tid)
{
	struct ring *ring = ring_here();

	if (!ring)
		return 0;
	struct event_step *e = ring_begin_shared(ring, EVENT_step, tid, bpf_ktime_get_ns(), sizeof(*e));
	if (!e)
		return 0;
	e->ip = r->ip;
	e->flags = r->flags;
	e->rax = r->ax;
	e->rcx = r->cx;
	e->rdx = r->dx;
	e->rbx = r->bx;
	e->rsp = r->sp;
	e->rbp = r->bp;
	e->rsi = r->si;
	e->rdi = r->di;
	e->r8 = r->r8;
	e->r9 = r->r9;
	e->r10 = r->r10;
	e->r11 = r->r11;
	e->r12 = r->r12;
	e->r13 = r->r13;
	e->r14 = r->r14;
	e->r15 = r->r15;
	ring_end_shared(ring);
	return 0;
}

SEC("uprobe")
int on_step(struct user_registers *registers)
{
	struct task_struct *task = bpf_get_current_task_btf();
	u32 zero = 0, tid = GET(task, pid);
	struct step_wish *wish = bpf_map_lookup_elem(&step_wishes, &zero);

	if (!wish || wish->taken >= wish->most || (wish->tid && tid != wish->tid))
		return 0;
	if (wish->pid ? (u32)GET(task, tgid) != wish->pid : !filter_passes(task))
		return 0;
	__sync_fetch_and_add(&wish->taken, 1);
	if (PREEMPT_KNOWN) {
		bpf_preempt_disable();
		step_emit(registers, tid);
		bpf_preempt_enable();
	} else {
		step_emit(registers, tid);
	}
	return 0;
}
