/* See samples.h. */
#ifdef HAVE_BPF
#include "record/samples.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/arena.h"
#include "record/programs.h"
#include "record/rings.h"

struct clock {
	struct bpf_link *link;   /* NULL: the processor is off line */
	uint32_t hotplugs;       /* of its ring, when the clock was opened */
};

struct samples {
	struct bpf_program *program;
	const struct rings *rings;
	uint32_t hz;
	struct clock clocks[];   /* by processor */
};

/* 0 too where the processor is off line now. */
static int clock_open(struct samples *samples, uint32_t cpu)
{
	struct clock *clock = &samples->clocks[cpu];
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_freq = samples->hz,
		.freq = 1,
	};
	int fd, r;

	rings_hotplugged(samples->rings, cpu, &clock->hotplugs);
	fd = (int)syscall(SYS_perf_event_open, &attr, -1, (int)cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return errno == ENODEV ? 0 : -errno;
	clock->link = bpf_program__attach_perf_event(samples->program, fd);
	if (clock->link)
		return 0;
	r = -errno;
	close(fd);
	return r;
}

int samples_open(const struct programs *programs, const struct rings *rings, uint32_t hz, struct samples **ret_samples,
		 struct err *err)
{
	struct bpf_program *program = programs_find(programs, "on_sample");
	struct samples *samples;

	if (!program)
		return err_set(err, -ENOENT, "the sampling program is missing");
	samples = mem_zalloc(sizeof(*samples) + rings->cpus * sizeof(samples->clocks[0]));
	samples->program = program;
	samples->rings = rings;
	samples->hz = hz;
	for (uint32_t cpu = 0; cpu < rings->cpus; cpu++) {
		int r = clock_open(samples, cpu);

		if (r) {
			samples_close(samples);
			return err_sys(err, r, "sampling processor %u at %u Hz", cpu, hz);
		}
	}
	*ret_samples = samples;
	return 0;
}

void samples_renew(struct samples *samples)
{
	for (uint32_t cpu = 0; samples && cpu < samples->rings->cpus; cpu++) {
		struct clock *clock = &samples->clocks[cpu];

		if (!rings_hotplugged(samples->rings, cpu, &clock->hotplugs))
			continue;
		bpf_link__destroy(clock->link);
		clock->link = NULL;
		clock_open(samples, cpu);
	}
}

void samples_close(struct samples *samples)
{
	if (!samples)
		return;
	for (uint32_t cpu = 0; cpu < samples->rings->cpus; cpu++)
		bpf_link__destroy(samples->clocks[cpu].link);
	free(samples);
}
#endif
