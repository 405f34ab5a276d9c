/* See proc_look.h. Descriptors come from /proc/PID/fd: a pipe's ends by its inode; a
 * socket's other end is not told there. Stacks are not taken. */
#include "record/proc_look.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/map.h"
#include "base/vec.h"
#include "record/object.h"
#include "record/processes.h"
#include "record/state.h"
#include "trace/writer.h"

#define PROCESSES_LIMIT_MS 3000
#define CALLS 512
#define NS_PER_MS 1000000.0

enum object_place { OBJECT_none, OBJECT_fd, OBJECT_fd2, OBJECT_fd3, OBJECT_futex, OBJECT_futex2, OBJECT_futexes, OBJECT_poll,
		    OBJECT_select, OBJECT_child, OBJECT_idtype, OBJECT_clone, OBJECT_clone3, OBJECT_fcntl, OBJECT_flock,
		    OBJECT_queue, OBJECT_semaphore };

static const struct { uint8_t wait, object; } calls[CALLS] = {
#define WAIT(number, kind, object, limit, argument) [number] = { WAIT_KIND_##kind, OBJECT_##object },
#include "record/waits.def"
#undef WAIT
};

struct look {
	struct writer *writer;
	struct proc_look_seen *seen;
	struct vec(struct task_found) found;
	struct map switches;         /* tid -> count at the first look */
	struct map tids;
	struct processes processes;
	struct processes_sink sink;
	struct state_sink states;
	struct vec(uint32_t) pids;   /* that can be looked into */
};

#define container(pointer, type, member) ((type *)((char *)(pointer) - offsetof(type, member)))

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static int emit(struct look *look, uint32_t tid, unsigned type, const void *data, const char *tail, size_t tail_length, struct err *err)
{
	struct event e = { .time = clock_ns(CLOCK_MONOTONIC), .tid = tid, .type = (uint16_t)type, .data = data,
			   .tail = tail ? tail : "", .tail_length = (uint32_t)tail_length };

	return writer_add_event(look->writer, &e, err);
}

/* Text of /proc/PID/task/TID/NAME; false when it cannot be read. */
static bool read_text(uint32_t pid, uint32_t tid, const char *name, char *to, size_t size)
{
	char path[96];
	ssize_t got;
	int fd;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/task/%" PRIu32 "/%s", pid, tid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	got = fd < 0 ? -1 : read(fd, to, size - 1);
	if (fd >= 0)
		close(fd);
	to[got > 0 ? got : 0] = 0;
	return got > 0;
}

static uint64_t number_after(const char *text, const char *word)
{
	const char *at = strstr(text, word);

	return at ? strtoull(at + strlen(word), NULL, 10) : 0;
}

/* ---- one thread ---- */

static uint8_t state_of(char letter)
{
	switch (letter) {
	case 'S': return TASK_STATE_sleeping;
	case 'D': return TASK_STATE_blocked;
	case 'T': return TASK_STATE_stopped;
	case 't': return TASK_STATE_traced;
	case 'I': return TASK_STATE_idle;
	case 'P': return TASK_STATE_parked;
	case 'X':
	case 'Z': return TASK_STATE_dead;
	}
	return TASK_STATE_running;
}

static uint64_t descriptor_object(uint32_t pid, uint64_t fd, struct stat *info)
{
	char path[64], target[64];
	ssize_t length;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/fd/%d", pid, (int)fd);
	length = readlink(path, target, sizeof(target) - 1);
	if (length <= 0 || stat(path, info))
		return 0;
	target[length] = 0;
	uint32_t device = major(info->st_dev) << 20 | minor(info->st_dev);
	unsigned kind = OBJECT_KIND_file;

	if (!strncmp(target, "anon_inode:", 11))
		return 0; /* an address tells them apart, which is not shown */
	if (S_ISFIFO(info->st_mode))
		kind = strncmp(target, "pipe:", 5) ? OBJECT_KIND_fifo : OBJECT_KIND_pipe;
	else if (S_ISSOCK(info->st_mode))
		kind = OBJECT_KIND_socket;
	else if (S_ISCHR(info->st_mode) && (!strncmp(target, "/dev/pts/", 9) || !strncmp(target, "/dev/tty", 8)))
		kind = OBJECT_KIND_tty;
	else if (S_ISDIR(info->st_mode))
		kind = OBJECT_KIND_directory;
	return object_of_inode(kind, device, info->st_ino);
}

static void read_call(struct task_found *t, const char *text)
{
	uint64_t words[6] = { 0 };
	long number;
	struct stat info;

	if (sscanf(text, "%ld 0x%" SCNx64 " 0x%" SCNx64 " 0x%" SCNx64 " 0x%" SCNx64 " 0x%" SCNx64 " 0x%" SCNx64, &number, &words[0], &words[1],
		   &words[2], &words[3], &words[4], &words[5]) < 1 || number < 0 || number >= CALLS) {
		t->waiting.wait = number == -1 ? WAIT_KIND_fault : WAIT_KIND_other;
		return;
	}
	t->waiting.syscall = (uint16_t)number;
	t->waiting.wait = calls[number].wait ? calls[number].wait : WAIT_KIND_other;
	memcpy(t->arguments, words, sizeof(t->arguments));
	switch ((enum object_place)calls[number].object) {
	case OBJECT_fd:
	case OBJECT_fcntl:
	case OBJECT_flock:
	case OBJECT_fd2:
	case OBJECT_fd3:
		t->waiting.argument = (uint32_t)words[calls[number].object == OBJECT_fd2 ? 1 : calls[number].object == OBJECT_fd3 ? 2 : 0];
		t->waiting.object = descriptor_object(t->task.pid, t->waiting.argument, &info);
		break;
	case OBJECT_futex:
		t->waiting.object = object_of(OBJECT_KIND_futex, object_hash((uint64_t)t->task.pid << 48 ^ words[0]));
		t->waiting.argument = (uint32_t)words[1];
		t->waiting.detail = words[0];
		break;
	case OBJECT_poll:
	case OBJECT_select:
		t->waiting.argument = (uint32_t)words[calls[number].object == OBJECT_poll ? 1 : 0];
		if (!t->waiting.argument)
			t->waiting.wait = WAIT_KIND_sleep;
		break;
	case OBJECT_child:
	case OBJECT_idtype:
		t->waiting.argument = (uint32_t)words[calls[number].object == OBJECT_child ? 0 : 1];
		if ((int)t->waiting.argument > 0 && (calls[number].object == OBJECT_child || words[0] == 1)) {
			t->waiting.hint = t->waiting.argument;
			t->waiting.hint_kind = HINT_KIND_child;
		}
		break;
	case OBJECT_queue:
	case OBJECT_semaphore:
		t->waiting.argument = (uint32_t)words[0];
		t->waiting.object = object_of_ipc(calls[number].object == OBJECT_queue ? OBJECT_KIND_queue : OBJECT_KIND_semaphore,
						  t->waiting.argument);
		break;
	case OBJECT_none:
	case OBJECT_futex2:
	case OBJECT_futexes:
	case OBJECT_clone:
	case OBJECT_clone3:
		break;
	}
}

/* By the run queue's clock; where the kernel does not tell, from now on. */
static uint64_t last_ran(uint32_t pid, uint32_t tid, uint64_t now)
{
	char text[4096], *at, *colon;
	double ms;

	if (!read_text(pid, tid, "sched", text, sizeof(text)) || !(at = strstr(text, "se.exec_start")) || !(colon = strchr(at, ':')))
		return now;
	ms = strtod(colon + 1, NULL);
	return ms > 0 && ms * NS_PER_MS < (double)now ? (uint64_t)(ms * NS_PER_MS) : now;
}

static uint64_t switches_of(const char *status)
{
	return number_after(status, "\nvoluntary_ctxt_switches:\t") + number_after(status, "\nnonvoluntary_ctxt_switches:\t");
}

/* False when it has gone. */
static bool read_thread(uint32_t pid, uint32_t tid, struct task_found *t, uint64_t *ret_switches)
{
	char status[4096], stat[1024], call[256], *end, letter;
	unsigned long long start = 0;
	unsigned parent = 0;
	long prio = 0;
	uint64_t now = clock_ns(CLOCK_MONOTONIC);

	if (!read_text(pid, tid, "status", status, sizeof(status)) || !read_text(pid, tid, "stat", stat, sizeof(stat)))
		return false;
	end = strrchr(stat, ')');
	if (!end || sscanf(end + 1, " %c %u %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %ld %*d %*d %*d %llu", &letter, &parent, &prio,
			   &start) < 4)
		return false;
	*t = (struct task_found){ .tid = tid };
	t->task = (struct event_task){
		.start_ns = start * (1000000000ull / (uint64_t)sysconf(_SC_CLK_TCK)), .pid = pid, .parent = parent,
		.uid = (uint32_t)number_after(status, "\nUid:\t"), .ns_tid = tid, .prio = (uint32_t)(prio + 100),
		.flags = (pid == tid ? TASK_FLAGS_leader : 0) | (strstr(status, "\nVmSize:") ? 0 : TASK_FLAGS_kernel_thread),
	};
	sscanf(status, "Name:\t%15[^\n]", t->comm);
	t->waiting.state = state_of(letter);
	t->waiting.syscall = SYSCALL_NONE;
	*ret_switches = switches_of(status);
	if (t->waiting.state == TASK_STATE_running || t->waiting.state == TASK_STATE_dead)
		return true;
	t->waiting.since_ns = last_ran(pid, tid, now);
	if (t->task.flags & TASK_FLAGS_kernel_thread) {
		t->waiting.wait = WAIT_KIND_worker;
	} else if (t->waiting.state == TASK_STATE_stopped || t->waiting.state == TASK_STATE_traced) {
		t->waiting.wait = WAIT_KIND_stop;
		t->waiting.hint = (uint32_t)number_after(status, "\nTracerPid:\t");
		t->waiting.hint_kind = t->waiting.hint ? HINT_KIND_tracer : 0;
	} else if (read_text(pid, tid, "syscall", call, sizeof(call)) && call[0] != 'r') {
		read_call(t, call);
	}
	return true;
}

/* ---- all of them ---- */

static void each_number(const char *path, void (*each)(struct look *look, uint32_t number, uint32_t of), struct look *look, uint32_t of)
{
	DIR *folder = opendir(path);
	struct dirent *entry;

	while (folder && (entry = readdir(folder)))
		if (isdigit((unsigned char)entry->d_name[0]))
			each(look, (uint32_t)strtoul(entry->d_name, NULL, 10), of);
	if (folder)
		closedir(folder);
}

static void note_thread(struct look *look, uint32_t tid, uint32_t pid)
{
	char status[4096];

	if (read_text(pid, tid, "status", status, sizeof(status)))
		map_put(&look->switches, tid, switches_of(status));
}

static void note_process(struct look *look, uint32_t pid, uint32_t unused)
{
	char path[64];

	(void)unused;
	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/task", pid);
	each_number(path, note_thread, look, pid);
}

static void take_thread(struct look *look, uint32_t tid, uint32_t pid)
{
	const uint64_t *before = map_find(&look->switches, tid);
	struct task_found t;
	uint64_t switches;

	if (!read_thread(pid, tid, &t, &switches) || t.waiting.state == TASK_STATE_dead)
		return;
	/* one that moved does not stand: nothing is known of what it did */
	if (!before || *before != switches)
		t.waiting = (struct event_waiting){ .state = TASK_STATE_running, .syscall = SYSCALL_NONE };
	look->seen->threads++;
	look->seen->still += t.waiting.wait != 0;
	map_put(&look->tids, tid, 1);
	vec_push(&look->found, t);
}

static void take_process(struct look *look, uint32_t pid, uint32_t unused)
{
	char path[64], text[256];

	(void)unused;
	if (pid == (uint32_t)getpid())
		return;
	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/task", pid);
	each_number(path, take_thread, look, pid);
	if (read_text(pid, pid, "syscall", text, sizeof(text))) {
		look->seen->processes++;
		vec_push(&look->pids, pid);
	} else if (access(path, F_OK) == 0) {
		look->seen->closed++;
	}
}

static int on_thread(struct processes_sink *sink, const struct task_found *found, const char *texts, size_t bytes,
		     const struct wait_found *wait, struct err *err)
{
	struct look *look = container(sink, struct look, sink);
	struct event_waiting waiting = found->waiting;
	char tail[sizeof(found->comm) + 1 + PROCESSES_TEXT_MOST];
	size_t comm = strnlen(found->comm, sizeof(found->comm));
	int r;

	if (bytes > PROCESSES_TEXT_MOST)
		bytes = PROCESSES_TEXT_MOST;
	memcpy(tail, found->comm, comm);
	tail[comm++] = 0;
	memcpy(tail + comm, texts, bytes);
	r = emit(look, found->tid, EVENT_task, &found->task, tail, comm + bytes, err);
	if (wait->timeout_ns)
		waiting.timeout_ns = wait->timeout_ns;
	if (wait->hint) {
		waiting.hint = wait->hint;
		waiting.hint_kind = wait->hint_kind;
		if ((wait->hint_kind == HINT_KIND_mutex_owner || wait->hint_kind == HINT_KIND_rwlock_writer ||
		     wait->hint_kind == HINT_KIND_semaphore_last) && !map_find(&look->tids, wait->hint))
			waiting.hint_kind = HINT_KIND_owner_gone;
	}
	if (!r && waiting.wait)
		r = emit(look, found->tid, EVENT_waiting, &waiting, NULL, 0, err);
	return r;
}

static int take_descriptors(struct look *look, uint32_t pid, struct err *err)
{
	char path[64], name[96], target[512], flags[256];
	struct dirent *entry;
	int r = 0;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/fd", pid);
	DIR *folder = opendir(path);
	while (!r && folder && (entry = readdir(folder))) {
		struct stat info;
		uint64_t object = isdigit((unsigned char)entry->d_name[0]) ? descriptor_object(pid, strtoul(entry->d_name, NULL, 10), &info) : 0;
		ssize_t length;
		int fd;

		if (!object)
			continue;
		struct event_descriptor d = { .object = object, .fd = (uint32_t)strtoul(entry->d_name, NULL, 10),
					      .kind = (uint8_t)object_kind(object), .access = 3 };

		snprintf(name, sizeof(name), "/proc/%" PRIu32 "/fdinfo/%.16s", pid, entry->d_name);
		fd = open(name, O_RDONLY | O_CLOEXEC);
		length = fd < 0 ? 0 : read(fd, flags, sizeof(flags) - 1);
		if (fd >= 0)
			close(fd);
		flags[length > 0 ? length : 0] = 0;
		if (strstr(flags, "flags:\t"))
			d.access = (uint8_t)((strtoul(strstr(flags, "flags:\t") + 7, NULL, 8) & O_ACCMODE) + 1);
		if (d.kind == OBJECT_KIND_pipe || d.kind == OBJECT_KIND_fifo) {
			d.channel_in = d.access & 1 ? object : 0;
			d.channel_out = d.access & 2 ? object : 0;
		}
		snprintf(name, sizeof(name), "/proc/%" PRIu32 "/fd/%.16s", pid, entry->d_name);
		length = readlink(name, target, sizeof(target));
		r = emit(look, pid, EVENT_descriptor, &d, target, length > 0 && target[0] == '/' ? (size_t)length : 0, err);
	}
	if (folder)
		closedir(folder);
	return r;
}

static int on_lock(struct state_sink *sink, uint32_t tid, enum event_type type, const void *payload, const char *tail,
		   uint32_t tail_length, struct err *err)
{
	return emit(container(sink, struct look, states), tid, type, payload, tail, tail_length, err);
}

static int take_locks(struct look *look, struct err *err)
{
	struct buf text;
	char block[4096];
	size_t got;
	FILE *file = fopen("/proc/locks", "re");
	int r;

	buf_init(&text);
	while (file && (got = fread(block, 1, sizeof(block), file)) > 0)
		buf_add(&text, block, got);
	if (file)
		fclose(file);
	r = state_parse_locks(buf_str(&text), 0, &look->states, err);
	buf_done(&text);
	return r;
}

static int emit_clock(struct look *look, struct err *err)
{
	struct event_clock clock = { .realtime_ns = clock_ns(CLOCK_REALTIME), .boottime_ns = clock_ns(CLOCK_BOOTTIME) };

	return emit(look, 0, EVENT_clock, &clock, NULL, 0, err);
}

static int emit_machine(struct look *look, struct err *err)
{
	struct utsname name;
	struct buf buf;
	int r;

	buf_init(&buf);
	if (!uname(&name))
		buf_printf(&buf, "hostname=%s%ckernel=%s%carchitecture=%s%c", name.nodename, 0, name.release, 0, name.machine, 0);
	buf_printf(&buf, "level=proc%crecorder_pid=%d%c", 0, (int)getpid(), 0);
	r = emit(look, 0, EVENT_machine, NULL, buf_str(&buf), buf.length, err);
	buf_done(&buf);
	return r;
}

/* State is told as of the look's begin, which the second look has proved. */
static int look_twice(struct look *look, uint64_t look_ns, struct err *err)
{
	struct timespec nap = { (time_t)(look_ns / 1000000000), (long)(look_ns % 1000000000) };
	struct event_snapshot mark = { .reason = SNAPSHOT_REASON_request };
	int r;

	each_number("/proc", note_process, look, 0);
	r = emit_machine(look, err);
	if (!r)
		r = emit_clock(look, err);
	nanosleep(&nap, NULL);
	if (!r)
		r = emit(look, 0, EVENT_snapshot, &mark, NULL, 0, err);
	each_number("/proc", take_process, look, 0);
	if (!r)
		r = processes_read(&look->processes, look->found.items, look->found.length, PROCESSES_LIMIT_MS, &look->sink, err);
	for (size_t i = 0; !r && i < look->pids.length; i++)
		r = take_descriptors(look, look->pids.items[i], err);
	if (!r)
		r = take_locks(look, err);
	mark.end = 1;
	if (!r)
		r = emit(look, 0, EVENT_snapshot, &mark, NULL, 0, err);
	return r ? r : emit_clock(look, err);
}

static int yama(void)
{
	FILE *file = fopen("/proc/sys/kernel/yama/ptrace_scope", "re");
	int scope = -1;

	if (file && fscanf(file, "%d", &scope) != 1)
		scope = -1;
	if (file)
		fclose(file);
	return scope;
}

int proc_look(const char *path, uint64_t look_ns, struct proc_look_seen *ret_seen, struct err *err)
{
	struct writer_options options = { .cpus = 1 };
	struct look look = { .seen = ret_seen, .sink = { on_thread }, .states.event = on_lock };
	int r = writer_create(path, true, &options, &look.writer, err), closing;

	if (r)
		return r;
	*ret_seen = (struct proc_look_seen){ .ptrace_scope = yama() };
	map_init(&look.switches);
	map_init(&look.tids);
	r = look_twice(&look, look_ns, err);
	closing = writer_close(look.writer, r ? NULL : err);
	map_done(&look.switches);
	map_done(&look.tids);
	processes_done(&look.processes);
	vec_done(&look.found);
	vec_done(&look.pids);
	return r ? r : closing;
}
