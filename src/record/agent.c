/* See agent.h. */
#include "record/agent.h"
#include "base/clock.h"
#include "base/quiet_thread.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#define SLEEP_IDLE_MS 250       /* where next to nothing comes; a chunk's age grows by as much */
#define SLEEP_LONGEST_MS 50
#define SLEEP_SHORTEST_MS 2
#define SHARED_BYTES (128u << 10) /* for less no other is woken */
#define IDLE_BYTES_PER_S (1u << 20) /* ... which this is, in the fullest ring */

/* How long the rings may fill: by the rate of the last round, which lasted so
 * long, they should be at most an eighth full. */
static int next_sleep_ms(const struct agent *agent, uint64_t fill, uint64_t round_ns, int last_ms)
{
	uint64_t goal = agent->rings->ring_bytes >> RING_WAKE_SHIFT, round_us = round_ns / 1000 + 1, ms;

	if (agent->rings->wakes && fill * 1000000 / round_us < IDLE_BYTES_PER_S)
		return last_ms * 2 > SLEEP_IDLE_MS ? SLEEP_IDLE_MS : last_ms * 2;
	ms = fill ? goal * round_us / 1000 / fill : SLEEP_LONGEST_MS;
	return ms > SLEEP_LONGEST_MS ? SLEEP_LONGEST_MS : ms < SLEEP_SHORTEST_MS ? SLEEP_SHORTEST_MS : (int)ms;
}

static void note_progress(struct agent *agent)
{
	atomic_store_explicit(&agent->events, writer_events(agent->writer), memory_order_relaxed);
	atomic_store_explicit(&agent->bytes, writer_bytes(agent->writer), memory_order_relaxed);
}

static int round_once(struct agent *agent, bool last, uint64_t *ret_fill, struct err *err)
{
	uint64_t bytes = 0;
	int r;

	agent_lock(agent);
	/* what is old enough is written first: of a storm a round takes long */
	r = writer_flush(agent->writer, clock_now_ns(), err);
	rings_look(agent->rings, last, &bytes, ret_fill);
	if (!r)
		r = share_hand_over(&agent->share, agent->writer, agent->crowded && bytes >= SHARED_BYTES, err);
	if (!r)
		r = writer_flush(agent->writer, clock_now_ns(), err);
	note_progress(agent);
	agent_unlock(agent);
	return r;
}

static void *run(void *data)
{
	struct agent *agent = data;
	struct sched_param lowest = { .sched_priority = 1 };
	uint64_t round_ns = clock_now_ns();
	int sleep_ms = SLEEP_LONGEST_MS, r = 0;

	agent->real_time = !sched_setscheduler(0, SCHED_FIFO, &lowest);
	if (!agent->real_time)
		setpriority(PRIO_PROCESS, 0, -20);
	while (!atomic_load(&agent->stop)) {
		struct pollfd wake[2] = { { .fd = agent->wake_fd, .events = POLLIN },
					  { .fd = agent->rings->wakes ? agent->rings->wakes_fd : -1, .events = POLLIN } };
		uint64_t fill = 0, begin, now;

		rings_sleep(agent->rings, sleep_ms > SLEEP_LONGEST_MS);
		poll(wake, 2, sleep_ms);
		begin = clock_now_ns();
		r = round_once(agent, false, &fill, &agent->err);
		if (r)
			break;
		now = clock_now_ns();
		if (agent->real_time)
			place_step(&agent->place, agent->rings, now, &agent->share);
		agent->crowded = agent->place.crowded || (now - begin) * (agent->crowded ? 4 : 2) > now - round_ns;
		sleep_ms = next_sleep_ms(agent, fill, now - round_ns, sleep_ms);
		round_ns = now;
	}
	if (r) {
		uint64_t one = 1;
		ssize_t n;

		atomic_store(&agent->ended, true);
		n = write(agent->ended_fd, &one, sizeof(one));
		(void)n;
	}
	return NULL;
}

int agent_start(struct agent *agent, struct rings *rings, struct writer *writer, struct err *err)
{
	pthread_mutexattr_t inherit;
	int r;

	agent->rings = rings;
	agent->writer = writer;
	agent->wake_fd = eventfd(0, EFD_CLOEXEC);
	agent->ended_fd = eventfd(0, EFD_CLOEXEC);
	if (agent->wake_fd < 0 || agent->ended_fd < 0)
		return err_sys(err, -errno, "starting the agent");
	r = share_start(&agent->share, rings, share_threads(rings->cpus), err);
	if (r) {
		share_stop(&agent->share);
		return r;
	}
	/* others that hold the lock must not keep the agent waiting behind
	 * threads of middling priority */
	pthread_mutexattr_init(&inherit);
	pthread_mutexattr_setprotocol(&inherit, PTHREAD_PRIO_INHERIT);
	pthread_mutex_init(&agent->lock, &inherit);
	pthread_mutexattr_destroy(&inherit);
	r = quiet_thread(&agent->thread, run, agent);
	if (r) {
		share_stop(&agent->share);
		return err_sys(err, -r, "starting the agent");
	}
	agent->started = true;
	return 0;
}

int agent_stop(struct agent *agent, bool last, struct err *err)
{
	uint64_t one = 1, fill = 0;
	ssize_t n;

	if (!agent->started)
		return 0;
	atomic_store(&agent->stop, true);
	n = write(agent->wake_fd, &one, sizeof(one));
	(void)n;
	pthread_join(agent->thread, NULL);
	share_stop(&agent->share);
	agent->started = false;
	if (atomic_load(&agent->ended) || !last)
		return 0;
	return round_once(agent, true, &fill, err);
}

void agent_done(struct agent *agent)
{
	if (agent->wake_fd > 0)
		close(agent->wake_fd);
	if (agent->ended_fd > 0)
		close(agent->ended_fd);
}

void agent_lock(struct agent *agent)
{
	pthread_mutex_lock(&agent->lock);
}

void agent_unlock(struct agent *agent)
{
	pthread_mutex_unlock(&agent->lock);
}
