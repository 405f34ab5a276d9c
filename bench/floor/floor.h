/* The records of the floor recorder, shared by its BPF and its agent side. */
#ifndef BENCH_FLOOR_H
#define BENCH_FLOOR_H

#define FLOOR_SLOTS (1u << 20)   /* a processor: 32 MiB */
#define FLOOR_CPUS 256

struct floor_slot {
	unsigned long long time_ns;
	unsigned long long type;     /* 1..4; 0 not yet written */
	unsigned long long a, b;
};

/* One cache line each, so that processors do not share any. */
struct floor_count {
	unsigned long long written;  /* by BPF */
	unsigned long long taken;    /* by the agent */
	unsigned long long lost;     /* by BPF: the agent was a whole ring behind */
	unsigned long long padding[5];
};

#endif
