/* What a system call named that failed, or that looked for a file: a path, or an address, where that is asked for (config.names). */
#ifndef RECORD_BPF_CALL_NAME_BPF_H
#define RECORD_BPF_CALL_NAME_BPF_H

#include "record/bpf/call.bpf.h"
#include "record/bpf/message.bpf.h"

#define NAMES_LOOKS 8u /* only asks what is there: also where that goes well */

/* Which argument, from 1, names a file by its path. */
static const u8 full_paths[CALL_MAX] = {
	[2] = 1,   /* open */
	[4] = 1 | NAMES_LOOKS, /* stat */
	[6] = 1 | NAMES_LOOKS, /* lstat */
	[21] = 1 | NAMES_LOOKS, /* access */
	[59] = 1,  /* execve */
	[76] = 1,  /* truncate */
	[80] = 1,  /* chdir */
	[82] = 1,  /* rename */
	[83] = 1,  /* mkdir */
	[84] = 1,  /* rmdir */
	[85] = 1,  /* creat */
	[86] = 2,  /* link */
	[87] = 1,  /* unlink */
	[88] = 2,  /* symlink */
	[89] = 1,  /* readlink */
	[137] = 1, /* statfs */
	[254] = 2, /* inotify_add_watch */
	[257] = 2, /* openat */
	[258] = 2, /* mkdirat */
	[262] = 2 | NAMES_LOOKS, /* newfstatat */
	[263] = 2, /* unlinkat */
	[264] = 2, /* renameat */
	[265] = 4, /* linkat */
	[266] = 3, /* symlinkat */
	[267] = 2, /* readlinkat */
	[269] = 2 | NAMES_LOOKS, /* faccessat */
	[316] = 2, /* renameat2 */
	[332] = 2 | NAMES_LOOKS, /* statx */
	[437] = 2, /* openat2 */
	[439] = 2 | NAMES_LOOKS, /* faccessat2 */
};

#define CALL_NAME_BYTES 128
#define CALL_CONNECT 42
#define ERROR_LEAST (-133) /* those above are the kernel's own, as of calls that a signal breaks off */

/* What the call named: the page is there, for the kernel has just read it. */
__noinline int full_name(const struct ended *call, u32 argument)
{
	struct ring *ring = ring_here();
	struct {
		u16 family, port;
		u32 in;
	} address = { 0 };
	u64 in6[2] = { 0 };

	if (!call || !ring)
		return 0;
	u64 path = argument ? call->arguments[(argument - 1) & (ENDED_ARGUMENTS - 1)] : 0;
	if (call->number == CALL_CONNECT) {
		u64 at = call->arguments[1];
		if (bpf_probe_read_user(&address, sizeof(address), (void *)at))
			return 0;
		if (address.family == FAMILY_INET6)
			bpf_probe_read_user(in6, sizeof(in6), (void *)(at + sizeof(address)));
		path = address.family == FAMILY_UNIX ? at + sizeof(u16) : 0;
	}
	struct event_call_name *e = ring_begin(ring, EVENT_call_name, call->tid, call->now, sizeof(*e) + CALL_NAME_BYTES);
	if (!e)
		return 0;
	e->address_high = in6[0];
	e->address_low = address.family == FAMILY_INET ? address.in : in6[1];
	e->result = call->result;
	e->number = call->number;
	e->port = address.family == FAMILY_UNIX ? 0 : address.port << 8 | address.port >> 8;
	e->family = address.family;
	e->reserved0 = 0;
	e->reserved = 0;
	__builtin_memset(e + 1, 0, CALL_NAME_BYTES);
	if (path)
		bpf_probe_read_user_str(e + 1, CALL_NAME_BYTES, (void *)path);
	ring_end(ring);
	return 0;
}

#endif
