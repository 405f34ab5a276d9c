/* See progress_line.h. */
#include "ui/progress_line.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/progress.h"

#define PATIENCE_NS 1000000000ull /* what is sooner done needs no line */
#define STEP_MOST_NS 250000000ull

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool shown, over, running;
static uint64_t patience_ns = PATIENCE_NS;
static uint64_t written_ns; /* when something else was written last */

static void put(const char *text)
{
	if (write(STDERR_FILENO, text, strlen(text)) < 0)
		over = true;
}

static void show(const struct progress_now *now, uint64_t elapsed_ns)
{
	uint64_t done = now->done < now->total ? now->done : now->total;
	double share = now->total ? (double)done / (double)now->total : 0;
	char text[160];
	int length = snprintf(text, sizeof(text), "\r\033[K%s: %.0f %% of %.1f M events", now->doing, share * 100, (double)now->total / 1e6);

	/* what is left is told when it can be known */
	if (share > 0.02)
		snprintf(text + length, sizeof(text) - (size_t)length, ", %.0f s left", (double)elapsed_ns / 1e9 * (1 - share) / share);
	put(text);
	shown = true;
}

static void hide(void)
{
	if (shown)
		put("\r\033[K");
	shown = false;
}

static void *run(void *unused)
{
	struct progress_now progress;
	uint64_t now;

	(void)unused;
	pthread_mutex_lock(&lock);
	while (!over) {
		struct timespec step = { 0, (long)(patience_ns < STEP_MOST_NS ? patience_ns : STEP_MOST_NS) };

		pthread_mutex_unlock(&lock);
		nanosleep(&step, NULL);
		pthread_mutex_lock(&lock);
		now = clock_now_ns();
		if (over)
			break;
		if (!progress_read(&progress))
			hide();
		else if (now - progress.begun_ns > patience_ns && now - written_ns > patience_ns)
			show(&progress, now - progress.begun_ns);
	}
	pthread_mutex_unlock(&lock);
	return NULL;
}

/* Started by the first long thing, so that programs that fork are not of two threads. */
static void begun(void)
{
	pthread_t thread;

	pthread_mutex_lock(&lock);
	if (!running && !over && !pthread_create(&thread, NULL, run, NULL)) {
		pthread_detach(thread);
		running = true;
	}
	pthread_mutex_unlock(&lock);
}

void progress_line_open(void)
{
	const char *patience_ms = getenv("ARGUS_PROGRESS_MS"); /* for tests */

	if (!isatty(STDERR_FILENO))
		return;
	if (patience_ms)
		patience_ns = strtoull(patience_ms, NULL, 10) * 1000000u;
	progress_watch(begun);
}

void progress_line_clear(bool last)
{
	pthread_mutex_lock(&lock);
	hide();
	over |= last;
	written_ns = clock_now_ns();
	pthread_mutex_unlock(&lock);
}
