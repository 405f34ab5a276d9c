/* See proc_look.h. Descriptors come from /proc/PID/fd, sockets' other ends from sock_diag.
 * Stacks are not taken. */
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
#include "record/proc_descriptors.h"
#include "record/proc_sockets.h"
#include "record/proc_text.h"
#include "record/processes.h"
#include "record/state.h"
#include "trace/writer.h"

#define PROCESSES_LIMIT_MS 3000
#define CALLS 512
#define NS_PER_MS 1000000.0
#define RUNNING_PERCENT 90u
#define SHARE_PERCENT 5u
#define PROCESSORS_MOST 4096

enum object_place { OBJECT_none, OBJECT_fd, OBJECT_fd2, OBJECT_fd3, OBJECT_futex, OBJECT_futex2, OBJECT_futexes, OBJECT_poll,
		    OBJECT_select, OBJECT_child, OBJECT_idtype, OBJECT_clone, OBJECT_clone3, OBJECT_fcntl, OBJECT_flock,
		    OBJECT_queue, OBJECT_semaphore };

static const struct { uint8_t wait, object; } calls[CALLS] = {
#define WAIT(number, kind, object, limit, argument) [number] = { WAIT_KIND_##kind, OBJECT_##object },
#include "record/waits.def"
#undef WAIT
};

/* It had the processor all through the look. */
struct running {
	uint32_t tid, processor;
};

struct look {
	struct writer *writer;
	struct proc_look_seen *seen;
	struct vec(struct task_found) found;
	struct map switches;         /* tid -> count at the first look */
	struct map ran, queued;      /* tid -> ns on a processor, and waiting for one, by then */
	uint64_t began_ns;           /* the first look */
	struct vec(struct running) running;
	uint32_t processors;
	struct proc_sockets *sockets;
	struct map holders;          /* inode of a socket -> process */
	struct map tids;
	struct processes processes;
	struct processes_sink sink;
	struct state_sink states, noted;
	struct map blocked;          /* process -> file whose lock it waits for */
	struct buf locks;            /* text of /proc/locks */
	struct proc_descriptors_sink descriptors;
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
	struct event e = { .time = clock_ns(CLOCK_MONOTONIC), .tid = tid, .cpu = (uint16_t)look->processors, .type = (uint16_t)type, .data = data,
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

/* ---- one thread ---- */

static uint64_t object_at(const struct look *look, uint32_t pid, uint64_t fd)
{
	return proc_descriptor_object(look->sockets, pid, (uint32_t)fd, NULL);
}

static void read_call(const struct look *look, struct task_found *t, const char *text)
{
	uint64_t words[6];
	long number;

	if (!proc_text_call(text, &number, words))
		return;
	if (number < 0 || number >= CALLS) {
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
		t->waiting.object = object_at(look, t->task.pid, t->waiting.argument);
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

/* Whether the file of this control group holds the word. */
static bool group_says(const char *folder, const char *group, size_t length, const char *file, const char *word)
{
	char path[1024], text[256];
	ssize_t got;
	int fd;

	if (snprintf(path, sizeof(path), "%s%.*s/%s", folder, (int)length, group, file) >= (int)sizeof(path))
		return false;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	got = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (fd >= 0)
		close(fd);
	text[got > 0 ? got : 0] = 0;
	return strstr(text, word) != NULL;
}

/* The wait stays what it was: only its control group tells. */
static bool is_frozen(uint32_t pid, uint32_t tid)
{
	char text[4096];

	if (!read_text(pid, tid, "cgroup", text, sizeof(text)))
		return false;
	for (const char *line = text; line && *line; line = strchr(line, '\n'), line = line ? line + 1 : NULL) {
		const char *first = strchr(line, ':'), *group = first ? strchr(first + 1, ':') : NULL;
		size_t length = group ? strcspn(group + 1, "\n") : 0;

		if (!group)
			break;
		if (!strncmp(first, ":freezer:", 9) && group_says("/sys/fs/cgroup/freezer", group + 1, length, "freezer.state", "FROZEN"))
			return true;
		if (!strncmp(line, "0::", 3) && length > 1 && (group_says("/sys/fs/cgroup", group + 1, length, "cgroup.events", "frozen 1") ||
							       group_says("/sys/fs/cgroup/unified", group + 1, length, "cgroup.events", "frozen 1")))
			return true;
	}
	return false;
}

/* Of a process that may not be looked into: what others tell. Which of its threads waits for a
 * file lock is not among that; the first is taken. */
static void guess_wait(const struct look *look, struct task_found *t)
{
	const uint64_t *lock = t->tid == t->task.pid ? map_find(&look->blocked, t->task.pid) : NULL;

	t->waiting.wait = lock ? WAIT_KIND_file_lock : WAIT_KIND_other;
	t->waiting.object = lock ? *lock : 0;
}

/* False when it has gone. */
static bool read_thread(const struct look *look, uint32_t pid, uint32_t tid, struct task_found *t, struct proc_thread *more)
{
	char status[4096], stat[1024], call[256];
	uint64_t now = clock_ns(CLOCK_MONOTONIC);

	if (!read_text(pid, tid, "status", status, sizeof(status)) || !read_text(pid, tid, "stat", stat, sizeof(stat)) ||
	    !proc_text_thread(status, stat, (uint64_t)sysconf(_SC_CLK_TCK), t, more))
		return false;
	t->tid = t->task.ns_tid = tid;
	t->task.pid = pid;
	t->task.flags |= pid == tid ? TASK_FLAGS_leader : 0;
	if (t->waiting.state == TASK_STATE_running || t->waiting.state == TASK_STATE_dead)
		return true;
	t->waiting.since_ns = last_ran(pid, tid, now);
	if (t->task.flags & TASK_FLAGS_kernel_thread) {
		t->waiting.wait = WAIT_KIND_worker;
	} else if (t->waiting.state == TASK_STATE_stopped || t->waiting.state == TASK_STATE_traced) {
		t->waiting.wait = WAIT_KIND_stop;
		t->waiting.hint = more->tracer;
		t->waiting.hint_kind = t->waiting.hint ? HINT_KIND_tracer : 0;
	} else if (is_frozen(pid, tid)) {
		t->waiting.state = TASK_STATE_frozen;
		t->waiting.wait = WAIT_KIND_stop;
	} else if (read_text(pid, tid, "syscall", call, sizeof(call))) {
		read_call(look, t, call);
	} else {
		guess_wait(look, t);
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
	char text[4096], *at;
	uint64_t run, queued;

	if (!read_text(pid, tid, "status", text, sizeof(text)))
		return;
	at = strstr(text, "\nvoluntary_ctxt_switches:\t");
	map_put(&look->switches, tid, at ? strtoull(at + 26, NULL, 10) : 0);
	at = at ? strstr(at, "\nnonvoluntary_ctxt_switches:\t") : NULL;
	if (at)
		map_put(&look->switches, tid, *map_find(&look->switches, tid) + strtoull(at + 29, NULL, 10));
	if (read_text(pid, tid, "schedstat", text, sizeof(text)) && proc_text_times(text, &run, &queued)) {
		map_put(&look->ran, tid, run);
		map_put(&look->queued, tid, queued);
	}
}

static void note_process(struct look *look, uint32_t pid, uint32_t unused)
{
	char path[64];

	(void)unused;
	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/task", pid);
	each_number(path, note_thread, look, pid);
}

/* Nearly all through the look it ran, or others ran in its place, and not most of the time. */
static bool ran_on(const struct look *look, uint32_t pid, uint32_t tid)
{
	const uint64_t *before = map_find(&look->ran, tid), *waited = map_find(&look->queued, tid);
	uint64_t run, queued, look_ns = clock_ns(CLOCK_MONOTONIC) - look->began_ns;
	char text[128];

	return before && waited && read_text(pid, tid, "schedstat", text, sizeof(text)) && proc_text_times(text, &run, &queued) &&
	       (run - *before + queued - *waited) * 100 >= look_ns * RUNNING_PERCENT && (run - *before) * 100 >= look_ns * SHARE_PERCENT;
}

/* Of several that shared a processor, each is recorded on one of its own. */
static void note_running(struct look *look, uint32_t tid, uint32_t processor)
{
	for (size_t i = 0; i < look->running.length; i++)
		if (look->running.items[i].processor == processor) {
			processor = (processor + 1) % look->processors;
			i = (size_t)-1;
			if (look->running.length >= look->processors)
				return;
		}
	vec_push(&look->running, ((struct running){ tid, processor }));
}

static void take_thread(struct look *look, uint32_t tid, uint32_t pid)
{
	const uint64_t *before = map_find(&look->switches, tid);
	struct proc_thread more;
	struct task_found t;

	if (!read_thread(look, pid, tid, &t, &more) || t.waiting.state == TASK_STATE_dead)
		return;
	/* one that moved does not stand: nothing is known of what it did */
	if (!before || *before != more.switches)
		t.waiting = (struct event_waiting){ .state = TASK_STATE_running, .syscall = SYSCALL_NONE };
	if (t.waiting.state == TASK_STATE_running && ran_on(look, pid, tid) && more.processor < look->processors)
		note_running(look, tid, more.processor);
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
		proc_descriptors_note(&look->holders, pid);
	} else if (access(path, F_OK) == 0) {
		look->seen->closed++;
	}
}

/* What it connects to, as the descriptor of a connection would tell. */
static int emit_connecting(struct look *look, const struct task_found *found, const struct wait_found *wait, struct err *err)
{
	struct event_descriptor d;
	char text[sizeof(wait->address) + 4];
	uint32_t length = wait_found_connecting(found, wait, &d, text, sizeof(text));

	return length ? emit(look, found->task.pid, EVENT_descriptor, &d, text, length, err) : 0;
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
	if (waiting.wait == WAIT_KIND_poll && wait->polled)
		waiting.detail = object_at(look, found->task.pid, (uint64_t)wait->poll[0].fd);
	if (!r && waiting.wait)
		r = emit(look, found->tid, EVENT_waiting, &waiting, NULL, 0, err);
	for (unsigned i = 0; !r && i < wait->polled; i++) {
		struct event_poll_item item = { .object = object_at(look, found->task.pid, (uint64_t)wait->poll[i].fd),
						.fd = (uint32_t)wait->poll[i].fd, .events = wait->poll[i].events };

		r = emit(look, found->tid, EVENT_poll_item, &item, NULL, 0, err);
	}
	return r ? r : emit_connecting(look, found, wait, err);
}

static int on_descriptor(struct proc_descriptors_sink *sink, uint32_t pid, enum event_type type, const void *payload, const char *tail,
			 uint32_t tail_length, struct err *err)
{
	return emit(container(sink, struct look, descriptors), pid, type, payload, tail, tail_length, err);
}

static int on_lock(struct state_sink *sink, uint32_t tid, enum event_type type, const void *payload, const char *tail,
		   uint32_t tail_length, struct err *err)
{
	return emit(container(sink, struct look, states), tid, type, payload, tail, tail_length, err);
}

static int note_blocked(struct state_sink *sink, uint32_t tid, enum event_type type, const void *payload, const char *tail,
			uint32_t tail_length, struct err *err)
{
	const struct event_lock_held *lock = payload;

	(void)type;
	(void)tail;
	(void)tail_length;
	(void)err;
	if (lock->blocked && tid)
		map_put(&container(sink, struct look, noted)->blocked, tid, lock->object);
	return 0;
}

static void read_locks(struct look *look)
{
	char block[4096];
	size_t got;
	FILE *file = fopen("/proc/locks", "re");

	buf_init(&look->locks);
	while (file && (got = fread(block, 1, sizeof(block), file)) > 0)
		buf_add(&look->locks, block, got);
	if (file)
		fclose(file);
	state_parse_locks(buf_str(&look->locks), 0, &look->noted, NULL);
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

/* They came to their processors before the look, as far as that tells. */
static int emit_running(struct look *look, struct err *err)
{
	int r = 0;

	for (size_t i = 0; !r && i < look->running.length; i++) {
		struct event_switch in = { .next = look->running.items[i].tid, .syscall = SYSCALL_NONE };
		struct event e = { .time = look->began_ns, .cpu = (uint16_t)look->running.items[i].processor, .type = EVENT_switch, .data = &in,
				   .tail = "" };

		r = writer_add_event(look->writer, &e, err);
	}
	return r;
}

/* State is told as of the look's begin, which the second look has proved. */
static int look_twice(struct look *look, uint64_t look_ns, struct err *err)
{
	struct timespec nap = { (time_t)(look_ns / 1000000000), (long)(look_ns % 1000000000) };
	struct event_snapshot mark = { .reason = SNAPSHOT_REASON_request };
	int r;

	look->began_ns = clock_ns(CLOCK_MONOTONIC);
	each_number("/proc", note_process, look, 0);
	r = emit_machine(look, err);
	if (!r)
		r = emit_clock(look, err);
	nanosleep(&nap, NULL);
	if (!r)
		r = emit(look, 0, EVENT_snapshot, &mark, NULL, 0, err);
	look->sockets = proc_sockets_read();
	read_locks(look);
	each_number("/proc", take_process, look, 0);
	if (!r)
		r = emit_running(look, err);
	if (!r)
		r = processes_read(&look->processes, look->found.items, look->found.length, PROCESSES_LIMIT_MS, &look->sink, err);
	for (size_t i = 0; !r && i < look->pids.length; i++)
		r = proc_descriptors_read(look->sockets, &look->holders, look->pids.items[i], &look->descriptors, err);
	if (!r)
		r = state_parse_locks(buf_str(&look->locks), 0, &look->states, err);
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
	long processors = sysconf(_SC_NPROCESSORS_CONF);
	struct look look = { .seen = ret_seen, .sink = { on_thread }, .states.event = on_lock, .noted.event = note_blocked, .descriptors.event = on_descriptor,
			     .processors = processors > 0 && processors < PROCESSORS_MOST ? (uint32_t)processors : 1 };
	/* the state has a stream of its own, behind the processors' */
	struct writer_options options = { .cpus = look.processors + 1 };
	int r = writer_create(path, true, &options, &look.writer, err), closing;

	if (r)
		return r;
	*ret_seen = (struct proc_look_seen){ .ptrace_scope = yama() };
	map_init(&look.switches);
	map_init(&look.ran);
	map_init(&look.queued);
	map_init(&look.holders);
	map_init(&look.blocked);
	map_init(&look.tids);
	r = look_twice(&look, look_ns, err);
	closing = writer_close(look.writer, r ? NULL : err);
	map_done(&look.switches);
	map_done(&look.ran);
	map_done(&look.queued);
	map_done(&look.holders);
	map_done(&look.blocked);
	buf_done(&look.locks);
	vec_done(&look.running);
	proc_sockets_free(look.sockets);
	map_done(&look.tids);
	processes_done(&look.processes);
	vec_done(&look.found);
	vec_done(&look.pids);
	return r ? r : closing;
}
