/* Words for threads, objects, waits and stacks, see describe.h. */
#include "diagnose/describe.h"

#include <inttypes.h>
#include <string.h>

#include "diagnose/answer.h"
#include "diagnose/busy.h"
#include "diagnose/kernel_place.h"
#include "diagnose/shared_word.h"

#define NEAR_FRAMES 4

void describe_thread(const struct describer *d, uint32_t thread, uint64_t time, struct actor *ret_actor)
{
	const struct thread *t = &d->scene->tables->threads[thread];

	*ret_actor = (struct actor){
		.kind = t->flags & TASK_FLAGS_kernel_thread ? ACTOR_KERNEL : ACTOR_THREAD, .thread = thread,
		.pid = t->pid, .tid = t->tid, .ppid = t->parent_pid,
		.comm = tables_comm(d->scene->tables, thread, time), .program = tables_program(d->scene->tables, thread, time),
		.internal = scene_same_process(d->scene, thread, d->victim),
	};
}

static const char *object_kind_words(unsigned kind)
{
	static const char *const words[] = {
		[OBJECT_KIND_file] = "file", [OBJECT_KIND_directory] = "directory", [OBJECT_KIND_pipe] = "pipe",
		[OBJECT_KIND_fifo] = "FIFO", [OBJECT_KIND_unix_stream] = "Unix socket",
		[OBJECT_KIND_unix_dgram] = "Unix datagram socket", [OBJECT_KIND_unix_seqpacket] = "Unix seqpacket socket",
		[OBJECT_KIND_tcp] = "TCP socket", [OBJECT_KIND_udp] = "UDP socket", [OBJECT_KIND_netlink] = "netlink socket",
		[OBJECT_KIND_socket] = "socket", [OBJECT_KIND_eventfd] = "eventfd", [OBJECT_KIND_timerfd] = "timerfd",
		[OBJECT_KIND_signalfd] = "signalfd", [OBJECT_KIND_epoll] = "epoll set", [OBJECT_KIND_inotify] = "inotify group",
		[OBJECT_KIND_pidfd] = "pidfd", [OBJECT_KIND_tty] = "terminal", [OBJECT_KIND_device] = "device",
		[OBJECT_KIND_futex] = "futex", [OBJECT_KIND_queue] = "message queue", [OBJECT_KIND_semaphore] = "semaphore set",
		[OBJECT_KIND_uring] = "io_uring", [OBJECT_KIND_fuse] = "FUSE connection",
	};

	return kind < sizeof(words) / sizeof(*words) ? words[kind] : NULL;
}

const char *describe_object(const struct describer *d, uint64_t object)
{
	const char *kind = object_kind_words(object_kind(object));
	struct row row;
	const char *path = "";

	for (uint32_t i = 0; i < d->scene->name_count; i++)
		if (d->scene->object_names[i].object == object && object)
			return d->scene->object_names[i].name;
	if (!object || !kind)
		return NULL;
	row = ends_of_object(d->ends, object);
	for (uint32_t i = 0; i < row.count; i++)
		if (ends_at(d->ends, row, i)->text[0])
			path = ends_at(d->ends, row, i)->text;
	return path[0] ? arena_printf(d->arena, "%s %s", kind, path) : kind;
}

const char *describe_stop(const struct wait *w)
{
	return w->state == TASK_STATE_frozen ? "frozen" : "stopped";
}

/* It looks at that one socket alone, whose addresses tell whom it waits for. */
static bool is_polled_socket(const struct wait *w)
{
	unsigned kind = object_kind(w->detail);

	return w->kind == WAIT_KIND_poll && w->argument == 1 && (kind == OBJECT_KIND_tcp || kind == OBJECT_KIND_udp);
}

const char *describe_wait(const struct describer *d, const struct wait *wait)
{
	static const char *const words[] = {
		[WAIT_KIND_none] = "waiting", [WAIT_KIND_other] = "waiting", [WAIT_KIND_futex] = "waiting on a futex",
		[WAIT_KIND_read] = "waiting to read", [WAIT_KIND_write] = "waiting to write", [WAIT_KIND_poll] = "waiting in poll",
		[WAIT_KIND_epoll] = "waiting in epoll_wait", [WAIT_KIND_sleep] = "sleeping", [WAIT_KIND_child] = "waiting for a child",
		[WAIT_KIND_vfork] = "waiting for its vfork child to exec", [WAIT_KIND_fault] = "waiting in a page fault",
		[WAIT_KIND_block_io] = "waiting for block I/O", [WAIT_KIND_kernel_lock] = "waiting for a lock in the kernel",
		[WAIT_KIND_file_lock] = "waiting for a file lock", [WAIT_KIND_accept] = "waiting for connections",
		[WAIT_KIND_connect] = "connecting", [WAIT_KIND_signal] = "waiting for a signal",
		[WAIT_KIND_queue] = "waiting on a message queue", [WAIT_KIND_semaphore] = "waiting on a semaphore",
		[WAIT_KIND_fuse] = "waiting for a user-space file system", [WAIT_KIND_uring] = "waiting for io_uring",
		[WAIT_KIND_worker] = "idle", [WAIT_KIND_stop] = "stopped", [WAIT_KIND_exit] = "ended",
		[WAIT_KIND_splice] = "waiting in splice", [WAIT_KIND_sync] = "waiting for data to reach the disk",
		[WAIT_KIND_throttled] = "throttled", [WAIT_KIND_yield] = "yielding", [WAIT_KIND_ioctl] = "waiting in ioctl",
		[WAIT_KIND_open] = "waiting to open a file",
		[WAIT_KIND_supervised] = "waiting for a supervisor (seccomp) to answer its system call",
	};
	const char *what = wait->kind < sizeof(words) / sizeof(*words) && words[wait->kind] ? words[wait->kind] : "waiting";
	const char *object = wait->kind == WAIT_KIND_stop ? NULL : describe_object(d, is_polled_socket(wait) ? wait->detail : wait->object);
	enum kernel_place place = wait->kind == WAIT_KIND_open ? kernel_place_of_wait(d->names, d->scene->tables, wait) : KERNEL_PLACE_UNKNOWN;

	if (wait->kind == WAIT_KIND_open && place == KERNEL_PLACE_FIFO)
		return "waiting for a FIFO's other end to be opened";
	if (wait->kind == WAIT_KIND_open && place == KERNEL_PLACE_LEASE)
		return "waiting to open a file until a lease on it is given up";
	if (wait->kind == WAIT_KIND_supervised && object_kind(wait->object) == OBJECT_KIND_inotify)
		return "waiting until a listener (fanotify) lets it use a file";
	if (wait->kind == WAIT_KIND_supervised && object_kind(wait->object) == OBJECT_KIND_userfaultfd)
		return "waiting for a page that a program is to put there (userfaultfd)";
	if (wait->hint_kind == HINT_KIND_interpreter_lock)
		return "waiting for the interpreter's lock (GIL)";

	if (wait->kind == WAIT_KIND_futex && word_shared(d->ends, wait))
		return word_shared(d->ends, wait)->text[0] ? arena_printf(d->arena, "%s in %s", what, word_shared(d->ends, wait)->text)
							   : "waiting on a futex in shared memory without a name";
	/* of which nothing but its kind is known */
	if (object && strstr(what, object))
		object = NULL;
	return object ? arena_printf(d->arena, "%s on %s", what, object) : what;
}

const char *describe_source(const struct wait *wait)
{
	switch (wait->cause) {
	case WAKE_CAUSE_timeout: return "its own time limit";
	case WAKE_CAUSE_timer: return "a timer";
	case WAKE_CAUSE_network: return "a packet from outside";
	case WAKE_CAUSE_device: return "a device";
	case WAKE_CAUSE_block_io: return "block device I/O";
	case WAKE_CAUSE_rcu: return "the kernel's housekeeping";
	case WAKE_CAUSE_work: return "a kernel worker";
	default: return "an interrupt";
	}
}

const char *describe_packet(const struct describer *d, const struct wait *wait, uint32_t sender)
{
	struct actor who;

	if (!sender)
		return describe_source(wait);
	describe_thread(d, sender, wait->end_ns, &who);
	return arena_printf(d->arena, "a packet of %s on its way, lost and sent again or held back", answer_who(d->arena, &who));
}

bool describe_is_plumbing(const char *module)
{
	static const char *const modules[] = { "libc.so", "libc-", "libpthread", "ld-linux", "[vdso]", "kernel" };

	for (size_t i = 0; i < sizeof(modules) / sizeof(*modules); i++)
		if (!strncmp(module, modules[i], strlen(modules[i])))
			return true;
	return !module[0];
}

bool describe_is_start(const char *function)
{
	return strstr(function, "libc_start") || !strcmp(function, "_start");
}

const char *const *describe_stack(const struct describer *d, uint32_t ustack, uint32_t kstack)
{
	const char **frames = arena_array(d->arena, const char *, DIAGNOSIS_MAX_FRAMES + 1);
	uint32_t stacks[2] = { kstack, ustack };
	unsigned count = 0;

	if (!d->names)
		return frames;
	for (unsigned i = 0; i < 2; i++) {
		uint32_t node = stacks[i];
		unsigned limit = i ? DIAGNOSIS_MAX_FRAMES : 8;

		while (node && node < d->scene->tables->frame_count && count < limit) {
			const struct name *name = names_frame(d->names, node);

			frames[count++] = name->script && name->line
				? arena_printf(d->arena, "%s (%s:%" PRIu32 ")", name->text, name->module, name->line)
				: name->function[0] && name->module[0]
				? arena_printf(d->arena, "%s (%s)", name->text, name->module)
				: arena_strdup(d->arena, name->text);
			node = d->scene->tables->frames[node].parent;
		}
	}
	return frames;
}

/* Of the standard libraries of C++ and Rust, which are compiled into programs: "std::sync::...", "<core::... as ...>::next". */
static bool is_standard(const char *function)
{
	static const char *const names[] = { "std::", "core::", "alloc::" };

	function += strspn(function, "<&");
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strncmp(function, names[i], strlen(names[i])))
			return true;
	return false;
}

enum { WORTH_BARE = 1, WORTH_PLUMBING, WORTH_STANDARD, WORTH_PROGRAM, WORTH_ANY_SCRIPT, WORTH_SCRIPT };

/* How much a frame says of where a thread is: best is a function in the program's own script,
 * then any script's, then a named function of the program or its libraries, then the standard
 * library's own name for what was called, then the C library's, then a bare place. */
static unsigned worth_of(const struct name *name)
{
	if (name->script && name->function[0])
		return name->standard ? WORTH_ANY_SCRIPT : WORTH_SCRIPT;
	if (!name->module[0] || describe_is_start(name->function))
		return 0;
	if (!name->function[0])
		return WORTH_BARE;
	return describe_is_plumbing(name->module) ? WORTH_PLUMBING : is_standard(name->function) ? WORTH_STANDARD : WORTH_PROGRAM;
}

static bool has_scripts(const struct describer *d)
{
	for (uint32_t i = 1; i < d->scene->tables->module_count; i++)
		if (d->scene->tables->modules[i].kind == MODULE_KIND_script)
			return true;
	return false;
}

/* 2: of the program's own script, 1: of one that comes with the interpreter. */
static unsigned script_named(const struct tables *tables, const char *module, size_t length)
{
	unsigned found = 0;

	for (uint32_t i = 1; i < tables->module_count && found < 2 && length; i++) {
		const struct module *m = &tables->modules[i];
		const char *slash = m->kind == MODULE_KIND_script ? strrchr(m->path, '/') : NULL, *file = slash ? slash + 1 : m->path;

		if (m->kind == MODULE_KIND_script && strlen(file) == length && !memcmp(file, module, length))
			found = names_script_is_standard(m->path) ? 1 : 2;
	}
	return found;
}

/* The same of a frame, which ends with " (MODULE)" or " (MODULE:LINE)". */
static unsigned script_of(const struct tables *tables, const char *frame)
{
	const char *open = strrchr(frame, '(');

	return open ? script_named(tables, open + 1, strcspn(open + 1, ":)")) : 0;
}

unsigned describe_script(const struct describer *d, const char *const *frames)
{
	unsigned first = 0;

	if (!has_scripts(d))
		return 0;
	for (unsigned i = 0; frames[i]; i++) {
		unsigned script = script_of(d->scene->tables, frames[i]);

		if (script == 2)
			return i + 1;
		if (script && !first)
			first = i + 1;
	}
	return first;
}

void describe_place(const struct describer *d, uint32_t ustack, struct actor *actor)
{
	const struct name *best = NULL, *bare = NULL;
	unsigned best_worth = 0, enough = has_scripts(d) ? WORTH_SCRIPT : WORTH_PROGRAM;

	if (!d->names)
		return;
	for (uint32_t node = ustack; node && node < d->scene->tables->frame_count && best_worth < enough;
	     node = d->scene->tables->frames[node].parent) {
		const struct name *name = names_frame(d->names, node);
		unsigned worth = worth_of(name);

		if (worth == WORTH_BARE && !bare)
			bare = name;
		if (worth > best_worth) {
			best = name;
			best_worth = worth;
		}
	}
	if (!best)
		return;
	actor->function = arena_strdup(d->arena, best->text);
	actor->module = best->module[0] ? arena_strdup(d->arena, best->module) : NULL;
	if (best->script && best->line) {
		actor->file = arena_strdup(d->arena, best->file);
		actor->line = best->line;
	}
	if (bare && best_worth >= WORTH_STANDARD && best_worth <= WORTH_PROGRAM)
		actor->inner = arena_strdup(d->arena, bare->text);
}

/* The innermost function of the program's own script around that place, else of any; NULL none. */
static const struct busy_frame *busy_script(const struct describer *d, const struct busy *busy)
{
	const struct busy_frame *found = NULL;
	unsigned best = 0;

	for (unsigned i = busy->look_at + 1; i-- > 0 && best < 2 && has_scripts(d); ) {
		const struct busy_frame *f = &busy->path[i];
		unsigned script = f->function[0] ? script_named(d->scene->tables, f->module, strlen(f->module)) : 0;

		if (script > best) {
			best = script;
			found = f;
		}
	}
	return found;
}

/* The innermost function that holds half of the time, or the script's that led there, or who
 * called it there when it is the kernel's or the C library's. Where that has no name, the nearest around
 * it of the same module that has one, else the nearest of any; the place itself is
 * told beside it. */
void describe_busy(const struct describer *d, uint64_t from_ns, uint64_t to_ns, struct actor *actor)
{
	const struct busy_frame *best, *look_at;
	struct busy busy = { 0 };
	const char *file;
	uint32_t node, line;

	if (d->busies)
		busy_find(d->arena, d->busies, actor->thread, from_ns, to_ns, BUSY_VERDICT, &busy);
	if (!busy.depth)
		return;
	look_at = &busy.path[busy.look_at];
	best = busy_script(d, &busy);
	if (!best)
		best = look_at;
	for (int any = 0; any < 2 && !best->function[0]; any++)
		for (unsigned i = busy.look_at; i-- > 0 && i + NEAR_FRAMES >= busy.look_at && !best->function[0]; ) {
			const struct busy_frame *f = &busy.path[i];

			if (strcmp(f->module, look_at->module) && !any)
				break;
			if (f->function[0] && (!any || (!describe_is_plumbing(f->module) && !describe_is_start(f->function))))
				best = f;
		}
	actor->function = arena_strdup(d->arena, best->text);
	actor->module = best->module[0] ? arena_strdup(d->arena, best->module) : NULL;
	if (best != &busy.path[busy.hot])
		actor->inner = arena_strdup(d->arena, busy.path[busy.hot].text);
	actor->share = (uint8_t)busy_share_of(d->scene, d->names, actor->thread, from_ns, to_ns, best, &node);
	if (node && names_source(d->names, node, &file, &line)) {
		actor->file = arena_strdup(d->arena, file);
		actor->line = line;
	}
}

const char *describe_time(struct arena *arena, uint64_t ns)
{
	if (ns >= 1000000000)
		return arena_printf(arena, "%" PRIu64 ".%03" PRIu64 " s", ns / 1000000000, ns / 1000000 % 1000);
	if (ns >= 1000000)
		return arena_printf(arena, "%" PRIu64 ".%01" PRIu64 " ms", ns / 1000000, ns / 100000 % 10);
	return arena_printf(arena, "%" PRIu64 " us", ns / 1000);
}
