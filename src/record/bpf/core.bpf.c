/* The programs that most recordings have, as one object: what they need to know
 * of the kernel's types is looked up once, which takes longer than anything else about
 * an object. Not those that look at threads (tasks.bpf.c): they read the memory of others
 * than the current one, and are compiled for that. */
#include "record/bpf/sched_programs.bpf.h"
#include "record/bpf/life_programs.bpf.h"
#include "record/bpf/storage_programs.bpf.h"
#include "record/bpf/stacks_programs.bpf.h"
#include "record/bpf/call_programs.bpf.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";
