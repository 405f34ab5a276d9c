/* See recorder.h. */
#include "record/recorder.h"

#include <errno.h>
#include <inttypes.h>

#ifndef HAVE_BPF

int recorder_start(const struct recorder_options *options, struct recorder **ret_recorder, struct err *err)
{
	(void)options;
	(void)ret_recorder;
	return err_set(err, -ENOTSUP, "this argus was built without BPF and cannot record");
}

void recorder_status(struct recorder *recorder, struct recorder_status *ret_status)
{
	(void)recorder;
	*ret_status = (struct recorder_status){ 0 };
}

bool recorder_has_stepped(const struct recorder *recorder)
{
	(void)recorder;
	return false;
}

int recorder_command_started(struct recorder *recorder, struct err *err)
{
	(void)recorder;
	return err_set(err, -ENOTSUP, "this argus was built without BPF and cannot record");
}

int recorder_mark(struct recorder *recorder, const char *text, struct err *err)
{
	(void)recorder;
	(void)text;
	return err_set(err, -ENOTSUP, "this argus was built without BPF and cannot record");
}

int recorder_snapshot(struct recorder *recorder, uint32_t reason, struct err *err)
{
	(void)recorder;
	(void)reason;
	return err_set(err, -ENOTSUP, "this argus was built without BPF and cannot record");
}

int recorder_rotate(struct recorder *recorder, const char *path, struct err *err)
{
	(void)recorder;
	(void)path;
	return err_set(err, -ENOTSUP, "this argus was built without BPF and cannot record");
}

int recorder_flush(struct recorder *recorder, struct err *err)
{
	(void)recorder;
	return err_set(err, -ENOTSUP, "this argus was built without BPF and cannot record");
}

int recorder_fd(const struct recorder *recorder)
{
	(void)recorder;
	return -1;
}

int recorder_stop(struct recorder *recorder, struct recorder_status *ret_status, struct err *err)
{
	(void)recorder;
	(void)ret_status;
	(void)err;
	return 0;
}

#else

#include <bpf/libbpf.h>
#include <malloc.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "record/agent.h"
#include "record/kernel.h"
#include "record/loop_devices.h"
#include "record/missed.h"
#include "record/module_files.h"
#include "record/probes.h"
#include "record/programs.h"
#include "record/samples.h"
#include "record/stacks.h"
#include "record/snapshot.h"
#include "record/state.h"
#include "record/steps.h"
#include "record/watcher.h"
#include "record/watchpoints.h"
#include "symbols/kallsyms.h"

#define TABLES_AWAITED_MS 1000
#define OWN_MAPPING_BYTES (128 << 10)
#define LOADING_PRIORITY (-10)

/* Of all processors, unless they are asked to be larger, and of one at most and at least. Lean, the
 * busiest workloads lose nothing with 2 MiB for a processor. */
#define RINGS_TOTAL_LEAN (32ull << 20)
#define RINGS_TOTAL_FULL (256ull << 20)
#define RING_MOST_LEAN (4ull << 20)
#define RING_MOST_FULL (32ull << 20)
#define RING_LEAST_UNASKED (2ull << 20)

struct recorder {
	struct programs *programs;
	struct kernel kernel;
	struct rings rings;
	struct writer *writer;
	struct agent agent;
	struct helpers *helpers;    /* processes that look at what is others' */
	struct stacks *stacks;      /* NULL: none are taken */
	struct stacks_unreached unreached;
	struct record_live *live;
	uint64_t kernel_text;
	uint32_t stream;            /* of the agent's own records: one above the processors' */
	uint64_t start_ns, seen_from_ns;
	struct missed missed;       /* by the kernel, and told */
	struct snapshot_sink sink;
	struct state_opening *opening; /* NULL: ended */
	struct snapshots *snapshots;
	struct watcher watcher;
	struct samples *samples;
	struct probes *probes;
	struct watchpoints *watchpoints;
	struct steps *steps;
	struct arena arena;         /* of the options' texts */
	struct recorder_options options;
	struct writer_options file; /* of the file that is written now */
	uint64_t closed_bytes, closed_events; /* of the files before it */
};

static uint64_t ring_bytes_for(uint64_t wanted, uint32_t cpus, bool full)
{
	uint64_t bytes = full ? RING_MOST_FULL : RING_MOST_LEAN, total = full ? RINGS_TOTAL_FULL : RINGS_TOTAL_LEAN;

	if (!wanted) {
		while (bytes * cpus > total && bytes > RING_LEAST_UNASKED)
			bytes /= 2;
		return bytes;
	}
	bytes = RECORDER_RING_MOST;
	while (bytes > wanted && bytes > RECORDER_RING_LEAST)
		bytes /= 2;
	return bytes;
}

/* Writes one of the agent's own events. */
static int emit_at(struct recorder *recorder, uint64_t time, unsigned type, uint32_t tid, const void *data, const char *tail,
		   size_t tail_length, struct err *err)
{
	struct event e = {
		.time = time,
		.tid = tid,
		.cpu = (uint16_t)recorder->stream,
		.type = (uint16_t)type,
		.data = data,
		.tail = tail,
		.tail_length = (uint32_t)tail_length,
	};
	int r;

	agent_lock(&recorder->agent);
	r = writer_add_event(recorder->writer, &e, err);
	agent_unlock(&recorder->agent);
	return r;
}

static int emit(struct recorder *recorder, unsigned type, uint32_t tid, const void *data, const char *tail,
		size_t tail_length, struct err *err)
{
	return emit_at(recorder, clock_now_ns(), type, tid, data, tail, tail_length, err);
}

static int take_state(struct snapshot_sink *sink, uint32_t tid, enum event_type type, const void *payload,
		      const char *tail, uint32_t tail_length, struct err *err)
{
	struct recorder *recorder = (struct recorder *)((char *)sink - offsetof(struct recorder, sink));

	return emit(recorder, type, tid, payload, tail_length ? tail : "", tail_length, err);
}

static int take_clock(struct snapshot_sink *sink, struct err *err)
{
	struct recorder *recorder = (struct recorder *)((char *)sink - offsetof(struct recorder, sink));
	uint64_t now = clock_now_ns();
	struct event_clock clock = { .realtime_ns = now + (uint64_t)clock_ahead_ns(CLOCK_REALTIME),
				     .boottime_ns = now + (uint64_t)clock_ahead_ns(CLOCK_BOOTTIME) };

	return emit_at(recorder, now, EVENT_clock, 0, &clock, "", 0, err);
}

/* Events that the kernel dropped before any program of ours saw them. On no
 * processor, for it does not tell which; they are too few to break edges. It counts them and
 * does not tell when: so the count is looked at each second, and each file tells its own. */
static int report_missed(struct recorder *recorder, uint64_t count, struct err *err)
{
	struct missed_stretch missed;
	struct event_gap gap = { .cpu = recorder->stream, .reason = GAP_REASON_nested };
	struct event e = { .time = clock_now_ns(), .cpu = (uint16_t)recorder->stream, .type = EVENT_gap, .data = &gap, .tail = "" };

	if (!missed_look(&recorder->missed, count, e.time, &missed))
		return 0;
	gap.from_ns = missed.from_ns;
	gap.to_ns = missed.to_ns;
	gap.lost = missed.lost;
	return writer_add_event(recorder->writer, &e, err);
}

static int take_losses(struct snapshot_sink *sink, struct err *err)
{
	struct recorder *recorder = (struct recorder *)((char *)sink - offsetof(struct recorder, sink));
	uint64_t count = programs_missed(recorder->programs);
	int r;

	agent_lock(&recorder->agent);
	r = report_missed(recorder, count, err);
	agent_unlock(&recorder->agent);
	return r;
}

static void add_pair(struct buf *buf, const char *key, const char *value)
{
	buf_printf(buf, "%s=%s", key, value);
	buf_char(buf, 0);
}

/* One text for all of them; none where there are none. */
static void add_list(struct buf *buf, const char *key, const struct programs *programs,
		     const char *(*nth)(const struct programs *programs, size_t n))
{
	for (size_t i = 0; nth(programs, i); i++)
		buf_printf(buf, "%s%s%s", i ? "" : key, i ? " " : "=", nth(programs, i));
	if (nth(programs, 0))
		buf_char(buf, 0);
}

static void add_file(struct buf *buf, const char *key, const char *path)
{
	char text[256];
	FILE *file = fopen(path, "re");

	if (!file)
		return;
	if (fgets(text, sizeof(text), file)) {
		text[strcspn(text, "\n")] = 0;
		add_pair(buf, key, text);
	}
	fclose(file);
}

static int emit_machine(struct recorder *recorder, struct err *err)
{
	const struct recorder_options *options = &recorder->options;
	struct utsname name;
	struct buf buf;
	int r;

	buf_init(&buf);
	if (!uname(&name)) {
		add_pair(&buf, "hostname", name.nodename);
		add_pair(&buf, "kernel", name.release);
		add_pair(&buf, "kernel_version", name.version);
		add_pair(&buf, "architecture", name.machine);
	}
	buf_printf(&buf, "processors=%ld", sysconf(_SC_NPROCESSORS_ONLN));
	buf_char(&buf, 0);
	add_pair(&buf, "level", options->full ? "full" : "lean");
	if (options->full && options->names)
		add_pair(&buf, "names", "yes");
	add_pair(&buf, "command", options->command ? options->command : "");
	add_pair(&buf, "options", options->options ? options->options : "");
	if (recorder->kernel_text) {
		buf_printf(&buf, "kernel_text=%" PRIx64, recorder->kernel_text);
		buf_char(&buf, 0);
	}
	loop_devices_find(&buf);
	add_file(&buf, "boot_id", "/proc/sys/kernel/random/boot_id");
	buf_printf(&buf, "recorder_pid=%d", (int)getpid());
	buf_char(&buf, 0);
	buf_printf(&buf, "sample_hz=%u", options->sample_hz);
	buf_char(&buf, 0);
	if (options->probes && options->probes->packs)
		add_pair(&buf, "packs", options->probes->packs);
	if (options->probes && options->probes->packs_unfit)
		add_pair(&buf, "packs_unfit", options->probes->packs_unfit);
	add_list(&buf, "absent", recorder->programs, programs_absent);
	add_list(&buf, "refused", recorder->programs, programs_refused);
	r = emit(recorder, EVENT_machine, 0, NULL, buf_str(&buf), buf.length, err);
	buf_done(&buf);
	return r;
}

static int emit_probes(struct recorder *recorder, struct err *err)
{
	const struct probe_points *points = recorder->options.probes;
	int r = 0;

	for (uint32_t i = 0; points && i < points->count && !r; i++) {
		const struct probe_point *point = &points->items[i];
		struct event_probe_point at = { .offset = point->place_count ? point->places[0].offset : 0, .probe = i + 1,
						.kind = point->kind };
		struct buf texts;

		buf_init(&texts);
		buf_add(&texts, point->name, strlen(point->name) + 1);
		buf_add(&texts, point->file, strlen(point->file) + 1);
		buf_add(&texts, point->function, strlen(point->function) + 1);
		for (unsigned value = 0; value < PROBE_FIELDS && point->values[value]; value++)
			buf_add(&texts, point->values[value], strlen(point->values[value]) + 1);
		r = emit(recorder, EVENT_probe_point, 0, &at, buf_str(&texts), texts.length, err);
		buf_done(&texts);
	}
	return r;
}

/* What each file begins with, so that it can be read alone. */
static int emit_head(struct recorder *recorder, uint32_t reason, struct err *err)
{
	int r = emit_machine(recorder, err);

	if (!r)
		r = emit_probes(recorder, err);
	if (!r && recorder->watchpoints)
		r = watchpoints_tell(recorder->watchpoints, err);
	if (!r)
		r = take_clock(&recorder->sink, err);
	return r ? r : snapshots_take(recorder->snapshots, reason, err);
}

static int map_live(struct recorder *recorder, struct err *err)
{
	int fd = programs_map(recorder->programs, "live");
	void *live;

	if (fd < 0)
		return err_sys(err, fd, "finding the programs' settings");
	live = mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (live == MAP_FAILED)
		return err_sys(err, -errno, "mapping the programs' settings");
	recorder->live = live;
	recorder->live->realtime_offset_ns = (uint64_t)clock_ahead_ns(CLOCK_REALTIME);
	/* the programs see who is started from now on */
	watcher_note_helpers(recorder->live, recorder->helpers);
	return 0;
}

static int watch(struct recorder *recorder, struct err *err)
{
	int r = watchpoints_open(recorder->programs, recorder->options.watches, &recorder->sink, &recorder->watchpoints, err);

	if (r)
		return r;
	agent_lock(&recorder->agent);
	recorder->rings.watchpoints = recorder->watchpoints;
	agent_unlock(&recorder->agent);
	return 0;
}

/* A command waits for this, which is half a second's work: on a busy machine before what
 * merely computes. */
static int load_programs(struct recorder *recorder, const struct programs_options *options, struct err *err)
{
	id_t thread = (id_t)gettid();
	int before, r;

	errno = 0;
	before = getpriority(PRIO_PROCESS, thread);
	bool raised = !errno && !options->look && before > LOADING_PRIORITY && !setpriority(PRIO_PROCESS, thread, LOADING_PRIORITY);
	r = programs_load(&recorder->kernel, options, &recorder->programs, err);
	if (raised)
		setpriority(PRIO_PROCESS, thread, before);
	return r;
}

static int start(struct recorder *recorder, const struct recorder_options *options, struct err *err)
{
	bool probes = options->probes && options->probes->count, calls = !options->full && (options->stacks & STACKS_SYSCALLS);
	struct programs_options programs = { .full = options->full, .look = options->look, .calls = calls, .probes = probes,
					     .watches = options->watches != NULL, .steps = options->steps != NULL };
	int cpus = libbpf_num_possible_cpus(), r;

	if (cpus < 1)
		return err_sys(err, cpus, "counting processors");
	programs.cpus = (uint32_t)cpus;
	programs.config.ring_bytes = ring_bytes_for(options->ring_bytes, programs.cpus, options->full || calls || options->watches || options->steps);
	programs.config.own_pid = (uint32_t)getpid();
	programs.config.full = options->full;
	programs.config.narrow = options->narrow;
	programs.config.names = options->full && options->names;
	programs.config.stacks = (uint8_t)options->stacks;
	programs.config.sample_period_ns = options->sample_hz ? 1000000000u / options->sample_hz : 0;
	r = programs_allowed(err);
	if (!r && options->filter)
		r = filter_check(options->filter, err);
	/* before there is memory that they would keep */
	if (!r)
		r = helpers_open(module_files_serve, !options->look, &recorder->helpers, err);
	if (!r)
		r = kernel_open(&recorder->kernel, err);
	if (r)
		return r;
	kernel_configure(&recorder->kernel, &programs.config);
	if (probes && !probes_take_stacks(&recorder->kernel))
		programs.config.stacks &= (uint8_t)~STACKS_PROBES;
	if (options->filter)
		filter_configure(options->filter, &programs.config);
	if (options->stacks) {
		r = stacks_prepare(recorder->helpers, !options->look, &recorder->stacks, err);
		if (r)
			return r;
	}
	recorder->opening = state_open_begin(&recorder->kernel);
	r = load_programs(recorder, &programs, err);
	if (r)
		return r;
	if (options->filter)
		r = filter_apply(options->filter, programs_map(recorder->programs, "filter_set"), err);
	if (r)
		return r;
	r = rings_map(programs_map(recorder->programs, "rings"), programs.config.ring_bytes, programs.cpus,
		      &recorder->rings, err);
	if (r)
		return r;
	r = rings_map_wakes(&recorder->rings, programs_map(recorder->programs, "ring_wakes"), err);
	if (!r)
		r = map_live(recorder, err);
	if (r)
		return r;
	recorder->stream = programs.cpus;
	recorder->sink = (struct snapshot_sink){ take_state, take_clock, take_losses };
	r = snapshots_open(recorder->programs, recorder->stacks, recorder->opening, &recorder->sink, &recorder->snapshots, err);
	recorder->opening = NULL;
	/* megabytes that nobody asks for any more */
	kernel_close(&recorder->kernel);
	if (r)
		return r;
	recorder->file = (struct writer_options){ .cpus = programs.cpus + 1, .processors = (uint32_t)sysconf(_SC_NPROCESSORS_ONLN),
						  .packers = share_threads(programs.cpus), .max_bytes = options->max_bytes,
						  .room = options->room };
	if (getrandom(&recorder->file.recording, sizeof(recorder->file.recording), 0) < 0)
		recorder->file.recording = clock_ns(CLOCK_REALTIME);
	r = writer_create(options->path, options->keep_old, &recorder->file, &recorder->writer, err);
	if (r)
		return r;
	recorder->start_ns = recorder->missed.from_ns = clock_now_ns();
	recorder->kernel_text = kallsyms_text();
	r = agent_start(&recorder->agent, &recorder->rings, recorder->writer, err);
	if (r)
		return r;
	if (options->stacks) {
		r = stacks_start(recorder->stacks, recorder->programs, &recorder->agent, recorder->stream, err);
		if (r)
			return r;
		agent_lock(&recorder->agent);
		recorder->rings.stacks = recorder->stacks;
		agent_unlock(&recorder->agent);
	}
	/* the state last: what happens meanwhile is seen by the programs already */
	r = programs_attach(recorder->programs, err);
	rings_open(&recorder->rings, true);
	recorder->seen_from_ns = clock_now_ns();
	if (!r && options->sample_hz)
		r = samples_open(recorder->programs, &recorder->rings, options->sample_hz, &recorder->samples, err);
	/* a sleeper is walked once: what is copied instead lacks an interpreter's frames */
	stacks_await(recorder->stacks, TABLES_AWAITED_MS);
	if (!r)
		r = emit_head(recorder, SNAPSHOT_REASON_start, err);
	if (!r && probes)
		r = probes_attach(recorder->programs, options->probes, &recorder->probes, err);
	if (!r && options->watches)
		r = watch(recorder, err);
	if (!r && options->steps)
		r = steps_attach(recorder->programs, options->steps, &recorder->steps, err);
	if (r)
		return r;
	recorder->watcher = (struct watcher){
		.snapshots = recorder->snapshots, .sink = &recorder->sink, .live = recorder->live, .samples = recorder->samples,
		.probes = recorder->probes, .pack_budget = probes ? options->probes->pack_budget : 0, .helpers = recorder->helpers,
	};
	return watcher_start(&recorder->watcher, err);
}

/* What the start allocates and frees again (type information, BPF objects) would
 * leave holes in the heap for as long as the recorder runs: by itself the allocator
 * stops giving large blocks mappings of their own as soon as one was freed. */
static void configure_allocator(void)
{
#ifdef __GLIBC__
	mallopt(M_MMAP_THRESHOLD, OWN_MAPPING_BYTES);
	mallopt(M_TRIM_THRESHOLD, OWN_MAPPING_BYTES);
#endif
}

int recorder_start(const struct recorder_options *options, struct recorder **ret_recorder, struct err *err)
{
	struct recorder *recorder = mem_zalloc(sizeof(*recorder));
	int r;

	configure_allocator();
	arena_init(&recorder->arena);
	recorder->options = *options;
	recorder->options.path = NULL;
	recorder->options.filter = NULL;
	recorder->options.command = options->command ? arena_strdup(&recorder->arena, options->command) : NULL;
	recorder->options.options = options->options ? arena_strdup(&recorder->arena, options->options) : NULL;
	r = start(recorder, options, err);

	if (r) {
		recorder_stop(recorder, NULL, NULL);
		return r;
	}
	*ret_recorder = recorder;
	return 0;
}

void recorder_status(struct recorder *recorder, struct recorder_status *ret_status)
{
	struct recorder_status status = { .start_ns = recorder->start_ns, .seen_from_ns = recorder->seen_from_ns };

	status.now_ns = clock_now_ns();
	status.events = recorder->closed_events + atomic_load(&recorder->agent.events);
	status.bytes = recorder->closed_bytes + atomic_load(&recorder->agent.bytes);
	status.file_bytes = atomic_load(&recorder->agent.bytes);
	status.file_is_full = stacks_few_numbers(recorder->stacks);
	if (recorder->rings.base)
		status.lost = rings_lost(&recorder->rings);
	if (recorder->programs)
		status.lost += programs_missed(recorder->programs);
	status.real_time = recorder->agent.real_time;
	status.unreached = recorder->unreached.devices;
	memcpy(status.unreached_example, recorder->unreached.example, sizeof(status.unreached_example));
	status.ended = atomic_load(&recorder->agent.ended);
	if (status.ended)
		status.err = recorder->agent.err;
	if (recorder->programs)
		programs_cost(recorder->programs, &status.program_ns, &status.program_runs);
	*ret_status = status;
}

bool recorder_has_stepped(const struct recorder *recorder)
{
	return recorder->steps && steps_are_over(recorder->steps);
}

int recorder_command_started(struct recorder *recorder, struct err *err)
{
	return recorder->watchpoints ? watchpoints_command_started(recorder->watchpoints, err) : 0;
}

int recorder_mark(struct recorder *recorder, const char *text, struct err *err)
{
	return emit(recorder, EVENT_mark, (uint32_t)gettid(), NULL, text, strlen(text), err);
}

int recorder_snapshot(struct recorder *recorder, uint32_t reason, struct err *err)
{
	return snapshots_take(recorder->snapshots, reason, err);
}

/* The agent goes on with the new writer; all that was in the rings so far is in
 * the old one, so that the files follow each other in time. */
static int change_writer(struct recorder *recorder, const char *path, struct writer **ret_old, struct err *err)
{
	struct writer_options file = recorder->file;
	struct writer *writer;
	int r;

	agent_lock(&recorder->agent);
	r = rings_drain(&recorder->rings, recorder->writer, false, err);
	if (!r)
		r = report_missed(recorder, programs_missed(recorder->programs), err);
	if (!r) {
		file.sequence++;
		file.floor_ns = clock_now_ns();
		r = writer_create(path, false, &file, &writer, err);
	}
	if (!r) {
		*ret_old = recorder->writer;
		recorder->closed_bytes += writer_bytes(recorder->writer);
		recorder->closed_events += writer_events(recorder->writer);
		recorder->writer = recorder->agent.writer = writer;
		stacks_begin_file(recorder->stacks, file.floor_ns);
		atomic_store(&recorder->agent.bytes, 0);
		atomic_store(&recorder->agent.events, 0);
		recorder->file = file;
	}
	agent_unlock(&recorder->agent);
	return r;
}

int recorder_rotate(struct recorder *recorder, const char *path, struct err *err)
{
	struct writer *old;
	int r = change_writer(recorder, path, &old, err), closing;

	if (r)
		return r;
	/* first: the new file's head takes seconds on a busy machine, and what the old one still
	 * holds back would be lost with a recorder that is killed meanwhile */
	closing = writer_close(old, err);
	stacks_retell(recorder->stacks);
	r = emit_head(recorder, SNAPSHOT_REASON_file, closing ? NULL : err);
	return closing ? closing : r;
}

int recorder_flush(struct recorder *recorder, struct err *err)
{
	int r;

	agent_lock(&recorder->agent);
	r = rings_drain(&recorder->rings, recorder->writer, false, err);
	if (!r)
		r = writer_flush(recorder->writer, UINT64_MAX, err);
	agent_unlock(&recorder->agent);
	return r;
}

int recorder_fd(const struct recorder *recorder)
{
	return recorder->agent.ended_fd;
}

int recorder_stop(struct recorder *recorder, struct recorder_status *ret_status, struct err *err)
{
	bool started = recorder->agent.started;
	struct state *unused;
	int r = 0, stopping, closing;

	watcher_stop(&recorder->watcher);
	if (recorder->opening && !state_open_end(recorder->opening, &unused, NULL))
		state_close(unused);
	/* before the programs go: waits in it and waits recorded must agree */
	if (started && recorder->snapshots && !atomic_load(&recorder->agent.ended))
		r = snapshots_take(recorder->snapshots, SNAPSHOT_REASON_end, err);
	/* detaching takes long, one after the other: none tells what others can no longer explain */
	rings_open(&recorder->rings, false);
	samples_close(recorder->samples);
	probes_detach(recorder->probes);
	steps_detach(recorder->steps);
	recorder->steps = NULL;
	if (recorder->programs)
		programs_detach(recorder->programs);
	if (started) {
		stopping = agent_stop(&recorder->agent, true, r ? NULL : err);
		if (!r)
			r = stopping;
	}
	stacks_stop(recorder->stacks, &recorder->unreached);
	recorder->stacks = NULL;
	if (started && !r && !atomic_load(&recorder->agent.ended))
		r = take_clock(&recorder->sink, err);
	if (recorder->writer && recorder->programs && !r)
		r = report_missed(recorder, programs_missed(recorder->programs), err);
	if (recorder->writer) {
		closing = writer_close(recorder->writer, r ? NULL : err);
		if (!r)
			r = closing;
	}
	if (ret_status)
		recorder_status(recorder, ret_status);
	agent_done(&recorder->agent);
	watchpoints_close(recorder->watchpoints);
	rings_unmap(&recorder->rings);
	if (recorder->live)
		munmap(recorder->live, (size_t)sysconf(_SC_PAGESIZE));
	snapshots_close(recorder->snapshots);
	programs_free(recorder->programs);
	helpers_close(recorder->helpers);
	if (recorder->kernel.btf)
		kernel_close(&recorder->kernel);
	arena_done(&recorder->arena);
	free(recorder);
	return r;
}

#endif
