/* Attaching to places of programs, and detaching: each waits until no processor runs what is detached, 20 to 100 ms, and those that
 * the kernel makes as perf events wait one after another. Where it can be had (6.6), a link of the kernel's own kind takes their place. */
#ifndef RECORD_LINKS_H
#define RECORD_LINKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct bpf_link;

/* One of libbpf's, or else a descriptor. */
struct attachment {
	struct bpf_link *link;
	int fd;
};

struct uprobe_places {
	const char *path;
	const uint64_t *offsets, *cookies;
	size_t count;
	pid_t pid;                 /* 0 any */
	bool returns;
};

#define TRACE_UPROBE_MULTI 48 /* BPF_TRACE_UPROBE_MULTI, in headers since 6.6: what such a program is loaded as */

int links_uprobe_multi(int program, const struct uprobe_places *places, struct attachment *ret_attachment);
/* All at once. Not for marks' (USDT): libbpf keeps a list of these that is not to be shared. */
void links_destroy(const struct attachment *attachments, size_t count);

#endif
