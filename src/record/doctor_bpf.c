/* What the kernel's BPF allows, by trying. */
#include "record/doctor_checks.h"

#ifndef HAVE_BPF

void doctor_check_bpf(struct doctor *doctor)
{
	doctor_add(doctor, "bpf", "BPF", DOCTOR_MISSING, "this argus was built without it", "it cannot record",
		   "install clang, bpftool and libbpf-dev, and build again");
}

#else

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/buf.h"
#include "record/kernel.h"
#include "record/programs.h"
#include "record/recorder.h"
#include "symbols/elf_file.h"

/* "return 0", of the given type; its descriptor or -errno. */
static int try_program(enum bpf_prog_type type, enum bpf_attach_type attach, int btf_id)
{
	static const struct bpf_insn nothing[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	LIBBPF_OPTS(bpf_prog_load_opts, options, .expected_attach_type = attach,
		    .attach_btf_id = btf_id > 0 ? (__u32)btf_id : 0);
	int fd = bpf_prog_load(type, "argus_doctor", "GPL", nothing, sizeof(nothing) / sizeof(nothing[0]), &options);

	return fd < 0 ? -errno : fd;
}

struct program_kind {
	const char *name, *what;
	enum bpf_prog_type type;
	enum bpf_attach_type attach;
	const char *hook;       /* NULL none */
	const char *prefix;     /* of the hook's name in type information */
	unsigned btf_kind;
	enum doctor_state state;
	const char *means;
};

static const struct program_kind kinds[] = {
	{ "tp_btf", "programs on typed trace points", BPF_PROG_TYPE_TRACING, BPF_TRACE_RAW_TP, "sched_switch",
	  "btf_trace_", BTF_KIND_TYPEDEF, DOCTOR_MISSING, "waits and wake-ups cannot be recorded" },
	{ "raw_tp", "programs on raw trace points", BPF_PROG_TYPE_RAW_TRACEPOINT, 0, NULL, NULL, 0, DOCTOR_LIMITED, "" },
	{ "tracepoint", "programs on trace points", BPF_PROG_TYPE_TRACEPOINT, 0, NULL, NULL, 0, DOCTOR_LIMITED, "" },
	{ "perf_event", "programs on samples", BPF_PROG_TYPE_PERF_EVENT, 0, NULL, NULL, 0, DOCTOR_LIMITED,
	  "no CPU samples" },
	{ "iter", "iterators", BPF_PROG_TYPE_TRACING, BPF_TRACE_ITER, "task", "bpf_iter_", BTF_KIND_FUNC, DOCTOR_LIMITED,
	  "no snapshots of threads and descriptors" },
};

static const char *errno_text(struct doctor *doctor, int r)
{
	return arena_strdup(doctor->arena, strerror(-r));
}

static void check_kinds(struct doctor *doctor, const struct kernel *kernel)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		const struct program_kind *kind = &kinds[i];
		int id = 0, fd;

		if (kind->hook) {
			const char *full = arena_printf(doctor->arena, "%s%s", kind->prefix, kind->hook);

			id = btf__find_by_name_kind(kernel->btf, full, kind->btf_kind);
		}
		fd = id < 0 ? id : try_program(kind->type, kind->attach, id);
		doctor_add(doctor, kind->name, kind->what, fd >= 0 ? DOCTOR_OK : kind->state,
			   fd >= 0 ? "yes" : errno_text(doctor, fd), kind->means,
			   fd == -EPERM ? DOCTOR_MEND("cap_bpf and cap_perfmon")
					: "use Linux 5.8 or later with CONFIG_BPF_SYSCALL=y and CONFIG_BPF_EVENTS=y");
		if (fd >= 0)
			close(fd);
	}
}

/* A probe on our own entry, which nobody passes any more. */
static int try_uprobe(void)
{
	struct perf_event_attr attr = { .size = sizeof(attr) };
	int program = try_program(BPF_PROG_TYPE_KPROBE, 0, 0), fd = program, r = program;
	struct elf_file file;
	uint64_t offset = 0;
	FILE *type;

	if (program < 0)
		return program;
	type = fopen("/sys/bus/event_source/devices/uprobe/type", "re");
	if (!type || fscanf(type, "%u", &attr.type) != 1)
		r = -EOPNOTSUPP;
	if (type)
		fclose(type);
	if (r >= 0 && !(r = elf_file_open("/proc/self/exe", &file, NULL))) {
		if (!elf_file_offset(&file, file.header.e_entry, &offset))
			r = -ENOEXEC;
		elf_file_close(&file);
	}
	if (r >= 0) {
		attr.config1 = (uint64_t)(uintptr_t)"/proc/self/exe";
		attr.config2 = offset;
		fd = (int)syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
		r = fd < 0 || ioctl(fd, PERF_EVENT_IOC_SET_BPF, program) ? -errno : 0;
		if (fd >= 0)
			close(fd);
	}
	close(program);
	return r;
}

static void check_uprobes(struct doctor *doctor)
{
	int r = try_uprobe();

	doctor_add(doctor, "uprobe", "probes on functions of programs", r ? DOCTOR_LIMITED : DOCTOR_OK, r ? errno_text(doctor, r) : "yes",
		   "record --probe cannot be used",
		   r == -EPERM || r == -EACCES ? DOCTOR_MEND("cap_sys_admin") : "boot a kernel built with CONFIG_UPROBE_EVENTS=y");
}

/* Loading is not enough: some kernels refuse to attach. */
static void check_fentry(struct doctor *doctor, const struct kernel *kernel)
{
	int id = btf__find_by_name_kind(kernel->btf, "vfs_read", BTF_KIND_FUNC);
	int fd = id < 0 ? id : try_program(BPF_PROG_TYPE_TRACING, BPF_TRACE_FENTRY, id), link = fd;

	if (fd >= 0) {
		link = bpf_raw_tracepoint_open(NULL, fd);
		if (link < 0)
			link = -errno;
		else
			close(link);
		close(fd);
	}
	doctor_add(doctor, "fentry", "programs on kernel functions", DOCTOR_OK,
		   link >= 0 ? "yes" : arena_printf(doctor->arena, "no (%s); not needed", strerror(-link)), "", "");
}

static void check_tracepoints(struct doctor *doctor, const struct kernel *kernel)
{
	static const struct {
		const char *name, *means;
		enum doctor_state state;
	} points[] = {
		{ "sched_switch", "no waits", DOCTOR_MISSING },
		{ "sched_waking", "no wake-ups", DOCTOR_MISSING },
		{ "task_newtask", "no forks", DOCTOR_LIMITED },
		{ "sched_process_exec", "no names of new programs", DOCTOR_LIMITED },
		{ "sched_process_exit", "no ends of threads", DOCTOR_LIMITED },
		{ "task_rename", "no changes of names", DOCTOR_LIMITED },
		{ "signal_generate", "no signals", DOCTOR_LIMITED },
		{ "cgroup_freeze", "no freezer", DOCTOR_LIMITED },
		{ "block_rq_issue", "no block I/O", DOCTOR_LIMITED },
		{ "block_rq_complete", "no block I/O", DOCTOR_LIMITED },
		{ "posix_lock_inode", "no file locks", DOCTOR_LIMITED },
		{ "flock_lock_inode", "no file locks", DOCTOR_LIMITED },
		{ "contention_begin", "no waits for kernel locks by name", DOCTOR_LIMITED },
		{ "fuse_request_send", "no requests to user-space file systems", DOCTOR_LIMITED },
		{ "sys_enter", "no full level", DOCTOR_LIMITED },
		{ "sys_exit", "no full level", DOCTOR_LIMITED },
	};

	for (size_t i = 0; i < sizeof(points) / sizeof(points[0]); i++) {
		bool there = kernel_has_tracepoint(kernel, points[i].name);

		doctor_add(doctor, arena_printf(doctor->arena, "tracepoint_%s", points[i].name),
			   arena_printf(doctor->arena, "trace point %s", points[i].name), there ? DOCTOR_OK : points[i].state,
			   there ? "yes" : "no", points[i].means, "use a newer kernel, or load the module it belongs to");
	}
}

static void check_variables(struct doctor *doctor, const struct kernel *kernel)
{
	struct record_config config = { 0 };

	kernel_configure(kernel, &config);
	doctor_add(doctor, "preempt_count", "the context of wake-ups (interrupt or thread)",
		   config.preempt_count == PERCPU_ABSENT ? DOCTOR_LIMITED : DOCTOR_OK,
		   config.preempt_count == PERCPU_ABSENT ? "the kernel's type information lacks per-CPU variables" : "yes",
		   "wake-ups by interrupts are charged to the thread they interrupt",
		   "use a kernel built with pahole 1.22 or later");
	doctor_add(doctor, "timers", "timers behind wake-ups",
		   config.hrtimer_bases == PERCPU_ABSENT || config.timer_bases == PERCPU_ABSENT ? DOCTOR_LIMITED : DOCTOR_OK,
		   config.hrtimer_bases == PERCPU_ABSENT || config.timer_bases == PERCPU_ABSENT ? "no" : "yes",
		   "time limits that ran out are not told from other wake-ups by interrupts",
		   "use a kernel built with pahole 1.22 or later");
}

struct programs_found {
	unsigned taken;
	struct buf needed, others;       /* that are refused */
	char hardest[64];
	uint32_t instructions;           /* of the hardest for the verifier */
	int status;
};

static void take_program(void *data, const struct program_check *check)
{
	struct programs_found *found = data;
	struct buf *to = check->needed ? &found->needed : &found->others;

	if (check->status) {
		buf_printf(to, "%s%s", to->length ? ", " : "", check->name);
		found->status = check->status;
		return;
	}
	found->taken++;
	if (check->instructions > found->instructions) {
		found->instructions = check->instructions;
		snprintf(found->hardest, sizeof(found->hardest), "%s", check->name);
	}
}

/* The programs themselves: what their kinds allow says little of what the verifier thinks of them. */
static void check_programs(struct doctor *doctor, const struct kernel *kernel)
{
	struct programs_options options = { .cpus = 1, .full = true, .calls = true, .probes = true, .watches = true, .steps = true };
	struct programs_found found = { 0 };
	enum doctor_state state = DOCTOR_OK;
	const char *text;

	options.config.ring_bytes = RECORDER_RING_LEAST;
	options.config.full = 1;
	options.config.stacks = 0xff;
	kernel_configure(kernel, &options.config);
	if (programs_allowed(NULL))
		return;
	programs_check(kernel, &options, take_program, &found);
	text = arena_printf(doctor->arena, "%u; the hardest for the kernel is %s, %" PRIu32 " instructions followed", found.taken, found.hardest,
			    found.instructions);
	if (found.needed.length || found.others.length) {
		state = found.needed.length ? DOCTOR_MISSING : DOCTOR_LIMITED;
		text = arena_printf(doctor->arena, "%u, but the kernel refuses %s (%s)", found.taken,
				    buf_str(found.needed.length ? &found.needed : &found.others), strerror(-found.status));
	}
	doctor_add(doctor, "programs", "the recorder's own programs", state, text,
		   state == DOCTOR_MISSING ? "nothing can be recorded" : "what these programs record is missing; without full_exit the full level",
		   geteuid() && (found.status == -EPERM || found.status == -EACCES) ? DOCTOR_MEND("cap_bpf and cap_perfmon")
		   : "use a newer kernel; LIBBPF_LOG_LEVEL=info argus doctor shows the kernel's words");
	buf_done(&found.needed);
	buf_done(&found.others);
}

void doctor_check_bpf(struct doctor *doctor)
{
	struct kernel kernel;
	struct err err;

	libbpf_set_print(NULL);
	if (kernel_open(&kernel, &err)) {
		doctor_add(doctor, "btf", "kernel type information (BTF)", DOCTOR_MISSING, "none",
			   "programs cannot find the kernel's structures",
			   "boot a kernel built with CONFIG_DEBUG_INFO_BTF=y, as distributions' kernels are");
		return;
	}
	doctor_add(doctor, "btf", "kernel type information (BTF)", DOCTOR_OK, "/sys/kernel/btf/vmlinux", "", "");
	check_kinds(doctor, &kernel);
	check_uprobes(doctor);
	check_fentry(doctor, &kernel);
	check_tracepoints(doctor, &kernel);
	check_variables(doctor, &kernel);
	check_programs(doctor, &kernel);
	kernel_close(&kernel);
}

#endif
