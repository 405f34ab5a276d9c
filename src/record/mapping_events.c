#include "record/mapping_events.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/vec.h"

#define BUFFER_BYTES (512u << 10)
#define WAITING_MS 5
#define HELD_MAX 256u            /* files held open, at most */
#define RECORD_BYTES_MAX 8192u     /* paths are of at most 4096 */

struct buffer {
	int fd;                  /* -1: the processor is off line */
	uint32_t hotplugs;       /* of its ring, when last looked at */
	struct perf_event_mmap_page *head;
	uint8_t *data;
};

struct waiting_record {
	uint64_t time_ns, order;
	size_t bytes;
	uint8_t *data;           /* owned */
	struct module_file file; /* which it maps; owned */
};

struct records vec(struct waiting_record);

struct mapping_events {
	uint32_t count;          /* processors that the machine may have */
	struct buffer *buffers;
	struct pollfd *polls;
	struct records waiting;  /* read and not handed out yet */
	uint32_t held;           /* files of those */
	uint64_t read;           /* so far: tells apart records of one time */
};

static int open_one(int cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
		.mmap = 1,
		.mmap2 = 1,
		.comm = 1,
		.comm_exec = 1,
		.task = 1,
		.sample_id_all = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.watermark = 1,
		.wakeup_watermark = 1,
	};
	return (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

/* 0 too where the processor is off line now. */
static int open_buffer(struct mapping_events *e, uint32_t cpu)
{
	struct buffer *buffer = &e->buffers[cpu];
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	int fd = open_one((int)cpu);
	if (fd < 0)
		return errno == ENODEV ? 0 : -errno;
	void *memory = mmap(NULL, page + BUFFER_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (memory == MAP_FAILED) {
		int r = -errno;
		close(fd);
		return r;
	}
	buffer->fd = e->polls[cpu].fd = fd;
	e->polls[cpu].events = POLLIN;
	buffer->head = memory;
	buffer->data = (uint8_t *)memory + page;
	return 0;
}

int mapping_events_open(struct mapping_events **ret_events, struct err *err)
{
	long cpus = sysconf(_SC_NPROCESSORS_CONF);
	struct mapping_events *e = mem_zalloc(sizeof(*e));
	int r = 0;

	e->count = (uint32_t)cpus;
	e->buffers = mem_zalloc(e->count * sizeof(*e->buffers));
	e->polls = mem_zalloc((e->count + 1) * sizeof(*e->polls));
	for (uint32_t cpu = 0; cpu < e->count; cpu++)
		e->buffers[cpu].fd = e->polls[cpu].fd = -1;
	for (uint32_t cpu = 0; cpu < e->count && r == 0; cpu++)
		r = open_buffer(e, cpu);
	if (r < 0) {
		mapping_events_close(e);
		return err_sys(err, r, "asking the kernel for mapping events");
	}
	*ret_events = e;
	return 0;
}

static void record_done(struct mapping_events *e, struct waiting_record *w)
{
	if (w->file.fd >= 0) {
		close(w->file.fd);
		e->held--;
	}
	free(w->data);
}

static void close_buffer(struct mapping_events *e, uint32_t cpu)
{
	struct buffer *buffer = &e->buffers[cpu];
	if (buffer->fd < 0)
		return;
	munmap(buffer->head, (size_t)sysconf(_SC_PAGESIZE) + BUFFER_BYTES);
	close(buffer->fd);
	buffer->fd = e->polls[cpu].fd = -1;
}

void mapping_events_close(struct mapping_events *e)
{
	if (!e)
		return;
	for (uint32_t cpu = 0; cpu < e->count; cpu++)
		close_buffer(e, cpu);
	for (size_t i = 0; i < e->waiting.length; i++)
		record_done(e, &e->waiting.items[i]);
	vec_done(&e->waiting);
	free(e->buffers);
	free(e->polls);
	free(e);
}

void mapping_events_wait(struct mapping_events *e, int also_fd, int timeout_ms)
{
	e->polls[e->count] = (struct pollfd){ .fd = also_fd, .events = POLLIN };
	/* those that were put off have nobody else to remind of them */
	if (e->waiting.length && timeout_ms > WAITING_MS)
		timeout_ms = WAITING_MS;
	poll(e->polls, e->count + 1, timeout_ms);
}

struct mmap2 {
	struct perf_event_header header;
	uint32_t pid, tid;
	uint64_t address, length, offset;
	uint32_t major, minor;
	uint64_t inode, generation;
	uint32_t protection, flags;
	char path[];
};

struct task {
	struct perf_event_header header;
	uint32_t pid, ppid, tid, ptid;
	uint64_t time;
};

/* Behind each record: pid, tid, time. */
static uint64_t record_time(const uint8_t *record, size_t bytes)
{
	uint64_t time = 0;
	if (bytes >= sizeof(struct perf_event_header) + 16)
		memcpy(&time, record + bytes - 8, 8);
	return time;
}

/* What an executable mapping's record says; false for any other. The texts are the record's. */
static bool source_of(const struct waiting_record *w, struct module_source *ret_source)
{
	const struct perf_event_header *header = (const void *)w->data;
	const struct mmap2 *m = (const void *)w->data;

	if (header->type != PERF_RECORD_MMAP2 || w->bytes <= sizeof(*m) + 16)
		return false;
	size_t most = w->bytes - sizeof(*m) - 16;
	if (!(m->protection & PROT_EXEC) || strnlen(m->path, most) == most)
		return false;
	*ret_source = (struct module_source){
		.pid = (pid_t)m->pid,
		.start = m->address,
		.end = m->address + m->length,
		.offset = m->offset,
		.device = makedev(m->major, m->minor),
		.inode = m->inode,
		.generation = m->generation + 1,
		.path = strcmp(m->path, "//anon") == 0 ? "" : m->path,
		.build_id = "",
	};
	return true;
}

static void take(const struct waiting_record *w, const struct mapping_events_calls *calls, void *data)
{
	const struct perf_event_header *header = (const void *)w->data;
	const struct task *t = (const void *)w->data;
	struct module_source source;

	if (source_of(w, &source)) {
		calls->mapped(data, &source, &w->file, w->time_ns);
	} else if (header->type == PERF_RECORD_FORK && w->bytes >= sizeof(*t)) {
		if (t->pid != t->ppid)
			calls->forked(data, (pid_t)t->ppid, (pid_t)t->pid, w->time_ns);
	} else if (header->type == PERF_RECORD_EXIT && w->bytes >= sizeof(*t)) {
		calls->ended(data, (pid_t)t->pid, (pid_t)t->tid, w->time_ns);
	} else if (header->type == PERF_RECORD_COMM && (header->misc & PERF_RECORD_MISC_COMM_EXEC) && w->bytes >= 16) {
		calls->started(data, (pid_t)((const uint32_t *)(const void *)w->data)[2], w->time_ns);
	} else if (header->type == PERF_RECORD_LOST) {
		calls->lost(data);
	}
}

static void keep_record(struct mapping_events *e, const struct buffer *b, uint64_t at, size_t bytes)
{
	struct waiting_record w = { .order = e->read++, .bytes = bytes, .file.fd = -1, .data = mem_alloc(bytes) };
	size_t first = BUFFER_BYTES - at;
	memcpy(w.data, b->data + at, bytes < first ? bytes : first);
	if (bytes > first)
		memcpy(w.data + first, b->data, bytes - first);
	w.time_ns = record_time(w.data, bytes);
	vec_push(&e->waiting, w);
}

static void read_buffer(struct mapping_events *e, struct buffer *b)
{
	uint64_t head = __atomic_load_n(&b->head->data_head, __ATOMIC_ACQUIRE), tail = b->head->data_tail;
	while (tail < head) {
		struct perf_event_header header;
		uint64_t at = tail & (BUFFER_BYTES - 1);
		memcpy(&header, b->data + at, sizeof(header)); /* records are multiples of 8: a head is never cut */
		if (header.size < sizeof(header) || header.size > head - tail)
			break;
		if (header.size <= RECORD_BYTES_MAX)
			keep_record(e, b, at, header.size);
		tail += header.size;
	}
	__atomic_store_n(&b->head->data_tail, tail, __ATOMIC_RELEASE);
}

static int by_time(const void *a, const void *b)
{
	const struct waiting_record *x = a, *y = b;
	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

static void read_buffers(struct mapping_events *e)
{
	for (uint32_t cpu = 0; cpu < e->count; cpu++)
		if (e->buffers[cpu].fd >= 0)
			read_buffer(e, &e->buffers[cpu]);
}

void mapping_events_gather(struct mapping_events *e, struct module_file (*open)(void *data, const struct module_source *source),
			   void *data)
{
	size_t from = e->waiting.length;
	read_buffers(e);
	for (size_t i = from; i < e->waiting.length && e->held < HELD_MAX; i++) {
		struct waiting_record *w = &e->waiting.items[i];
		struct module_source source;
		if (!source_of(w, &source))
			continue;
		w->file = open(data, &source);
		e->held += w->file.fd >= 0;
	}
}

bool mapping_events_read(struct mapping_events *e, uint64_t until_ns, const struct mapping_events_calls *calls, void *data)
{
	read_buffers(e);
	if (!e->waiting.length)
		return false;
	/* the calls may gather more, which is later */
	struct records taken = e->waiting;
	e->waiting = (struct records){ 0 };
	qsort(taken.items, taken.length, sizeof(taken.items[0]), by_time);
	/* what is later may have a predecessor that another processor has not written yet */
	for (size_t i = 0; i < taken.length; i++) {
		if (taken.items[i].time_ns <= until_ns) {
			take(&taken.items[i], calls, data);
			record_done(e, &taken.items[i]);
		} else {
			vec_push(&e->waiting, taken.items[i]);
		}
	}
	vec_done(&taken);
	return true;
}

bool mapping_events_renew(struct mapping_events *e, const struct rings *rings)
{
	bool missed = false;
	for (uint32_t cpu = 0; cpu < e->count; cpu++) {
		if (!rings_hotplugged(rings, cpu, &e->buffers[cpu].hotplugs))
			continue;
		if (e->buffers[cpu].fd >= 0)
			read_buffer(e, &e->buffers[cpu]);
		close_buffer(e, cpu);
		open_buffer(e, cpu);
		missed = true;
	}
	return missed;
}
