/* See layouts.h. */
#ifdef HAVE_BPF
#include "record/layouts.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/search.h"

void layouts_attach(struct layouts *layouts, struct unwind_maps *maps, int processes_fd)
{
	layouts->maps = layouts->modules->maps = maps;
	layouts->processes_fd = processes_fd;
}

void layouts_init(struct layouts *layouts, struct modules *modules)
{
	*layouts = (struct layouts){ .modules = modules, .processes_fd = -1 };
	pthread_mutexattr_t inherit;
	/* the agent is of real-time priority and must not wait for the middling */
	pthread_mutexattr_init(&inherit);
	pthread_mutexattr_setprotocol(&inherit, PTHREAD_PRIO_INHERIT);
	pthread_mutex_init(&layouts->lock, &inherit);
	pthread_mutexattr_destroy(&inherit);
}

static void layout_free(struct layouts *layouts, struct layout *layout)
{
	for (uint32_t i = 0; i < layout->count; i++)
		modules_release(layouts->modules, layout->mappings[i].module);
	free(layout->mappings);
	free(layout);
}

void layouts_done(struct layouts *layouts)
{
	size_t at = 0;
	for (const struct map_slot *slot; (slot = map_next(&layouts->list, &at));)
		layout_free(layouts, (struct layout *)(uintptr_t)slot->value);
	map_done(&layouts->list);
	vec_done(&layouts->left);
	for (int i = 0; i < 16; i++)
		vec_done(&layouts->free_rooms[i]);
	map_done(&layouts->by_process);
}

const struct layout *layout_of(const struct layouts *layouts, uint32_t number)
{
	const uint64_t *layout = map_find(&layouts->list, number);
	return layout ? (const struct layout *)(uintptr_t)*layout : NULL;
}

const struct layout *layout_of_process(const struct layouts *layouts, pid_t pid)
{
	const uint64_t *number = map_find(&layouts->by_process, (uint64_t)pid);
	return number ? layout_of(layouts, (uint32_t)*number) : NULL;
}

const struct layout_mapping *layout_find(const struct layout *layout, uint64_t address)
{
	uint32_t low = 0, high = layout->count;
	SEARCH(low, high, middle, layout->mappings[middle].start <= address);
	return low > 0 && address < layout->mappings[low - 1].end ? &layout->mappings[low - 1] : NULL;
}

static int room_class(uint32_t count)
{
	int c = 3;
	while (1u << c < count)
		c++;
	return c;
}

/* A run of elements in the unwinder's map; its size is a power of two. */
static bool room_take(struct layouts *layouts, struct layout *layout)
{
	int c = room_class(layout->count);
	uint32_t room = 1u << c;
	if (layout->count > STACK_LAYOUT_MAPPINGS_MAX)
		return false;
	/* a larger one only when there is no other way */
	bool none = room > layouts->maps->limits.mappings - layouts->next_mapping;
	while (none && c < 15 && layouts->free_rooms[c].length == 0)
		room = 1u << ++c;
	if (layouts->free_rooms[c].length > 0) {
		layout->first = layouts->free_rooms[c].items[--layouts->free_rooms[c].length];
	} else if (room <= layouts->maps->limits.mappings - layouts->next_mapping) {
		layout->first = layouts->next_mapping;
		layouts->next_mapping += room;
	} else {
		return false;
	}
	layout->room = room;
	return true;
}

static struct stack_mapping mapping_for_unwinder(struct layouts *layouts, pid_t pid, const struct layout_mapping *m)
{
	struct module_source where = { .pid = pid, .start = m->start, .end = m->end, .offset = m->offset };
	struct stack_mapping to = { .start = m->start, .end = m->end, .kind = modules_lay(layouts->modules, m->module, &where, layouts->maps) };
	uint64_t address;
	if (to.kind == STACK_MAPPING_TABLE) {
		if (!module_address(m->module, m->offset, &address)) {
			to.kind = STACK_MAPPING_BAD;
			return to;
		}
		to.table = m->start - address + m->module->table.base;
		to.page = m->module->first_page;
		to.pages = m->module->table.page_count;
	}
	return to;
}

static void room_give(struct layouts *layouts, struct layout *layout)
{
	if (layout->room)
		vec_push(&layouts->free_rooms[room_class(layout->room)], layout->first);
	layout->room = 0;
}

/* A walk that has begun ends in a few microseconds. */
static void await_walks(void)
{
	usleep(1000);
}

/* Has this process shown a stack since it was asked last? */
static bool was_used(const struct layouts *layouts, uint32_t pid)
{
	struct stack_process process;
	if (bpf_map_lookup_elem(layouts->processes_fd, &pid, &process) < 0 || !process.used)
		return false;
	process.used = 0;
	bpf_map_update_elem(layouts->processes_fd, &pid, &process, BPF_EXIST);
	return true;
}

/* Takes away the layouts of all processes that have been idle since last time. */
static void evict(struct layouts *layouts)
{
	size_t at = 0;
	for (const struct map_slot *slot; (slot = map_next(&layouts->list, &at));)
		((struct layout *)(uintptr_t)slot->value)->idle = true;
	at = 0;
	for (const struct map_slot *slot; (slot = map_next(&layouts->by_process, &at));)
		if (was_used(layouts, (uint32_t)slot->key))
			((struct layout *)layout_of(layouts, (uint32_t)slot->value))->idle = false;
	at = 0;
	for (const struct map_slot *slot; (slot = map_next(&layouts->by_process, &at));)
		if (layout_of(layouts, (uint32_t)slot->value)->idle)
			layouts_withdraw(layouts, (pid_t)slot->key);
	await_walks();
	at = 0;
	for (const struct map_slot *slot; (slot = map_next(&layouts->list, &at));) {
		struct layout *layout = (struct layout *)(uintptr_t)slot->value;
		if (layout->idle)
			room_give(layouts, layout);
	}
	/* rooms of one size are of no use to another: when nothing is left of them, begin anew */
	uint32_t taken = 0;
	at = 0;
	for (const struct map_slot *slot; (slot = map_next(&layouts->list, &at));)
		taken += ((struct layout *)(uintptr_t)slot->value)->room;
	if (taken == 0) {
		layouts->next_mapping = 0;
		for (int i = 0; i < 16; i++)
			vec_clear(&layouts->free_rooms[i]);
	}
}

const struct layout_mapping *layout_python(const struct layout *layout)
{
	for (uint32_t i = 0; i < layout->count; i++)
		if (layout->mappings[i].module->python.version)
			return &layout->mappings[i];
	return NULL;
}

/* Where the unwinder finds the frames of the interpreter that runs in the process. */
static void set_python(const struct layout *layout, struct stack_process *process)
{
	const struct layout_mapping *m = layout_python(layout);
	uint64_t address;
	if (!m || !module_address(m->module, m->offset, &address))
		return;
	process->python = m->module->python.version;
	process->python_key = m->start - address + m->module->python.key;
	process->python_names = m->module->python.names ? m->start - address + m->module->python.names : 0;
}

static void publish(struct layouts *layouts, pid_t pid, uint32_t doubts)
{
	struct layout *layout = (struct layout *)layout_of_process(layouts, pid);
	uint32_t key = (uint32_t)pid;
	if (!layout)
		return;
	if (layout->room == 0) {
		if (!room_take(layouts, layout)) {
			evict(layouts);
			if (!room_take(layouts, layout)) {
				layouts->maps->full = true;
				return;
			}
		}
		bool whole = layout_python(layout) != NULL; /* a copy of a stack tells nothing of a script */
		for (uint32_t i = 0; i < layout->count; i++) {
			layouts->maps->mappings[layout->first + i] = mapping_for_unwinder(layouts, pid, &layout->mappings[i]);
			if (whole)
				modules_lay_rest(layout->mappings[i].module, layouts->maps);
		}
	}
	struct stack_process process = { .layout = layout->number, .first = layout->first, .count = layout->count,
					 .doubts = doubts, .used = 1 };
	set_python(layout, &process);
	bpf_map_update_elem(layouts->processes_fd, &key, &process, BPF_ANY);
}

void layouts_publish(struct layouts *layouts, pid_t pid)
{
	publish(layouts, pid, STACK_DOUBTS);
}

void layouts_settle(struct layouts *layouts, pid_t pid)
{
	publish(layouts, pid, 0);
}

void layouts_withdraw(struct layouts *layouts, pid_t pid)
{
	uint32_t key = (uint32_t)pid;
	bpf_map_delete_elem(layouts->processes_fd, &key);
}

bool layouts_lacks(const struct layouts *layouts, pid_t pid)
{
	const struct layout *layout = layout_of_process(layouts, pid);
	return layout && !layout->room;
}

static struct layout *layout_new(struct layouts *layouts, const struct layout_mapping *mappings, size_t count)
{
	struct layout *layout = mem_zalloc(sizeof(*layout));
	layout->number = ++layouts->last_number;
	layout->count = (uint32_t)count;
	layout->mappings = mem_alloc((count + 1) * sizeof(*mappings));
	if (count)
		memcpy(layout->mappings, mappings, count * sizeof(*mappings));
	for (size_t i = 0; i < count; i++)
		modules_use(layouts->modules, mappings[i].module);
	pthread_mutex_lock(&layouts->lock);
	map_put(&layouts->list, layout->number, (uint64_t)(uintptr_t)layout);
	pthread_mutex_unlock(&layouts->lock);
	return layout;
}

static void user_set(struct layouts *layouts, pid_t pid, struct layout *layout, uint64_t now_ns)
{
	uint64_t *number = map_find(&layouts->by_process, (uint64_t)pid);
	struct layout *before = number ? (struct layout *)layout_of(layouts, (uint32_t)*number) : NULL;
	if (before == layout)
		return;
	if (layout) {
		layout->users++;
		map_put(&layouts->by_process, (uint64_t)pid, layout->number);
	} else {
		map_remove(&layouts->by_process, (uint64_t)pid);
	}
	if (before && --before->users == 0) {
		before->left_ns = now_ns;
		if (!before->is_left)
			vec_push(&layouts->left, before);
		before->is_left = true;
	}
}

static bool same_mapping(const struct layout_mapping *a, const struct layout_mapping *b)
{
	return a->start == b->start && a->end == b->end && a->offset == b->offset && a->module == b->module;
}

struct mappings vec(struct layout_mapping);

static struct layout_mapping mapping_of(const struct module_source *source, const struct loaded_module *module)
{
	return (struct layout_mapping){ .start = source->start, .end = source->end, .offset = source->offset, .module = module };
}

static bool same_mappings(const struct layout *layout, const struct mappings *found)
{
	bool same = layout && layout->count == found->length;
	for (size_t i = 0; same && i < found->length; i++)
		same = same_mapping(&layout->mappings[i], &found->items[i]);
	return same;
}

int layouts_read(struct layouts *layouts, pid_t pid, const struct layout **ret_layout)
{
	struct module_sources sources;
	struct mappings found = { 0 };
	int status = module_files_maps(&layouts->modules->files, pid, &sources);
	*ret_layout = NULL;
	if (status == 0) {
		const struct loaded_module **modules = mem_alloc((sources.list.length + 1) * sizeof(struct loaded_module *));
		modules_find(layouts->modules, sources.list.items, sources.list.length, modules);
		for (size_t i = 0; i < sources.list.length; i++)
			if (modules[i])
				vec_push(&found, mapping_of(&sources.list.items[i], modules[i]));
		free(modules);
		if (!same_mappings(layout_of_process(layouts, pid), &found)) {
			struct layout *layout = layout_new(layouts, found.items, found.length);
			user_set(layouts, pid, layout, UINT64_MAX);
			*ret_layout = layout;
		}
	}
	vec_done(&found);
	module_sources_done(&sources);
	return status;
}

static int by_start(const void *a, const void *b)
{
	const struct layout_mapping *x = a, *y = b;
	return x->start < y->start ? -1 : x->start > y->start;
}

/* A mapping replaces what lay at its place. */
static void make_room(struct mappings *found, uint64_t start, uint64_t end)
{
	size_t kept = 0, count = found->length;
	for (size_t i = 0; i < count; i++) {
		struct layout_mapping m = found->items[i], behind = m;
		if (m.end <= start || m.start >= end) {
			found->items[kept++] = m;
			continue;
		}
		if (m.end > end) {
			behind.offset += end - m.start;
			behind.start = end;
			vec_push(found, behind);
		}
		if (m.start < start) {
			m.end = start;
			found->items[kept++] = m;
		}
	}
	for (size_t i = count; i < found->length; i++)
		found->items[kept++] = found->items[i];
	found->length = kept;
}

const struct layout *layouts_add(struct layouts *layouts, pid_t pid, const struct module_source *sources, size_t count)
{
	struct mappings found = { 0 };
	const struct layout *old = layout_of_process(layouts, pid);
	const struct loaded_module **modules = mem_alloc((count + 1) * sizeof(struct loaded_module *));
	struct layout *layout = NULL;
	modules_find(layouts->modules, sources, count, modules);
	for (uint32_t i = 0; old && i < old->count; i++)
		vec_push(&found, old->mappings[i]);
	for (size_t i = 0; i < count; i++) {
		make_room(&found, sources[i].start, sources[i].end);
		if (modules[i])
			vec_push(&found, mapping_of(&sources[i], modules[i]));
	}
	free(modules);
	if (found.length)
		qsort(found.items, found.length, sizeof(found.items[0]), by_start);
	if (!old || !same_mappings(old, &found)) {
		layout = layout_new(layouts, found.items, found.length);
		user_set(layouts, pid, layout, UINT64_MAX);
	}
	vec_done(&found);
	return layout;
}

void layouts_fork(struct layouts *layouts, pid_t parent, pid_t child)
{
	struct layout *layout = (struct layout *)layout_of_process(layouts, parent);
	user_set(layouts, child, layout, UINT64_MAX);
}

void layouts_leave(struct layouts *layouts, pid_t pid, uint64_t now_ns)
{
	user_set(layouts, pid, NULL, now_ns);
}

void layouts_renew(struct layouts *layouts)
{
	struct map renewed = { 0 }, pids = { 0 };
	size_t at = 0;
	for (const struct map_slot *slot; (slot = map_next(&layouts->by_process, &at));) {
		layouts_withdraw(layouts, (pid_t)slot->key);
		map_put(&pids, slot->key, slot->value);
	}
	await_walks();
	at = 0;
	for (const struct map_slot *slot; (slot = map_next(&layouts->list, &at));)
		((struct layout *)(uintptr_t)slot->value)->room = 0;
	for (int i = 0; i < 16; i++)
		vec_clear(&layouts->free_rooms[i]);
	layouts->next_mapping = 0;
	unwind_maps_reset(layouts->maps);
	/* under new numbers: the unwinder remembers rules by them */
	at = 0;
	for (const struct map_slot *slot; (slot = map_next(&pids, &at));) {
		uint64_t *number = map_at(&renewed, slot->value, NULL);
		if (!*number) {
			const struct layout *old = layout_of(layouts, (uint32_t)slot->value);
			*number = layout_new(layouts, old->mappings, old->count)->number;
		}
		user_set(layouts, (pid_t)slot->key, (struct layout *)layout_of(layouts, (uint32_t)*number), UINT64_MAX);
	}
	map_done(&renewed);
	map_done(&pids);
}

void layouts_collect(struct layouts *layouts, uint64_t before_ns)
{
	/* left by a change of its process: its time starts at the first look */
	for (; layouts->left_timed < layouts->left.length; layouts->left_timed++)
		if (layouts->left.items[layouts->left_timed]->left_ns == UINT64_MAX)
			layouts->left.items[layouts->left_timed]->left_ns = before_ns + 1;
	pthread_mutex_lock(&layouts->lock);
	for (; layouts->left_first < layouts->left_timed; layouts->left_first++) {
		struct layout *layout = layouts->left.items[layouts->left_first];
		if (layout->users == 0 && layout->left_ns == UINT64_MAX) /* taken up and left again */
			layout->left_ns = before_ns + 1;
		if (layout->users == 0 && layout->left_ns > before_ns)
			break;
		layout->is_left = false;
		if (layout->users) /* a late fork has taken it up again */
			continue;
		room_give(layouts, layout);
		map_remove(&layouts->list, layout->number);
		layout_free(layouts, layout);
	}
	pthread_mutex_unlock(&layouts->lock);
	if (layouts->left_first < layouts->left.length / 2 || layouts->left_first == 0)
		return;
	layouts->left.length -= layouts->left_first;
	layouts->left_timed -= layouts->left_first;
	memmove(layouts->left.items, layouts->left.items + layouts->left_first, layouts->left.length * sizeof(layouts->left.items[0]));
	layouts->left_first = 0;
}
#endif
