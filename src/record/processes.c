/* The parent's side; see processes.h. processes_child.c is the child's. */
#include "record/processes.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/helper.h"
#include "record/processes_child.h"

#define SOCKET_CONNECTS 2 /* TCP_SYN_SENT */
#define STALL_MS 250 /* a child that says nothing for so long hangs */

struct child {
	pid_t pid;
	int fd;
};

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* What is read of the threads. */
struct wanted {
	const struct stack_place *places;
	const struct async_process *pythons;
	const struct shared_words *words;
};

static int start(struct child *child, const struct task_found *found, const struct wanted *wanted, size_t from, size_t count, struct err *err)
{
	int ends[2];
	pid_t pid;

	if (pipe(ends))
		return err_sys(err, -errno, "starting to look at processes");
	pid = fork();
	if (pid == 0) {
		helper_leave_owner(ends[1]);
		if (wanted->words)
			processes_child_shares(found, wanted->words, from, count, HELPER_FD);
		else
			processes_child(found, wanted->places, wanted->pythons, from, count, HELPER_FD);
		_exit(0);
	}
	close(ends[1]);
	if (pid < 0) {
		close(ends[0]);
		return err_sys(err, -errno, "starting to look at processes");
	}
	*child = (struct child){ pid, ends[0] };
	return 0;
}

/* `at`: the process that it was at. */
static void end(struct processes *processes, struct child *child, uint32_t at)
{
	if (child->pid <= 0)
		return;
	int fd = (int)syscall(SYS_pidfd_open, child->pid, 0);
	struct pollfd gone = { .fd = fd, .events = POLLIN };

	kill(child->pid, SIGKILL);
	close(child->fd);
	/* what holds it may not let go even of the dead: do not wait for ever */
	if (fd >= 0 && poll(&gone, 1, STALL_MS) == 0) {
		map_put(&processes->stuck, at, 1);
		vec_push(&processes->left, fd);
	} else if (fd >= 0) {
		close(fd);
	}
	waitpid(child->pid, NULL, WNOHANG);
	child->pid = 0;
}

/* Where all have come back, their processes may be asked again. */
static void reap(struct processes *processes)
{
	size_t kept = 0;

	for (size_t i = 0; i < processes->left.length; i++) {
		struct pollfd gone = { .fd = processes->left.items[i], .events = POLLIN };

		if (poll(&gone, 1, 0) == 0) {
			processes->left.items[kept++] = gone.fd;
			continue;
		}
		waitid(P_PIDFD, (id_t)gone.fd, &(siginfo_t){ 0 }, WEXITED | WNOHANG);
		close(gone.fd);
	}
	processes->left.length = kept;
	if (!kept)
		map_clear(&processes->stuck);
}

void processes_done(struct processes *processes)
{
	for (size_t i = 0; i < processes->left.length; i++)
		close(processes->left.items[i]);
	vec_done(&processes->left);
	map_done(&processes->stuck);
}

/* Reads exactly so many bytes; 0 at the end, -ETIME when nothing comes. */
static int read_all(int fd, void *to, size_t bytes, int64_t until_ms)
{
	size_t held = 0;

	while (held < bytes) {
		struct pollfd ready = { .fd = fd, .events = POLLIN };
		int64_t left = until_ms - now_ms();
		ssize_t n;

		if (left > STALL_MS)
			left = STALL_MS;
		if (left <= 0 || poll(&ready, 1, (int)left) == 0)
			return -ETIME;
		n = read(fd, (char *)to + held, bytes - held);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return 0;
		held += (size_t)n;
	}
	return 1;
}

static const struct wait_found nothing;

/* Takes the child's messages up to the thread it is done with, *ret_done. A
 * negative result is the sink's; 0: the child has ended; -ETIME: it hangs. */
static int follow(struct child *child, const struct task_found *found, size_t count, size_t *ret_done,
		  int64_t until_ms, struct processes_sink *sink, struct err *err)
{
	static _Alignas(8) char data[PROCESSES_MESSAGE_MOST];
	struct processes_message message;

	for (;;) {
		int r = read_all(child->fd, &message, sizeof(message), until_ms);

		if (r <= 0)
			return r;
		if (message.bytes > sizeof(data) || message.index != *ret_done || message.index >= count)
			return 0;
		r = read_all(child->fd, data, message.bytes, until_ms);
		if (r <= 0)
			return r;
		const struct wait_found *wait = (const struct wait_found *)data;

		if (message.bytes < sizeof(*wait) || message.bytes - sizeof(*wait) < (uint64_t)wait->stack_bytes + wait->async_bytes)
			return 0;
		r = sink->thread(sink, &found[message.index], data + sizeof(*wait),
				 message.bytes - sizeof(*wait) - wait->stack_bytes - wait->async_bytes, wait, err);
		++*ret_done;
		if (r < 0)
			return r == -ETIME ? -EIO : r;
	}
}

/* How many there are from there on before one whose process is stuck. */
static size_t before_stuck(const struct processes *processes, const struct task_found *found, size_t from, size_t count)
{
	size_t at = from;

	while (at < count && !map_find(&processes->stuck, found[at].task.pid))
		at++;
	return at;
}

static int read_each(struct processes *processes, const struct task_found *found, const struct wanted *wanted, size_t count, int limit_ms,
		     struct processes_sink *sink, struct err *err)
{
	int64_t until_ms = now_ms() + limit_ms;
	size_t done = 0;

	reap(processes);
	processes->unread = 0;
	while (done < count) {
		size_t end_at = before_stuck(processes, found, done, count);
		struct child child = { 0 };
		int r = 0;

		if (done < end_at && now_ms() < until_ms && !start(&child, found, wanted, done, end_at, NULL))
			r = follow(&child, found, end_at, &done, until_ms, sink, err);
		end(processes, &child, done < end_at ? found[done].task.pid : 0);
		if (r < 0 && r != -ETIME)
			return r;
		if (done < count) {
			/* this one hangs, now or before, or the time is over: hand it over unread */
			r = sink->thread(sink, &found[done], "\0\0", 3, &nothing, err);
			if (r < 0)
				return r;
			processes->unread++;
			done++;
		}
	}
	return 0;
}

int processes_read(struct processes *processes, const struct task_found *found, const struct stack_place *places,
		   const struct async_process *pythons, size_t count, int limit_ms, struct processes_sink *sink, struct err *err)
{
	struct wanted wanted = { .places = places, .pythons = pythons };

	return read_each(processes, found, &wanted, count, limit_ms, sink, err);
}

struct sharing {
	struct processes_sink sink;
	const struct shared_words *words;
	processes_shares *shares;
	void *context;
};

static int on_sharer(struct processes_sink *sink, const struct task_found *found, const char *texts, size_t texts_bytes,
		     const struct wait_found *wait, struct err *err)
{
	const struct sharing *sharing = (const struct sharing *)sink; /* its first member */
	int r = 0;

	(void)texts;
	(void)texts_bytes;
	for (size_t i = 0; !r && i < sharing->words->length; i++) {
		const struct shared_word *word = &sharing->words->items[i];
		struct event_descriptor end;

		shared_word_describe(word, &end);
		r = wait->shares >> i & 1 ? sharing->shares(sharing->context, found->task.pid, word, &end, err) : 0;
	}
	return r;
}

int processes_share(struct processes *processes, const struct task_found *found, size_t count, const struct shared_words *words,
		    int limit_ms, processes_shares *shares, void *context, struct err *err)
{
	struct sharing sharing = { { on_sharer }, words, shares, context };
	struct vec(struct task_found) leaders = { 0 };
	struct wanted wanted = { .words = words };
	uint32_t unread = processes->unread; /* of the threads themselves */
	int r;

	for (size_t i = 0; words->length && i < count; i++)
		if (found[i].tid == found[i].task.pid && !(found[i].task.flags & (TASK_FLAGS_kernel_thread | TASK_FLAGS_argus)))
			vec_push(&leaders, found[i]);
	r = read_each(processes, leaders.items, &wanted, leaders.length, limit_ms, &sharing.sink, err);
	processes->unread = unread;
	vec_done(&leaders);
	return r;
}

uint32_t wait_found_connecting(const struct task_found *found, const struct wait_found *wait, struct event_descriptor *ret_descriptor,
			       char *text, size_t size)
{
	if (!wait->address[0] || !found->waiting.object)
		return 0;
	*ret_descriptor = (struct event_descriptor){ .object = found->waiting.object, .fd = (uint32_t)found->arguments[0],
						     .kind = (uint8_t)object_kind(found->waiting.object), .access = 3, .state = SOCKET_CONNECTS };
	return (uint32_t)snprintf(text, size, "-> %.*s", (int)sizeof(wait->address), wait->address);
}

bool wait_found_word(const struct task_found *found, const struct wait_found *wait, struct shared_words *words,
		     struct event_descriptor *ret_descriptor)
{
	if (!wait->word.inode || !found->waiting.object)
		return false;
	shared_words_note(words, found, &wait->word, wait_found_waiting(found, wait).hint != 0, ret_descriptor);
	return true;
}

bool wait_found_fifo(const struct task_found *found, const struct wait_found *wait, struct event_descriptor *ret_descriptor)
{
	uint64_t flags = found->arguments[found->waiting.syscall == SYS_open ? 1 : 2];

	*ret_descriptor = (struct event_descriptor){ .object = wait->fifo, .fd = UINT32_MAX, .kind = OBJECT_KIND_fifo,
						     .access = (uint8_t)((flags & O_ACCMODE) + 1) };
	return wait->fifo != 0;
}

struct event_waiting wait_found_waiting(const struct task_found *found, const struct wait_found *wait)
{
	struct event_waiting waiting = found->waiting;

	if (wait->timeout_ns)
		waiting.timeout_ns = wait->timeout_ns;
	/* the word by which a thread is joined lies in its own process's memory */
	if (wait->word.inode && waiting.hint_kind == HINT_KIND_thread_exit)
		waiting.hint = waiting.hint_kind = 0;
	if (wait->hint) {
		waiting.hint = wait->hint;
		waiting.hint_kind = wait->hint_kind;
	}
	return waiting;
}
