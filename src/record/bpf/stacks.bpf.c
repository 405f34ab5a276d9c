/* Which layout of mappings a process has, kept right at the moments when only
 * the kernel is quick enough: a forked child starts with its parent's, a new
 * program with none. */
#include "record/bpf/unwind.bpf.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

SEC("tp_btf/sched_process_fork")
int stacks_on_fork(u64 *context)
{
	struct task_struct *parent = (void *)context[0], *child = (void *)context[1];
	u32 from = GET(parent, tgid), to = GET(child, tgid);

	if (from == to)
		return 0;
	struct stack_process *layout = bpf_map_lookup_elem(&stack_processes, &from);
	if (layout)
		bpf_map_update_elem(&stack_processes, &to, layout, BPF_ANY);
	else
		bpf_map_delete_elem(&stack_processes, &to); /* what an earlier process of this number had */
	return 0;
}

SEC("tp_btf/sched_process_exec")
int stacks_on_exec(u64 *context)
{
	struct task_struct *task = (void *)context[0];
	u32 tgid = GET(task, tgid);

	bpf_map_delete_elem(&stack_processes, &tgid);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int stacks_on_exit(u64 *context)
{
	struct task_struct *task = (void *)context[0];
	u32 tgid = GET(task, tgid);
	struct signal_struct *signal = GET(task, signal);

	if (signal && GET(signal, live.counter) == 0)
		bpf_map_delete_elem(&stack_processes, &tgid);
	return 0;
}
