/* All programs that nearly every recording has, as one object: what they need to know
 * of the kernel's types is looked up once, which takes longer than anything else about
 * an object. */
#include "record/bpf/sched_programs.bpf.h"
#include "record/bpf/life_programs.bpf.h"
#include "record/bpf/storage_programs.bpf.h"
#include "record/bpf/tasks_programs.bpf.h"
#include "record/bpf/stacks_programs.bpf.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";
