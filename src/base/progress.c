/* See progress.h. */
#include "base/progress.h"

#include <stdatomic.h>
#include <stddef.h>
#include <time.h>

static atomic_flag taken = ATOMIC_FLAG_INIT;
static _Atomic(const char *) doing_now;
static _Atomic uint64_t done_now, total_now, begun_now;
static _Atomic(void (*)(void)) watcher;

void progress_watch(void (*begun)(void))
{
	atomic_store(&watcher, begun);
}

void progress_begin(struct progress *progress, const char *doing, uint64_t total)
{
	void (*begun)(void) = atomic_load(&watcher);
	struct timespec now;

	progress->counts = begun && !atomic_flag_test_and_set(&taken);
	if (!progress->counts)
		return;
	clock_gettime(CLOCK_MONOTONIC, &now);
	atomic_store(&begun_now, (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec);
	atomic_store(&done_now, 0);
	atomic_store(&total_now, total);
	atomic_store(&doing_now, doing);
	begun();
}

void progress_to(const struct progress *progress, uint64_t done)
{
	if (progress->counts)
		atomic_store_explicit(&done_now, done, memory_order_relaxed);
}

void progress_end(struct progress *progress)
{
	if (!progress->counts)
		return;
	progress->counts = false;
	atomic_store(&doing_now, NULL);
	atomic_flag_clear(&taken);
}

bool progress_read(struct progress_now *ret_now)
{
	*ret_now = (struct progress_now){ atomic_load(&doing_now), atomic_load(&done_now), atomic_load(&total_now), atomic_load(&begun_now) };
	return ret_now->doing != NULL;
}
