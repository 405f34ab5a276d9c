/* Stepping: at each place where a thread's way through chosen functions is decided, its
 * registers before it. Places are uprobes, which the kernel takes away when the recorder
 * ends, however it ends; it carries out branches and near calls itself, so that such a
 * place costs a trap, not a single-step (probe/code.h chooses the places). */
#include "record/bpf/config.bpf.h"
#include "record/bpf/filter.bpf.h"
#include "record/bpf/preempt.bpf.h"
#include "record/bpf/registers.bpf.h"
#include "record/bpf/ring.bpf.h"
#include "record/bpf/stack.bpf.h"
#include "record/step_maps.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, u32);
	__type(value, struct step_wish);
} step_wishes SEC(".maps");

/* Whether a branch with this condition code is taken, as step_condition_holds of probe/step_run.h. */
static __always_inline bool step_is_taken(u32 condition, u64 flags)
{
	bool carry = flags & 1, zero = flags & 0x40, sign = flags & 0x80, overflow = flags & 0x800, holds = false;

	switch (condition >> 1 & 7) {
	case 0: holds = overflow; break;
	case 1: holds = carry; break;
	case 2: holds = zero; break;
	case 3: holds = carry || zero; break;
	case 4: holds = sign; break;
	case 5: holds = flags & 4; break;
	case 6: holds = sign != overflow; break;
	case 7: holds = zero || sign != overflow; break;
	}
	return holds != (condition & 1);
}

/* Whether the thread has come with the stack that is asked for. */
static __noinline int step_has_stack(struct step_wish *wish)
{
	u32 zero = 0, *level = bpf_map_lookup_elem(&stack_level, &zero), at;
	struct walk *w;

	if (!wish || !level)
		return 0;
	at = *level;
	/* not one that was seen before: of that no frames are there */
	if (!stack_walk_seldom())
		return 0;
	w = bpf_map_lookup_elem(&stack_walks, &at);
	if (!w || w->message.count < wish->frame_count)
		return 0;
	for (u32 i = 1; i < STEP_FRAMES_MOST && i < wish->frame_count; i++)
		if (w->frames[i] != wish->frames[i])
			return 0;
	return 1;
}

static __always_inline bool step_is_called(const struct step_wish *wish)
{
	u64 comm[2] = { 0 };

	bpf_get_current_comm(comm, sizeof(comm));
	return comm[0] == *(const u64 *)wish->comm && comm[1] == *(const u64 *)(wish->comm + 8);
}

/* Whether this is the thread that is stepped, and it has not come to the end yet. */
static __noinline int step_goes_on(struct step_wish *wish, struct user_registers *registers, u64 cookie)
{
	struct task_struct *task = bpf_get_current_task_btf();
	u32 tid = GET(task, pid), owner;

	if (!wish || !registers)
		return 0;
	owner = wish->owner;
	if (!owner) {
		if (!(cookie & STEP_PLACE_starts) || (wish->frame_count && !step_has_stack(wish)))
			return 0;
		if (__sync_val_compare_and_swap(&wish->claimed, 0, 1))
			return 0;
		wish->waits = GET(task, nvcsw);
		wish->sp = registers->sp;
		*(volatile u32 *)&wish->owner = tid;
	} else if (owner != tid) {
		return 0;
	} else if ((wish->until == STEP_UNTIL_wait && (u64)GET(task, nvcsw) != wish->waits) ||
		   (wish->until == STEP_UNTIL_return &&
		    (registers->sp > wish->sp || (registers->sp == wish->sp && (cookie & STEP_PLACE_enters))))) {
		wish->over = 1;
		return 0;
	}
	if (wish->until == STEP_UNTIL_return && (cookie & STEP_PLACE_returns) && registers->sp >= wish->sp)
		wish->over = 1;
	if (wish->until == STEP_UNTIL_count) {
		u32 condition = cookie >> STEP_PLACE_CONDITION & 0xff;
		bool taken = condition < STEP_CONDITIONS && step_is_taken(condition, registers->flags);

		wish->instructions += cookie >> (taken ? STEP_PLACE_TAKEN : STEP_PLACE_STRAIGHT) & 0xffff;
		if (wish->instructions >= wish->count)
			wish->over = 1;
	}
	return 1;
}

static __always_inline int step_emit(struct user_registers *r, u32 tid, u64 cookie)
{
	struct ring *ring = ring_here();

	if (!ring)
		return 0;
	u32 stack = cookie & STEP_PLACE_stack ? stack_walk() : 0;
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
	e->ustack = stack;
	e->reserved = 0;
	ring_end_shared(ring);
	return 0;
}

static __always_inline int step_take(struct step_wish *wish, struct user_registers *registers, u32 tid)
{
	u64 cookie = bpf_get_attach_cookie(registers);

	if (wish->one && !step_goes_on(wish, registers, cookie))
		return 0;
	__sync_fetch_and_add(&wish->taken, 1);
	return step_emit(registers, tid, cookie);
}

SEC("uprobe")
int on_step(struct user_registers *registers)
{
	struct task_struct *task = bpf_get_current_task_btf();
	u32 zero = 0, tid = GET(task, pid);
	struct step_wish *wish = bpf_map_lookup_elem(&step_wishes, &zero);

	if (!wish || wish->over || wish->taken >= wish->most || (wish->tid && tid != wish->tid))
		return 0;
	if (wish->pid ? (u32)GET(task, tgid) != wish->pid : !filter_passes(task))
		return 0;
	if (wish->comm[0] && !step_is_called(wish))
		return 0;
	if (PREEMPT_KNOWN) {
		bpf_preempt_disable();
		step_take(wish, registers, tid);
		bpf_preempt_enable();
	} else {
		step_take(wish, registers, tid);
	}
	return 0;
}
