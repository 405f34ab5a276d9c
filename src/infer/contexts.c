/* See contexts.h. */
#include "infer/contexts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/names.h"

/* Frames deeper than this are taken for damage (a parent that is no smaller). */
#define MAX_CHAIN 4096

static inline uint64_t pair(uint32_t high, uint32_t low)
{
	return (uint64_t)high << 32 | low;
}

/* The pair's place: it holds the key, or it is free. */
static size_t slot_of(const struct site_table *table, uint64_t key)
{
	size_t at = hash_u64(key) & (table->capacity - 1);

	while (table->slots[at].key && table->slots[at].key != key)
		at = (at + 1) & (table->capacity - 1);
	return at;
}

/* 0 when it is not there. */
static uint32_t table_find(const struct site_table *table, uint32_t high, uint32_t low)
{
	return table->capacity ? table->slots[slot_of(table, pair(high, low))].site : 0;
}

static void table_put(struct site_table *table, uint32_t high, uint32_t low, uint32_t site)
{
	size_t at;

	if ((table->length + 1) * 2 > table->capacity) {
		struct site_table old = *table;

		table->capacity = old.capacity ? old.capacity * 2 : 1024;
		table->slots = mem_zalloc(arena_array_bytes(sizeof(*table->slots), table->capacity));
		for (size_t i = 0; i < old.capacity; i++)
			if (old.slots[i].key)
				table->slots[slot_of(table, old.slots[i].key)] = old.slots[i];
		free(old.slots);
	}
	at = slot_of(table, pair(high, low));
	table->length += !table->slots[at].key;
	table->slots[at].key = pair(high, low);
	table->slots[at].site = site;
}

void contexts_init(struct contexts *contexts, struct functions *functions, struct context_source source)
{
	const struct site no_site = { 0 };
	const struct node no_node = { 0 };

	*contexts = (struct contexts){ .functions = functions, .source = source };
	map_init(&contexts->children);
	map_init(&contexts->same_sites);
	vec_push(&contexts->sites, no_site);
	vec_push(&contexts->nodes, no_node);
	contexts->cut_function = functions_add(functions, "[frames missing]", "", PLACE_unknown);
}

void contexts_done(struct contexts *contexts)
{
	map_done(&contexts->children);
	map_done(&contexts->same_sites);
	free(contexts->user.slots);
	free(contexts->calls.slots);
	free(contexts->user_calls.slots);
	free(contexts->kernel.slots);
	vec_done(&contexts->sites);
	vec_done(&contexts->nodes);
	vec_done(&contexts->programs);
	vec_done(&contexts->system_calls);
}

uint32_t contexts_program(struct contexts *contexts, const char *path)
{
	struct program program = { 0 };
	struct node node = { 0 };
	struct site site = { 0 };

	for (size_t i = 0; i < contexts->programs.length; i++)
		if (!strcmp(contexts->programs.items[i].path, path))
			return (uint32_t)i;
	program.path = arena_strdup(contexts->functions->arena, path);
	program.node = contexts->nodes.length;
	program.site = contexts->sites.length;
	node.program = contexts->programs.length;
	site.node = program.node;
	vec_push(&contexts->nodes, node);
	vec_push(&contexts->sites, site);
	vec_push(&contexts->programs, program);
	return contexts->programs.length - 1;
}

uint32_t contexts_child(const struct contexts *contexts, uint32_t node, uint32_t function)
{
	const uint64_t *found = map_find(&contexts->children, pair(node, function));

	return found ? (uint32_t)*found : 0;
}

static uint32_t child_node(struct contexts *contexts, uint32_t parent, uint32_t function)
{
	uint64_t *found = map_at(&contexts->children, pair(parent, function), NULL);
	const struct node *above = &contexts->nodes.items[parent];
	const struct node added = { parent, function, above->depth + 1, above->program };

	if (!*found) {
		*found = contexts->nodes.length;
		vec_push(&contexts->nodes, added);
	}
	return (uint32_t)*found;
}

static uint32_t child_site(struct contexts *contexts, uint32_t parent, uint32_t function, struct site added)
{
	const struct site *above = &contexts->sites.items[parent];
	uint64_t key = hash_u64(hash_u64((uint64_t)parent << 32 | function) ^ added.address) + added.module;
	uint64_t *same = map_at(&contexts->same_sites, key, NULL);
	const struct site *known = *same ? &contexts->sites.items[*same] : NULL;

	if (known && known->parent == parent && known->address == added.address && known->module == added.module &&
	    known->function == function)
		return (uint32_t)*same;
	*same = contexts->sites.length;
	added.parent = parent;
	added.depth = above->depth + 1;
	added.cut |= above->cut;
	added.kernel |= above->kernel;
	added.node = child_node(contexts, above->node, function);
	added.function = function;
	vec_push(&contexts->sites, added);
	return contexts->sites.length - 1;
}

/* The site of a chain of frames on top of `base`, remembered in `known` under
 * (key, frame) for the chain and for each of its outer parts. */
static uint32_t chain_site(struct contexts *contexts, struct site_table *known, uint32_t key, uint32_t base, uint32_t frame,
			   bool kernel)
{
	uint32_t chain[MAX_CHAIN];
	struct context_frame frames;
	uint32_t count = 0, site = base;
	uint32_t found = 0;

	while (frame && !(found = table_find(known, key, frame))) {
		if (count == MAX_CHAIN || !contexts->source.frame(contexts->source.data, frame, &frames))
			break;
		chain[count++] = frame;
		frame = frames.parent;
	}
	if (frame && found)
		site = found;
	while (count) {
		struct site added = { 0 };

		frame = chain[--count];
		contexts->source.frame(contexts->source.data, frame, &frames);
		if (frames.cut && !frames.parent) {
			added.cut = true;
			site = child_site(contexts, site, contexts->cut_function, added);
		}
		added.module = frames.module;
		added.address = frames.address;
		added.kernel = kernel;
		site = child_site(contexts, site, frames.function, added);
		table_put(known, key, frame, site);
	}
	return site;
}

static uint32_t system_call_function(struct contexts *contexts, uint32_t call)
{
	const char *name = syscall_name(call);
	char text[32];

	while (contexts->system_calls.length <= call)
		vec_push(&contexts->system_calls, 0);
	if (!contexts->system_calls.items[call]) {
		if (!name) {
			snprintf(text, sizeof(text), "system call %u", call);
			name = text;
		}
		contexts->system_calls.items[call] =
			functions_add(contexts->functions, name, "", PLACE_system_call) + 1;
	}
	return contexts->system_calls.items[call] - 1;
}

uint32_t contexts_site(struct contexts *contexts, uint32_t program, uint32_t user, uint32_t call, uint32_t kernel)
{
	uint32_t base = contexts->programs.items[program].site, site = base;
	/* Most stacks are those of system calls, without the kernel's frames. */
	bool plain = user && call != CONTEXT_NO_CALL && !kernel && program < UINT16_MAX;
	uint32_t known, which = (program + 1) << 16 | call;

	if (plain && (known = table_find(&contexts->user_calls, user, which)))
		return known;
	if (user)
		site = chain_site(contexts, &contexts->user, program, base, user, false);
	if (call != CONTEXT_NO_CALL) {
		const struct site added = { .system_call = true, .kernel = true };

		known = table_find(&contexts->calls, site, call + 1);
		if (!known) {
			known = child_site(contexts, site, system_call_function(contexts, call), added);
			table_put(&contexts->calls, site, call + 1, known);
		}
		site = known;
	}
	if (plain)
		table_put(&contexts->user_calls, user, which, site);
	if (kernel)
		site = chain_site(contexts, &contexts->kernel, site, site, kernel, true);
	return site == base ? 0 : site;
}
