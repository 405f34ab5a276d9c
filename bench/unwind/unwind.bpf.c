/* The unwinder alone, at the system call getppid of one process. */
#include "record/bpf/unwind.bpf.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

#define GETPPID 110 /* x86-64 */
enum { MODE_NOTHING, MODE_RECOGNISE, MODE_WALK };

__u64 bench_tgid, bench_mode, bench_stack;

/* Makes the unwinder forget this thread's stacks, so that it walks. */
static __noinline int forget(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct pt_regs *registers = (struct pt_regs *)bpf_task_pt_regs((void *)task);
	u32 *level;
	struct walk *w = walk_begin(&level);
	if (!w)
		return 0;
	w->ip = GET(registers, ip);
	w->start = GET(registers, sp);
	w->tid = GET(task, pid);
	for (u32 way = 0; way < STACK_LAST_WAYS; way++) {
		u32 place = last_places(w) + way;
		struct stack_last *last = bpf_map_lookup_elem(&stack_lasts, &place);
		if (last)
			last->tid = 0;
	}
	(*level)--;
	return 0;
}

SEC("raw_tp/sys_enter")
int bench_on_enter(__u64 *context)
{
	if (context[1] != GETPPID || bpf_get_current_pid_tgid() >> 32 != bench_tgid || bench_mode == MODE_NOTHING)
		return 0;
	if (bench_mode == MODE_WALK)
		forget();
	bench_stack = stack_walk();
	return 0;
}
