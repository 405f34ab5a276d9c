/* See watchpoints.h. */
#ifdef HAVE_BPF
#include "record/watchpoints.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <dirent.h>
#include <errno.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/map.h"
#include "base/options.h"
#include "base/vec.h"
#include "probe/instruction.h"
#include "probe/watch_find.h"
#include "record/ring.h"
#include "record/watch_maps.h"
#include "trace/writer.h"

#define TRIES 50             /* to arm all threads while the process makes new ones */
#define CALLS_MS 100
#define PENDING_MS 2         /* between looks for a file that a command is about to map */
#define SITES_KNOWN 4096u    /* a power of two */

struct armed {
	int fd;
	uint32_t number;         /* of its place */
};

struct site {
	uint64_t ip;
	uint32_t pid;
	uint8_t access;          /* enum instruction_access */
	bool used;
};

struct watchpoints {
	const struct watch_wishes *wishes;
	struct snapshot_sink *sink;
	int program, states_fd, sites_fd;
	struct ring_buffer *calls;
	struct arena arena;
	struct watch_place places[WATCHES_MOST + 1]; /* by number; 0 is none */
	_Atomic uint32_t place_count;
	struct vec(struct armed) armed;
	pthread_mutex_t lock;        /* of places and what is armed */
	bool *pending;               /* of each spec, whether the command has it not yet */
	bool started;                /* the command's program has */
	pthread_t thread;
	bool running;
	atomic_bool stop;
	pthread_mutex_t sites_lock;
	struct site sites[SITES_KNOWN];
	uint32_t sites_used;
};

/* ---- what an instruction did ---- */

static enum instruction_access decode_site(struct watchpoints *w, uint32_t pid, uint64_t ip)
{
	struct watch_key key = { .address = ip, .pid = pid };
	struct watch_site site;
	uint32_t before, after;

	if (bpf_map_lookup_elem(w->sites_fd, &key, &site))
		return ACCESS_unknown;
	before = site.before < WATCH_SITE_BEFORE ? site.before : WATCH_SITE_BEFORE;
	after = site.after < WATCH_SITE_AFTER ? site.after : WATCH_SITE_AFTER;
	return instruction_access(site.code + WATCH_SITE_BEFORE - before, before, after);
}

static enum instruction_access access_at(struct watchpoints *w, uint32_t pid, uint64_t ip)
{
	uint64_t at = hash_u64(ip ^ (uint64_t)pid << 40);
	enum instruction_access access;
	struct site *site;

	pthread_mutex_lock(&w->sites_lock);
	for (site = &w->sites[at & (SITES_KNOWN - 1)]; site->used; site = &w->sites[++at & (SITES_KNOWN - 1)])
		if (site->ip == ip && site->pid == pid)
			break;
	if (site->used) {
		access = site->access;
	} else {
		access = decode_site(w, pid, ip);
		if (w->sites_used < SITES_KNOWN * 3 / 4) {
			*site = (struct site){ ip, pid, (uint8_t)access, true };
			w->sites_used++;
		}
	}
	pthread_mutex_unlock(&w->sites_lock);
	return access;
}

static void settle(struct watchpoints *w, struct record *record)
{
	const struct event_flag_access *e = (const struct event_flag_access *)(record + 1);
	enum instruction_access access = ACCESS_unknown;

	if (e->watch && e->watch <= atomic_load(&w->place_count) && !(e->flags & FLAG_ACCESS_kernel))
		access = access_at(w, (uint32_t)w->places[e->watch].pid, e->instruction);
	/* whatever did it, another value was written */
	if (access == ACCESS_unknown && e->old != e->value)
		access = ACCESS_write;
	if (access != ACCESS_unknown)
		record->type = access == ACCESS_write ? EVENT_flag_write : EVENT_flag_read;
}

void watchpoints_settle(struct watchpoints *w, void *records, uint64_t bytes)
{
	for (uint64_t at = 0; w && at + sizeof(struct record) <= bytes;) {
		struct record *record = (struct record *)((char *)records + at);

		if (record->type == EVENT_flag_access && record->size >= sizeof(*record) + sizeof(struct event_flag_access))
			settle(w, record);
		if (record->size < sizeof(*record))
			return;
		at += record->size;
	}
}

/* ---- arming ---- */

static int refused(const struct watch_place *place, pid_t tid, int r, struct err *err)
{
	const char *written = place->spec->written;

	if (r == -ENOSPC)
		return err_set(err, r, "--watch %s: the processor has four watchpoints a thread, and those of thread %d are taken: by others of "
			       "this recording, a debugger or another recorder (an unaligned place takes several)", written, (int)tid);
	if (r == -EACCES || r == -EPERM)
		return err_set(err, r, "--watch %s: the kernel does not let this user watch thread %d: run as root", written, (int)tid);
	if (r == -EOPNOTSUPP || r == -ENODEV || r == -ENOENT)
		return err_set(err, r, "--watch %s: this machine has no hardware watchpoints (a virtual machine may hide them)", written);
	if (r == -EMFILE)
		return err_set(err, r, "--watch %s: too many threads for this user's limit of open files (ulimit -n)", written);
	return err_sys(err, r, "--watch %s: arming thread %d", written, (int)tid);
}

/* Disabled, with its program; -ESRCH when the thread has ended. */
static int open_one(const struct watchpoints *w, pid_t tid, uint64_t address, uint32_t bytes, bool access)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr), .type = PERF_TYPE_BREAKPOINT, .bp_type = access ? HW_BREAKPOINT_RW : HW_BREAKPOINT_W,
		.bp_addr = address, .bp_len = bytes, .sample_period = 1, .disabled = 1, .inherit = 1, .inherit_thread = 1,
		.remove_on_exec = 1,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, tid, -1, -1, PERF_FLAG_FD_CLOEXEC), r;

	if (fd < 0)
		return -errno;
	if (!ioctl(fd, PERF_EVENT_IOC_SET_BPF, w->program))
		return fd;
	r = -errno;
	close(fd);
	return r;
}

static void close_from(struct watchpoints *w, size_t from)
{
	while (w->armed.length > from)
		close(w->armed.items[--w->armed.length].fd);
}

static int arm_thread(struct watchpoints *w, const struct watch_place *place, uint32_t number, pid_t tid, struct err *err)
{
	uint64_t addresses[WATCH_PIECES_MOST];
	uint32_t bytes[WATCH_PIECES_MOST];
	size_t count = watch_pieces(place->address, place->bytes, addresses, bytes);

	for (size_t i = 0; i < count; i++) {
		int fd = open_one(w, tid, addresses[i], bytes[i], place->spec->access);

		if (fd == -ESRCH)
			return 0;
		if (fd < 0)
			return refused(place, tid, fd, err);
		vec_push(&w->armed, ((struct armed){ fd, number }));
	}
	return 0;
}

static bool same_threads(const pid_t *a, size_t a_count, const pid_t *b, size_t b_count)
{
	/* those that have ended do not matter */
	for (size_t i = 0, j = 0; j < b_count; j++) {
		while (i < a_count && a[i] < b[j])
			i++;
		if (i == a_count || a[i] != b[j])
			return false;
	}
	return true;
}

/* All threads of these places' process. A thread that is made meanwhile inherits from
 * an armed one, but not from one that is not armed yet: so it is done again, until no
 * new one came in between. */
static int arm_process(struct watchpoints *w, pid_t pid, uint32_t first, uint32_t last, struct err *err)
{
	size_t from = w->armed.length, count, again;
	pid_t *threads, *now;
	int r = 0;

	for (int tries = 0; tries < TRIES; tries++) {
		r = process_threads(&w->arena, pid, &threads, &count, err);
		for (size_t i = 0; i < count && !r; i++)
			for (uint32_t number = first; number <= last && !r; number++)
				if (!w->places[number].tid || w->places[number].tid == threads[i])
					r = arm_thread(w, &w->places[number], number, threads[i], err);
		if (!r)
			r = process_threads(&w->arena, pid, &now, &again, err);
		if (r || same_threads(threads, count, now, again))
			break;
		close_from(w, from);
	}
	if (r) {
		close_from(w, from);
		return r;
	}
	for (size_t i = from; i < w->armed.length; i++)
		ioctl(w->armed.items[i].fd, PERF_EVENT_IOC_ENABLE, 0);
	return 0;
}

static int put_states(const struct watchpoints *w, const struct watch_place *place, uint32_t number, struct err *err)
{
	uint64_t addresses[WATCH_PIECES_MOST];
	uint32_t bytes[WATCH_PIECES_MOST];
	size_t count = watch_pieces(place->address, place->bytes, addresses, bytes);

	for (size_t i = 0; i < count; i++) {
		struct watch_key key = { .address = addresses[i], .pid = (uint32_t)place->pid };
		struct watch_state state = { .last = place->value, .whole = place->address, .number = number, .bytes = place->bytes,
					     .limit = w->wishes->limit, .access = place->spec->access };

		if (bpf_map_update_elem(w->states_fd, &key, &state, BPF_NOEXIST))
			return errno == EEXIST ? err_set(err, -EEXIST, "--watch %s: 0x%llx of process %d is watched twice", place->spec->written,
							 (unsigned long long)addresses[i], (int)place->pid) :
						 err_sys(err, -errno, "--watch %s", place->spec->written);
	}
	return 0;
}

static int tell_one(struct watchpoints *w, uint32_t number, struct err *err)
{
	const struct watch_place *place = &w->places[number];
	struct event_watch_point e = { .address = place->address, .value = place->value, .watch = number, .pid = (uint32_t)place->pid,
				       .bytes = place->bytes, .kind = place->spec->access ? WATCH_KIND_access : WATCH_KIND_write };
	struct buf texts;
	int r;

	buf_init(&texts);
	buf_add(&texts, place->spec->name, strlen(place->spec->name) + 1);
	buf_add(&texts, place->file, strlen(place->file) + 1);
	buf_add(&texts, place->place, strlen(place->place) + 1);
	r = w->sink->event(w->sink, 0, EVENT_watch_point, &e, buf_str(&texts), (uint32_t)texts.length, err);
	buf_done(&texts);
	return r;
}

/* Finds one spec in a process; the places stay if they can be armed. */
static int add_places(struct watchpoints *w, const struct watch_spec *spec, const struct process *process, struct err *err)
{
	uint32_t count = atomic_load(&w->place_count);
	struct watch_place *places;
	size_t found;
	int r = watch_find(&w->arena, spec, process, NULL, &places, &found, err);

	if (r)
		return r;
	if (count + found > WATCHES_MOST)
		return err_set(err, -E2BIG, "--watch %s: more than %u places", spec->written, WATCHES_MOST);
	for (size_t i = 0; i < found && !r; i++) {
		w->places[count + 1 + i] = places[i];
		r = put_states(w, &places[i], count + 1 + (uint32_t)i, err);
	}
	if (r)
		return r;
	atomic_store(&w->place_count, count + (uint32_t)found);
	return arm_process(w, process->pid, count + 1, count + (uint32_t)found, err);
}

static int add_process(struct watchpoints *w, pid_t pid, bool optional, bool *pending, struct err *err)
{
	struct process process;
	int r = process_look(&w->arena, pid, &process, err);

	for (size_t i = 0; i < w->wishes->spec_count && !r; i++) {
		const struct watch_spec *spec = &w->wishes->specs[i];
		uint32_t before = atomic_load(&w->place_count);

		if (pending && !pending[i])
			continue;
		if (optional && !process_module(&process, spec->file ? spec->file : ""))
			continue;
		r = add_places(w, spec, &process, err);
		for (uint32_t number = before + 1; number <= atomic_load(&w->place_count) && !r; number++)
			r = tell_one(w, number, err);
		if (!r && pending)
			pending[i] = false;
	}
	return r;
}

/* Where no process is named: each that has mapped the files. */
static int add_all(struct watchpoints *w, struct err *err)
{
	struct dirent *entry;
	uint64_t number;
	int r = 0;
	DIR *folder;

	for (size_t i = 0; i < w->wishes->spec_count; i++)
		if (!w->wishes->specs[i].file)
			return err_set(err, -EINVAL, "--watch %s: say in which process (-p PID), or in which file (FILE:VARIABLE)",
				       w->wishes->specs[i].written);
	folder = opendir("/proc");
	if (!folder)
		return err_sys(err, -errno, "listing processes");
	while (!r && (entry = readdir(folder))) {
		struct err unreadable;
		struct process process;

		if (parse_number(entry->d_name, &number) || !number || number > INT32_MAX || number == (uint64_t)getpid() ||
		    process_look(&w->arena, (pid_t)number, &process, &unreadable))
			continue;
		r = add_process(w, (pid_t)number, true, NULL, err);
	}
	closedir(folder);
	if (!r && !atomic_load(&w->place_count))
		r = err_set(err, -ENOENT, "--watch %s: no process has mapped '%s'", w->wishes->specs[0].written, w->wishes->specs[0].file);
	return r;
}

/* ---- the thread ---- */

static int disarm(void *data, void *message, size_t bytes)
{
	struct watchpoints *w = data;
	uint64_t number;

	if (bytes < sizeof(number))
		return 0;
	memcpy(&number, message, sizeof(number));
	pthread_mutex_lock(&w->lock);
	for (size_t i = 0; i < w->armed.length; i++)
		if (w->armed.items[i].number == number)
			ioctl(w->armed.items[i].fd, PERF_EVENT_IOC_DISABLE, 0);
	pthread_mutex_unlock(&w->lock);
	return 0;
}

static bool any_pending(const struct watchpoints *w)
{
	for (size_t i = 0; w->started && i < w->wishes->spec_count; i++)
		if (w->pending[i])
			return true;
	return false;
}

/* What the command had not mapped yet; a failure that is final ends the wait for it. */
static void look_again(struct watchpoints *w)
{
	struct process process;

	pthread_mutex_lock(&w->lock);
	if (process_look(&w->arena, w->wishes->command, &process, NULL))
		w->started = false;
	for (size_t i = 0; w->started && i < w->wishes->spec_count; i++) {
		uint32_t before = atomic_load(&w->place_count);

		if (w->pending[i] && !add_places(w, &w->wishes->specs[i], &process, NULL)) {
			w->pending[i] = false;
			for (uint32_t number = before + 1; number <= atomic_load(&w->place_count); number++)
				tell_one(w, number, NULL);
		}
	}
	pthread_mutex_unlock(&w->lock);
}

static void *run(void *data)
{
	struct watchpoints *w = data;

	while (!atomic_load(&w->stop)) {
		struct arena_mark mark = arena_mark(&w->arena);
		uint32_t before = atomic_load(&w->place_count);
		bool pending = any_pending(w);

		ring_buffer__poll(w->calls, pending ? PENDING_MS : CALLS_MS);
		if (!pending)
			continue;
		look_again(w);
		if (atomic_load(&w->place_count) == before)
			arena_rewind(&w->arena, mark);
	}
	return NULL;
}

/* ---- life ---- */

static void raise_limit(void)
{
	struct rlimit files;

	if (!getrlimit(RLIMIT_NOFILE, &files) && files.rlim_cur < files.rlim_max) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
}

static int start_thread(struct watchpoints *w, struct err *err)
{
	sigset_t all, before;
	int r;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	r = pthread_create(&w->thread, NULL, run, w);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	w->running = !r;
	return r ? err_sys(err, -r, "starting the thread of the watchpoints") : 0;
}

int watchpoints_open(const struct programs *programs, const struct watch_wishes *wishes, struct snapshot_sink *sink,
		     struct watchpoints **ret_watchpoints, struct err *err)
{
	struct bpf_program *program = programs_find(programs, "on_watch");
	struct watchpoints *w;
	int r = 0;

	if (!program)
		return err_set(err, -ENOENT, "the program of the watchpoints is missing");
	w = mem_zalloc(sizeof(*w));
	*w = (struct watchpoints){ .wishes = wishes, .sink = sink, .program = bpf_program__fd(program),
				   .states_fd = programs_map(programs, "watches"), .sites_fd = programs_map(programs, "watch_sites") };
	arena_init(&w->arena);
	pthread_mutex_init(&w->lock, NULL);
	pthread_mutex_init(&w->sites_lock, NULL);
	w->pending = arena_array(&w->arena, bool, wishes->spec_count);
	memset(w->pending, wishes->command != 0, wishes->spec_count * sizeof(bool));
	raise_limit();
	w->calls = ring_buffer__new(programs_map(programs, "watch_calls"), disarm, w, NULL);
	if (!w->calls)
		r = err_sys(err, -errno, "mapping what the watchpoints tell");
	for (size_t i = 0; i < wishes->pid_count && !r; i++)
		r = add_process(w, wishes->pids[i], false, NULL, err);
	if (!r && !wishes->pid_count && !wishes->command)
		r = add_all(w, err);
	if (!r)
		r = start_thread(w, err);
	if (r) {
		watchpoints_close(w);
		return r;
	}
	*ret_watchpoints = w;
	return 0;
}

int watchpoints_command_started(struct watchpoints *w, struct err *err)
{
	struct process process;
	int r;

	pthread_mutex_lock(&w->lock);
	r = process_look(&w->arena, w->wishes->command, &process, err);
	for (size_t i = 0; i < w->wishes->spec_count && !r; i++) {
		const struct watch_spec *spec = &w->wishes->specs[i];
		const struct process_mapping *mapping = process_module(&process, spec->file ? spec->file : "");

		/* libraries come later; what the program itself lacks it will never have */
		if (!mapping || (spec->step_count && spec->steps[0].kind == WATCH_follow))
			continue;
		r = add_places(w, spec, &process, err);
		if (r == -ENOENT && !spec->file)
			r = 0;
		else if (!r) {
			w->pending[i] = false;
			r = tell_one(w, atomic_load(&w->place_count), err);
		}
	}
	w->started = true;
	pthread_mutex_unlock(&w->lock);
	return r;
}

int watchpoints_tell(struct watchpoints *w, struct err *err)
{
	int r = 0;

	pthread_mutex_lock(&w->lock);
	for (uint32_t number = 1; number <= atomic_load(&w->place_count) && !r; number++)
		r = tell_one(w, number, err);
	pthread_mutex_unlock(&w->lock);
	return r;
}

void watchpoints_close(struct watchpoints *w)
{
	if (!w)
		return;
	atomic_store(&w->stop, true);
	if (w->running)
		pthread_join(w->thread, NULL);
	ring_buffer__free(w->calls);
	close_from(w, 0);
	vec_done(&w->armed);
	pthread_mutex_destroy(&w->lock);
	pthread_mutex_destroy(&w->sites_lock);
	arena_done(&w->arena);
	free(w);
}
#endif
