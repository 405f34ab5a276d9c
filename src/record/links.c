/* See links.h. */
#ifdef HAVE_BPF
#include "record/links.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define THREADS_MOST 16u
#define EACH_THREAD 4u             /* links that are worth a thread */

/* As in linux/bpf.h since 6.6. */
#define MULTI_RETURNS 1u

struct multi_link {
	uint32_t program_fd, target_fd, attach_type, flags;
	uint64_t path, offsets, counters, cookies;
	uint32_t count, multi_flags, pid, zero;
};

int links_uprobe_multi(int program, const struct uprobe_places *places, struct attachment *ret_attachment)
{
	struct multi_link link = {
		.program_fd = (uint32_t)program, .attach_type = TRACE_UPROBE_MULTI, .path = (uintptr_t)places->path,
		.offsets = (uintptr_t)places->offsets, .cookies = (uintptr_t)places->cookies, .count = (uint32_t)places->count,
		.multi_flags = places->returns ? MULTI_RETURNS : 0, .pid = (uint32_t)places->pid,
	};
	union bpf_attr attr = { 0 };
	int fd;

	_Static_assert(sizeof(link) <= sizeof(attr), "the call's argument holds it");
	memcpy(&attr, &link, sizeof(link));
	fd = (int)syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));
	*ret_attachment = (struct attachment){ NULL, fd };
	return fd < 0 ? -errno : 0;
}

struct ending {
	const struct attachment *attachments;
	size_t count;
	atomic_size_t next;
};

static void *end_them(void *data)
{
	struct ending *ending = data;
	size_t i;

	while ((i = atomic_fetch_add(&ending->next, 1)) < ending->count) {
		const struct attachment *attachment = &ending->attachments[i];

		if (attachment->link)
			bpf_link__destroy(attachment->link);
		else
			close(attachment->fd);
	}
	return NULL;
}

void links_destroy(const struct attachment *attachments, size_t count)
{
	struct ending ending = { .attachments = attachments, .count = count };
	pthread_t threads[THREADS_MOST];
	size_t started = 0;

	while (started < THREADS_MOST && started < count / EACH_THREAD && !pthread_create(&threads[started], NULL, end_them, &ending))
		started++;
	end_them(&ending);
	while (started)
		pthread_join(threads[--started], NULL);
}
#endif
