/* Succeeds where the machine has hardware watchpoints. */
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

static volatile int place;

int main(void)
{
	struct perf_event_attr attr = { .size = sizeof(attr), .type = PERF_TYPE_BREAKPOINT, .bp_type = HW_BREAKPOINT_W,
					.bp_addr = (uintptr_t)&place, .bp_len = 4, .sample_period = 1 };
	uint64_t hits = 0;
	int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);

	place = 1;
	return fd < 0 || read(fd, &hits, sizeof(hits)) != sizeof(hits) || hits != 1;
}
