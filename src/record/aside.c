/* See aside.h. */
#include "record/aside.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"

#define LOOK_NS 500000000u      /* between two looks at a thread that is not done */
#define MEANWHILE_NS 5000000u
#define STILL_LOOKS 2           /* so many in a row without any progress: it is stuck */

/* What the one who waits and those who were left behind share; freed by the last. */
struct shared {
	_Atomic uint32_t users, left;
};

struct worker {
	struct shared *shared;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct aside_job *job;     /* under the lock, as all below */
	bool done, end;
	pid_t tid;
};

struct aside {
	struct shared *shared;
	struct worker *worker;     /* NULL: none yet */
	void (*meanwhile)(void *data); /* NULL: the one who waits only waits */
	void *meanwhile_data;
};

static void shared_release(struct shared *shared)
{
	if (atomic_fetch_sub(&shared->users, 1) == 1)
		free(shared);
}

static void worker_free(struct worker *w)
{
	pthread_cond_destroy(&w->changed);
	pthread_mutex_destroy(&w->lock);
	shared_release(w->shared);
	free(w);
}

void aside_release(struct aside_job *job)
{
	if (atomic_fetch_sub(&job->holders, 1) == 1)
		job->drop(job);
}

static void *work(void *data)
{
	struct worker *w = data;
	pthread_mutex_lock(&w->lock);
	w->tid = gettid();
	while (!w->end) {
		if (!w->job || w->done) {
			pthread_cond_wait(&w->changed, &w->lock);
			continue;
		}
		struct aside_job *job = w->job;
		pthread_mutex_unlock(&w->lock);
		job->run(job);
		pthread_mutex_lock(&w->lock);
		if (atomic_load(&job->left)) {
			pthread_mutex_unlock(&w->lock);
			aside_release(job);
			atomic_fetch_sub(&w->shared->left, 1);
			worker_free(w);
			return NULL;
		}
		w->done = true;
		pthread_cond_broadcast(&w->changed);
	}
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

static struct worker *worker_new(struct aside *aside)
{
	struct worker *w = mem_zalloc(sizeof(*w));
	pthread_condattr_t monotonic;

	w->shared = aside->shared;
	atomic_fetch_add(&w->shared->users, 1);
	pthread_mutex_init(&w->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&w->changed, &monotonic);
	pthread_condattr_destroy(&monotonic);
	if (pthread_create(&w->thread, NULL, work, w) != 0) {
		worker_free(w);
		return NULL;
	}
	return w;
}

struct aside *aside_open(void)
{
	struct aside *aside = mem_zalloc(sizeof(*aside));
	aside->shared = mem_zalloc(sizeof(*aside->shared));
	aside->shared->users = 1;
	return aside;
}

void aside_close(struct aside *aside)
{
	if (!aside)
		return;
	struct worker *w = aside->worker;
	if (w) {
		pthread_mutex_lock(&w->lock);
		w->end = true;
		pthread_cond_broadcast(&w->changed);
		pthread_mutex_unlock(&w->lock);
		pthread_join(w->thread, NULL);
		worker_free(w);
	}
	shared_release(aside->shared);
	free(aside);
}

uint32_t aside_left(const struct aside *aside)
{
	return aside ? atomic_load(&aside->shared->left) : 0;
}

/* Sleeping in the kernel, not waiting for a processor. */
static bool asleep(pid_t tid)
{
	char path[64], text[512];
	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)tid);
	FILE *file = fopen(path, "re");
	if (!file)
		return false;
	size_t got = fread(text, 1, sizeof(text) - 1, file);
	fclose(file);
	text[got] = 0;
	const char *state = strrchr(text, ')');
	return state && state[1] == ' ' && state[2] != 'R';
}

static uint64_t cpu_ns(pthread_t thread)
{
	struct timespec t = { 0 };
	clockid_t clock;
	if (pthread_getcpuclockid(thread, &clock) == 0)
		clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void aside_meanwhile(struct aside *aside, void (*meanwhile)(void *data), void *data)
{
	aside->meanwhile = meanwhile;
	aside->meanwhile_data = data;
}

/* With its lock held, until it is done or so long. */
static void await_once(struct worker *w, uint64_t ns)
{
	struct timespec until;
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += (long)ns;
	if (until.tv_nsec >= 1000000000) {
		until.tv_nsec -= 1000000000;
		until.tv_sec++;
	}
	while (!w->done && pthread_cond_timedwait(&w->changed, &w->lock, &until) != ETIMEDOUT)
		;
}

/* With its lock held; false when it is stuck. */
static bool await(const struct aside *aside, struct worker *w)
{
	uint64_t before = UINT64_MAX;
	for (int still = 0; !w->done;) {
		for (uint64_t ns = 0; aside->meanwhile && !w->done && ns < LOOK_NS; ns += MEANWHILE_NS) {
			await_once(w, MEANWHILE_NS);
			if (w->done)
				return true;
			pthread_mutex_unlock(&w->lock);
			aside->meanwhile(aside->meanwhile_data);
			pthread_mutex_lock(&w->lock);
		}
		if (!aside->meanwhile)
			await_once(w, LOOK_NS);
		if (w->done)
			return true;
		uint64_t now = cpu_ns(w->thread);
		still = now == before && w->tid && asleep(w->tid) ? still + 1 : 0;
		before = now;
		if (still == STILL_LOOKS)
			return false;
	}
	return true;
}

bool aside_run(struct aside *aside, struct aside_job *job)
{
	if (aside && !aside->worker)
		aside->worker = worker_new(aside);
	if (!aside || !aside->worker) {
		job->run(job);
		return true;
	}
	struct worker *w = aside->worker;
	pthread_mutex_lock(&w->lock);
	w->job = job;
	w->done = false;
	pthread_cond_broadcast(&w->changed);
	bool done = await(aside, w);
	if (done) {
		w->job = NULL;
		pthread_mutex_unlock(&w->lock);
		return true;
	}
	atomic_store(&job->holders, 2);
	atomic_store(&job->left, true);
	atomic_fetch_add(&w->shared->left, 1);
	pthread_detach(w->thread);
	aside->worker = NULL;
	pthread_mutex_unlock(&w->lock);
	return false;
}
