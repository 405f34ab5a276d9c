/* The sockets of this machine as sock_diag tells anybody of them: kind, state, what waits in
 * them, and which is the other end. Where BPF may not be used; /proc names a socket's inode
 * and nothing else. */
#ifndef RECORD_PROC_SOCKETS_H
#define RECORD_PROC_SOCKETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROC_SOCKET_TEXT 232

struct proc_socket {
	uint64_t inode, peer;      /* the other end's inode, 0 not known */
	uint8_t kind;              /* OBJECT_KIND_ */
	uint8_t state;             /* TCP's numbers, 10 listening */
	uint32_t queued, unsent;   /* bytes; of one that listens, connections */
	char text[PROC_SOCKET_TEXT]; /* as descriptor records have it: name, or "own -> peer" */
};

struct proc_sockets;

/* What cannot be listed is left out. */
struct proc_sockets *proc_sockets_read(void);
void proc_sockets_free(struct proc_sockets *sockets);
const struct proc_socket *proc_sockets_find(const struct proc_sockets *sockets, uint64_t inode);
size_t proc_sockets_count(const struct proc_sockets *sockets);

/* For one block of netlink messages, as the kernel sends them; false behind the last. */
bool proc_sockets_take(struct proc_sockets *sockets, const void *block, size_t bytes);
struct proc_sockets *proc_sockets_new(void);
/* Joins both ends of connections within this machine; after the last block. */
void proc_sockets_join(struct proc_sockets *sockets);

#endif
