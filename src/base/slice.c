/* See slice.h. */
#include "base/slice.h"

#include <sched.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SLICE_NS 20000000u /* longer than any usual one */

/* As the kernel has it; glibc has it since 2.41. */
struct attributes {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t slice_ns, deadline_ns, period_ns;
};

void slice_lengthen(void)
{
	struct attributes a = { .size = sizeof(a) };

	if (syscall(SYS_sched_getattr, 0, &a, sizeof(a), 0) || (a.policy != SCHED_OTHER && a.policy != SCHED_BATCH))
		return;
	a.slice_ns = SLICE_NS;
	syscall(SYS_sched_setattr, 0, &a, 0);
}
