/* See share.h. */
#include "record/share.h"
#include "base/quiet_thread.h"

#include <errno.h>
#include <sched.h>

enum { SHARE_none, SHARE_offered, SHARE_taken };

static int hand_over(struct share *share, uint32_t number, struct err *err)
{
	return rings_hand_over(share->rings, share->writer, number, share->threads, err);
}

static bool take(struct sharer *sharer, int to)
{
	int offered = SHARE_offered;

	return atomic_compare_exchange_strong(&sharer->state, &offered, to);
}

static void wait_for(sem_t *semaphore)
{
	while (sem_wait(semaphore) && errno == EINTR)
		;
}

/* Stays there; where that processor goes off line the kernel lets it go elsewhere. */
static void settle(uint32_t *at, uint32_t cpu)
{
	cpu_set_t one;

	if (*at == cpu || cpu >= CPU_SETSIZE)
		return;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	if (!sched_setaffinity(0, sizeof(one), &one))
		*at = cpu;
}

static void *run(void *data)
{
	struct sharer *sharer = data;
	struct share *share = sharer->share;
	struct sched_param lowest = { .sched_priority = 1 };
	uint32_t at = UINT32_MAX;

	sched_setscheduler(0, SCHED_FIFO, &lowest);
	for (;;) {
		wait_for(&sharer->offered);
		if (atomic_load(&share->stop))
			return NULL;
		if (!take(sharer, SHARE_taken))
			continue;
		settle(&at, sharer->cpu);
		sharer->r = hand_over(share, sharer->number, &sharer->err);
		sem_post(&sharer->done);
	}
}

int share_start(struct share *share, struct rings *rings, uint32_t threads, struct err *err)
{
	share->rings = rings;
	share->threads = threads;
	for (uint32_t i = 1; i < threads; i++) {
		struct sharer *sharer = &share->sharers[i];
		int r;

		sharer->share = share;
		sharer->number = i;
		sharer->cpu = i;
		sem_init(&sharer->offered, 0, 0);
		sem_init(&sharer->done, 0, 0);
		r = quiet_thread(&sharer->thread, run, sharer);
		if (r)
			return err_sys(err, -r, "starting the agent's helpers");
		share->started++;
	}
	return 0;
}

void share_stop(struct share *share)
{
	atomic_store(&share->stop, true);
	for (uint32_t i = 1; i <= share->started; i++)
		sem_post(&share->sharers[i].offered);
	for (uint32_t i = 1; i <= share->started; i++) {
		pthread_join(share->sharers[i].thread, NULL);
		sem_destroy(&share->sharers[i].offered);
		sem_destroy(&share->sharers[i].done);
	}
	share->started = 0;
}

int share_hand_over(struct share *share, struct writer *writer, bool parallel, struct err *err)
{
	uint32_t others = parallel ? share->started : 0;
	int r;

	share->writer = writer;
	for (uint32_t i = 1; i <= others; i++) {
		atomic_store(&share->sharers[i].state, SHARE_offered);
		sem_post(&share->sharers[i].offered);
	}
	r = hand_over(share, 0, err);
	for (uint32_t i = 1; i < share->threads; i++) {
		struct sharer *sharer = &share->sharers[i];

		if (i > others || take(sharer, SHARE_none)) {
			r = r ? r : hand_over(share, i, err);
			continue;
		}
		wait_for(&sharer->done);
		if (sharer->r && !r) {
			r = sharer->r;
			*err = sharer->err;
		}
	}
	return r;
}
