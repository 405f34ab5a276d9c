/* For programs that run in a thread and may be preempted by it: uprobes. */
#ifndef RECORD_BPF_PREEMPT_BPF_H
#define RECORD_BPF_PREEMPT_BPF_H

#include "record/bpf/kernel.h"

extern void bpf_preempt_disable(void) __ksym __weak;
extern void bpf_preempt_enable(void) __ksym __weak;

enum special_kfunc_type___preempt { KF___bpf_trap };
#define PREEMPT_KNOWN bpf_core_enum_value_exists(enum special_kfunc_type___preempt, KF___bpf_trap)

#endif
