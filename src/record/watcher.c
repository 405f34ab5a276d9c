/* See watcher.h. */
#ifdef HAVE_BPF
#include "record/watcher.h"

#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/helper.h"
#include "base/quiet_thread.h"

#define NS_PER_S 1000000000ull
#define ROUND_MS 1000
#define CLOCK_ROUNDS 10                   /* a clock record each ten seconds ... */
#define CLOCK_STEP_NS (NS_PER_S / 20)     /* ... and when clocks have moved so far against each other */
#define LONG_WAIT_NS NS_PER_S
#define GAP_SHORTEST_NS (2 * NS_PER_S)    /* between snapshots of long waits ... */
#define GAP_LONGEST_NS (32 * NS_PER_S)    /* ... where they come again and again */
#define CALM_NS (10 * NS_PER_S)           /* so long without one, and the shortest holds again */

/* A failure of the trace is the agent's to report; what cannot be listed now is
 * left out of this snapshot. */
static void look_for_long_waits(struct watcher *watcher)
{
	uint64_t now = clock_now_ns(), to = now - LONG_WAIT_NS;
	size_t count = 0;

	if (now < watcher->next_ns || to <= watcher->seen_ns)
		return;
	if (snapshots_count_waiting(watcher->snapshots, watcher->seen_ns, to, &count, NULL))
		return;
	watcher->seen_ns = to;
	if (!count) {
		if (now > watcher->next_ns + CALM_NS)
			watcher->gap_ns = GAP_SHORTEST_NS;
		return;
	}
	snapshots_take(watcher->snapshots, SNAPSHOT_REASON_long_wait, NULL);
	watcher->next_ns = clock_now_ns() + watcher->gap_ns;
	watcher->gap_ns = watcher->gap_ns * 2 > GAP_LONGEST_NS ? GAP_LONGEST_NS : watcher->gap_ns * 2;
}

static bool differs(uint64_t a, uint64_t b)
{
	return (a > b ? a - b : b - a) > CLOCK_STEP_NS;
}

/* The wall clock was set, or the machine slept: both move against the monotonic clock. */
static bool clocks_stepped(struct watcher *watcher)
{
	uint64_t wall = (uint64_t)clock_ahead_ns(CLOCK_REALTIME), boot = (uint64_t)clock_ahead_ns(CLOCK_BOOTTIME);
	bool stepped = watcher->wall_offset_ns && (differs(wall, watcher->wall_offset_ns) || differs(boot, watcher->boot_offset_ns));

	watcher->wall_offset_ns = wall;
	watcher->boot_offset_ns = boot;
	watcher->live->realtime_offset_ns = wall;
	return stepped;
}

void watcher_note_helpers(struct record_live *live, struct helpers *helpers)
{
	pid_t pids[OWN_CHILDREN / 2];

	for (size_t i = helpers_pids(helpers, pids, sizeof(pids) / sizeof(*pids)); i-- > 0;)
		live->own_children[(uint32_t)pids[i] & (OWN_CHILDREN - 1)] = (uint32_t)pids[i];
}

static void *run(void *data)
{
	struct watcher *watcher = data;

	for (unsigned rounds = 1; !atomic_load(&watcher->stop); rounds++) {
		struct pollfd wake = { .fd = watcher->wake_fd, .events = POLLIN };

		if (poll(&wake, 1, ROUND_MS) != 0)
			continue;
		if (clocks_stepped(watcher) || rounds % CLOCK_ROUNDS == 0)
			watcher->sink->clock(watcher->sink, NULL);
		watcher->sink->losses(watcher->sink, NULL);
		samples_renew(watcher->samples);
		if (watcher->probes && watcher->pack_budget > 0)
			probes_keep_budget(watcher->probes, watcher->pack_budget, clock_now_ns(), watcher->sink);
		look_for_long_waits(watcher);
		watcher_note_helpers(watcher->live, watcher->helpers);
	}
	return NULL;
}

int watcher_start(struct watcher *watcher, struct err *err)
{
	int r;

	watcher->gap_ns = GAP_SHORTEST_NS;
	watcher->seen_ns = clock_now_ns();
	watcher->wake_fd = eventfd(0, EFD_CLOEXEC);
	if (watcher->wake_fd < 0)
		return err_sys(err, -errno, "starting the watcher");
	r = quiet_thread(&watcher->thread, run, watcher);
	if (r) {
		close(watcher->wake_fd);
		return err_sys(err, -r, "starting the watcher");
	}
	watcher->started = true;
	return 0;
}

void watcher_stop(struct watcher *watcher)
{
	uint64_t one = 1;
	ssize_t n;

	if (!watcher->started)
		return;
	atomic_store(&watcher->stop, true);
	n = write(watcher->wake_fd, &one, sizeof(one));
	(void)n;
	pthread_join(watcher->thread, NULL);
	close(watcher->wake_fd);
	watcher->started = false;
}
#endif
