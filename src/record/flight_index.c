/* See flight_index.h. What the process says are lines of `key=value`. */
#include "record/flight_index.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "record/spawn.h"

#define EVERY_NS 30000000000ull   /* to open a full ring and find nothing to do takes 0.1 s of CPU */
#define END_MS 1000               /* for a process that was killed to let go of its files */
#define EVENTS_LEAST 500000u      /* so many are new: fewer a question finds out itself */

void flight_index_init(struct flight_index *index, const char *folder)
{
	const char *events = getenv("ARGUS_INDEX_EVENTS"); /* for tests: at once, and with no regard for others */

	*index = (struct flight_index){
		.folder = folder, .process = -1, .lock = PTHREAD_MUTEX_INITIALIZER, .fd = -1,
		.least = events ? strtoull(events, NULL, 10) : EVENTS_LEAST, .at_once = events,
	};
}

static uint64_t max_of(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static void take_line(struct flight_index *index)
{
	const char *value = strchr(index->line, '=');
	size_t length = value ? (size_t)(value++ - index->line) : 0;

	if (!value)
		return;
	if (!strncmp(index->line, "hangs", length))
		index->hangs = strtoull(value, NULL, 10);
	else if (!strncmp(index->line, "left", length))
		index->groups_left = strtoull(value, NULL, 10);
	else if (!strncmp(index->line, "until", length))
		index->until_s = strtoull(value, NULL, 10);
	else if (!strncmp(index->line, "memory", length))
		index->memory = max_of(index->memory, strtoull(value, NULL, 10));
	else if (!strncmp(index->line, "paused", length))
		strncpy(index->paused, value, sizeof(index->paused) - 1);
}

static void hear(struct flight_index *index)
{
	char bytes[512];
	ssize_t n;

	while (index->fd >= 0 && (n = read(index->fd, bytes, sizeof(bytes))) > 0)
		for (ssize_t i = 0; i < n; i++) {
			if (bytes[i] == '\n') {
				index->line[index->line_bytes] = 0;
				take_line(index);
				index->line_bytes = 0;
			} else if (index->line_bytes + 1 < sizeof(index->line)) {
				index->line[index->line_bytes++] = bytes[i];
			}
		}
}

static void know_process(struct flight_index *index, int process)
{
	pthread_mutex_lock(&index->lock);
	if (index->process >= 0)
		close(index->process);
	index->process = process;
	pthread_mutex_unlock(&index->lock);
}

void flight_index_look(struct flight_index *index, uint64_t now_ns, uint64_t events)
{
	const char *words[] = { "argus", "index", "--background", "--share", index->at_once ? "100" : "5", index->folder, NULL };

	hear(index);
	if (!index->folder || index->pid || now_ns < index->next_ns || events < index->events + index->least)
		return;
	index->next_ns = now_ns + (index->at_once ? 0 : EVERY_NS);
	index->pid = spawn_heard("/proc/self/exe", words, &index->fd);
	if (index->pid < 0) {
		index->pid = 0;
		return;
	}
	index->events = events;
	know_process(index, (int)syscall(SYS_pidfd_open, index->pid, 0));
}

static void forget(struct flight_index *index, const struct rusage *used)
{
	hear(index);
	know_process(index, -1);
	if (index->fd >= 0)
		close(index->fd);
	index->fd = -1;
	index->pid = 0;
	index->line_bytes = 0;
	index->paused[0] = 0;
	index->cpu_us += (uint64_t)used->ru_utime.tv_sec * 1000000 + (uint64_t)used->ru_utime.tv_usec +
			 (uint64_t)used->ru_stime.tv_sec * 1000000 + (uint64_t)used->ru_stime.tv_usec;
}

bool flight_index_child(struct flight_index *index, pid_t pid, const struct rusage *used, uint64_t now_ns)
{
	if (!index->pid || pid != index->pid)
		return false;
	forget(index, used);
	index->next_ns = now_ns + (index->at_once ? 0 : EVERY_NS);
	return true;
}

void flight_index_describe(const struct flight_index *index, struct buf *buf)
{
	buf_printf(buf, "index=%d\n", index->folder != NULL);
	buf_printf(buf, "index_hangs=%" PRIu64 "\n", index->hangs);
	buf_printf(buf, "index_until=%" PRIu64 "\n", index->until_s);
	buf_printf(buf, "index_left=%" PRIu64 "\n", index->groups_left);
	buf_printf(buf, "index_cpu_us=%" PRIu64 "\n", index->cpu_us);
	buf_printf(buf, "index_memory=%" PRIu64 "\n", index->memory);
	buf_printf(buf, "index_paused=");
	buf_escaped(buf, index->paused, strlen(index->paused), NULL);
	buf_char(buf, '\n');
}

void flight_index_let_go(struct flight_index *index)
{
	struct pollfd end;

	pthread_mutex_lock(&index->lock);
	end = (struct pollfd){ .fd = index->process, .events = POLLIN };
	if (end.fd >= 0 && !syscall(SYS_pidfd_send_signal, end.fd, SIGKILL, NULL, 0))
		poll(&end, 1, END_MS);
	pthread_mutex_unlock(&index->lock);
}

void flight_index_stop(struct flight_index *index)
{
	struct rusage used = { 0 };

	if (!index->pid)
		return;
	kill(index->pid, SIGKILL); /* what it wrote is whole */
	while (wait4(index->pid, NULL, 0, &used) < 0 && errno == EINTR)
		;
	forget(index, &used);
}
