/* See watchpoints.h. */
#ifdef HAVE_BPF
#include "record/watchpoints.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
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
#include <time.h>
#include <unistd.h>

#include "base/map.h"
#include "base/options.h"
#include "base/vec.h"
#include "probe/instruction.h"
#include "probe/watch_find.h"
#include "record/probe_points.h"
#include "record/ring.h"
#include "record/watch_looks.h"
#include "record/watch_maps.h"
#include "record/watch_sites.h"
#include "trace/writer.h"

#define TRIES 50             /* to arm all threads while the process makes new ones */
#define CALLS_MS 100
#define LOOKS_MS 5           /* between looks for processes that a command starts ... */
#define LOOKS_ALL_MS 500     /* ... that anybody starts */

struct armed {
	int fd;
	uint32_t number;         /* of its place */
};

struct arrived {
	uint64_t address;        /* where the registers led */
	uint32_t spec;
	uint64_t order;          /* in which they were armed */
	bool armed;
};

struct watchpoints {
	const struct watch_wishes *wishes;
	struct snapshot_sink *sink;
	int program, states_fd, told_fd;
	struct ring_buffer *calls;
	struct arena arena;
	struct watch_place places[WATCHES_MOST + 1]; /* by number; 0 is none */
	_Atomic uint32_t place_count;
	struct vec(struct armed) armed;
	pthread_mutex_t lock;        /* of places and what is armed */
	bool follows;                /* processes as they come */
	atomic_bool started;         /* the command's program has */
	struct watch_looks looks;
	struct vec(struct bpf_link *) codes; /* places whose registers tell what is watched */
	struct arrived arrived[WATCHES_MOST + 1]; /* of the places that they told, by number */
	uint64_t arrivals;
	pthread_t thread;
	bool running;
	atomic_bool stop;
	struct watch_sites *sites;
};

/* ---- what an access was ---- */

static void settle(struct watchpoints *w, struct record *record)
{
	const struct event_flag_access *e = (const struct event_flag_access *)(record + 1);
	enum instruction_access access = ACCESS_unknown;

	if (e->watch && e->watch <= atomic_load(&w->place_count) && !(e->flags & FLAG_ACCESS_kernel))
		access = watch_sites_access(w->sites, (uint32_t)w->places[e->watch].pid, e->instruction);
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
static int arm_process(struct watchpoints *w, pid_t pid, uint32_t number, struct err *err)
{
	size_t from = w->armed.length, count, again;
	pid_t *threads, *now;
	int r = 0;

	for (int tries = 0; tries < TRIES; tries++) {
		r = process_threads(&w->arena, pid, &threads, &count, err);
		for (size_t i = 0; i < count && !r; i++)
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

static void drop_states(const struct watchpoints *w, const struct watch_place *place)
{
	uint64_t addresses[WATCH_PIECES_MOST];
	uint32_t bytes[WATCH_PIECES_MOST];
	size_t count = watch_pieces(place->address, place->bytes, addresses, bytes);

	for (size_t i = 0; i < count; i++)
		bpf_map_delete_elem(w->states_fd, &(struct watch_key){ .address = addresses[i], .pid = (uint32_t)place->pid });
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

/* Arms a place that was found, and tells of it. What cannot be armed keeps its number. */
static int add_place(struct watchpoints *w, const struct watch_place *place, struct err *err)
{
	uint32_t number = atomic_load(&w->place_count) + 1;
	int r;

	if (number > WATCHES_MOST)
		return err_set(err, -E2BIG, "--watch %s: more than %u places", place->spec->written, WATCHES_MOST);
	w->places[number] = *place;
	r = put_states(w, place, number, err);
	if (r)
		return r;
	atomic_store(&w->place_count, number);
	r = arm_process(w, place->pid, number, err);
	if (r)
		drop_states(w, place);
	return r ? r : tell_one(w, number, err);
}

static int add_spec(struct watchpoints *w, const struct watch_spec *spec, const struct process *process, struct err *err)
{
	struct watch_place place;
	int r = watch_find(&w->arena, spec, process, &place, err);

	return r ? r : add_place(w, &place, err);
}

/* Those of the specs in *todo that can be armed now; where one must be, a failure ends it. */
static int add_process(struct watchpoints *w, pid_t pid, uint64_t *todo, bool must, struct err *err)
{
	struct err passed_over = { 0 };
	struct process process;
	int r = process_look(&w->arena, pid, &process, err);

	for (size_t i = 0; i < w->wishes->spec_count && !r; i++) {
		const struct watch_spec *spec = &w->wishes->specs[i];

		if (!(*todo & 1ull << i))
			continue;
		if (spec->at_code) {
			*todo &= ~(1ull << i);
			continue;
		}
		if (!must && spec->file && !process_module(&process, spec->file))
			continue;
		r = add_spec(w, spec, &process, must ? err : &passed_over);
		if (!r)
			*todo &= ~(1ull << i);
		else if (!must)
			r = 0;
	}
	return r;
}

/* Where no process is named: each that has mapped the files, now or later; a name that is in none
 * of them would never be found. */
static int check_files(struct watchpoints *w, struct err *err)
{
	int r = 0;

	for (size_t i = 0; i < w->wishes->spec_count && !r; i++) {
		const struct watch_spec *spec = &w->wishes->specs[i];
		const char *path;

		if (!spec->file)
			return err_set(err, -EINVAL, "--watch %s: say in which process (-p PID), or in which file (FILE:VARIABLE)", spec->written);
		if (spec->at_code || !spec->symbol)
			continue;
		r = probe_points_file(&w->arena, spec->file, &path, err);
		r = r ? err_prefix(err, "--watch %s", spec->written) : watch_find_variable(&w->arena, spec, path, err);
	}
	return r;
}

/* ---- where registers tell the place ---- */

/* What is armed there, from the number on. */
static void disarm_place(struct watchpoints *w, uint32_t number)
{
	const struct watch_place *place = &w->places[number];
	size_t kept = 0;
	struct watch_key told = { .address = w->arrived[number].address, .pid = (uint32_t)place->pid, .zero = w->arrived[number].spec + 1 };

	for (size_t i = 0; i < w->armed.length; i++) {
		if (w->armed.items[i].number == number)
			close(w->armed.items[i].fd);
		else
			w->armed.items[kept++] = w->armed.items[i];
	}
	w->armed.length = kept;
	drop_states(w, place);
	/* where a thread comes there again it is armed again */
	bpf_map_delete_elem(w->told_fd, &told);
	w->arrived[number].armed = false;
}

/* The one that was armed longest ago makes room: a loop looks at one flag for a while, then at the next. */
static bool make_room(struct watchpoints *w, pid_t pid)
{
	uint32_t oldest = 0;

	for (uint32_t number = 1; number <= atomic_load(&w->place_count); number++)
		if (w->arrived[number].armed && w->places[number].pid == pid && (!oldest || w->arrived[number].order < w->arrived[oldest].order))
			oldest = number;
	if (oldest)
		disarm_place(w, oldest);
	return oldest != 0;
}

/* The place, when it was armed before. */
static uint32_t find_place(const struct watchpoints *w, const struct watch_place *place)
{
	for (uint32_t number = 1; number <= atomic_load(&w->place_count); number++)
		if (w->places[number].pid == place->pid && w->places[number].spec == place->spec && w->places[number].address == place->address)
			return number;
	return 0;
}

static int arm_again(struct watchpoints *w, const struct watch_place *place, uint32_t number, struct err *err)
{
	int r;

	drop_states(w, place);
	r = put_states(w, place, number, err);
	return r ? r : arm_process(w, place->pid, number, err);
}

static void arm_arrival(struct watchpoints *w, const struct watch_arrival *arrival)
{
	struct watch_place place;
	struct process process;
	uint32_t number;
	struct err err;
	int r;

	if (arrival->spec >= w->wishes->spec_count || process_look(&w->arena, (pid_t)arrival->pid, &process, NULL) ||
	    watch_find_from(&w->arena, &w->wishes->specs[arrival->spec], &process, arrival->address, &place, NULL))
		return;
	do {
		number = find_place(w, &place);
		if (number && w->arrived[number].armed)
			return;
		r = number ? arm_again(w, &place, number, &err) : add_place(w, &place, &err);
		if (!r && number && !w->arrived[number].order)
			tell_one(w, number, NULL);
		number = find_place(w, &place);
	} while (r == -ENOSPC && make_room(w, place.pid));
	if (!r && number)
		w->arrived[number] = (struct arrived){ arrival->address, arrival->spec, ++w->arrivals, true };
}

/* Where the code of a spec is: of a process that is named, as it has mapped it. */
static int code_path(struct watchpoints *w, const struct watch_spec *spec, const char **ret_path, struct err *err)
{
	const struct process_mapping *mapping;
	struct process process;
	int r;

	if (!w->wishes->pid_count)
		return probe_points_file(&w->arena, spec->file, ret_path, err);
	r = process_look(&w->arena, w->wishes->pids[0], &process, err);
	if (r)
		return r;
	mapping = process_module(&process, spec->file);
	if (!mapping)
		return err_set(err, -ENOENT, "process %d has not mapped '%s'", (int)process.pid, spec->file);
	*ret_path = process_module_path(&w->arena, &process, mapping);
	return 0;
}

static uint16_t register_offset(uint8_t number)
{
	/* in the order of struct user_registers: r15, r14, r13, r12, rbp, rbx, r11, r10, r9, r8, rax, rcx, rdx, rsi, rdi, -, -, -, -, rsp */
	static const uint8_t places[REGISTER_count] = { 10, 11, 12, 5, 19, 4, 13, 14, 9, 8, 7, 6, 3, 2, 1, 0 };

	return number < REGISTER_count ? (uint16_t)(places[number] * 8) : UINT16_MAX;
}

static int attach_code(struct watchpoints *w, const struct programs *programs, uint32_t number, struct err *err)
{
	const struct watch_spec *spec = &w->wishes->specs[number];
	struct watch_code code = { .base = register_offset(spec->registers.base), .index = register_offset(spec->registers.index),
				   .scale = spec->registers.scale, .displacement = (uint64_t)spec->registers.displacement };
	LIBBPF_OPTS(bpf_uprobe_opts, options, .bpf_cookie = number);
	struct bpf_program *program = programs_find(programs, "on_watch_code");
	struct bpf_link *link;
	const char *path;
	uint64_t offset;
	int r = program ? code_path(w, spec, &path, err) : err_set(err, -ENOENT, "the program of the watchpoints is missing");

	if (r)
		return err_prefix(err, "--watch %s", spec->written);
	r = watch_find_code(&w->arena, spec, path, &offset, err);
	if (r)
		return r;
	if (bpf_map_update_elem(programs_map(programs, "watch_codes"), &number, &code, BPF_ANY))
		return err_sys(err, -errno, "--watch %s", spec->written);
	link = bpf_program__attach_uprobe_opts(program, w->wishes->pid_count == 1 ? w->wishes->pids[0] : -1, path, offset, &options);
	if (!link)
		return err_sys(err, -errno, "--watch %s: attaching to offset 0x%llx of %s", spec->written, (unsigned long long)offset, path);
	vec_push(&w->codes, link);
	return 0;
}

static int attach_codes(struct watchpoints *w, const struct programs *programs, struct err *err)
{
	int r = 0;

	for (uint32_t i = 0; i < w->wishes->spec_count && !r; i++)
		if (w->wishes->specs[i].at_code)
			r = attach_code(w, programs, i, err);
	return r;
}

/* ---- the thread ---- */

static void disarm(struct watchpoints *w, uint64_t number)
{
	for (size_t i = 0; i < w->armed.length; i++)
		if (w->armed.items[i].number == number)
			ioctl(w->armed.items[i].fd, PERF_EVENT_IOC_DISABLE, 0);
}

static int take_call(void *data, void *message, size_t bytes)
{
	struct watchpoints *w = data;
	struct watch_arrival arrival;
	uint64_t number;

	pthread_mutex_lock(&w->lock);
	if (bytes >= sizeof(arrival)) {
		memcpy(&arrival, message, sizeof(arrival));
		arm_arrival(w, &arrival);
	} else if (bytes >= sizeof(number)) {
		memcpy(&number, message, sizeof(number));
		disarm(w, number);
	}
	pthread_mutex_unlock(&w->lock);
	return 0;
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* What was not mapped yet, in those who came meanwhile, too. */
static void look_again(struct watchpoints *w)
{
	struct watch_look *look;

	pthread_mutex_lock(&w->lock);
	watch_looks_update(&w->looks, now_ns());
	while ((look = watch_looks_due(&w->looks, now_ns()))) {
		struct arena_mark mark = arena_mark(&w->arena);
		uint32_t before = atomic_load(&w->place_count);

		(void)add_process(w, look->pid, &look->todo, false, NULL);
		if (atomic_load(&w->place_count) == before)
			arena_rewind(&w->arena, mark);
	}
	pthread_mutex_unlock(&w->lock);
}

static void *run(void *data)
{
	struct watchpoints *w = data;

	while (!atomic_load(&w->stop)) {
		ring_buffer__poll(w->calls, !w->follows ? CALLS_MS : w->looks.filter >= 0 ? LOOKS_MS : LOOKS_ALL_MS);
		if (w->follows && atomic_load(&w->started))
			look_again(w);
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
				   .states_fd = programs_map(programs, "watches"), .sites = watch_sites_new(programs_map(programs, "watch_sites")),
				   .told_fd = programs_map(programs, "watch_told") };
	arena_init(&w->arena);
	pthread_mutex_init(&w->lock, NULL);
	w->follows = !wishes->pid_count;
	atomic_store(&w->started, !wishes->command);
	watch_looks_init(&w->looks, wishes->command ? programs_map(programs, "filter_set") : -1, wishes->spec_count);
	raise_limit();
	w->calls = ring_buffer__new(programs_map(programs, "watch_calls"), take_call, w, NULL);
	if (!w->calls)
		r = err_sys(err, -errno, "mapping what the watchpoints tell");
	if (!r && wishes->spec_count > WATCH_SPECS_MOST)
		r = err_set(err, -E2BIG, "--watch: more than %u places", WATCH_SPECS_MOST);
	if (!r)
		r = attach_codes(w, programs, err);
	for (size_t i = 0; i < wishes->pid_count && !r; i++) {
		uint64_t todo = w->looks.specs;

		r = add_process(w, wishes->pids[i], &todo, true, err);
	}
	if (!r && !wishes->pid_count && !wishes->command)
		r = check_files(w, err);
	if (!r && w->follows && !wishes->command)
		look_again(w);
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

		/* libraries come later; what the program itself lacks it will never have, but its children may */
		if (spec->at_code || !mapping || (spec->step_count && spec->steps[0].kind == WATCH_follow))
			continue;
		r = add_spec(w, spec, &process, err);
		if (r == -ENOENT && !spec->file)
			r = 0;
		else if (!r)
			watch_looks_has(&w->looks, process.pid, i);
	}
	atomic_store(&w->started, true);
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
	while (w->codes.length)
		bpf_link__destroy(w->codes.items[--w->codes.length]);
	vec_done(&w->codes);
	close_from(w, 0);
	vec_done(&w->armed);
	watch_looks_done(&w->looks);
	pthread_mutex_destroy(&w->lock);
	watch_sites_free(w->sites);
	arena_done(&w->arena);
	free(w);
}
#endif
