/* What a descriptor of a process is, as /proc tells it. */
#ifndef RECORD_PROC_DESCRIPTORS_H
#define RECORD_PROC_DESCRIPTORS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/map.h"
#include "record/proc_text.h"
#include "trace/event.h"

struct proc_sockets;

/* 0: not known. `ret_inode`, of a socket, may be NULL. */
uint64_t proc_descriptor_object(const struct proc_sockets *sockets, uint32_t pid, uint32_t fd, uint64_t *ret_inode);

struct proc_descriptors_sink {
	int (*event)(struct proc_descriptors_sink *sink, uint32_t pid, enum event_type type, const void *payload, const char *tail,
		     uint32_t tail_length, struct err *err);
};

/* Notes who holds sockets, so that the other end's process can be told: of all, before any is read. */
void proc_descriptors_note(struct map *holders, uint32_t pid);
/* Descriptor and poll item records of a process, and the locks of its open files. */
int proc_descriptors_read(const struct proc_sockets *sockets, const struct map *holders, uint32_t pid,
			  struct proc_descriptors_sink *sink, struct err *err);

#endif
