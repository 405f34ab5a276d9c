#include "record/async_tasks.h"

#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "base/arena.h"
#include "record/proc_text.h"
#include "record/python_build.h"
#include "record/python_tasks.h"

#define THREADS_MOST 16u            /* of a process that run loops */
#define TRIES 3
#define PAGE 4096u
#define PAGES_KEPT 128u             /* a power of two */
#define PAGES_READ_MOST 8192u       /* of a process at one time */

/* Before each payload, which its tail follows. */
struct laid {
	uint16_t type, tail_length;
};

/* What is read lies close together: pages are kept for as long as a process is read. */
struct page {
	uint64_t address;           /* 0 none */
	bool there;
	unsigned char bytes[PAGE];
};

struct async_reader {
	struct python_tasks *tasks;
	struct page pages[PAGES_KEPT];
	uint32_t pages_read;
	uint32_t pid;               /* of which the loops' threads are known */
	uint32_t threads[THREADS_MOST];
	uint32_t thread_count;
	uint32_t wanted;            /* thread whose tasks are laid out; 0: none are */
	bool takes;                 /* the frames of the task of now */
	char *to;
	uint32_t bytes;
};

static const struct page *page_at(struct async_reader *r, uint64_t address)
{
	struct page *page = &r->pages[address / PAGE % PAGES_KEPT];
	struct iovec local = { page->bytes, PAGE }, remote = { (void *)(uintptr_t)address, PAGE };

	if (page->address == address)
		return page;
	if (r->pages_read >= PAGES_READ_MOST)
		return NULL;
	r->pages_read++;
	page->address = address;
	page->there = process_vm_readv((pid_t)r->pid, &local, 1, &remote, 1, 0) == (ssize_t)PAGE;
	return page;
}

static bool read_memory(void *data, uint64_t address, void *to, size_t bytes)
{
	for (size_t done = 0, part; done < bytes; done += part) {
		uint64_t at = address + done, within = at % PAGE;
		const struct page *page = page_at(data, at - within);

		part = PAGE - within < bytes - done ? PAGE - within : bytes - done;
		if (!page || !page->there)
			return false;
		memcpy((char *)to + done, page->bytes + within, part);
	}
	return true;
}

static size_t read_each(void *data, const uint64_t *addresses, size_t count, void *to, size_t bytes)
{
	const struct async_reader *r = data;
	struct iovec local = { to, bytes * count }, remote[PYTHON_TASKS_AT_ONCE];

	if (count > PYTHON_TASKS_AT_ONCE)
		count = PYTHON_TASKS_AT_ONCE;
	for (size_t i = 0; i < count; i++)
		remote[i] = (struct iovec){ (void *)(uintptr_t)addresses[i], bytes };
	ssize_t got = process_vm_readv((pid_t)r->pid, &local, 1, remote, count, 0);
	return got > 0 ? (size_t)got / bytes : 0;
}

static bool lay(struct async_reader *r, enum event_type type, const void *payload, size_t payload_bytes, const char *tail, size_t tail_length)
{
	struct laid head = { (uint16_t)type, (uint16_t)tail_length };
	size_t bytes = sizeof(head) + payload_bytes + tail_length;

	if (bytes > ASYNC_TASKS_BYTES - r->bytes)
		return false;
	memcpy(r->to + r->bytes, &head, sizeof(head));
	memcpy(r->to + r->bytes + sizeof(head), payload, payload_bytes);
	memcpy(r->to + r->bytes + sizeof(head) + payload_bytes, tail, tail_length);
	r->bytes += (uint32_t)bytes;
	return true;
}

static void on_task(void *data, uint32_t thread, const struct event_async_task *task, const char *name)
{
	struct async_reader *r = data;
	bool known = false;

	for (uint32_t i = 0; i < r->thread_count; i++)
		known |= r->threads[i] == thread;
	if (!known && r->thread_count < THREADS_MOST)
		r->threads[r->thread_count++] = thread;
	r->takes = thread == r->wanted && lay(r, EVENT_async_task, task, sizeof(*task), name, strlen(name));
}

static void on_frame(void *data, const struct event_async_frame *frame, const char *function, const char *file)
{
	struct async_reader *r = data;
	char texts[PYTHON_TASK_TEXT_MOST + PYTHON_TASK_FILE_MOST];
	size_t length = strlen(function) + 1, file_length = strlen(file) + 1;

	if (!r->takes)
		return;
	memcpy(texts, function, length);
	memcpy(texts + length, file, file_length);
	lay(r, EVENT_async_frame, frame, sizeof(*frame), texts, length + file_length);
}

struct async_reader *async_reader_new(void)
{
	struct async_reader *r = mem_zalloc(sizeof(*r));

	r->tasks = python_tasks_new();
	return r;
}

static void read_process(struct async_reader *r, const struct async_process *process)
{
	struct python_tasks_memory memory = { read_memory, read_each, r };
	struct python_tasks_sink sink = { on_task, on_frame, r };

	for (uint32_t i = 0; i < PAGES_KEPT; i++)
		r->pages[i].address = 0;
	r->pages_read = 0;
	r->bytes = 0;
	python_tasks_read(r->tasks, &memory, process->version, process->key, &sink);
}

/* How often the thread has left the processor to wait; false when it is gone. */
static bool waits_of(uint32_t pid, uint32_t tid, uint64_t *ret_waits)
{
	char text[4096];

	if (!proc_text_read(pid, tid, "status", text, sizeof(text)))
		return false;
	*ret_waits = proc_text_waits(text);
	return true;
}

uint32_t async_reader_copy(struct async_reader *r, uint32_t pid, uint32_t tid, uint32_t ns_tid, const struct async_process *process, char *to)
{
	uint64_t before, after;
	bool runs_loop = false;

	if (!python_version_tasks(process->version))
		return 0;
	if (r->pid != pid) {
		r->pid = pid;
		r->wanted = r->thread_count = 0;
		r->to = to;
		read_process(r, process);
	}
	for (uint32_t i = 0; i < r->thread_count; i++)
		runs_loop |= r->threads[i] == ns_tid;
	if (!runs_loop)
		return 0;
	r->wanted = ns_tid;
	r->to = to;
	for (int i = 0; i < TRIES && waits_of(pid, tid, &before); i++) {
		read_process(r, process);
		if (waits_of(pid, tid, &after) && after == before)
			return r->bytes;
	}
	return 0;
}

int async_tasks_each(const char *data, uint32_t bytes,
		     int (*event)(void *context, enum event_type type, const void *payload, const char *tail, uint32_t tail_length, struct err *err),
		     void *context, struct err *err)
{
	for (uint32_t at = 0; at + sizeof(struct laid) <= bytes;) {
		uint64_t payload[8];
		struct laid head;

		memcpy(&head, data + at, sizeof(head));
		at += (uint32_t)sizeof(head);
		if (head.type != EVENT_async_task && head.type != EVENT_async_frame)
			return 0;
		uint32_t payload_bytes = event_infos[head.type].bytes;
		if (payload_bytes > sizeof(payload) || payload_bytes + head.tail_length > bytes - at)
			return 0;
		memcpy(payload, data + at, payload_bytes);
		int r = event(context, (enum event_type)head.type, payload, data + at + payload_bytes, head.tail_length, err);
		if (r)
			return r;
		at += payload_bytes + head.tail_length;
	}
	return 0;
}
