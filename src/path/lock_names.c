/* Names of locks, see lock_names.h. */
#include "path/lock_names.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/quiet_thread.h"
#include "base/vec.h"
#include "probe/variable.h"
#include "symbols/file_opener.h"
#include "trace/part.h"

struct module_file {
	const char *path, *build_id, *code;
	bool tried, open;
	struct variable_file file;
};

struct mapped {
	uint64_t start, offset;
	uint32_t pid, module;
};

struct lock_names {
	const struct trace *trace;
	uint64_t from_ns, to_ns;
	pthread_mutex_t lock;
	struct file_opener *opener;
	struct arena arena;
	bool loaded;
	pthread_t loader;
	bool is_loading;          /* there is such a thread */
	struct vec(struct module_file) modules;
	struct vec(struct mapped) mappings;   /* by process, then address: told when they were first met, so not by time */
};

struct lock_names *lock_names_new(const struct trace *trace, uint64_t from_ns, uint64_t to_ns)
{
	struct lock_names *n = mem_zalloc(sizeof(*n));

	n->trace = trace;
	n->from_ns = from_ns;
	n->to_ns = to_ns;
	n->opener = file_opener_new();
	pthread_mutex_init(&n->lock, NULL);
	arena_init(&n->arena);
	return n;
}

void lock_names_free(struct lock_names *names)
{
	if (!names)
		return;
	if (names->is_loading)
		pthread_join(names->loader, NULL);
	for (size_t i = 0; i < names->modules.length; i++)
		if (names->modules.items[i].open)
			variable_file_close(&names->modules.items[i].file);
	file_opener_free(names->opener);
	vec_done(&names->modules);
	vec_done(&names->mappings);
	arena_done(&names->arena);
	pthread_mutex_destroy(&names->lock);
	free(names);
}

/* ---- what was mapped where ---- */

static void take_module(struct lock_names *n, const struct event *e)
{
	const struct event_module *m = event_as(e, module);
	const char *texts[3] = { "", "", "" };
	size_t at = 0;

	if (m->kind != MODULE_KIND_file || m->module > 1u << 20)
		return;
	for (unsigned i = 0; i < 3 && at < e->tail_length; i++) {
		size_t length = strnlen(e->tail + at, e->tail_length - at);

		texts[i] = arena_strndup(&n->arena, e->tail + at, length);
		at += length + 1;
	}
	while (n->modules.length <= m->module)
		vec_push(&n->modules, ((struct module_file){ "", "", "", false, false, { 0 } }));
	n->modules.items[m->module].path = texts[0];
	n->modules.items[m->module].build_id = texts[1];
	n->modules.items[m->module].code = texts[2];
}

static int by_place(const void *a, const void *b)
{
	const struct mapped *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return x->start < y->start ? -1 : x->start > y->start;
}

static void load(struct lock_names *n)
{
	struct trace_filter filter = { .from_ns = trace_state_from(n->trace, n->from_ns), .unnumbered = true };
	struct trace_cursor *cursor;
	const struct event *e;

	if (n->to_ns < UINT64_MAX - TRACE_LATE_NS)
		filter.to_ns = n->to_ns + TRACE_LATE_NS;
	n->loaded = true;
	trace_filter_add(&filter, EVENT_module);
	trace_filter_add(&filter, EVENT_mapping);
	cursor = trace_cursor_new(n->trace, &filter);
	while ((e = trace_cursor_next(cursor))) {
		const struct event_mapping *m = e->type == EVENT_mapping ? event_as(e, mapping) : NULL;

		if (!m)
			take_module(n, e);
		else
			vec_push(&n->mappings, ((struct mapped){ m->start, m->offset, e->tid, m->module }));
	}
	trace_cursor_free(cursor);
	if (n->mappings.length)
		qsort(n->mappings.items, n->mappings.length, sizeof(*n->mappings.items), by_place);
}

static void *load_ahead(void *data)
{
	struct lock_names *n = data;

	pthread_mutex_lock(&n->lock);
	if (!n->loaded)
		load(n);
	pthread_mutex_unlock(&n->lock);
	return NULL;
}

void lock_names_prepare(struct lock_names *names)
{
	file_opener_prepare(names->opener);
	names->is_loading = !quiet_thread(&names->loader, load_ahead, names);
}

/* How much higher the module lies than it was linked: "OFFSET BYTES ADDRESS" of its code tells. */
static bool bias_of(const struct module_file *module, const struct mapped *m, uint64_t *ret_bias)
{
	const char *at = module->code;
	uint64_t offset, bytes, address;
	int used;

	while (sscanf(at, "%" SCNx64 " %" SCNx64 " %" SCNx64 "%n", &offset, &bytes, &address, &used) == 3) {
		at += used;
		/* Mappings begin at whole pages. */
		if (m->offset + 4096 > offset && m->offset < offset + bytes) {
			*ret_bias = m->start - (address + m->offset - offset);
			return true;
		}
	}
	return false;
}

static bool open_module(struct lock_names *n, struct module_file *module)
{
	char build_id[65];
	struct elf_file elf;

	if (module->tried)
		return module->open;
	module->tried = true;
	if (!module->path[0] || !module->build_id[0] || elf_file_open_by(n->opener, module->path, &elf, NULL))
		return false;
	elf_file_build_id_text(&elf, build_id);
	if (strcmp(build_id, module->build_id)) {
		elf_file_close(&elf);
		return false;
	}
	module->open = !variable_file_open(&module->file, elf, module->path, module->path, NULL);
	return module->open;
}

#define MODULE_BYTES (UINT64_C(1) << 30) /* a variable lies at most so far behind its module's code */

/* Behind the last mapping of the process that begins at the address or below it. */
static size_t mappings_end(const struct lock_names *n, uint32_t pid, uint64_t address)
{
	size_t low = 0, high = n->mappings.length;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		const struct mapped *m = &n->mappings.items[mid];

		if (m->pid < pid || (m->pid == pid && m->start <= address))
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static const char *find(struct lock_names *n, struct arena *arena, uint32_t pid, uint64_t address)
{
	const char *name = NULL;

	if (!n->loaded)
		load(n);
	for (size_t i = mappings_end(n, pid, address); i-- > 0 && !name; ) {
		const struct mapped *m = &n->mappings.items[i];
		struct module_file *module;
		uint64_t bias, offset;

		if (m->pid != pid || address - m->start > MODULE_BYTES)
			break;
		if (m->module >= n->modules.length)
			continue;
		module = &n->modules.items[m->module];
		if (!bias_of(module, m, &bias) || !open_module(n, module))
			continue;
		name = variable_at(arena, &module->file, address - bias, &offset);
		if (name && offset)
			name = arena_printf(arena, "%s+%" PRIu64, name, offset);
	}
	return name;
}

const char *lock_names_find(struct lock_names *n, struct arena *arena, uint32_t pid, uint64_t address)
{
	const char *name;

	if (!n || address < 65536)
		return NULL;
	pthread_mutex_lock(&n->lock);
	name = find(n, arena, pid, address);
	pthread_mutex_unlock(&n->lock);
	return name;
}
