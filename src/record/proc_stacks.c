/* See proc_stacks.h. */
#include "record/proc_stacks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/map.h"
#include "base/search.h"
#include "base/vec.h"
#include "record/module_files.h"
#include "record/modules.h"
#include "record/proc_text.h"
#include "record/stack_maps.h"
#include "record/stack_tree.h"
#include "symbols/unwind_walk.h"

#define CODE_FLAGS 5u              /* readable, executable */
#define FUNCTION_BYTES 16u         /* functions known by name alone stand one behind the other */

struct mapping {
	uint64_t start, end, offset;
	const struct loaded_module *module;
};

struct proc_stacks {
	struct state_sink *sink;
	struct helpers *helpers;
	struct modules modules;
	struct stack_tree tree;
	struct map told;           /* modules */
	uint32_t pid;              /* whose mappings are held, 0 nobody's */
	struct vec(struct mapping) mappings;
	struct map functions;      /* of the kernel: hash of the name -> place + 1 */
};

int proc_stacks_open(struct state_sink *sink, struct proc_stacks **ret_stacks, struct err *err)
{
	struct proc_stacks *s = mem_zalloc(sizeof(*s));
	int r = helpers_open(module_files_serve, false, &s->helpers, err);

	s->sink = sink;
	modules_init(&s->modules);
	map_init(&s->told);
	map_init(&s->functions);
	if (!r) {
		s->modules.files.helper = helper_open(s->helpers);
		r = stack_tree_open(&s->tree, err);
	}
	if (r) {
		proc_stacks_close(s);
		return r;
	}
	*ret_stacks = s;
	return 0;
}

void proc_stacks_close(struct proc_stacks *s)
{
	if (!s)
		return;
	modules_done(&s->modules);
	helpers_close(s->helpers);
	stack_tree_close(&s->tree);
	map_done(&s->told);
	map_done(&s->functions);
	vec_done(&s->mappings);
	free(s);
}

/* ---- what is mapped ---- */

static int tell_module(struct proc_stacks *s, const struct loaded_module *m, struct err *err)
{
	struct event_module e = { .module = m->number, .kind = m->kind, .device = m->device, .inode = m->inode };
	struct buf tail;
	bool is_new;
	int r;

	map_at(&s->told, m->number, &is_new);
	if (!is_new)
		return 0;
	buf_init(&tail);
	module_texts(m, &tail);
	r = s->sink->event(s->sink, 0, EVENT_module, &e, tail.data, (uint32_t)tail.length, err);
	buf_done(&tail);
	return r;
}

static int add_mapping(struct proc_stacks *s, const struct module_source *source, const struct loaded_module *m, struct err *err)
{
	struct mapping mapping = { source->start, source->end, source->offset, m };
	struct event_mapping e = { .start = source->start, .bytes = source->end - source->start, .offset = source->offset, .module = m->number,
				   .flags = CODE_FLAGS };
	int r = tell_module(s, m, err);

	vec_push(&s->mappings, mapping);
	return r ? r : s->sink->event(s->sink, s->pid, EVENT_mapping, &e, "", 0, err);
}

/* Where they cannot be read there are none: its stacks end in the first frame. */
static int read_mappings(struct proc_stacks *s, uint32_t pid, struct err *err)
{
	struct module_sources sources;
	int r = 0;

	if (s->pid == pid)
		return 0;
	s->pid = pid;
	vec_clear(&s->mappings);
	if (!module_files_maps(&s->modules.files, (pid_t)pid, &sources)) {
		const struct loaded_module **modules = mem_alloc((sources.list.length + 1) * sizeof(*modules));

		modules_find(&s->modules, sources.list.items, sources.list.length, modules);
		for (size_t i = 0; !r && i < sources.list.length; i++)
			if (modules[i])
				r = add_mapping(s, &sources.list.items[i], modules[i], err);
		free(modules);
	}
	module_sources_done(&sources);
	return r;
}

static const struct mapping *mapping_at(const struct proc_stacks *s, uint64_t address)
{
	size_t low = 0, high = s->mappings.length;

	SEARCH(low, high, middle, s->mappings.items[middle].start <= address);
	return low > 0 && address < s->mappings.items[low - 1].end ? &s->mappings.items[low - 1] : NULL;
}

static struct unwind_rule rule_at(void *data, uint64_t address)
{
	const struct mapping *m = mapping_at(data, address);

	return m ? module_rule(m->module, NULL, address - m->start + m->offset) : (struct unwind_rule){ .kind = UNWIND_NO_MAPPING };
}

/* ---- frames ---- */

/* The caller's node in *at becomes the frame's; 0 where there is no room for more. */
static int put_frame(struct proc_stacks *s, struct stack_node node, uint32_t *at, struct err *err)
{
	struct event_frame e = { .address = node.address, .parent = node.parent, .module = node.module, .status = node.status };
	bool is_new;

	*at = e.node = stack_tree_node(&s->tree, &node, &is_new);
	return is_new ? s->sink->event(s->sink, 0, EVENT_frame, &e, "", 0, err) : 0;
}

static struct stack_node node_at(const struct proc_stacks *s, uint64_t address)
{
	const struct mapping *m = mapping_at(s, address);
	struct stack_node node = { .address = address };

	if (!m)
		return node;
	node.module = m->module->number;
	if (m->module->kind != MODULE_KIND_jit)
		node.address = address - m->start + m->offset;
	return node;
}

int proc_stacks_user(struct proc_stacks *s, uint32_t pid, const struct stack_place *place, const void *copy, size_t bytes,
		     uint32_t *ret_node, struct err *err)
{
	struct unwind_copy memory = { .start = place->sp, .data = copy, .bytes = bytes };
	struct unwind_registers registers = { .ip = place->ip, .sp = place->sp, .bp_lost = 1, .exact = 1 };
	uint64_t addresses[STACK_FRAMES_MAX];
	uint32_t count = 0;
	int r = read_mappings(s, pid, err), status;

	*ret_node = 0;
	if (r)
		return r;
	status = unwind_walk(&memory, registers, rule_at, s, addresses, STACK_FRAMES_MAX, &count);
	for (uint32_t i = count; !r && i-- > 0 && (*ret_node || i + 1 == count);) {
		struct stack_node node = node_at(s, addresses[i]);

		node.parent = *ret_node;
		node.status = i + 1 == count ? (uint32_t)status : 0;
		r = put_frame(s, node, ret_node, err);
	}
	return r;
}

struct async_process proc_stacks_interpreter(const struct proc_stacks *s)
{
	for (size_t i = 0; i < s->mappings.length; i++) {
		const struct mapping *m = &s->mappings.items[i];
		uint64_t address;

		if (m->module->python.version && module_address(m->module, m->offset, &address))
			return (struct async_process){ m->module->python.version, m->start - address + m->module->python.key };
	}
	return (struct async_process){ 0 };
}

/* ---- the kernel's ---- */

static int function_place(struct proc_stacks *s, const char *name, size_t length, uint64_t *ret_place, struct err *err)
{
	uint64_t hash = hash_bytes(name, length), *at;
	struct event_symbol e = { .bytes = FUNCTION_BYTES, .module = MODULE_KERNEL };
	char text[PROC_FUNCTION_MOST + 1];
	bool is_new;

	at = map_at(&s->functions, hash, &is_new);
	if (!is_new) {
		*ret_place = *at;
		return 0;
	}
	*ret_place = *at = e.address = s->functions.length * FUNCTION_BYTES;
	memcpy(text, name, length);
	text[length] = 0;
	return s->sink->event(s->sink, 0, EVENT_symbol, &e, text, (uint32_t)length + 1, err);
}

int proc_stacks_kernel(struct proc_stacks *s, const char *text, bool innermost, uint32_t *ret_node, struct err *err)
{
	struct proc_function functions[PROC_FUNCTIONS_MOST];
	unsigned count = proc_text_stack(text, functions);
	int r = tell_module(s, s->modules.list[MODULE_KERNEL], err);

	*ret_node = 0;
	for (unsigned i = count; !r && i-- > 0 && (*ret_node || i + 1 == count);) {
		struct stack_node node = { .parent = *ret_node, .module = MODULE_KERNEL };

		if (i + 1 == count && (innermost || count == PROC_FUNCTIONS_MOST))
			node.status = STACK_STATUS_hidden;
		r = function_place(s, functions[i].name, functions[i].length, &node.address, err);
		if (!r)
			r = put_frame(s, node, ret_node, err);
	}
	return r;
}
