/* A part of a trace in names, see view.h. */
#include "path/view.h"

#include <ctype.h>
#include <string.h>

#include "path/lock_names.h"
#include "symbols/demangle.h"
#include "trace/names.h"

#define STACKS_TRIED 16
#define FRAMES_MOST 512

void view_init(struct view *view, const struct scene *scene, struct diagnoser *diagnoser, struct names *names, struct texts *texts,
	       struct lock_names *lock_names)
{
	*view = (struct view){ .scene = scene, .names = names, .texts = texts, .lock_names = lock_names };
	arena_init(&view->arena);
	view->describer = (struct describer){ .arena = &view->arena, .scene = scene, .ends = diagnoser_ends(diagnoser), .names = names };
	view->roles = mem_zalloc(arena_array_bytes(sizeof(*view->roles), scene->thread_count));
	view->has_role = mem_zalloc(arena_array_bytes(sizeof(*view->has_role), scene->thread_count));
	view->starts = mem_zalloc(arena_array_bytes(sizeof(*view->starts), scene->thread_count));
	map_init(&view->stacks);
	map_init(&view->functions);
	map_init(&view->locks);
	map_init(&view->wait_words);
}

void view_done(struct view *view)
{
	free(view->roles);
	free(view->has_role);
	free(view->starts);
	map_done(&view->stacks);
	map_done(&view->functions);
	map_done(&view->locks);
	map_done(&view->wait_words);
	vec_done(&view->stack_list);
	arena_done(&view->arena);
}

/* ---- stacks ---- */

static bool is_frame(const struct view *view, uint32_t node)
{
	return node && node < view->scene->tables->frame_count;
}

static uint32_t parent_of(const struct view *view, uint32_t node)
{
	return view->scene->tables->frames[node].parent;
}

uint32_t view_function(struct view *view, uint32_t node)
{
	bool fresh = false;
	uint64_t *text;
	const struct name *name;

	if (!view->names || !is_frame(view, node))
		return 0;
	text = map_at(&view->functions, node, &fresh);
	if (!fresh)
		return (uint32_t)*text;
	name = names_frame(view->names, node);
	*text = name->function[0] ? texts_add(view->texts, demangle_brief(&view->arena, name->text)) : 0;
	return (uint32_t)*text;
}

static bool is_runtime(const struct view *view, uint32_t node)
{
	const struct name *name = names_frame(view->names, node);

	return describe_is_plumbing(name->module) || describe_is_start(name->function);
}

struct stack_view view_stack(struct view *view, uint32_t stack)
{
	struct stack_view found = { 0 };
	uint32_t unnamed = 0;
	bool fresh = false;
	uint64_t *number;

	if (!view->names || !is_frame(view, stack))
		return found;
	number = map_at(&view->stacks, stack, &fresh);
	if (!fresh)
		return view->stack_list.items[*number - 1];
	*number = view->stack_list.length + 1;
	for (uint32_t node = stack; is_frame(view, node) && !found.function; node = parent_of(view, node)) {
		uint32_t function = view_function(view, node);

		if (!is_runtime(view, node)) {
			found.function = function;
			unnamed = unnamed ? unnamed : node;
		} else if (!unnamed && function) {
			found.called = function;
		}
	}
	if (!found.function && unnamed)
		found.function = texts_add(view->texts, names_frame(view->names, unnamed)->text);
	vec_push(&view->stack_list, found);
	return found;
}

bool view_is_on_stack(struct view *view, uint32_t stack, uint32_t function)
{
	for (uint32_t node = stack; function && is_frame(view, node); node = parent_of(view, node))
		if (view_function(view, node) == function)
			return true;
	return false;
}

uint32_t view_between(struct view *view, uint32_t before, uint32_t behind)
{
	const struct frame *frames = view->scene->tables->frames;

	if (!view->names || !is_frame(view, before) || !is_frame(view, behind))
		return 0;
	while (before != behind && before && behind) {
		if (frames[before].depth >= frames[behind].depth)
			before = frames[before].parent;
		else
			behind = frames[behind].parent;
	}
	if (before != behind)
		return 0;
	for (; is_frame(view, before); before = frames[before].parent)
		if (!is_runtime(view, before) && view_function(view, before))
			return view_function(view, before);
	return 0;
}

/* ---- roles ---- */

/* The function that a thread was started with, as the outermost of a whole stack tells. */
static uint32_t start_by(struct view *view, uint32_t stack)
{
	uint32_t start = 0;

	for (uint32_t node = stack; is_frame(view, node); node = parent_of(view, node)) {
		if (view->scene->tables->frames[node].status)
			return 0;
		if (!is_runtime(view, node))
			start = view_function(view, node);
	}
	return start;
}

static uint32_t start_of(struct view *view, uint32_t thread)
{
	const struct scene_thread *t = &view->scene->threads[thread];
	uint32_t start = 0;

	for (uint32_t i = 0; view->names && !start && i < t->wait_count && i < STACKS_TRIED; i++)
		start = start_by(view, view->scene->waits[t->wait + i].ustack);
	for (uint32_t i = 0; view->names && !start && i < t->samples.count && i < STACKS_TRIED; i++)
		start = start_by(view, view->scene->samples[t->samples.items[i]].ustack);
	return start;
}

/* A name of one of many: "worker-12" is "worker-N". */
static const char *without_number(struct view *view, const char *name)
{
	size_t length = strlen(name), kept = length;

	while (kept && isdigit((unsigned char)name[kept - 1]))
		kept--;
	return kept && kept < length ? arena_printf(&view->arena, "%.*sN", (int)kept, name) : name;
}

struct role_name view_role(struct view *view, uint32_t thread)
{
	const struct tables *tables = view->scene->tables;
	const struct thread *t = &tables->threads[thread];
	struct role_name *role = &view->roles[thread];
	uint32_t leader, start;

	if (view->has_role[thread])
		return *role;
	view->has_role[thread] = true;
	leader = t->tid == t->pid ? thread : tables_process(tables, t->pid, t->start_ns ? t->start_ns : view->scene->start_ns);
	role->program = texts_add(view->texts, tables->threads[leader ? leader : thread].comm);
	if (leader == thread || !leader) {
		role->thread = role->program;
		return *role;
	}
	start = !strcmp(t->comm, tables->threads[leader].comm) ? start_of(view, thread) : 0;
	view->starts[thread] = start;
	role->thread = start ? start : texts_add(view->texts, !strcmp(t->comm, tables->threads[leader].comm)
						 ? "a thread" : without_number(view, t->comm));
	return *role;
}

/* ---- waits ---- */

static bool has(const char *name, const char *part)
{
	return strstr(name, part) != NULL;
}

enum wait_class view_wait_class(struct view *view, const struct wait *wait)
{
	static const struct {
		const char *part;
		enum wait_class class;
	} calls[] = {
		{ "cond_", WAIT_CLASS_condition }, { "cnd_", WAIT_CLASS_condition }, { "mutex_", WAIT_CLASS_lock },
		{ "mtx_", WAIT_CLASS_lock }, { "lll_lock", WAIT_CLASS_lock }, { "rwlock", WAIT_CLASS_lock }, { "join", WAIT_CLASS_end },
		{ "barrier", WAIT_CLASS_barrier }, { "sem_", WAIT_CLASS_semaphore },
	};
	const char *called;

	if (wait->kind != WAIT_KIND_futex)
		return wait->kind == WAIT_KIND_file_lock ? WAIT_CLASS_lock : WAIT_CLASS_other;
	called = texts_get(view->texts, view_stack(view, wait->ustack).called);
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		if (has(called, calls[i].part))
			return calls[i].class;
	switch (wait->hint_kind) {
	case HINT_KIND_mutex_owner:
	case HINT_KIND_pi_owner:
	case HINT_KIND_rwlock_writer:
		return WAIT_CLASS_lock;
	case HINT_KIND_thread_exit:
		return WAIT_CLASS_end;
	default:
		return WAIT_CLASS_other;
	}
}

bool view_is_shared_lock(struct view *view, const struct wait *wait)
{
	return strstr(texts_get(view->texts, view_stack(view, wait->ustack).called), "rwlock") || wait->hint_kind == HINT_KIND_rwlock_writer;
}

/* Of a read-write lock, which is waited for at one of its inner words, the begin. */
static uint64_t lock_address(struct view *view, const struct wait *wait)
{
	return view_is_shared_lock(view, wait) ? (wait->detail & ~UINT64_C(7)) - 8 : wait->detail;
}

uint32_t view_lock(struct view *view, const struct wait *wait)
{
	bool fresh = false;
	uint64_t *text = map_at(&view->locks, wait->object, &fresh);
	const char *name = NULL;
	uint32_t function;

	if (!fresh)
		return (uint32_t)*text;
	if (wait->kind == WAIT_KIND_futex)
		name = lock_names_find(view->lock_names, &view->arena, scene_pid(view->scene, wait->thread), lock_address(view, wait));
	else
		name = describe_object(&view->describer, wait->object);
	function = view_stack(view, wait->ustack).function;
	if (!name && function)
		name = arena_printf(&view->arena, "a lock taken in %s", texts_get(view->texts, function));
	*text = texts_add(view->texts, name ? name : "a lock");
	return (uint32_t)*text;
}

/* Sockets' and pipes' own numbers and far ports differ from link to link. */
static const char *object_words(struct view *view, uint64_t object)
{
	switch (object_kind(object)) {
	case OBJECT_KIND_none: return NULL;
	case OBJECT_KIND_pipe: return "a pipe";
	case OBJECT_KIND_tcp: return "a TCP socket";
	case OBJECT_KIND_udp: return "a UDP socket";
	case OBJECT_KIND_unix_stream:
	case OBJECT_KIND_unix_dgram:
	case OBJECT_KIND_unix_seqpacket: return "a Unix socket";
	case OBJECT_KIND_eventfd: return "an eventfd";
	case OBJECT_KIND_timerfd: return "a timer";
	case OBJECT_KIND_signalfd: return "a signalfd";
	case OBJECT_KIND_pidfd: return "a process";
	case OBJECT_KIND_tty: return "the terminal";
	case OBJECT_KIND_netlink: return "a netlink socket";
	default: return describe_object(&view->describer, object);
	}
}

static const char *call_name(const struct wait *wait)
{
	const char *name = syscall_name(wait->syscall);

	return name && name[0] && wait->syscall != 0xffff ? name : NULL;
}

static const char *what_words(struct view *view, const struct wait *wait)
{
	const char *object = object_words(view, wait->object), *call = call_name(wait);
	struct arena *arena = &view->arena;

	switch (view_wait_class(view, wait)) {
	case WAIT_CLASS_other: break;
	case WAIT_CLASS_lock: return texts_get(view->texts, view_lock(view, wait));
	case WAIT_CLASS_condition: return "condition";
	case WAIT_CLASS_end: return "end of a thread";
	case WAIT_CLASS_barrier: return "barrier";
	case WAIT_CLASS_semaphore: return "semaphore";
	}
	switch (wait->kind) {
	case WAIT_KIND_read: return arena_printf(arena, "%s%s%s", call ? call : "read", object ? " from " : "", object ? object : "");
	case WAIT_KIND_write: return arena_printf(arena, "%s%s%s", call ? call : "write", object ? " to " : "", object ? object : "");
	case WAIT_KIND_accept: return "accept of a connection";
	case WAIT_KIND_poll: return "poll";
	case WAIT_KIND_epoll: return "epoll_wait";
	case WAIT_KIND_sync: return call ? call : "sync to disk";
	case WAIT_KIND_block_io:
		if (call && strstr(call, "sync"))
			return call;
		return call ? arena_printf(arena, "block I/O in %s", call) : "block I/O";
	case WAIT_KIND_fault: return "page fault";
	case WAIT_KIND_futex: return "futex";
	case WAIT_KIND_child: return "end of a child";
	case WAIT_KIND_sleep: return "sleeping";
	case WAIT_KIND_kernel_lock: return call ? arena_printf(arena, "lock in the kernel (%s)", call) : "lock in the kernel";
	case WAIT_KIND_stop: return "stopped";
	case WAIT_KIND_other: return call ? call : "waiting";
	default: return describe_wait(&view->describer, wait);
	}
}

uint32_t view_what(struct view *view, const struct wait *wait)
{
	uint64_t key = hash_u64(wait->object ^ (uint64_t)wait->kind << 32 ^ (uint64_t)wait->syscall << 40) + view_stack(view, wait->ustack).called;
	bool fresh = false;
	uint64_t *text = map_at(&view->wait_words, key, &fresh);

	if (!fresh)
		return (uint32_t)*text;
	/* Making the words may use the map of locks, never this one. */
	*text = texts_add(view->texts, what_words(view, wait));
	return (uint32_t)*text;
}
