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
};

struct mapping_events {
	uint32_t count;          /* processors that the machine may have */
	struct buffer *buffers;
	struct pollfd *polls;
	/* read and not handed out yet */
	struct vec(struct waiting_record) waiting;
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
		free(e->waiting.items[i].data);
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

static void take(const uint8_t *record, size_t bytes, const struct mapping_events_calls *calls, void *data)
{
	const struct perf_event_header *header = (const void *)record;
	uint64_t time = record_time(record, bytes);

	if (header->type == PERF_RECORD_MMAP2 && bytes > sizeof(struct mmap2) + 16) {
		const struct mmap2 *m = (const void *)record;
		size_t most = bytes - sizeof(*m) - 16;
		if (!(m->protection & PROT_EXEC) || strnlen(m->path, most) == most)
			return;
		struct module_source source = {
			.pid = (pid_t)m->pid,
			.start = m->address,
			.end = m->address + m->length,
			.offset = m->offset,
			.device = makedev(m->major, m->minor),
			.inode = m->inode,
			.path = m->path,
		};
		if (strcmp(m->path, "//anon") == 0)
			source.path = "";
		calls->mapped(data, &source, time);
	} else if (header->type == PERF_RECORD_FORK && bytes >= sizeof(struct task)) {
		const struct task *t = (const void *)record;
		if (t->pid != t->ppid)
			calls->forked(data, (pid_t)t->ppid, (pid_t)t->pid, time);
	} else if (header->type == PERF_RECORD_EXIT && bytes >= sizeof(struct task)) {
		const struct task *t = (const void *)record;
		calls->ended(data, (pid_t)t->pid, (pid_t)t->tid, time);
	} else if (header->type == PERF_RECORD_COMM && (header->misc & PERF_RECORD_MISC_COMM_EXEC) && bytes >= 16) {
		calls->started(data, (pid_t)((const uint32_t *)record)[2], time);
	} else if (header->type == PERF_RECORD_LOST) {
		calls->lost(data);
	}
}

static void keep_record(struct mapping_events *e, const struct buffer *b, uint64_t at, size_t bytes)
{
	struct waiting_record w = { .order = e->read++, .bytes = bytes, .data = mem_alloc(bytes) };
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

void mapping_events_read(struct mapping_events *e, uint64_t until_ns, const struct mapping_events_calls *calls, void *data)
{
	size_t kept = 0;
	for (uint32_t cpu = 0; cpu < e->count; cpu++)
		if (e->buffers[cpu].fd >= 0)
			read_buffer(e, &e->buffers[cpu]);
	if (e->waiting.length)
		qsort(e->waiting.items, e->waiting.length, sizeof(e->waiting.items[0]), by_time);
	/* what is later may have a predecessor that another processor has not written yet */
	for (size_t i = 0; i < e->waiting.length; i++) {
		struct waiting_record w = e->waiting.items[i];
		if (w.time_ns <= until_ns) {
			take(w.data, w.bytes, calls, data);
			free(w.data);
		} else {
			e->waiting.items[kept++] = w;
		}
	}
	e->waiting.length = kept;
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
