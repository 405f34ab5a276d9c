/* See processes_child.h. Works in memory of its own and may hang at any read. */
#include "record/processes_child.h"
#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/futex.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <stddef.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "record/futex_owner.h"
#include "record/object.h"

#define COMMAND_MOST 2048u
#define CGROUPS_MOST 2048u
#define SEMAPHORE_OPERATIONS 16u
#define SMALLEST_PAGE 4096u

struct child {
	int fd;
	uint32_t pid;               /* whose texts are held */
	char texts[PROCESSES_TEXT_MOST];
	size_t texts_bytes;
	struct async_reader *async;
	char message[sizeof(struct processes_message) + PROCESSES_MESSAGE_MOST];
};

/* What is there of it; memory that it does not use ends it. */
static uint32_t copy_stack(uint32_t pid, uint64_t sp, void *to)
{
	struct iovec local = { to, PROCESSES_STACK_MOST }, remote = { (void *)(uintptr_t)sp, PROCESSES_STACK_MOST };
	ssize_t got = process_vm_readv((pid_t)pid, &local, 1, &remote, 1, 0);

	return got > 0 ? (uint32_t)got : 0;
}

static void hand_over(struct child *child, size_t index, const struct task_found *found, const struct stack_place *place,
		      const struct async_process *python, struct wait_found *wait)
{
	uint32_t pid = found->task.pid;
	char *stack = child->message + sizeof(struct processes_message) + sizeof(*wait) + child->texts_bytes;

	wait->stack_bytes = place && place->sp ? copy_stack(pid, place->sp, stack) : 0;

	if (python && python->version) {
		if (!child->async)
			child->async = async_reader_new();
		wait->async_bytes = async_reader_copy(child->async, pid, found->tid, found->task.ns_tid, python, stack + wait->stack_bytes);
	}

	struct processes_message message = { (uint32_t)index,
					     (uint32_t)(sizeof(*wait) + child->texts_bytes + wait->stack_bytes + wait->async_bytes) };
	size_t bytes = sizeof(message) + message.bytes, at = 0;

	memcpy(child->message, &message, sizeof(message));
	memcpy(child->message + sizeof(message), wait, sizeof(*wait));
	memcpy(child->message + sizeof(message) + sizeof(*wait), child->texts, child->texts_bytes);
	while (at < bytes) {
		ssize_t n = write(child->fd, child->message + at, bytes - at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			_exit(1);
		at += (size_t)n;
	}
}

/* Contents of a /proc file, at most `size` less a NUL; their length. */
static size_t read_file(uint32_t pid, const char *name, char *to, size_t size)
{
	char path[64];
	size_t held = 0;
	int fd;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/%s", pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	while (fd >= 0 && held < size - 1) {
		ssize_t n = read(fd, to + held, size - 1 - held);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		held += (size_t)n;
	}
	if (fd >= 0)
		close(fd);
	to[held] = 0;
	return held;
}

/* Arguments come ended by NULs: spaces part them. */
static size_t read_command(uint32_t pid, char *to, size_t size)
{
	size_t length = read_file(pid, "cmdline", to, size);

	while (length && !to[length - 1])
		length--;
	for (size_t i = 0; i < length; i++)
		if (!to[i])
			to[i] = ' ';
	to[length] = 0;
	return length;
}

/* "hierarchy:controllers:path" lines become one line, parted by spaces. */
static size_t read_cgroups(uint32_t pid, char *to, size_t size)
{
	size_t length = read_file(pid, "cgroup", to, size);

	while (length && to[length - 1] == '\n')
		length--;
	for (size_t i = 0; i < length; i++)
		if (to[i] == '\n')
			to[i] = ' ';
	to[length] = 0;
	return length;
}

static void read_texts(struct child *child, const struct task_found *found)
{
	uint32_t pid = found->task.pid;
	char path[64], *to = child->texts, *end = child->texts + sizeof(child->texts);
	ssize_t n;

	if (child->pid == pid)
		return;
	child->pid = pid;
	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/exe", pid);
	n = found->task.flags & TASK_FLAGS_kernel_thread ? 0 : readlink(path, to, sizeof(child->texts) / 4);
	to += n > 0 ? n : 0;
	*to++ = 0;
	if (!(found->task.flags & TASK_FLAGS_kernel_thread))
		to += read_command(pid, to, COMMAND_MOST);
	*to++ = 0;
	to += read_cgroups(pid, to, (size_t)(end - to) < CGROUPS_MOST ? (size_t)(end - to) : CGROUPS_MOST);
	*to++ = 0;
	child->texts_bytes = (size_t)(to - child->texts);
}

static bool read_memory(uint32_t pid, uint64_t address, void *to, size_t bytes)
{
	struct iovec local = { to, bytes }, remote = { (void *)(uintptr_t)address, bytes };

	return address && process_vm_readv((pid_t)pid, &local, 1, &remote, 1, 0) == (ssize_t)bytes;
}

static uint64_t read_time(uint32_t pid, uint64_t address)
{
	struct timespec limit;

	if (!read_memory(pid, address, &limit, sizeof(limit)) || limit.tv_sec < 0 || limit.tv_nsec < 0 ||
	    (uint64_t)limit.tv_sec > UINT64_MAX / 2000000000u)
		return 0;
	return (uint64_t)limit.tv_sec * 1000000000u + (uint64_t)limit.tv_nsec;
}

static bool is_thread_of(uint32_t pid, uint32_t tid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/task/%" PRIu32, pid, tid);
	return access(path, F_OK) == 0;
}

/* The same reading as at a switch (bpf/wait.bpf.h), of another's memory. */
static void read_futex(const struct task_found *found, struct wait_found *wait)
{
	uint32_t pid = found->task.pid, op = (uint32_t)found->arguments[1], command = op & FUTEX_CMD_MASK;
	uint32_t value = (uint32_t)found->arguments[2], words[FUTEX_OWNER_WORDS], count;
	uint64_t limit = read_time(pid, found->arguments[3]), began = found->waiting.since_ns;

	if (limit && command != FUTEX_WAIT) {
		/* a point in time, not a length */
		uint64_t offset = op & FUTEX_CLOCK_REALTIME || command == FUTEX_LOCK_PI ? (uint64_t)clock_ahead_ns(CLOCK_REALTIME) : 0;

		limit = limit > began + offset ? limit - began - offset : 1;
	}
	wait->timeout_ns = limit;
	count = futex_owner_words(op, value);
	if (!count || read_memory(pid, found->arguments[0], words, count * sizeof(words[0])))
		wait->hint = futex_owner(op, value, words, &wait->hint_kind);
	if (op & FUTEX_PRIVATE_FLAG || (wait->hint_kind == HINT_KIND_thread_exit && is_thread_of(pid, wait->hint)) ||
	    !shared_word_at(pid, found->arguments[0], &wait->word))
		return;
	/* nobody joins a thread by a word that processes share */
	if (wait->hint_kind == HINT_KIND_thread_exit)
		wait->hint = wait->hint_kind = 0;
}

/* Of what several operations do to a set of semaphores, the first that takes or awaits zero. */
static void read_semaphore(const struct task_found *found, struct wait_found *wait)
{
	struct sembuf operations[SEMAPHORE_OPERATIONS];
	uint64_t count = found->arguments[2];
	int last;

	if (count > SEMAPHORE_OPERATIONS)
		count = SEMAPHORE_OPERATIONS;
	if (!count || !read_memory(found->task.pid, found->arguments[1], operations, count * sizeof(operations[0])))
		return;
	for (uint64_t i = 0; i < count; i++) {
		if (operations[i].sem_op > 0)
			continue;
		last = semctl((int)found->arguments[0], operations[i].sem_num, GETPID);
		if (last > 0 && (uint32_t)last != found->task.pid) {
			wait->hint = (uint32_t)last;
			wait->hint_kind = HINT_KIND_semaphore_last;
		}
		return;
	}
}

/* Who last took from the queue that is full, or put into the one from which nothing comes. */
static void read_queue(const struct task_found *found, struct wait_found *wait)
{
	struct msqid_ds queue;
	pid_t last;

	if (msgctl((int)found->arguments[0], IPC_STAT, &queue))
		return;
	last = found->waiting.syscall == SYS_msgsnd ? queue.msg_lrpid : queue.msg_lspid;
	if (last > 0 && (uint32_t)last != found->task.pid) {
		wait->hint = (uint32_t)last;
		wait->hint_kind = HINT_KIND_queue_last;
	}
}

/* Where a Unix socket is being connected to: it has no peer yet that would tell. */
static void read_address(const struct task_found *found, struct wait_found *wait)
{
	struct sockaddr_un to = { 0 };
	size_t length = found->arguments[2] < sizeof(to) ? (size_t)found->arguments[2] : sizeof(to), at = 0;

	if (length <= offsetof(struct sockaddr_un, sun_path) || !read_memory(found->task.pid, found->arguments[1], &to, length) ||
	    to.sun_family != AF_UNIX)
		return;
	length -= offsetof(struct sockaddr_un, sun_path);
	if (!to.sun_path[0])
		wait->address[at++] = '@';
	else
		length = strnlen(to.sun_path, length);
	memcpy(wait->address + at, to.sun_path + at, length - at);
}

static void read_path(const struct task_found *found, uint64_t address, struct wait_found *wait)
{
	size_t bytes = SMALLEST_PAGE - address % SMALLEST_PAGE; /* there may be nothing behind */

	if (bytes > sizeof(wait->path) - 1)
		bytes = sizeof(wait->path) - 1;
	if (!read_memory(found->task.pid, address, wait->path, bytes))
		wait->path[0] = 0;
}

/* It has come as far as that: to look the path up once more hangs nowhere on the way. */
static bool awaits_other_end(const struct task_found *found)
{
	char name[64], place[64];

	snprintf(name, sizeof(name), "task/%" PRIu32 "/wchan", found->tid);
	read_file(found->task.pid, name, place, sizeof(place));
	return strcmp(place, "wait_for_partner") == 0 || strcmp(place, "fifo_open") == 0;
}

/* A path that its own process looks up, as this one does. */
static void read_fifo(const struct task_found *found, struct wait_found *wait)
{
	int folder = found->waiting.syscall == SYS_openat ? (int)found->arguments[0] : AT_FDCWD;
	char place[64], path[64 + sizeof(wait->path)];
	size_t length = strnlen(wait->path, sizeof(wait->path));
	struct stat file;
	ssize_t got;

	if (!length || length >= sizeof(wait->path) - 1 || !awaits_other_end(found))
		return;
	if (wait->path[0] == '/')
		snprintf(place, sizeof(place), "/proc/%" PRIu32 "/root", found->task.pid);
	else if (folder == AT_FDCWD)
		snprintf(place, sizeof(place), "/proc/%" PRIu32 "/cwd", found->task.pid);
	else
		snprintf(place, sizeof(place), "/proc/%" PRIu32 "/fd/%d", found->task.pid, folder);
	snprintf(path, sizeof(path), "%s/%s", place, wait->path);
	if (stat(path, &file) || !S_ISFIFO(file.st_mode))
		return;
	wait->fifo = object_of_inode(OBJECT_KIND_fifo, major(file.st_dev) << 20 | minor(file.st_dev), file.st_ino);
	got = wait->path[0] == '/' ? 0 : readlink(place, wait->address, sizeof(wait->address) - 1);
	if (got < 0 || (size_t)got + 1 + length >= sizeof(wait->address))
		got = 0;
	else if (got)
		wait->address[got++] = '/';
	snprintf(wait->address + got, sizeof(wait->address) - (size_t)got, "%s", wait->path);
}

static void read_poll(const struct task_found *found, struct wait_found *wait)
{
	struct pollfd fds[PROCESSES_POLLED_MOST];
	uint64_t count = found->arguments[1];

	if (count > PROCESSES_POLLED_MOST)
		count = PROCESSES_POLLED_MOST;
	if (!count || !read_memory(found->task.pid, found->arguments[0], fds, count * sizeof(fds[0])))
		return;
	for (uint64_t i = 0; i < count; i++) {
		if (fds[i].fd < 0)
			continue;
		wait->poll[wait->polled].fd = fds[i].fd;
		wait->poll[wait->polled++].events = (uint16_t)fds[i].events;
	}
}

#define SELECT_BITS 1024u /* FD_SETSIZE */

/* As poll's array would have it. The sets stay as they were given until the call ends. */
static void read_select(const struct task_found *found, struct wait_found *wait)
{
	uint64_t sets[2][SELECT_BITS / 64] = { { 0 } };
	uint64_t count = found->arguments[0];

	if (count > SELECT_BITS)
		return;
	for (unsigned set = 0; set < 2; set++)
		if (found->arguments[1 + set] &&
		    !read_memory(found->task.pid, found->arguments[1 + set], sets[set], (size_t)(count + 63) / 64 * sizeof(uint64_t)))
			return;
	for (unsigned fd = 0; fd < count && wait->polled < PROCESSES_POLLED_MOST; fd++) {
		uint64_t bit = UINT64_C(1) << fd % 64;
		uint32_t events = (sets[0][fd / 64] & bit ? POLLIN : 0) | (sets[1][fd / 64] & bit ? POLLOUT : 0);

		if (!events)
			continue;
		wait->poll[wait->polled].fd = (int)fd;
		wait->poll[wait->polled++].events = events;
	}
}

static void read_wait(const struct task_found *found, struct wait_found *wait)
{
	memset(wait, 0, sizeof(*wait));
	if (found->task.flags & TASK_FLAGS_kernel_thread || found->waiting.wait == WAIT_KIND_none)
		return;
	switch (found->waiting.syscall) {
	case SYS_futex:
		read_futex(found, wait);
		break;
	case SYS_semop:
	case SYS_semtimedop:
		read_semaphore(found, wait);
		break;
	case SYS_msgsnd:
	case SYS_msgrcv:
		read_queue(found, wait);
		break;
	case SYS_connect:
		read_address(found, wait);
		break;
	case SYS_open: case SYS_stat: case SYS_lstat: case SYS_access: case SYS_readlink: case SYS_mkdir: case SYS_rmdir: case SYS_unlink:
	case SYS_chdir: case SYS_statfs: case SYS_execve:
		read_path(found, found->arguments[0], wait);
		if (found->waiting.syscall == SYS_open)
			read_fifo(found, wait);
		break;
	case SYS_openat: case SYS_openat2: case SYS_newfstatat: case SYS_statx: case SYS_faccessat: case SYS_faccessat2: case SYS_readlinkat:
	case SYS_mkdirat: case SYS_unlinkat:
		read_path(found, found->arguments[1], wait);
		if (found->waiting.syscall == SYS_openat)
			read_fifo(found, wait);
		break;
	case SYS_poll:
		if ((int)found->arguments[2] > 0)
			wait->timeout_ns = (uint64_t)(int)found->arguments[2] * 1000000u;
		read_poll(found, wait);
		break;
	case SYS_ppoll:
		wait->timeout_ns = read_time(found->task.pid, found->arguments[2]);
		read_poll(found, wait);
		break;
	case SYS_pselect6:
		/* of nothing: a sleep */
		if (!found->arguments[0] && found->arguments[4])
			wait->timeout_ns = read_time(found->task.pid, found->arguments[4]);
		read_select(found, wait);
		break;
	case SYS_select:
		read_select(found, wait);
		break;
	case SYS_epoll_wait:
	case SYS_epoll_pwait:
		if ((int)found->arguments[3] > 0)
			wait->timeout_ns = (uint64_t)(int)found->arguments[3] * 1000000u;
		break;
	case SYS_nanosleep:
		wait->timeout_ns = read_time(found->task.pid, found->arguments[0]);
		break;
	case SYS_clock_nanosleep:
		if (!(found->arguments[1] & TIMER_ABSTIME))
			wait->timeout_ns = read_time(found->task.pid, found->arguments[2]);
		break;
	}
}

void processes_child(const struct task_found *found, const struct stack_place *places, const struct async_process *pythons,
		     size_t from, size_t count, int fd)
{
	struct child *child = calloc(1, sizeof(*child));
	struct wait_found wait;

	if (!child)
		_exit(1);
	child->fd = fd;
	for (size_t i = from; i < count; i++) {
		read_texts(child, &found[i]);
		read_wait(&found[i], &wait);
		hand_over(child, i, &found[i], places ? &places[i] : NULL, pythons ? &pythons[i] : NULL, &wait);
	}
}

void processes_child_shares(const struct task_found *found, const struct shared_words *words, size_t from, size_t count, int fd)
{
	struct child *child = calloc(1, sizeof(*child));
	struct wait_found wait;

	if (!child)
		_exit(1);
	child->fd = fd;
	for (size_t i = from; i < count; i++) {
		memset(&wait, 0, sizeof(wait));
		wait.shares = shared_words_mapped(found[i].task.pid, words->items, words->length);
		hand_over(child, i, &found[i], NULL, NULL, &wait);
	}
}
