/* See watch_arms.h. */
#ifdef HAVE_BPF
#include "record/watch_arms.h"

#include <errno.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TRIES 50             /* to arm all threads while the process makes new ones */

static int refused(const struct watch_place *place, pid_t tid, int r, struct err *err)
{
	const char *written = place->spec->written;

	if (r == -ENOSPC)
		return err_set(err, r, "--watch %s: the processor has four watchpoints a thread, and those of thread %d are taken: by others of "
			       "this recording, a debugger or another recorder (an unaligned place takes several)", written, (int)tid);
	if (r == -EACCES || r == -EPERM)
		return err_set(err, r, "--watch %s: the kernel does not let this user watch thread %d: run as root", written, (int)tid);
	if (r == -EOPNOTSUPP || r == -ENODEV || r == -ENOENT)
		return err_set(err, r, "--watch %s: this machine has no hardware watchpoints (a virtual machine may hide them)", written);
	if (r == -EMFILE)
		return err_set(err, r, "--watch %s: too many threads for this user's limit of open files (ulimit -n)", written);
	return err_sys(err, r, "--watch %s: arming thread %d", written, (int)tid);
}

/* Disabled, with its program; -ESRCH when the thread has ended. */
static int open_one(const struct watch_arms *arms, pid_t tid, uint64_t address, uint32_t bytes, const struct watch_place *place)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr), .type = PERF_TYPE_BREAKPOINT, .bp_type = place->spec->access ? HW_BREAKPOINT_RW : HW_BREAKPOINT_W,
		.bp_addr = address, .bp_len = bytes, .sample_period = 1, .disabled = 1, .inherit = !place->tid, .inherit_thread = !place->tid,
		.remove_on_exec = 1,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, tid, -1, -1, PERF_FLAG_FD_CLOEXEC), r;

	if (fd < 0)
		return -errno;
	if (!ioctl(fd, PERF_EVENT_IOC_SET_BPF, arms->program))
		return fd;
	r = -errno;
	close(fd);
	return r;
}

static void close_from(struct watch_arms *arms, size_t from)
{
	while (arms->armed.length > from)
		close(arms->armed.items[--arms->armed.length].fd);
}

static int arm_thread(struct watch_arms *arms, const struct watch_place *place, uint32_t number, pid_t tid, struct err *err)
{
	uint64_t addresses[WATCH_PIECES_MOST];
	uint32_t bytes[WATCH_PIECES_MOST];
	size_t count = watch_pieces(place->address, place->bytes, addresses, bytes);

	for (size_t i = 0; i < count; i++) {
		int fd = open_one(arms, tid, addresses[i], bytes[i], place);

		if (fd == -ESRCH)
			return 0;
		if (fd < 0)
			return refused(place, tid, fd, err);
		vec_push(&arms->armed, ((struct watch_armed){ fd, number }));
	}
	return 0;
}

static bool same_threads(const pid_t *a, size_t a_count, const pid_t *b, size_t b_count)
{
	/* those that have ended do not matter */
	for (size_t i = 0, j = 0; j < b_count; j++) {
		while (i < a_count && a[i] < b[j])
			i++;
		if (i == a_count || a[i] != b[j])
			return false;
	}
	return true;
}

/* All threads of these places' process. A thread that is made meanwhile inherits from
 * an armed one, but not from one that is not armed yet: so it is done again, until no
 * new one came in between. */
int watch_arms_add(struct watch_arms *arms, struct arena *arena, const struct watch_place *place, uint32_t number, struct err *err)
{
	size_t from = arms->armed.length, count, again;
	pid_t *threads, *now;
	int r = 0;

	/* a thread's own variable is no other's */
	if (place->tid)
		r = arm_thread(arms, place, number, place->tid, err);
	for (int tries = 0; tries < TRIES && !place->tid; tries++) {
		r = process_threads(arena, place->pid, &threads, &count, err);
		for (size_t i = 0; i < count && !r; i++)
			r = arm_thread(arms, place, number, threads[i], err);
		if (!r)
			r = process_threads(arena, place->pid, &now, &again, err);
		if (r || same_threads(threads, count, now, again))
			break;
		close_from(arms, from);
	}
	if (r) {
		close_from(arms, from);
		return r;
	}
	for (size_t i = from; i < arms->armed.length; i++)
		ioctl(arms->armed.items[i].fd, PERF_EVENT_IOC_ENABLE, 0);
	return 0;
}

int watch_arms_check(struct err *err)
{
	volatile uint64_t place = 0;
	struct perf_event_attr attr = {
		.size = sizeof(attr), .type = PERF_TYPE_BREAKPOINT, .bp_type = HW_BREAKPOINT_W, .bp_addr = (uintptr_t)&place,
		.bp_len = sizeof(place), .sample_period = 1, .exclude_kernel = 1,
	};
	uint64_t hits = 0;
	int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);

	/* what refuses here is told where a place is armed */
	if (fd < 0)
		return 0;
	place = 1;
	if (read(fd, &hits, sizeof(hits)) != sizeof(hits))
		hits = 1;
	close(fd);
	return hits ? 0 : err_set(err, -ENODEV, "this machine's hardware watchpoints never fire: the virtual machine hides the processor's debug "
				  "registers (`argus doctor`); watch on a machine that has them");
}

void watch_arms_remove(struct watch_arms *arms, uint32_t number)
{
	size_t kept = 0;

	for (size_t i = 0; i < arms->armed.length; i++) {
		if (arms->armed.items[i].number == number)
			close(arms->armed.items[i].fd);
		else
			arms->armed.items[kept++] = arms->armed.items[i];
	}
	arms->armed.length = kept;
}

void watch_arms_disable(struct watch_arms *arms, uint64_t number)
{
	for (size_t i = 0; i < arms->armed.length; i++)
		if (arms->armed.items[i].number == number)
			ioctl(arms->armed.items[i].fd, PERF_EVENT_IOC_DISABLE, 0);
}

void watch_arms_done(struct watch_arms *arms)
{
	close_from(arms, 0);
	vec_done(&arms->armed);
}
#endif
