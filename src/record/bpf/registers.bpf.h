/* A thread's registers as programs of uprobes and perf events are handed them. */
#ifndef RECORD_BPF_REGISTERS_BPF_H
#define RECORD_BPF_REGISTERS_BPF_H

#include "record/bpf/kernel.h"

struct user_registers {
	u64 r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, orig_ax, ip, cs, flags, sp, ss;
};

#endif
