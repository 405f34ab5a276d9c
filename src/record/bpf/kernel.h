/* Kernel structures, as far as the programs read them: CO-RE finds the members
 * in the running kernel, so only names and rough types count here. A member or
 * type that not every kernel has is asked for with bpf_core_field_exists() or
 * bpf_core_type_exists() before it is read.
 *
 * GET(pointer, member) reads one member of a kernel structure through any
 * pointer that was found in kernel memory. Where the kernel has
 * bpf_rdonly_cast (6.2) it is one load instruction, which reads 0 through a
 * pointer gone stale; else a probe read. */
#ifndef RECORD_BPF_KERNEL_H
#define RECORD_BPF_KERNEL_H

#include <linux/bpf.h>
#if defined(__TARGET_ARCH_x86)
#define __VMLINUX_H__ /* bpf_tracing.h: registers by the kernel's names, as below */
#else
#include <linux/ptrace.h>
#endif
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>
#undef __VMLINUX_H__

#include "trace/event.h"

#ifndef NULL
#define NULL ((void *)0)
#endif
typedef _Bool bool;
#define true 1
#define false 0

extern void *bpf_rdonly_cast(const void *pointer, __u32 type) __ksym __weak;

enum special_kfunc_type { KF_bpf_rdonly_cast };
#define KERNEL_DIRECT bpf_core_enum_value_exists(enum special_kfunc_type, KF_bpf_rdonly_cast)

#define GET(pointer, member) \
	({ \
		typeof(pointer) get_from = (pointer); \
		typeof(get_from->member) get_value; \
		if (sizeof(get_value) == 8) { \
			get_value = (typeof(get_value))kernel_word(&get_from->member); \
		} else if (KERNEL_DIRECT) { \
			typeof(pointer) get_direct = bpf_rdonly_cast(get_from, bpf_core_type_id_kernel(typeof(*get_from))); \
			get_value = get_direct->member; \
		} else { \
			get_value = 0; \
			bpf_core_read(&get_value, sizeof(get_value), &get_from->member); \
		} \
		get_value; \
	})

struct timespec64 {
	long tv_sec;
} __attribute__((preserve_access_index));

/* The 8 bytes at any kernel address. A pointer so read is a plain number to the
 * verifier, which lets it be hashed and compared; GET makes it a pointer again. */
static __always_inline u64 kernel_word(const void *address)
{
	u64 value = 0;
	if (KERNEL_DIRECT) {
		const struct timespec64 *word = bpf_rdonly_cast(address, bpf_core_type_id_kernel(struct timespec64));
		return word->tv_sec;
	}
	bpf_probe_read_kernel(&value, sizeof(value), address);
	return value;
}

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

#if defined(__TARGET_ARCH_x86)
struct pt_regs {
	unsigned long r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, orig_ax, ip, cs, flags, sp, ss;
};
#endif

struct qstr {
	u32 len;
	const unsigned char *name;
};

struct dentry {
	struct dentry *d_parent;
	struct qstr d_name;
	struct inode *d_inode;
};

struct path {
	struct dentry *dentry;
};

struct super_block {
	u32 s_dev;
	unsigned long s_magic;
};

struct inode {
	unsigned short i_mode;
	struct super_block *i_sb;
	unsigned long i_ino;
	u32 i_rdev;
	struct pipe_inode_info *i_pipe;
};

struct file {
	unsigned int f_mode;
	unsigned int f_flags;
	struct inode *f_inode;
	struct path f_path;
	void *private_data;
};

struct fdtable {
	unsigned int max_fds;
	struct file **fd;
};

struct files_struct {
	struct fdtable *fdt;
};

struct upid {
	int nr;
};

struct pid {
	struct upid numbers[1];
};

struct task_struct {
	int pid, tgid;
	struct files_struct *files;
};

struct ns_common {
	unsigned int inum;
};

struct net {
	struct ns_common ns;
};

typedef struct {
	struct net *net;
} possible_net_t;

struct in6_addr {
	union {
		u32 u6_addr32[4];
	} in6_u;
};

struct sock_common {
	u32 skc_daddr;
	u32 skc_rcv_saddr;
	u16 skc_dport;
	u16 skc_num;
	unsigned short skc_family;
	unsigned char skc_state;
	possible_net_t skc_net;
	struct in6_addr skc_v6_daddr;
	struct in6_addr skc_v6_rcv_saddr;
};

struct sock {
	struct sock_common __sk_common;
	u16 sk_protocol;
	u16 sk_type;
	struct socket *sk_socket;
	struct pid *sk_peer_pid;
};

struct socket {
	struct sock *sk;
};

struct socket_alloc {
	struct socket socket;
	struct inode vfs_inode;
};

struct unix_sock {
	struct sock *peer;
	struct sock *listener;
};

struct tcp_sock {
	u32 copied_seq;
	u32 write_seq;
};

struct tty_file_private {
	struct tty_struct *tty;
};

struct tty_struct {
	struct tty_struct *link;
};

struct fuse_conn {
	u32 dev;
};

struct fuse_dev {
	struct fuse_conn *fc;
};

#pragma clang attribute pop

#endif
