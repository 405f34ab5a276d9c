/* Kernel structures, as far as the programs read them: CO-RE finds the members
 * in the running kernel, so only names and rough types count here. A member or
 * type that not every kernel has is asked for with bpf_core_field_exists() or
 * bpf_core_type_exists() before it is read.
 *
 * GET(pointer, member) reads one member of a kernel structure through any
 * pointer that was found in kernel memory. Where the kernel has
 * bpf_rdonly_cast (6.2) it is one load instruction, which reads 0 through a
 * pointer gone stale; else a probe read. Each program is built for both
 * (KERNEL_CASTS): what the kernel finds to be dead code it removes piece by
 * piece, which took it 50 ms, a third of them without letting anybody else run. */
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

#ifndef KERNEL_CASTS
#define KERNEL_CASTS 1
#endif

extern void *bpf_rdonly_cast(const void *pointer, __u32 type) __ksym __weak;

/* The limits that were checked are those of the value that is used: left to itself
 * the compiler checks a copy, of which older verifiers learn nothing about the value. */
#define KEEP_LIMITS(value) __asm__ volatile("" : "+r"(value))

/* Of two ways to a value the compiler makes one load behind both, from an address that
 * both compute: three times the instructions of the load alone. */
#define KEEP_APART(value) __asm__ volatile("" : "+r"(value))

#define GET(pointer, member) \
	({ \
		typeof(pointer) get_from = (pointer); \
		typeof(get_from->member) get_value; \
		if (sizeof(get_value) == 8) { \
			get_value = (typeof(get_value))kernel_word(&get_from->member); \
		} else if (KERNEL_CASTS) { \
			typeof(pointer) get_direct = bpf_rdonly_cast(get_from, bpf_core_type_id_kernel(typeof(*get_from))); \
			get_value = get_direct->member; \
			KEEP_APART(get_value); \
		} else { \
			typeof(get_from->member) get_read = 0; \
			bpf_core_read(&get_read, sizeof(get_read), &get_from->member); \
			get_value = get_read; \
		} \
		get_value; \
	})

/* A pointer for plain loads, one behind the other. Of a pointer that is loaded through one that the kernel keeps for us
 * the verifier asks whether it is kept, too: by name, up to four times through all types of the kernel one after the
 * other, a millisecond each in which it lets nobody else run. Through one that was cast nothing is kept. */
#define UNKEPT(pointer) \
	({ \
		typeof(pointer) unkept = (pointer); \
		KERNEL_CASTS ? (typeof(pointer))bpf_rdonly_cast(unkept, bpf_core_type_id_kernel(typeof(*unkept))) : unkept; \
	})

/* The same as GET for a struct that may be a module's, whose types the cast does not know. */
#define GET_MODULE(pointer, member) \
	({ \
		typeof(pointer) get_from = (pointer); \
		typeof(get_from->member) get_value = 0; \
		bpf_core_read(&get_value, sizeof(get_value), &get_from->member); \
		get_value; \
	})

struct timespec64 {
	long tv_sec;
} __attribute__((preserve_access_index));

/* The 8 bytes at any kernel address. A pointer so read is a plain number to the
 * verifier, which lets it be hashed and compared; GET makes it a pointer again. */
static __always_inline u64 kernel_word(const void *address)
{
	u64 value;
	if (KERNEL_CASTS) {
		const struct timespec64 *word = bpf_rdonly_cast(address, bpf_core_type_id_kernel(struct timespec64));
		value = word->tv_sec;
		KEEP_APART(value);
	} else {
		u64 read = 0;
		bpf_probe_read_kernel(&read, sizeof(read), address);
		value = read;
	}
	return value;
}

/* GET for a bit-field without a sign, on a machine whose lowest byte comes first. Always eight bytes are read: what
 * lies behind the field is shifted out, whatever the size of its unit, so that nothing depends on that. */
#define GET_BITS(pointer, member) \
	(kernel_word((char *)(pointer) + __builtin_preserve_field_info((pointer)->member, BPF_FIELD_BYTE_OFFSET)) \
	 << __builtin_preserve_field_info((pointer)->member, BPF_FIELD_LSHIFT_U64) \
	 >> __builtin_preserve_field_info((pointer)->member, BPF_FIELD_RSHIFT_U64))

/* The same into memory that is no stack: where its other way is not taken, it takes no stack either. */
static __always_inline int kernel_word_to(const void *address, u64 *ret_word)
{
	if (!KERNEL_CASTS)
		return bpf_probe_read_kernel(ret_word, sizeof(*ret_word), address);
	const struct timespec64 *word = bpf_rdonly_cast(address, bpf_core_type_id_kernel(struct timespec64));
	u64 value = word->tv_sec;
	KEEP_APART(value);
	*ret_word = value;
	return 0;
}

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

#if defined(__TARGET_ARCH_x86)
struct pt_regs {
	unsigned long r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, orig_ax, ip, cs, flags, sp, ss;
};
#endif

struct list_head {
	struct list_head *next;
};

struct rb_node {
	unsigned long __rb_parent_color;
	struct rb_node *rb_right, *rb_left;
};

struct rb_root {
	struct rb_node *rb_node;
};

struct rb_root_cached {
	struct rb_root rb_root;
};

struct hlist_node {
	struct hlist_node *next;
};

struct hlist_head {
	struct hlist_node *first;
};

struct qstr {
	u32 len;
	const unsigned char *name;
};

struct dentry {
	struct dentry *d_parent;
	struct qstr d_name;
	struct inode *d_inode;
	union {
		struct hlist_node d_alias;
	} d_u;
};

struct path {
	struct dentry *dentry;
};

struct super_block {
	u32 s_dev;
	unsigned long s_magic;
};

struct inode {
	struct address_space *i_mapping;
	unsigned short i_mode;
	struct super_block *i_sb;
	unsigned long i_ino;
	u32 i_rdev;
	u32 i_generation;
	struct file_lock_context *i_flctx;
	struct pipe_inode_info *i_pipe;
	u32 i_fsnotify_mask;
	struct fsnotify_mark_connector *i_fsnotify_marks;
	void *i_private;
	struct hlist_head i_dentry;
};

struct file {
	unsigned int f_mode;
	unsigned int f_flags;
	void *f_op;
	struct inode *f_inode;
	struct path f_path;
	void *private_data;
};

struct fdtable {
	unsigned int max_fds;
	unsigned long *open_fds;
	struct file **fd;
};

struct files_struct {
	struct fdtable *fdt;
};

struct upid {
	int nr;
};

struct pid {
	unsigned int level;
	struct upid numbers[1];
};

struct mm_struct {
	unsigned long arg_start, arg_end;
	unsigned long *pgd;
};

struct thread_info {
	unsigned long flags;
	u32 status, cpu;
};

struct rq {
	u64 clock, clock_task;
};

struct cgroup_subsys_state {
	struct cgroup *cgroup;
};

struct kernfs_node {
	u64 id;
};

struct cgroup {
	struct kernfs_node *kn;
};

struct cfs_bandwidth {
	u64 period;
	u64 quota;
};

struct task_group {
	struct cgroup_subsys_state css;
	struct cfs_rq **cfs_rq;
	struct task_group *parent;
	struct cfs_bandwidth cfs_bandwidth;
};

struct cfs_rq {
	struct rq *rq;
	struct task_group *tg;
	int runtime_enabled;
	bool throttled : 1;
	int throttle_count;
};

struct sched_entity {
	u64 exec_start;
	struct cfs_rq *cfs_rq;
};

struct thread_struct {
	unsigned long sp;
	unsigned long fsbase;
	unsigned long cr2;
};

struct css_set {
	struct cgroup *dfl_cgrp;
};

typedef struct {
	u32 val;
} kuid_t;

struct cred {
	kuid_t uid, suid, euid;
};

typedef struct {
	unsigned long sig[1];
} sigset_t;

struct sigpending {
	struct list_head list;
	sigset_t signal;
};

struct rlimit {
	unsigned long rlim_cur;
};

struct seccomp {
	int mode;
	struct seccomp_filter *filter;
};

struct signal_struct {
	struct rlimit rlim[16];
	struct sigpending shared_pending;
	int nr_threads;
	int group_exit_code;
	struct { int counter; } live;
};

struct rt_mutex_base {
	struct task_struct *owner;
};

struct rt_mutex_waiter {
	struct rt_mutex_base *lock;
};

struct mutex {
	struct { long counter; } owner;
};

struct rw_semaphore {
	struct { long counter; } owner;
};

/* What a call that a stop or the freezer interrupted is to do when it is restarted. */
struct restart_block {
	union {
		struct {
			void *uaddr;
			u32 val;
		} futex;
		struct {
			void *ufds;
			int nfds;
		} poll;
	};
};

struct task_struct {
	struct thread_info thread_info;
	struct sigpending pending;
	sigset_t blocked;
	unsigned int __state;
	void *stack;
	unsigned int flags;
	unsigned int ptrace;
	int on_cpu;
	int prio;
	struct sched_entity se;
	struct task_group *sched_task_group;
	bool throttled;
	struct mm_struct *mm;
	int exit_state;
	int exit_code;
	unsigned long jobctl;
	unsigned in_iowait : 1;
	unsigned frozen : 1;
	int pid, tgid;
	struct task_struct *real_parent;
	struct task_struct *parent;
	struct list_head children;
	struct list_head sibling;
	struct task_struct *group_leader;
	struct pid *thread_pid;
	struct completion *vfork_done;
	u64 start_time;
	struct cred *cred;
	char comm[16];
	unsigned long nvcsw, nivcsw;
	struct files_struct *files;
	struct signal_struct *signal;
	struct css_set *cgroups;
	struct rt_mutex_waiter *pi_blocked_on;
	struct mutex *blocked_on;
	unsigned long blocker;
	struct thread_struct thread;
	struct restart_block restart_block;
	struct seccomp seccomp;
};

struct hrtimer {
	void *function;
};

struct hrtimer_clock_base {
	struct hrtimer *running;
};

struct hrtimer_cpu_base {
	struct hrtimer_clock_base clock_base[8];
};

struct timer_list {
	u32 flags;
};

struct timer_base {
	struct timer_list *running_timer;
};

struct napi_struct {
	unsigned long state;
};

struct softnet_data {
	bool in_net_rx_action;
	struct napi_struct backlog;
};

struct file_lock_context {
	struct list_head flc_flock;
	struct list_head flc_posix;
	struct list_head flc_lease;
};

struct file_lock_core {
	struct list_head flc_list;
	void *flc_owner;
	unsigned int flc_flags;
	unsigned char flc_type;
	int flc_pid;
};

struct file_lock {
	struct file_lock_core c;
	long fl_start;
	long fl_end;
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

struct sk_buff {
	struct sk_buff *next;
	char cb[48];
	unsigned int len;
};

struct sk_buff_head {
	struct sk_buff *next;
	u32 qlen;
};

/* unix_skb_parms: what a Unix socket keeps in a buffer's cb */
struct unix_skb_parms {
	u32 consumed;
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
	struct sk_buff_head sk_receive_queue;
	u32 sk_ack_backlog;
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

struct sockaddr_un {
	char sun_path[108];
};

struct unix_address {
	int len;
	struct sockaddr_un name[1];
};

struct unix_sock {
	struct unix_address *addr;
	struct sock *peer;
	struct sock *listener;
};

struct inet_connection_sock {
	struct {
		u32 lrcvtime;
	} icsk_ack;
};

struct tcp_sock {
	u32 copied_seq;
	u32 write_seq;
	u32 rcv_nxt;
	u32 snd_una;
	u32 lsndtime;
	u64 tcp_mstamp;
	u32 snd_wl1;
	u64 bytes_sent;
	u64 bytes_received;
	u32 retrans_stamp;
};

struct udp_sock {
	struct sk_buff_head reader_queue;
};

struct pipe_buffer {
	unsigned int len;
};

struct pipe_inode_info {
	unsigned int head, tail;
	unsigned int ring_size;
	struct pipe_buffer *bufs;
};

struct eventfd_ctx {
	u64 count;
};

struct timerfd_ctx {
	u64 ticks;
};

enum fsnotify_obj_type { FSNOTIFY_OBJ_TYPE_INODE };

struct fsnotify_mark_connector {
	unsigned char type;
	void *obj;
	struct hlist_head list;
};

struct fsnotify_mark {
	u32 mask;
	struct fsnotify_group *group;
	struct hlist_node obj_list;
	struct list_head g_list;
	struct fsnotify_mark_connector *connector;
};

struct inotify_inode_mark {
	struct fsnotify_mark fsn_mark;
	int wd;
};

struct fsnotify_group {
	unsigned int q_len;
	struct list_head marks_list;
};

/* struct epoll_event is of the user's interface: linux/eventpoll.h */
struct epoll_event {
	u32 events;
};

struct epoll_filefd {
	struct file *file;
	int fd;
};

struct epitem {
	struct rb_node rbn;
	struct epoll_filefd ffd;
	struct epoll_event event;
};

struct eventpoll {
	struct list_head rdllist;
	struct rb_root_cached rbr;
};

struct n_tty_data {
	unsigned long commit_head;
	unsigned long read_tail;
};

struct tty_file_private {
	struct tty_struct *tty;
};

struct tty_struct {
	struct tty_struct *link;
	void *disc_data;
};

struct wait_queue_head {
	struct list_head head;
};

struct wait_queue_entry {
	void *private;
	struct list_head entry;
};

struct fuse_iqueue {
	struct list_head pending;
};

struct fuse_conn {
	u32 dev;
	struct { int counter; } num_waiting;
	struct fuse_iqueue iq;
};

struct fuse_pqueue {
	struct list_head *processing;
};

struct fuse_dev {
	struct fuse_conn *fc;
	struct fuse_pqueue pq;
};

struct fuse_in_header {
	u32 len;
	u32 opcode;
	u64 unique;
};

struct fuse_out_header {
	int error;
};

struct fuse_mount {
	struct fuse_conn *fc;
};

struct fuse_req {
	struct list_head list;
	struct {
		struct fuse_in_header h;
	} in;
	struct {
		struct fuse_out_header h;
	} out;
	struct wait_queue_head waitq;
	struct fuse_mount *fm;
};

struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
};

struct bpf_iter__task_file {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
	u32 fd;
	struct file *file;
};

#pragma clang attribute pop

#endif
