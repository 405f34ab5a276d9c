/* See watchpoints.h. */
#ifdef HAVE_BPF
#include "record/watchpoints.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/map.h"
#include "base/options.h"
#include "base/quiet_thread.h"
#include "base/vec.h"
#include "probe/instruction.h"
#include "probe/watch_find.h"
#include "record/probe_points.h"
#include "record/probe_values.h"
#include "record/ring.h"
#include "record/watch_arms.h"
#include "record/watch_looks.h"
#include "record/watch_maps.h"
#include "record/watch_others.h"
#include "record/watch_sites.h"
#include "trace/writer.h"

#define CALLS_MS 100
#define LOOKS_MS 5           /* between looks for processes that a command starts ... */
#define LOOKS_ALL_MS 500     /* ... that anybody starts */
#define OWN_SHARE 10u        /* of the time goes to looking for threads with a variable of their own: one part */
#define OWN_MOST_NS 500000000u

struct arrived {
	uint64_t address;        /* where the registers led */
	uint32_t spec;
	uint64_t order;          /* in which they were armed */
	bool armed;
};

struct watchpoints {
	const struct watch_wishes *wishes;
	struct snapshot_sink *sink;
	int states_fd, told_fd;
	struct ring_buffer *calls;
	struct arena arena;
	struct watch_place places[WATCHES_MOST + 1]; /* by number; 0 is none */
	_Atomic uint32_t place_count;
	struct watch_arms arms;
	pthread_mutex_t lock;        /* of places and what is armed */
	bool follows;                /* processes as they come */
	atomic_bool started;         /* the command's program has */
	struct watch_looks looks;
	struct watch_others *others;
	uint64_t own_next_ns;        /* when to look for new threads of processes with places of threads */
	bool own;                    /* there are such places */
	struct vec(struct bpf_link *) codes; /* places whose registers tell what is watched */
	struct arrived arrived[WATCHES_MOST + 1]; /* of the places that they told, by number */
	uint64_t arrivals;
	uint64_t changes;            /* of places */
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

/* ---- places ---- */

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
				       .bytes = place->bytes, .kind = place->spec->access ? WATCH_KIND_access : WATCH_KIND_write,
				       .memory = place->memory };
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
	w->changes++;
	w->places[number] = *place;
	r = put_states(w, place, number, err);
	if (r)
		return r;
	atomic_store(&w->place_count, number);
	r = watch_arms_add(&w->arms, &w->arena, place, number, err);
	if (r)
		drop_states(w, place);
	return r ? r : tell_one(w, number, err);
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
	return r ? r : watch_arms_add(&w->arms, &w->arena, place, number, err);
}

/* A thread may have its variable where one that has ended had it. */
static int add_or_renew(struct watchpoints *w, const struct watch_place *place, struct err *err)
{
	uint32_t number = find_place(w, place);
	int r;

	if (!number)
		return add_place(w, place, err);
	if (w->places[number].tid == place->tid)
		return 0;
	w->changes++;
	w->places[number] = *place;
	r = arm_again(w, place, number, err);
	return r ? r : tell_one(w, number, err);
}

/* In the process, and where it is shared and the process was named, in the others that have it. */
static int add_spec(struct watchpoints *w, const struct watch_spec *spec, const struct process *process, struct err *err)
{
	struct watch_place *places = arena_array(&w->arena, struct watch_place, WATCHES_MOST);
	const struct watch_threads threads = { watch_others_threads, w->others };
	size_t count = 0;
	int r = watch_find(&w->arena, spec, process, &threads, places, WATCHES_MOST, &count, err);

	for (size_t i = 0; i < count && !r; i++) {
		w->own |= places[i].tid != 0;
		r = add_or_renew(w, &places[i], err);
	}
	if (r || count != 1 || !places[0].memory || !w->wishes->pid_count)
		return r;
	count = watch_others_sharing(&w->arena, &places[0], places + 1, WATCHES_MOST - 1);
	for (size_t i = 1; i <= count && !r; i++)
		if (!find_place(w, &places[i]))
			r = add_place(w, &places[i], err);
	return r;
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
	struct watch_key told = { .address = w->arrived[number].address, .pid = (uint32_t)place->pid, .zero = w->arrived[number].spec + 1 };

	watch_arms_remove(&w->arms, number);
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

static int attach_code(struct watchpoints *w, const struct programs *programs, uint32_t number, struct err *err)
{
	const struct watch_spec *spec = &w->wishes->specs[number];
	struct watch_code code = { .base = probe_values_register(spec->registers.base), .index = probe_values_register(spec->registers.index),
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
		watch_arms_disable(&w->arms, number);
	}
	pthread_mutex_unlock(&w->lock);
	return 0;
}

/* What was not mapped yet, in those who came meanwhile, too. */
static void look_again(struct watchpoints *w)
{
	struct watch_look *look;

	pthread_mutex_lock(&w->lock);
	watch_looks_update(&w->looks, clock_now_ns());
	while ((look = watch_looks_due(&w->looks, clock_now_ns()))) {
		struct arena_mark mark = arena_mark(&w->arena);
		uint64_t before = w->changes;

		(void)add_process(w, look->pid, &look->todo, false, NULL);
		if (w->changes == before)
			arena_rewind(&w->arena, mark);
	}
	pthread_mutex_unlock(&w->lock);
}

static bool has_place_of(const struct watchpoints *w, const struct watch_spec *spec, pid_t pid, pid_t tid)
{
	for (uint32_t number = 1; number <= atomic_load(&w->place_count); number++)
		if (w->places[number].spec == spec && w->places[number].pid == pid && w->places[number].tid == tid)
			return true;
	return false;
}

/* Threads of the place's process that have no such place yet. */
static bool has_new_threads(struct watchpoints *w, uint32_t number)
{
	struct arena_mark mark = arena_mark(&w->arena);
	pid_t pid = w->places[number].pid, *threads;
	bool new = false;
	size_t count;

	if (!process_threads(&w->arena, pid, &threads, &count, NULL))
		for (size_t i = 0; i < count && !new; i++)
			new = !has_place_of(w, w->places[number].spec, pid, threads[i]);
	arena_rewind(&w->arena, mark);
	return new;
}

/* New threads have their own variables elsewhere. What one has not used yet is looked for again and again, so
 * that it takes a small part of the time. */
static void look_for_threads(struct watchpoints *w)
{
	uint64_t begin = clock_now_ns(), took;
	uint32_t count = atomic_load(&w->place_count);

	if (begin < w->own_next_ns)
		return;
	pthread_mutex_lock(&w->lock);
	for (uint32_t number = 1; number <= count; number++) {
		const struct watch_place *place = &w->places[number];
		struct arena_mark mark = arena_mark(&w->arena);
		uint64_t changes = w->changes;
		struct process process;
		bool first = place->tid != 0;

		for (uint32_t i = 1; i < number && first; i++)
			first = w->places[i].pid != place->pid || w->places[i].spec != place->spec;
		if (!first || !has_new_threads(w, number))
			continue;
		if (!process_look(&w->arena, place->pid, &process, NULL))
			(void)add_spec(w, place->spec, &process, NULL);
		if (w->changes == changes)
			arena_rewind(&w->arena, mark);
	}
	pthread_mutex_unlock(&w->lock);
	took = (clock_now_ns() - begin) * OWN_SHARE;
	w->own_next_ns = begin + (took > OWN_MOST_NS ? OWN_MOST_NS : took);
}

static int wait_ms(const struct watchpoints *w)
{
	if (w->own)
		return LOOKS_MS;
	return !w->follows ? CALLS_MS : w->looks.filter >= 0 ? LOOKS_MS : LOOKS_ALL_MS;
}

static void *run(void *data)
{
	struct watchpoints *w = data;

	while (!atomic_load(&w->stop)) {
		ring_buffer__poll(w->calls, wait_ms(w));
		if (w->follows && atomic_load(&w->started))
			look_again(w);
		if (w->own)
			look_for_threads(w);
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
	int r;

	r = quiet_thread(&w->thread, run, w);
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
	*w = (struct watchpoints){ .wishes = wishes, .sink = sink, .arms = { .program = bpf_program__fd(program) },
				   .states_fd = programs_map(programs, "watches"), .sites = watch_sites_new(programs_map(programs, "watch_sites")),
				   .told_fd = programs_map(programs, "watch_told") };
	arena_init(&w->arena);
	pthread_mutex_init(&w->lock, NULL);
	w->follows = !wishes->pid_count;
	atomic_store(&w->started, !wishes->command);
	w->others = watch_others_new(programs);
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
	/* what is wrong with the places is told first */
	if (!r)
		r = watch_arms_check(err);
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
		if ((r == -ENOENT && !spec->file) || r == -EAGAIN)
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
	watch_arms_done(&w->arms);
	watch_looks_done(&w->looks);
	watch_others_free(w->others);
	pthread_mutex_destroy(&w->lock);
	watch_sites_free(w->sites);
	arena_done(&w->arena);
	free(w);
}
#endif
