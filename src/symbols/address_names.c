/* See address_names.h. */
#include "symbols/address_names.h"

#include <stdlib.h>

#include "base/vec.h"

#define FOREBEARS_MOST 16  /* forked one from the other, that are asked what they had mapped */

struct mapped {
	uint64_t start, end, offset, time_ns;
	uint32_t pid, module;
};

struct address_names {
	const struct trace *trace;
	const struct tables *tables;
	struct names *names;
	struct vec(struct mapped) list;   /* by process, then by time */
	bool loaded;
};

struct address_names *address_names_new(const struct trace *trace, const struct tables *tables, struct names *names)
{
	struct address_names *a = mem_zalloc(sizeof(*a));

	a->trace = trace;
	a->tables = tables;
	a->names = names;
	return a;
}

void address_names_free(struct address_names *a)
{
	if (!a)
		return;
	vec_done(&a->list);
	free(a);
}

static int by_process(const void *a, const void *b)
{
	const struct mapped *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return x->time_ns < y->time_ns ? -1 : x->time_ns > y->time_ns;
}

static void load(struct address_names *a)
{
	struct trace_filter filter = { .unnumbered = true };
	struct trace_cursor *cursor;
	const struct event *e;

	a->loaded = true;
	if (!a->trace || !trace_summary(a->trace)->counts[EVENT_mapping])
		return;
	trace_filter_add(&filter, EVENT_mapping);
	cursor = trace_cursor_new(a->trace, &filter);
	while ((e = trace_cursor_next(cursor))) {
		const struct event_mapping *m = event_as(e, mapping);

		if (m && m->start + m->bytes > m->start)
			vec_push(&a->list, ((struct mapped){ m->start, m->start + m->bytes, m->offset, e->time, e->tid, m->module }));
	}
	trace_cursor_free(cursor);
	if (a->list.length)
		qsort(a->list.items, a->list.length, sizeof(*a->list.items), by_process);
}

/* The last told before the time, else the first: what was there at the start is told a little late. */
static const struct mapped *find_in(const struct address_names *a, uint32_t pid, uint64_t address, uint64_t time_ns)
{
	const struct mapped *found = NULL;
	size_t low = 0, high = a->list.length;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (a->list.items[mid].pid < pid)
			low = mid + 1;
		else
			high = mid;
	}
	for (; low < a->list.length && a->list.items[low].pid == pid; low++) {
		const struct mapped *m = &a->list.items[low];

		if (address >= m->start && address < m->end && (!found || m->time_ns <= time_ns))
			found = m;
	}
	return found;
}

const struct name *address_names_find(struct address_names *a, uint32_t thread, uint64_t address, uint64_t time_ns)
{
	const struct tables *tables = a->tables;
	const struct mapped *m = NULL;
	uint32_t pid = tables->threads[thread].pid;

	if (!a->loaded)
		load(a);
	for (unsigned i = 0; i < FOREBEARS_MOST && pid && !m; i++) {
		uint32_t leader = tables_process(tables, pid, time_ns);

		m = find_in(a, pid, address, time_ns);
		pid = leader ? tables->threads[leader].parent_pid : 0;
	}
	if (!m || !a->names)
		return NULL;
	/* of code made at run time the address itself is the place */
	bool is_file = m->module < tables->module_count && tables->modules[m->module].kind != MODULE_KIND_jit;
	return names_place(a->names, m->module, is_file ? address - m->start + m->offset : address);
}
