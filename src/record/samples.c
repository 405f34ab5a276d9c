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

struct samples {
	uint32_t count;
	struct bpf_link *links[];
};

static int open_clock(uint32_t cpu, uint32_t hz)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_freq = hz,
		.freq = 1,
	};

	return (int)syscall(SYS_perf_event_open, &attr, -1, (int)cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

int samples_open(const struct programs *programs, uint32_t cpus, uint32_t hz, struct samples **ret_samples,
		 struct err *err)
{
	struct bpf_program *program = programs_find(programs, "on_sample");
	struct samples *samples;

	if (!program)
		return err_set(err, -ENOENT, "the sampling program is missing");
	samples = mem_zalloc(sizeof(*samples) + cpus * sizeof(samples->links[0]));
	for (uint32_t cpu = 0; cpu < cpus; cpu++) {
		int fd = open_clock(cpu, hz), r;

		/* possible, but not there now */
		if (fd < 0 && errno == ENODEV)
			continue;
		samples->links[samples->count] = fd < 0 ? NULL : bpf_program__attach_perf_event(program, fd);
		if (!samples->links[samples->count]) {
			r = -errno;
			if (fd >= 0)
				close(fd);
			samples_close(samples);
			return err_sys(err, r, "sampling processor %u at %u Hz", cpu, hz);
		}
		samples->count++;
	}
	*ret_samples = samples;
	return 0;
}

void samples_close(struct samples *samples)
{
	if (!samples)
		return;
	while (samples->count)
		bpf_link__destroy(samples->links[--samples->count]);
	free(samples);
}
#endif
