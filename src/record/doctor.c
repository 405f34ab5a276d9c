/* See doctor.h. The BPF checks are in doctor_bpf.c. */
#include "record/doctor_checks.h"

#include <errno.h>
#include <glob.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "record/packs.h"
#include "record/service_request.h"
#include "symbols/elf_file.h"

void doctor_add(struct doctor *doctor, const char *name, const char *what, enum doctor_state state, const char *found,
		const char *means, const char *mend)
{
	struct doctor_check check = { name, what, state, found, state ? means : "", state ? mend : "" };

	vec_push(&doctor->checks, check);
}

static bool read_line(const char *path, char *to, size_t size)
{
	FILE *file = fopen(path, "re");
	bool read = file && fgets(to, (int)size, file);

	if (file)
		fclose(file);
	if (read)
		to[strcspn(to, "\n")] = 0;
	return read;
}

static void check_machine(struct doctor *doctor)
{
	struct utsname name;
	bool known = !uname(&name) && !strcmp(name.machine, "x86_64");

	doctor_add(doctor, "machine", "processor architecture and kernel", known ? DOCTOR_OK : DOCTOR_MISSING,
		   arena_printf(doctor->arena, "%s, Linux %s", name.machine, name.release),
		   "registers and system calls are known of x86_64 only", "");
}

struct capability {
	unsigned number;
	const char *name, *means, *mend;
	enum doctor_state state;
	const char *without;    /* what is missing then */
};

static uint64_t effective_capabilities(void)
{
	char line[256];
	uint64_t set = 0;
	FILE *file = fopen("/proc/self/status", "re");

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "CapEff: %" SCNx64, &set) == 1)
			break;
	if (file)
		fclose(file);
	return set;
}

#define NOTHING "nothing can be recorded, but by the recording service"

static void check_capabilities(struct doctor *doctor)
{
	static const struct capability wanted[] = {
		{ CAP_BPF, "CAP_BPF", "loading BPF programs", DOCTOR_MEND("cap_bpf"), DOCTOR_MISSING, NOTHING },
		{ CAP_PERFMON, "CAP_PERFMON", "hooking trace points and samples", DOCTOR_MEND("cap_perfmon"), DOCTOR_MISSING, NOTHING },
		{ CAP_SYS_PTRACE, "CAP_SYS_PTRACE", "names, mappings and lock holders of other users' processes",
		  DOCTOR_MEND("cap_sys_ptrace"), DOCTOR_LIMITED, "of other users' processes only what the kernel's events tell" },
		{ CAP_SYS_NICE, "CAP_SYS_NICE", "a real-time priority for the agent", DOCTOR_MEND("cap_sys_nice"), DOCTOR_LIMITED,
		  "a busy machine can make the recorder lose events" },
		{ CAP_SYSLOG, "CAP_SYSLOG", "names of kernel functions, where kernel.kptr_restrict hides them", DOCTOR_MEND("cap_syslog"),
		  DOCTOR_LIMITED, "kernel stacks have no names there" },
		{ CAP_SYS_ADMIN, "CAP_SYS_ADMIN", "--probe on functions of programs", DOCTOR_MEND("cap_sys_admin"), DOCTOR_LIMITED,
		  "record --probe cannot be used" },
	};
	uint64_t set = effective_capabilities();

	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		/* before 5.8 the first two were part of the administrator's */
		bool has = set >> wanted[i].number & 1 || (i < 2 && set >> CAP_SYS_ADMIN & 1);

		doctor_add(doctor, wanted[i].name, wanted[i].means, has ? DOCTOR_OK : wanted[i].state, has ? "yes" : "no",
			   wanted[i].without, wanted[i].mend);
	}
}

/* Numbers that the kernel gives its first namespaces (include/uapi/linux/nsfs.h), since 3.8. */
#define FIRST_PIDS 0xeffffffcu
#define FIRST_USERS 0xeffffffdu

static bool is_first(const char *namespace, ino_t first)
{
	struct stat info;

	return stat(namespace, &info) || info.st_ino == first; /* without namespaces there is only the first */
}

bool doctor_shares_pids(void)
{
	return is_first("/proc/self/ns/pid", FIRST_PIDS);
}

static void check_namespaces(struct doctor *doctor)
{
	bool users = is_first("/proc/self/ns/user", FIRST_USERS), pids = doctor_shares_pids();

	doctor_add(doctor, "user_namespace", "user namespace", users ? DOCTOR_OK : DOCTOR_MISSING, users ? "the host's" : "another than the host's",
		   "rights in it do not count for the kernel", "run outside of it, as the host's root");
	doctor_add(doctor, "pid_namespace", "process namespace", pids ? DOCTOR_OK : DOCTOR_LIMITED, pids ? "the host's" : "another than the host's",
		   "events have the host's process numbers: the command, names and mappings are not found by them",
		   "run on the host, or with its process numbers (docker run --pid=host; hostPID: true)");
}

/* Who lacks capabilities may have somebody who records for him. */
static void check_service(struct doctor *doctor)
{
	bool there = !access(SERVICE_SOCKET, F_OK), open = !access(SERVICE_SOCKET, W_OK);

	if (!geteuid())
		return;
	doctor_add(doctor, "service", "recording service (`man argus-service`)", open ? DOCTOR_OK : DOCTOR_LIMITED,
		   open ? "this user may ask it" : there ? "for members of the group argus" : "none",
		   "it records for users without capabilities",
		   there ? "sudo usermod -aG argus NAME, then log in again" : "sudo systemctl enable --now argus-record.socket");
}

/* Settings that limit who lacks the capability; for who has it they say nothing. */
static void check_setting(struct doctor *doctor, const char *name, const char *what, const char *path, long most,
			  unsigned capability, const char *means, const char *mend)
{
	char text[64];
	uint64_t set = effective_capabilities();
	bool has = (set >> capability | set >> CAP_SYS_ADMIN) & 1;

	if (!read_line(path, text, sizeof(text)))
		return;
	doctor_add(doctor, name, what, has || atol(text) <= most ? DOCTOR_OK : DOCTOR_LIMITED,
		   arena_strdup(doctor->arena, text), means, mend);
}

static void check_memlock(struct doctor *doctor)
{
	struct rlimit limit;
	struct utsname name;
	unsigned major = 0, minor = 0;
	bool counted;

	if (getrlimit(RLIMIT_MEMLOCK, &limit) || uname(&name))
		return;
	sscanf(name.release, "%u.%u", &major, &minor);
	counted = major < 5 || (major == 5 && minor < 11);
	doctor_add(doctor, "memlock", "memory that may be locked",
		   counted && limit.rlim_max != RLIM_INFINITY ? DOCTOR_LIMITED : DOCTOR_OK,
		   limit.rlim_cur == RLIM_INFINITY ? "unlimited" :
		   counted ? arena_printf(doctor->arena, "%" PRIu64 " bytes", (uint64_t)limit.rlim_cur) :
			     arena_printf(doctor->arena, "%" PRIu64 " bytes; this kernel does not count BPF's",
					  (uint64_t)limit.rlim_cur),
		   "rings count as locked memory before Linux 5.11", "ulimit -l unlimited");
}

static void check_breakpoints(struct doctor *doctor)
{
	static volatile int watched;
	struct perf_event_attr attr = {
		.size = sizeof(attr), .type = PERF_TYPE_BREAKPOINT, .bp_type = HW_BREAKPOINT_W,
		.bp_addr = (uintptr_t)&watched, .bp_len = HW_BREAKPOINT_LEN_4, .exclude_kernel = 1,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC), error = errno;
	uint64_t hits = 0;

	watched++;
	/* some virtual machines take them, and never let them fire */
	if (fd >= 0 && read(fd, &hits, sizeof(hits)) != sizeof(hits))
		hits = 1;
	doctor_add(doctor, "breakpoints", "hardware breakpoints", fd >= 0 && hits ? DOCTOR_OK : DOCTOR_LIMITED,
		   fd < 0 ? arena_strdup(doctor->arena, strerror(error)) : hits ? "yes" : "they are taken, but never fire", "no watchpoints on shared flags",
		   fd < 0 && (error == EACCES || error == EPERM) ? DOCTOR_MEND("cap_perfmon")
						     : "a virtual machine's host must pass debug registers through");
	if (fd >= 0)
		close(fd);
}

static void check_kallsyms(struct doctor *doctor)
{
	bool data = false, addresses = false;
	FILE *file = fopen("/proc/kallsyms", "re");
	char line[512], type;
	uint64_t address;

	while (file && !(data && addresses) && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%" SCNx64 " %c", &address, &type) != 2 || strchr(line, '['))
			continue;
		/* a variable of the scheduler, in every kernel that lists any */
		data = data || strstr(line, " runqueues\n");
		addresses = addresses || (address && strchr("tT", type));
	}
	if (file)
		fclose(file);
	doctor_add(doctor, "kallsyms", "addresses of kernel functions", addresses ? DOCTOR_OK : DOCTOR_LIMITED,
		   addresses ? "readable" : "hidden", "kernel stacks have no names",
		   DOCTOR_MEND("cap_syslog") ", or: sudo sysctl kernel.kptr_restrict=0");
	doctor_add(doctor, "kallsyms_all", "KALLSYMS_ALL: the kernel lists its data symbols too", DOCTOR_OK,
		   data ? "yes" : "no; not needed: per-CPU variables are found by type information", "", "");
}

static void check_real_time(struct doctor *doctor)
{
	struct sched_param lowest = { .sched_priority = 1 }, before = { 0 };
	int policy = sched_getscheduler(0), error = 0;

	sched_getparam(0, &before);
	if (sched_setscheduler(0, SCHED_FIFO, &lowest))
		error = errno;
	else
		sched_setscheduler(0, policy < 0 ? SCHED_OTHER : policy, &before);
	doctor_add(doctor, "real_time", "real-time priority for the agent", error ? DOCTOR_LIMITED : DOCTOR_OK,
		   error ? arena_strdup(doctor->arena, strerror(error)) : "yes",
		   "a busy machine can make the recorder lose events",
		   effective_capabilities() >> CAP_SYS_NICE & 1 ?
			   "give the shell's control group real-time time: echo 100000 > .../cpu.rt_runtime_us" :
			   DOCTOR_MEND("cap_sys_nice"));
}

/* The C library stands for the system's programs. */
static const char *find_library(struct doctor *doctor)
{
	char line[4096], path[4096];
	const char *found = NULL;
	FILE *file = fopen("/proc/self/maps", "re");

	while (file && !found && fgets(line, sizeof(line), file))
		if (sscanf(line, "%*s %*s %*s %*s %*s %4095[^\n]", path) == 1 && strstr(path, "/libc.so"))
			found = arena_strdup(doctor->arena, path);
	if (file)
		fclose(file);
	return found;
}

static void check_unwind_tables(struct doctor *doctor)
{
	const char *path = find_library(doctor);
	struct elf_file file;
	bool there;

	if (!path || elf_file_open(path, &file, NULL))
		return;
	there = elf_file_section(&file, ".eh_frame") != NULL;
	elf_file_close(&file);
	doctor_add(doctor, "unwind_tables", "tables for walking stacks", there ? DOCTOR_OK : DOCTOR_LIMITED,
		   arena_printf(doctor->arena, "%s in %s", there ? ".eh_frame" : "none", path),
		   "user stacks need frame pointers", "install libraries that are not stripped of .eh_frame");
}

static void check_debug_information(struct doctor *doctor)
{
	const char *urls = getenv("DEBUGINFOD_URLS");
	glob_t found = { 0 };
	bool files = !glob("/usr/lib/debug/.build-id/*/*.debug", GLOB_NOSORT, NULL, &found);

	globfree(&found);
	doctor_add(doctor, "debug_information", "names and lines of stripped programs",
		   files || (urls && *urls) ? DOCTOR_OK : DOCTOR_LIMITED,
		   urls && *urls ? "DEBUGINFOD_URLS is set" : files ? "/usr/lib/debug" : "none",
		   "functions inside stripped programs have no names, source lines none at all",
		   "sudo apt-get install libc6-dbg, or export DEBUGINFOD_URLS=https://debuginfod.debian.net");
}

static unsigned any_edge(const char *name, size_t length)
{
	(void)name;
	(void)length;
	return 1; /* which kinds there are belongs to who reads traces */
}

/* Packs that are about a library that is here. */
static void check_packs(struct doctor *doctor)
{
	for (size_t i = 0; i < rules_pack_count; i++) {
		struct probe_points points = { 0 };
		struct rules *pack = rules_new();
		struct pack_unfit unfit;

		if (!strstr(rules_packs[i].text, "$FILE") && rules_add_pack(pack, rules_packs[i].name, any_edge, NULL) == 0 &&
		    packs_place(doctor->arena, pack, rules_packs[i].name, NULL, &points, &unfit, NULL) == 0 && points.count)
			doctor_add(doctor, "pack", arena_printf(doctor->arena, "pack %s", rules_packs[i].name),
				   unfit.probe ? DOCTOR_LIMITED : DOCTOR_OK,
				   unfit.probe ? pack_unfit_words(doctor->arena, &unfit) : "fits",
				   "--pack records a part of what its framework does", "");
		probe_points_close(&points);
		rules_free(pack);
	}
}

static void check_lockdown(struct doctor *doctor)
{
	char text[128];
	bool locked;

	if (!read_line("/sys/kernel/security/lockdown", text, sizeof(text)))
		return;
	locked = strstr(text, "[confidentiality]") != NULL;
	doctor_add(doctor, "lockdown", "kernel lockdown", locked ? DOCTOR_MISSING : DOCTOR_OK,
		   arena_strdup(doctor->arena, text), "BPF programs may not read kernel memory",
		   "boot with lockdown=integrity, or without Secure Boot");
}

void doctor_run(struct arena *arena, const struct doctor_check **ret_checks, size_t *ret_count)
{
	struct doctor doctor = { .arena = arena };

	check_machine(&doctor);
	check_namespaces(&doctor);
	check_capabilities(&doctor);
	check_service(&doctor);
	check_lockdown(&doctor);
	doctor_check_bpf(&doctor);
	check_real_time(&doctor);
	check_setting(&doctor, "perf_event_paranoid", "kernel.perf_event_paranoid", "/proc/sys/kernel/perf_event_paranoid",
		      -1, CAP_PERFMON, "users without capabilities have no samples and no mapping events",
		      DOCTOR_MEND("cap_perfmon") ", or: sudo sysctl kernel.perf_event_paranoid=-1");
	check_setting(&doctor, "unprivileged_bpf", "kernel.unprivileged_bpf_disabled",
		      "/proc/sys/kernel/unprivileged_bpf_disabled", 0, CAP_BPF, "users without capabilities have no BPF",
		      DOCTOR_MEND("cap_bpf"));
	check_memlock(&doctor);
	check_breakpoints(&doctor);
	check_kallsyms(&doctor);
	check_unwind_tables(&doctor);
	check_packs(&doctor);
	check_debug_information(&doctor);
	*ret_checks = arena_memdup(arena, doctor.checks.items, doctor.checks.length * sizeof(doctor.checks.items[0]));
	*ret_count = doctor.checks.length;
	vec_done(&doctor.checks);
}

int doctor_explain(int code, struct err *err)
{
	const struct doctor_check *checks;
	struct arena arena;
	size_t count;

	arena_init(&arena);
	doctor_run(&arena, &checks, &count);
	for (size_t i = 0; i < count; i++) {
		if (checks[i].state != DOCTOR_MISSING)
			continue;
		err_set(err, code, "%s: %s: %s%s%s (`argus doctor` tells more)", checks[i].what, checks[i].found,
			checks[i].means, *checks[i].mend ? ". Mend it: " : "", checks[i].mend);
		break;
	}
	arena_done(&arena);
	return code;
}
