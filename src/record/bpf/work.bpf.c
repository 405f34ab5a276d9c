/* Work that runs later or elsewhere: kernel work items, io_uring requests,
 * timers that programs set, a file system's journal and write-back, interrupts
 * that take long. */
#include "record/bpf/context.bpf.h"
#include "record/bpf/object.bpf.h"
#include "record/bpf/ring.bpf.h"
#include "record/bpf/stack.bpf.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

#define LONG_INTERRUPT_NS 100000

/* Functions of the timers that programs set; every other high-resolution timer
 * is the scheduler's tick or a thread's own time limit, which its wait tells. */
extern const void timerfd_tmrproc __ksym __weak;
extern const void posix_timer_fn __ksym __weak;
extern const void it_real_fn __ksym __weak;
extern const void delayed_work_timer_fn __ksym __weak;

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct work_struct {
	void *func;
};

struct timer_list___work {
	void *function;
};

struct delayed_work {
	struct work_struct work;
	struct timer_list timer;
};

struct io_cqe {
	u64 user_data;
};

struct io_kiocb {
	struct file *file;
	u8 opcode;
	struct io_cqe cqe;
};

struct io_uring_cqe {
	u64 user_data;
	int res;
};

struct hrtimer___function {
	void *function;
};

struct k_itimer {
	int it_id;
	struct pid *it_pid;
	union {
		struct {
			struct hrtimer timer;
		} real;
	} it;
};

struct signal_struct___timer {
	struct hrtimer real_timer;
	struct pid *pids[4];
};

struct block_device {
	u32 bd_dev;
};

struct journal_s {
	struct block_device *j_fs_dev;
};

struct transaction_s {
	u32 t_tid;
};

enum wb_reason { WB_REASON_BACKGROUND };

struct wb_writeback_work {
	long nr_pages;
	struct super_block *sb;
	enum wb_reason reason;
};

#pragma clang attribute pop

static __always_inline u32 work_thread(void)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task_btf();
	return task->pid;
}

/* Functions of the kernel that records name; the agent tells the trace their names. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, STACKS_FUNCTIONS);
	__type(key, u64);
	__type(value, u8);
} kernel_functions SEC(".maps");

static __always_inline void work_function(u64 function)
{
	u8 one = 1;

	if (!bpf_map_lookup_elem(&kernel_functions, &function))
		bpf_map_update_elem(&kernel_functions, &function, &one, BPF_ANY);
}

#define WORK_BEGIN(event) \
	u64 now = bpf_ktime_get_ns(); \
	struct ring *ring = ring_here(); \
	if (!ring) \
		return 0; \
	struct event_##event *e = ring_begin(ring, EVENT_##event, work_thread(), now, sizeof(*e)); \
	if (!e) \
		return 0

SEC("tp_btf/workqueue_queue_work")
int on_work_queue(u64 *context)
{
	struct work_struct *work = (void *)context[2];
	u64 function = (u64)GET(work, func);
	work_function(function);
	WORK_BEGIN(work_queue);
	e->work = (u64)work;
	e->function = function;
	e->cpu = context[0];
	e->context = context_of(context_count(ring, (struct task_struct *)bpf_get_current_task_btf()));
	ring_end(ring);
	return 0;
}

/* Of the timers of the kernel's wheel only those of delayed work are told: other
 * ones are a thread's own time limit, or wake nobody. */
SEC("tp_btf/timer_start")
int on_timer_start(u64 *context)
{
	struct timer_list___work *timer = (void *)context[0];
	if ((u64)GET(timer, function) != (u64)&delayed_work_timer_fn)
		return 0;
	struct work_struct *work = (void *)((u64)timer - bpf_core_field_offset(struct delayed_work, timer));
	u64 function = (u64)GET(work, func);
	work_function(function);
	WORK_BEGIN(timer_arm);
	e->timer = (u64)work;
	e->function = function;
	e->expires_ns = 0;
	e->object = 0;
	e->ustack = 0;
	e->kind = TIMER_KIND_wheel;
	e->reserved0 = 0;
	e->reserved = 0;
	ring_end(ring);
	return 0;
}

SEC("tp_btf/workqueue_execute_start")
int on_work_start(u64 *context)
{
	struct work_struct *work = (void *)context[0];
	u64 function = (u64)GET(work, func);
	work_function(function);
	WORK_BEGIN(work_start);
	e->work = (u64)work;
	e->function = function;
	ring_end(ring);
	return 0;
}

/* not by type: the verifier lets nobody read an argument that is a function */
SEC("raw_tp/workqueue_execute_end")
int on_work_end(u64 *context)
{
	WORK_BEGIN(work_end);
	e->work = context[0];
	e->function = context[1];
	ring_end(ring);
	return 0;
}

static __always_inline int work_uring_submit(u64 *context)
{
	struct io_kiocb *request = (void *)context[0];
	struct object_at at = { 0 };
	u32 stack = stack_user(context, STACKS_MESSAGES);
	u64 user_data = GET(request, cqe.user_data);
	u32 opcode = GET(request, opcode);
	/* the file is looked up later, but for descriptors registered before */
	object_find(&at, GET(request, file));
	WORK_BEGIN(uring_submit);
	e->request = (u64)request;
	e->user_data = user_data;
	e->object = at.number;
	e->opcode = opcode;
	e->ustack = stack;
	ring_end(ring);
	return 0;
}

SEC("tp_btf/io_uring_submit_req")
int on_uring_submit(u64 *context)
{
	return work_uring_submit(context);
}

/* Its name before 6.3. */
SEC("tp_btf/io_uring_submit_sqe")
int on_uring_submit_older(u64 *context)
{
	return work_uring_submit(context);
}

SEC("tp_btf/io_uring_complete")
int on_uring_complete(u64 *context)
{
	u64 user_data, result;
	if (config.uring_passes_entry) {
		struct io_uring_cqe *entry = (void *)context[2];
		user_data = GET(entry, user_data);
		result = GET(entry, res);
	} else {
		user_data = context[2];
		result = context[3];
	}
	WORK_BEGIN(uring_complete);
	e->request = context[1];
	e->user_data = user_data;
	e->result = result;
	e->reserved = 0;
	ring_end(ring);
	return 0;
}

/* not by type, so that the address can be hashed */
SEC("raw_tp/hrtimer_expire_entry")
int on_hrtimer_expire(u64 *context)
{
	struct hrtimer *timer = (void *)context[0];
	u64 function = (u64)GET((struct hrtimer___function *)timer, function), number = (u64)timer, object = 0;
	u32 armer = 0;
	u8 kind;

	if (!function)
		return 0;
	if (function == (u64)&timerfd_tmrproc) {
		/* the timer is the first member of its timerfd */
		kind = TIMER_KIND_timerfd;
		object = object_of_address(OBJECT_KIND_timerfd, number);
	} else if (function == (u64)&posix_timer_fn) {
		struct k_itimer *posix = (void *)(number - bpf_core_field_offset(struct k_itimer, it.real.timer));
		struct pid *pid = GET(posix, it_pid);
		kind = TIMER_KIND_posix;
		armer = pid ? GET(pid, numbers[0].nr) : 0;
		number = (u64)armer << 32 | (u32)GET(posix, it_id);
	} else if (function == (u64)&it_real_fn) {
		struct signal_struct___timer *signal =
			(void *)(number - bpf_core_field_offset(struct signal_struct___timer, real_timer));
		struct pid *pid = GET(signal, pids[1]);
		kind = TIMER_KIND_itimer;
		armer = pid ? GET(pid, numbers[0].nr) : 0;
		number = (u64)armer << 32 | 0xffffffffu;
	} else {
		return 0;
	}
	work_function(function);
	WORK_BEGIN(timer_fire);
	e->timer = number;
	e->function = function;
	e->object = object;
	e->armer = armer;
	e->kind = kind;
	e->reserved0 = 0;
	e->reserved = 0;
	ring_end(ring);
	return 0;
}

static __always_inline int work_journal(u64 *context, u32 end)
{
	struct journal_s *journal = (void *)context[0];
	struct transaction_s *transaction = (void *)context[1];
	if (!journal || !transaction)
		return 0;
	struct block_device *device = GET_MODULE(journal, j_fs_dev);
	u32 number = device ? GET(device, bd_dev) : 0, id = GET_MODULE(transaction, t_tid);
	WORK_BEGIN(journal_commit);
	e->device = number;
	e->transaction = id;
	e->end = end;
	e->reserved = 0;
	ring_end(ring);
	return 0;
}

SEC("tp_btf/jbd2_start_commit")
int on_journal_start(u64 *context)
{
	return work_journal(context, 0);
}

SEC("tp_btf/jbd2_end_commit")
int on_journal_end(u64 *context)
{
	return work_journal(context, 1);
}

static __always_inline int work_writeback(u64 *context, u32 end)
{
	struct wb_writeback_work *work = (void *)context[1];
	struct super_block *super = GET(work, sb);
	u32 device = super ? GET(super, s_dev) : 0, reason = GET(work, reason);
	u64 pages = GET(work, nr_pages);
	WORK_BEGIN(writeback);
	e->device = device;
	e->reason = reason;
	e->pages = pages;
	e->end = end;
	e->reserved = 0;
	ring_end(ring);
	return 0;
}

SEC("tp_btf/writeback_start")
int on_writeback_start(u64 *context)
{
	return work_writeback(context, 0);
}

SEC("tp_btf/writeback_written")
int on_writeback_written(u64 *context)
{
	return work_writeback(context, 1);
}

/* When the hard interrupt that runs on this processor began; they do not nest. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u64);
} interrupt_start SEC(".maps");

SEC("tp_btf/irq_handler_entry")
int on_interrupt_entry(u64 *context)
{
	u32 zero = 0;
	u64 *start = bpf_map_lookup_elem(&interrupt_start, &zero);
	if (start)
		*start = bpf_ktime_get_ns();
	return 0;
}

SEC("tp_btf/irq_handler_exit")
int on_interrupt_exit(u64 *context)
{
	u32 zero = 0;
	u64 *start = bpf_map_lookup_elem(&interrupt_start, &zero);
	if (!start || !*start)
		return 0;
	u64 duration = bpf_ktime_get_ns() - *start;
	*start = 0;
	if (duration < LONG_INTERRUPT_NS)
		return 0;
	WORK_BEGIN(interrupt);
	e->duration_ns = duration;
	e->number = context[0];
	e->context = CONTEXT_hardirq;
	e->reserved0 = 0;
	e->reserved = 0;
	ring_end(ring);
	return 0;
}
