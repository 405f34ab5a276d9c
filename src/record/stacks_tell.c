/* What the trace is told beside events: modules, mappings and names that cannot
 * be had later. The loader's thread does it, but for the nodes of a new file. */
#ifdef HAVE_BPF
#include <bpf/bpf.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "record/config.h"
#include "record/stacks_internal.h"
#include "symbols/jit_dump.h"

#define JIT_EVERY_NS 1000000000ull      /* maps of run-time code can be large */
#define FUNCTIONS_EVERY_NS 200000000ull /* each is a call into the kernel */

void stacks_tell_modules(struct stacks *s)
{
	struct buf tail = { 0 };
	if (!s->attached)
		return;
	for (; s->modules_told < s->modules.count; s->modules_told++) {
		const struct loaded_module *m = s->modules.list[s->modules_told];
		if (!m)
			continue;
		struct event_module e = { .module = m->number, .kind = m->kind, .device = m->device, .inode = m->inode };
		buf_clear(&tail);
		module_texts(m, &tail);
		agent_lock(s->agent);
		stacks_emit(s, EVENT_module, 0, &e, tail.data, tail.length, stacks_now_ns());
		agent_unlock(s->agent);
	}
	buf_done(&tail);
}

static bool has_mapping(const struct layout *layout, const struct layout_mapping *m)
{
	const struct layout_mapping *same = layout_find(layout, m->start);
	return same && same->start == m->start && same->end == m->end && same->offset == m->offset && same->module == m->module;
}

void stacks_tell_layout(struct stacks *s, pid_t pid, const struct layout *layout, const struct layout *but)
{
	uint64_t now = stacks_now_ns();
	if (!s->attached)
		return;
	stacks_tell_modules(s);
	agent_lock(s->agent);
	for (uint32_t i = 0; i < layout->count; i++) {
		const struct layout_mapping *m = &layout->mappings[i];
		struct event_mapping e = { .start = m->start, .bytes = m->end - m->start, .offset = m->offset, .module = m->module->number,
					   .flags = 5 };
		if (!but || !has_mapping(but, m))
			stacks_emit(s, EVENT_mapping, (uint32_t)pid, &e, "", 0, now);
	}
	agent_unlock(s->agent);
}

static void tell_symbol(struct stacks *s, uint32_t module, uint64_t base, uint64_t start, uint64_t bytes,
			const char *name)
{
	bool is_new;
	map_at(&s->symbols_told, hash_u64(start) ^ (uint64_t)module << 40, &is_new);
	if (!is_new)
		return;
	struct event_symbol e = { .address = start - base, .bytes = bytes, .module = module };
	agent_lock(s->agent);
	stacks_emit(s, EVENT_symbol, 0, &e, name, strlen(name) + 1, stacks_now_ns());
	agent_unlock(s->agent);
}

static void tell_kernel_symbol(struct stacks *s, uint64_t address)
{
	struct kernel_symbol symbol;
	if (s->kernel.text && kallsyms_find(&s->kernel, address, &symbol))
		tell_symbol(s, MODULE_KERNEL, s->kernel.text, symbol.start, symbol.bytes, symbol.name);
}

/* Names of kernel functions that records name themselves. */
static void tell_functions(struct stacks *s, uint64_t now_ns)
{
	uint64_t function, *before = NULL;
	if (now_ns - s->functions_told_ns < FUNCTIONS_EVERY_NS)
		return;
	s->functions_told_ns = now_ns;
	for (unsigned i = 0; i < STACKS_FUNCTIONS && s->functions_fd >= 0; i++) {
		if (bpf_map_get_next_key(s->functions_fd, before, &function))
			break;
		before = &function;
		tell_kernel_symbol(s, function);
	}
}

#define NODES_AT_ONCE 256

/* Nodes that were not looked at yet: who holds the lock may move them. */
static uint32_t next_nodes(struct stacks *s, struct stack_node nodes[NODES_AT_ONCE])
{
	uint32_t count;
	pthread_mutex_lock(&s->layouts.lock);
	count = s->tree.count - s->nodes_seen;
	count = count < NODES_AT_ONCE ? count : NODES_AT_ONCE;
	memcpy(nodes, s->tree.nodes + s->nodes_seen, count * sizeof(*nodes));
	s->nodes_seen += count;
	pthread_mutex_unlock(&s->layouts.lock);
	return count;
}

static void tell_of_node(struct stacks *s, const struct stack_node *node)
{
	const struct loaded_module *m = node->module < s->modules.count ? s->modules.list[node->module] : NULL;
	if (m && m->kind == MODULE_KIND_jit) {
		bool is_new;
		uint64_t *read_ns = map_at(&s->jit_met, node->module, &is_new);

		if (is_new)
			*read_ns = 0;
		map_put(&s->jit_wanted, node->module, 1);
	}
	if (node->module == MODULE_KERNEL)
		tell_kernel_symbol(s, node->address + s->kernel.text);
}

/* Names of kernel functions that have appeared in stacks since last time; which
 * run-time code has. */
static void tell_kernel_symbols(struct stacks *s)
{
	struct stack_node nodes[NODES_AT_ONCE];
	for (uint32_t count; (count = next_nodes(s, nodes));)
		for (uint32_t i = 0; i < count; i++)
			tell_of_node(s, &nodes[i]);
}

/* Names of a process's run-time code, as far as stacks have met it. */
static void tell_jit_symbols(struct stacks *s, const struct loaded_module *module)
{
	struct vec(const char *) dumps = { 0 };
	struct vec(uint64_t) addresses = { 0 };
	struct symbol_table names;
	pid_t pid = 0;

	if (sscanf(module->path, "/tmp/perf-%d.map", &pid) != 1)
		return;
	const struct layout *layout = layout_of_process(&s->layouts, pid);
	for (uint32_t i = 0; layout && i < layout->count; i++)
		if (jit_dump_path(layout->mappings[i].module->path))
			vec_push(&dumps, layout->mappings[i].module->path);
	pthread_mutex_lock(&s->layouts.lock);
	for (uint32_t i = 1; i < s->tree.count; i++)
		if (s->tree.nodes[i].module == module->number)
			vec_push(&addresses, s->tree.nodes[i].address);
	pthread_mutex_unlock(&s->layouts.lock);
	struct jit_question question = { .pid = pid, .user = module->user, .dumps = dumps.items, .dump_count = dumps.length,
					 .addresses = addresses.items, .address_count = addresses.length };
	module_files_jit_names(&s->modules.files, &question, &names);
	vec_done(&dumps);
	vec_done(&addresses);
	for (size_t i = 0; i < names.symbols.length; i++) {
		const struct symbol *symbol = &names.symbols.items[i];
		tell_symbol(s, module->number, 0, symbol->start, symbol->bytes, symbol->name);
	}
	symbol_table_done(&names);
}

/* Soon after the code was met: its names may be gone, or others', later. Of each process at its own time: one that makes code
 * all the time keeps no other one waiting, which may end meanwhile. */
static void tell_wanted_jit_symbols(struct stacks *s, uint64_t now)
{
	struct vec(uint32_t) later = { 0 };
	size_t at = 0;

	for (const struct map_slot *slot; (slot = map_next(&s->jit_wanted, &at));) {
		uint32_t module = (uint32_t)slot->key;

		if (!s->modules.list[module])
			continue;
		if (now - *map_find(&s->jit_met, module) < JIT_EVERY_NS) {
			vec_push(&later, module);
			continue;
		}
		map_put(&s->jit_met, module, now);
		tell_jit_symbols(s, s->modules.list[module]);
	}
	map_clear(&s->jit_wanted);
	for (size_t i = 0; i < later.length; i++)
		map_put(&s->jit_wanted, later.items[i], 1);
	vec_done(&later);
}

void stacks_tell_jit_symbols(struct stacks *s, pid_t pid)
{
	char path[64];
	size_t at = 0;
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)pid);
	for (const struct map_slot *slot; (slot = map_next(&s->jit_met, &at));) {
		const struct loaded_module *m = s->modules.list[slot->key];
		if (m && (!pid || strcmp(m->path, path) == 0))
			tell_jit_symbols(s, m);
	}
}

void stacks_tell_names(struct stacks *s, uint64_t now_ns)
{
	tell_kernel_symbols(s);
	tell_functions(s, now_ns);
	tell_wanted_jit_symbols(s, now_ns);
}

/* A new file begins: the nodes by the one who holds the locks, the rest by the
 * loader in its next round. */
void stacks_retell(struct stacks *s)
{
	if (!s)
		return;
	uint64_t now = stacks_now_ns();
	agent_lock(s->agent);
	pthread_mutex_lock(&s->layouts.lock);
	for (uint32_t i = 1; i < s->tree.count; i++)
		if (s->tree.numbers[i])
			stacks_emit_node(s, i, now);
	stacks_tell_python(s);
	pthread_mutex_unlock(&s->layouts.lock);
	agent_unlock(s->agent);
	atomic_store(&s->retell, true);
	stacks_wake(s);
}

void stacks_tell_again(struct stacks *s)
{
	size_t at = 0;
	s->modules_told = 1;
	pthread_mutex_lock(&s->layouts.lock);
	s->nodes_seen = 1;
	pthread_mutex_unlock(&s->layouts.lock);
	s->functions_told_ns = 0;
	map_clear(&s->symbols_told);
	stacks_tell_modules(s);
	for (const struct map_slot *slot; (slot = map_next(&s->layouts.by_process, &at));) {
		const struct layout *layout = layout_of(&s->layouts, (uint32_t)slot->value);
		if (layout)
			stacks_tell_layout(s, (pid_t)slot->key, layout, NULL);
	}
	stacks_tell_jit_symbols(s, 0);
}
#endif
