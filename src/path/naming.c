/* A part of a trace in names, see naming.h. */
#include "path/naming.h"

#include <ctype.h>
#include <string.h>

#include "path/lock_names.h"
#include "symbols/demangle.h"
#include "trace/names.h"

#define STACKS_TRIED 16
#define FRAMES_MOST 512

static void find_interpreters(struct naming *naming);

void naming_init(struct naming *naming, const struct scene *scene, struct diagnoser *diagnoser, struct names *names, struct texts *texts,
	       struct lock_names *lock_names)
{
	*naming = (struct naming){ .scene = scene, .names = names, .texts = texts, .lock_names = lock_names };
	arena_init(&naming->arena);
	naming->describer = (struct describer){ .arena = &naming->arena, .scene = scene, .ends = diagnoser_ends(diagnoser), .names = names };
	naming->roles = mem_zalloc(arena_array_bytes(sizeof(*naming->roles), scene->thread_count));
	naming->has_role = mem_zalloc(arena_array_bytes(sizeof(*naming->has_role), scene->thread_count));
	naming->near = mem_zalloc(arena_array_bytes(sizeof(*naming->near), scene->thread_count));
	naming->no_locks = mem_zalloc(arena_array_bytes(sizeof(*naming->no_locks), scene->thread_count));
	naming->near_runs = mem_zalloc(arena_array_bytes(sizeof(*naming->near_runs), (size_t)scene->cpu_count + 1));
	naming->starts = mem_zalloc(arena_array_bytes(sizeof(*naming->starts), scene->thread_count));
	naming->scripted = mem_zalloc(arena_array_bytes(sizeof(*naming->scripted), scene->tables->frame_count + 1));
	naming->interpreters = mem_zalloc(arena_array_bytes(sizeof(*naming->interpreters), scene->tables->module_count + 1));
	naming->stacks = mem_zalloc(arena_array_bytes(sizeof(*naming->stacks), scene->tables->frame_count + 1));
	naming->functions = mem_zalloc(arena_array_bytes(sizeof(*naming->functions), scene->tables->frame_count + 1));
	naming->runtime = mem_zalloc(arena_array_bytes(sizeof(*naming->runtime), scene->tables->frame_count + 1));
	map_init(&naming->between);
	map_init(&naming->made_starts);
	map_init(&naming->locks);
	map_init(&naming->wait_words);
	if (names)
		find_interpreters(naming);
}

void naming_anew(struct naming *naming, struct texts *texts)
{
	struct map *maps[] = { &naming->between, &naming->locks, &naming->wait_words, &naming->made_starts };
	size_t frames = naming->scene->tables->frame_count + 1;

	naming->texts = texts;
	for (size_t i = 0; i < sizeof(maps) / sizeof(*maps); i++)
		map_clear(maps[i]);
	memset(naming->has_role, 0, naming->scene->thread_count * sizeof(*naming->has_role));
	memset(naming->stacks, 0, frames * sizeof(*naming->stacks));
	memset(naming->functions, 0, frames * sizeof(*naming->functions));
	memset(naming->doing_words, 0, sizeof(naming->doing_words));
	naming->made_known = false;
	vec_clear(&naming->stack_list);
}

void naming_done(struct naming *naming)
{
	free(naming->roles);
	free(naming->has_role);
	free(naming->near);
	free(naming->near_runs);
	free(naming->no_locks);
	map_done(&naming->made_starts);
	free(naming->starts);
	free(naming->scripted);
	free(naming->interpreters);
	free(naming->stacks);
	free(naming->functions);
	free(naming->runtime);
	map_done(&naming->between);
	map_done(&naming->locks);
	map_done(&naming->wait_words);
	vec_done(&naming->stack_list);
	arena_done(&naming->arena);
}

/* ---- stacks ---- */

static bool is_frame(const struct naming *naming, uint32_t node)
{
	return node && node < naming->scene->tables->frame_count;
}

static uint32_t parent_of(const struct naming *naming, uint32_t node)
{
	return naming->scene->tables->frames[node].parent;
}

uint32_t naming_function(struct naming *naming, uint32_t node)
{
	const struct name *name;
	uint32_t text;

	if (!naming->names || !is_frame(naming, node))
		return 0;
	if (naming->functions[node])
		return naming->functions[node] - 1;
	name = names_frame(naming->names, node);
	text = name->function[0] ? texts_add(naming->texts, demangle_brief(&naming->arena, name->text)) : 0;
	naming->functions[node] = text + 1;
	return text;
}

enum scripted { SCRIPTED_UNKNOWN, SCRIPTED_NO, SCRIPTED_YES };

static uint32_t module_of(const struct naming *naming, uint32_t node)
{
	uint32_t module = naming->scene->tables->frames[node].module;

	return module < naming->scene->tables->module_count ? module : 0;
}

static bool is_script(const struct naming *naming, uint32_t node)
{
	return naming->scene->tables->modules[module_of(naming, node)].kind == MODULE_KIND_script;
}

/* What calls a script's function runs scripts. */
static void find_interpreters(struct naming *naming)
{
	const struct tables *tables = naming->scene->tables;

	for (uint32_t node = 1; node < tables->frame_count; node++) {
		uint32_t parent = tables->frames[node].parent;

		if (is_script(naming, node) && is_frame(naming, parent) && !is_script(naming, parent))
			naming->interpreters[module_of(naming, parent)] = true;
	}
}

/* True when a function of the program's own script is on the stack, from the node outwards. */
static bool is_scripted(struct naming *naming, uint32_t stack)
{
	uint8_t found = SCRIPTED_NO;
	uint32_t end = stack;

	for (; is_frame(naming, end); end = parent_of(naming, end)) {
		if (naming->scripted[end] != SCRIPTED_UNKNOWN) {
			found = naming->scripted[end];
			break;
		}
		if (is_script(naming, end) && !names_frame(naming->names, end)->standard) {
			found = naming->scripted[end] = SCRIPTED_YES;
			break;
		}
	}
	for (uint32_t node = stack; node != end; node = parent_of(naming, node))
		naming->scripted[node] = found;
	return found == SCRIPTED_YES;
}

static bool find_runtime(struct naming *naming, uint32_t node)
{
	const struct name *name = names_frame(naming->names, node);

	if (is_script(naming, node) ? name->standard : naming->interpreters[module_of(naming, node)])
		return is_scripted(naming, node);
	return !is_script(naming, node) && (describe_is_plumbing(name->module) || describe_is_start(name->function));
}

bool naming_is_runtime(struct naming *naming, uint32_t node)
{
	if (!naming->runtime[node])
		naming->runtime[node] = find_runtime(naming, node) + 1;
	return naming->runtime[node] == 2;
}

/* What is waited for, as the C library's function tells that is called for it. */
static enum wait_class class_of_call(const char *called)
{
	static const struct {
		const char *part;
		enum wait_class class;
	} calls[] = {
		{ "cond_", WAIT_CLASS_condition }, { "cnd_", WAIT_CLASS_condition }, { "mutex_", WAIT_CLASS_lock },
		{ "mtx_", WAIT_CLASS_lock }, { "lll_lock", WAIT_CLASS_lock }, { "rwlock", WAIT_CLASS_lock }, { "join", WAIT_CLASS_end },
		{ "barrier", WAIT_CLASS_barrier }, { "sem_", WAIT_CLASS_semaphore },
	};

	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		if (strstr(called, calls[i].part))
			return calls[i].class;
	return WAIT_CLASS_other;
}

static bool is_made_at_run_time(const struct naming *naming, uint32_t node)
{
	uint32_t kind = naming->scene->tables->modules[module_of(naming, node)].kind;

	return kind == MODULE_KIND_jit || kind == MODULE_KIND_anonymous;
}

struct stack_names naming_stack(struct naming *naming, uint32_t stack)
{
	struct stack_names found = { 0 };
	uint32_t unnamed = 0;

	if (!naming->names || !is_frame(naming, stack))
		return found;
	if (naming->stacks[stack])
		return naming->stack_list.items[naming->stacks[stack] - 1];
	naming->stacks[stack] = (uint32_t)naming->stack_list.length + 1;
	for (uint32_t node = stack; is_frame(naming, node) && !found.function; node = parent_of(naming, node)) {
		uint32_t function = naming_function(naming, node);

		if (!naming_is_runtime(naming, node)) {
			found.function = function;
			unnamed = unnamed ? unnamed : node;
		} else if (!unnamed && function) {
			found.called = function;
		}
	}
	if (!found.function && unnamed)
		/* An address in code made at run time is another one in the next run, or where it is made anew. */
		found.function = texts_add(naming->texts, is_made_at_run_time(naming, unnamed) ? "code made at run time"
											 : names_frame(naming->names, unnamed)->text);
	found.class = (uint8_t)class_of_call(texts_get(naming->texts, found.called));
	found.read_write = strstr(texts_get(naming->texts, found.called), "rwlock");
	vec_push(&naming->stack_list, found);
	return found;
}

bool naming_is_on_stack(struct naming *naming, uint32_t stack, uint32_t function)
{
	for (uint32_t node = stack; function && is_frame(naming, node); node = parent_of(naming, node))
		if (naming_function(naming, node) == function)
			return true;
	return false;
}

/* No thread begins in code made at run time. */
bool naming_is_cut(const struct naming *naming, uint32_t stack)
{
	uint32_t outermost = 0;

	for (uint32_t node = stack; is_frame(naming, node); node = parent_of(naming, node))
		outermost = node;
	return outermost && (naming->scene->tables->frames[outermost].status || is_made_at_run_time(naming, outermost));
}

static uint32_t find_between(struct naming *naming, uint32_t before, uint32_t behind)
{
	const struct frame *frames = naming->scene->tables->frames;

	while (before != behind && before && behind) {
		if (frames[before].depth >= frames[behind].depth)
			before = frames[before].parent;
		else
			behind = frames[behind].parent;
	}
	if (before != behind)
		return 0;
	for (; is_frame(naming, before); before = frames[before].parent)
		if (!naming_is_runtime(naming, before) && naming_function(naming, before))
			return naming_function(naming, before);
	return 0;
}

uint32_t naming_between(struct naming *naming, uint32_t before, uint32_t behind)
{
	bool fresh = false;
	uint64_t *text;

	if (!naming->names || !is_frame(naming, before) || !is_frame(naming, behind))
		return 0;
	text = map_at(&naming->between, (uint64_t)before << 32 | behind, &fresh);
	if (fresh)
		*text = find_between(naming, before, behind);
	return (uint32_t)*text;
}

/* ---- roles ---- */

/* The function that a thread was started with, as the outermost of a whole stack tells. */
static uint32_t start_by(struct naming *naming, uint32_t stack)
{
	uint32_t start = 0;

	for (uint32_t node = stack; is_frame(naming, node); node = parent_of(naming, node)) {
		if (naming->scene->tables->frames[node].status)
			return 0;
		if (!naming_is_runtime(naming, node))
			start = naming_function(naming, node);
	}
	return start;
}

static uint32_t start_of(struct naming *naming, uint32_t thread)
{
	const struct scene_thread *t = &naming->scene->threads[thread];
	uint32_t start = 0;

	scene_need_waits(naming->scene, thread);
	for (uint32_t i = 0; naming->names && !start && i < t->wait_count && i < STACKS_TRIED; i++)
		start = start_by(naming, naming->scene->waits[t->wait + i].ustack);
	for (uint32_t i = 0; naming->names && !start && i < t->samples.count && i < STACKS_TRIED; i++)
		start = start_by(naming, naming->scene->samples[t->samples.items[i]].ustack);
	return start;
}

/* With what function threads start that are made at each place. */
static void find_made(struct naming *naming)
{
	const struct scene *scene = naming->scene;

	naming->made_known = true;
	for (uint32_t i = 1; i < scene->thread_count; i++) {
		uint32_t made = scene->threads[i].fork_stack;
		uint32_t start = made && scene->tables->threads[i].tid != scene->tables->threads[i].pid ? start_of(naming, i) : 0;
		bool fresh = false;
		uint64_t *known = start ? map_at(&naming->made_starts, made, &fresh) : NULL;

		if (known)
			*known = fresh || *known == start ? start : 0;
	}
}

/* A thread that was over before any stack was taken of it was started with what others were that were made at the same
 * place, if that is one function. */
static uint32_t start_of_made(struct naming *naming, uint32_t thread)
{
	uint32_t made = naming->scene->threads[thread].fork_stack;
	const uint64_t *start;

	if (!naming->names)
		return 0;
	if (!naming->made_known)
		find_made(naming);
	start = made ? map_find(&naming->made_starts, made) : NULL;
	return start ? (uint32_t)*start : 0;
}

/* A name of one of many: "worker-12" is "worker-N". */
static const char *without_number(struct naming *naming, const char *name)
{
	size_t length = strlen(name), kept = length;

	while (kept && isdigit((unsigned char)name[kept - 1]))
		kept--;
	return kept && kept < length ? arena_printf(&naming->arena, "%.*sN", (int)kept, name) : name;
}

struct role_name naming_role(struct naming *naming, uint32_t thread)
{
	const struct tables *tables = naming->scene->tables;
	const struct thread *t = &tables->threads[thread];
	struct role_name *role = &naming->roles[thread];
	uint32_t leader, start;

	if (naming->has_role[thread])
		return *role;
	naming->has_role[thread] = true;
	leader = t->tid == t->pid ? thread : tables_process(tables, t->pid, t->start_ns ? t->start_ns : naming->scene->start_ns);
	role->program = texts_add(naming->texts, tables->threads[leader ? leader : thread].comm);
	if (leader == thread || !leader) {
		role->thread = role->program;
		return *role;
	}
	start = !strcmp(t->comm, tables->threads[leader].comm) ? start_of(naming, thread) : 0;
	if (!start && !strcmp(t->comm, tables->threads[leader].comm))
		start = start_of_made(naming, thread);
	naming->starts[thread] = start;
	role->thread = start ? start : texts_add(naming->texts, !strcmp(t->comm, tables->threads[leader].comm)
						 ? "a thread" : without_number(naming, t->comm));
	return *role;
}

/* ---- what is done ---- */

static const char *doing_words(uint8_t doing)
{
	switch ((enum link_class)doing) {
	case CLASS_RUN: return "computing";
	case CLASS_QUEUED: return "waiting for a processor";
	case CLASS_THROTTLED: return "throttled: its group's quota is used up";
	case CLASS_WAIT: return "waiting";
	case CLASS_STOPPED: return "stopped";
	case CLASS_UNKNOWN:
	case CLASS_CLASSES: break;
	}
	return "not known";
}

uint32_t naming_doing(struct naming *naming, uint8_t doing)
{
	if (!naming->doing_words[doing])
		naming->doing_words[doing] = texts_add(naming->texts, doing_words(doing));
	return naming->doing_words[doing];
}

/* ---- waits ---- */

enum wait_class naming_wait_class(struct naming *naming, const struct wait *wait)
{
	enum wait_class called;

	if (wait->kind != WAIT_KIND_futex)
		return wait->kind == WAIT_KIND_file_lock ? WAIT_CLASS_lock : WAIT_CLASS_other;
	/* made of a condition and what it protects */
	if (wait->hint_kind == HINT_KIND_interpreter_lock)
		return WAIT_CLASS_lock;
	called = (enum wait_class)naming_stack(naming, wait->ustack).class;
	if (called != WAIT_CLASS_other)
		return called;
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

bool naming_is_shared_lock(struct naming *naming, const struct wait *wait)
{
	return naming_stack(naming, wait->ustack).read_write || wait->hint_kind == HINT_KIND_rwlock_writer;
}

/* Of a read-write lock, which is waited for at one of its inner words, the begin. */
static uint64_t lock_address(struct naming *naming, const struct wait *wait)
{
	return naming_is_shared_lock(naming, wait) ? (wait->detail & ~UINT64_C(7)) - 8 : wait->detail;
}

uint32_t naming_lock(struct naming *naming, const struct wait *wait)
{
	bool fresh = false;
	uint64_t *text = map_at(&naming->locks, wait->object, &fresh);
	const char *name = NULL;
	uint32_t function;

	if (!fresh)
		return (uint32_t)*text;
	if (wait->hint_kind == HINT_KIND_interpreter_lock)
		name = "the interpreter's lock";
	else if (wait->kind == WAIT_KIND_futex)
		name = lock_names_find(naming->lock_names, &naming->arena, scene_pid(naming->scene, wait->thread), lock_address(naming, wait));
	else
		name = describe_object(&naming->describer, wait->object);
	function = naming_stack(naming, wait->ustack).function;
	if (!name && function)
		name = arena_printf(&naming->arena, "a lock taken in %s", texts_get(naming->texts, function));
	*text = texts_add(naming->texts, name ? name : "a lock");
	return (uint32_t)*text;
}

/* Sockets' and pipes' own numbers and far ports differ from link to link. */
static const char *object_words(struct naming *naming, uint64_t object)
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
	default: return describe_object(&naming->describer, object);
	}
}

static const char *call_name(const struct wait *wait)
{
	const char *name = syscall_name(wait->syscall);

	return name && name[0] && wait->syscall != 0xffff ? name : NULL;
}

static const char *what_words(struct naming *naming, const struct wait *wait)
{
	const char *object = object_words(naming, wait->object), *call = call_name(wait);
	struct arena *arena = &naming->arena;

	switch (naming_wait_class(naming, wait)) {
	case WAIT_CLASS_other: break;
	case WAIT_CLASS_lock: return texts_get(naming->texts, naming_lock(naming, wait));
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
	default: return describe_wait(&naming->describer, wait);
	}
}

uint32_t naming_what(struct naming *naming, const struct wait *wait)
{
	uint64_t key = hash_u64(wait->object ^ (uint64_t)wait->kind << 32 ^ (uint64_t)wait->syscall << 40) + naming_stack(naming, wait->ustack).called;
	bool fresh = false;
	uint64_t *text = map_at(&naming->wait_words, key, &fresh);

	if (!fresh)
		return (uint32_t)*text;
	/* Making the words may use the map of locks, never this one. */
	*text = texts_add(naming->texts, what_words(naming, wait));
	return (uint32_t)*text;
}
