/* The floor recorder's agent: loads the programs, then every millisecond takes
 * what is new out of the mapped rings into memory (nothing is kept: it is the
 * bound below which no recorder of this kind can be). Real-time, as a reader that
 * loses nothing has to be. Prints "ready", and at SIGINT or SIGTERM one JSON
 * object with what it counted. With --calls it leaves switches and wake-ups alone. */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <bpf/libbpf.h>
#include "floor.h"
#include "floor.skel.h"

static volatile sig_atomic_t stopped;

static void on_signal(int number)
{
	(void)number;
	stopped = 1;
}

static unsigned long long take(struct floor_count *count, const struct floor_slot *ring, struct floor_slot *out)
{
	unsigned long long from = count->taken;
	unsigned long long to = __atomic_load_n(&count->written, __ATOMIC_ACQUIRE);

	while (from != to) {
		unsigned first = (unsigned)from & (FLOOR_SLOTS - 1);
		unsigned long long run = to - from;

		if (run > FLOOR_SLOTS - first)
			run = FLOOR_SLOTS - first;
		if (run > 1024)
			run = 1024;
		memcpy(out, ring + first, run * sizeof(*out));
		from += run;
		__atomic_store_n(&count->taken, from, __ATOMIC_RELEASE);
	}
	return from;
}

int main(int count, char **words)
{
	static struct floor_slot copy[1024];
	int cpus = libbpf_num_possible_cpus();
	unsigned long long events = 0, lost = 0;
	struct sched_param priority = { .sched_priority = 1 };
	struct floor_bpf *floor = floor_bpf__open();
	struct floor_slot *rings;
	size_t size;

	if (!floor || cpus < 1 || cpus > FLOOR_CPUS)
		return 1;
	if (count > 1 && strcmp(words[1], "--calls") == 0) {
		bpf_program__set_autoload(floor->progs.on_switch, false);
		bpf_program__set_autoload(floor->progs.on_waking, false);
	}
	floor->rodata->agent_pid = (unsigned)getpid();
	bpf_map__set_max_entries(floor->maps.slots, FLOOR_SLOTS * (unsigned)cpus);
	if (floor_bpf__load(floor) || floor_bpf__attach(floor)) {
		fprintf(stderr, "floor: the kernel refuses its programs: %s\n", strerror(errno));
		return 1;
	}
	size = (size_t)cpus * FLOOR_SLOTS * sizeof(struct floor_slot);
	rings = mmap(NULL, size, PROT_READ, MAP_SHARED | MAP_POPULATE, bpf_map__fd(floor->maps.slots), 0);
	if (rings == MAP_FAILED) {
		perror("floor: mmap");
		return 1;
	}
	mlockall(MCL_CURRENT);
	sched_setscheduler(0, SCHED_FIFO, &priority);
	signal(SIGINT, on_signal);
	signal(SIGTERM, on_signal);
	printf("ready\n");
	fflush(stdout);
	while (!stopped) {
		for (int cpu = 0; cpu < cpus; cpu++)
			take(&floor->bss->counts[cpu], rings + (size_t)cpu * FLOOR_SLOTS, copy);
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	}
	floor_bpf__detach(floor);
	for (int cpu = 0; cpu < cpus; cpu++) {
		events += take(&floor->bss->counts[cpu], rings + (size_t)cpu * FLOOR_SLOTS, copy);
		lost += floor->bss->counts[cpu].lost;
	}
	printf("{\"events\":%llu,\"lost\":%llu,\"bytes\":%llu}\n", events, lost, events * (unsigned long long)sizeof(*copy));
	munmap(rings, size);
	floor_bpf__destroy(floor);
	return 0;
}
