/* Large traces from recorded ones, for tests of scale: compose OUT EVENTS IN...
 *
 * The recordings are laid end to end, again and again, until there are so many
 * events. Each copy is another stretch of time with other threads, processes,
 * objects and channels, so that nothing is joined across copies that was not
 * joined in one; addresses of kernel objects come again, as they do on a machine.
 * Stacks, modules and names are written once for each recording. What is made up
 * is a switch to idle on each processor at the end of a copy. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/vec.h"
#include "trace/text.h"
#include "trace/trace.h"
#include "trace/writer.h"

#define FIRST_TID 2u
#define TID_LIMIT 4000000u

struct input {
	struct trace *trace;
	uint32_t nodes, modules;    /* greatest number of a stack node and of a module */
	uint32_t node_base, module_base;
};

struct composition {
	struct writer *writer;
	uint64_t written;
	uint64_t copy, shift_ns;    /* modulo 2^64 */
	struct map tids;            /* of this copy: recorded to written */
	uint32_t next_tid;
	const struct input *input;
	uint64_t buffer[64];
};

static uint64_t event_value(const struct event *e, const struct field_info *field)
{
	return field_value(field, e->data);
}

static void measure(struct input *input)
{
	struct trace_cursor *cursor = trace_cursor_new(input->trace, NULL);
	const struct event *e;

	while ((e = trace_cursor_next(cursor))) {
		const struct event_info *info = &event_infos[e->type];

		for (unsigned i = 0; i < info->field_count; i++) {
			const struct field_info *field = &info->fields[i];
			uint64_t value;

			if (field->kind != FIELD_STACK && field->kind != FIELD_MODULE)
				continue;
			value = event_value(e, field);
			if (field->kind == FIELD_STACK && value >= input->nodes)
				input->nodes = (uint32_t)value + 1;
			if (field->kind == FIELD_MODULE && value >= input->modules)
				input->modules = (uint32_t)value + 1;
		}
	}
	trace_cursor_free(cursor);
}

/* Threads and processes are numbered as they come, so that many copies fit. */
static uint32_t new_tid(struct composition *c, uint32_t tid)
{
	bool new;
	uint64_t *at;

	if (!tid || tid >= TID_LIMIT)
		return tid;
	at = map_at(&c->tids, tid, &new);
	if (new) {
		*at = c->next_tid++;
		if (c->next_tid == TID_LIMIT)
			c->next_tid = FIRST_TID;
	}
	return (uint32_t)*at;
}

static uint64_t changed(struct composition *c, enum field_kind kind, uint64_t value)
{
	if (!value)
		return 0;
	switch (kind) {
	case FIELD_TID:
	case FIELD_PID:
		return new_tid(c, (uint32_t)value);
	case FIELD_STACK:
		return value + c->input->node_base;
	case FIELD_MODULE:
		return value + c->input->module_base;
	case FIELD_OBJECT:
		return value ^ (hash_u64(c->copy) & ((1ull << OBJECT_KIND_SHIFT) - 1));
	case FIELD_CHANNEL:
		return value ^ hash_u64(c->copy);
	case FIELD_TIME:
		return value + c->shift_ns;
	default:
		return value;
	}
}

static int put(struct composition *c, const struct event *e, struct err *err)
{
	const struct event_info *info = &event_infos[e->type];
	struct event out = *e;

	out.time += c->shift_ns;
	out.tid = new_tid(c, out.tid);
	if (info->bytes) {
		memcpy(c->buffer, e->data, info->bytes);
		out.data = c->buffer;
	}
	for (unsigned i = 0; i < info->field_count; i++)
		field_set(&info->fields[i], c->buffer, changed(c, info->fields[i].kind, event_value(e, &info->fields[i])));
	c->written += !(info->categories & (STATE | META));
	return writer_add_event(c->writer, &out, err);
}

/* Written once for each recording; gaps and clocks would say what is not so. */
static bool is_left_out(const struct composition *c, unsigned type, bool first)
{
	if (type == EVENT_gap || type >= EVENT_MAX || !event_infos[type].name)
		return true;
	if (type == EVENT_machine || type == EVENT_clock)
		return c->copy != 0;
	return !first && (type == EVENT_module || type == EVENT_frame || type == EVENT_symbol);
}

/* One recording once. */
static int copy(struct composition *c, uint64_t start_ns, bool first, struct err *err)
{
	const struct trace_summary *summary = trace_summary(c->input->trace);
	struct trace_cursor *cursor = trace_cursor_new(c->input->trace, NULL);
	struct vec(uint32_t) current = { 0 };
	const struct event *e;
	uint64_t end = start_ns;
	int code = 0;

	c->shift_ns = start_ns - summary->start_ns;
	while (!code && (e = trace_cursor_next(cursor))) {
		if (is_left_out(c, e->type, first))
			continue;
		code = put(c, e, err);
		end = e->time;
		while (current.length <= e->cpu)
			vec_push(&current, 0);
		if (e->type == EVENT_switch)
			current.items[e->cpu] = event_as(e, switch)->next;
	}
	for (uint32_t cpu = 0; !code && cpu < current.length; cpu++) {
		struct event_switch s = { .syscall = (uint16_t)SYSCALL_NONE, .state = TASK_STATE_running };

		if (current.items[cpu])
			code = put(c, &(struct event){ .time = end, .tid = current.items[cpu], .cpu = (uint16_t)cpu,
						       .type = EVENT_switch, .data = &s, .tail = "" }, err);
	}
	vec_done(&current);
	trace_cursor_free(cursor);
	return code;
}

static int compose(struct composition *c, struct input *inputs, size_t count, uint64_t events, struct err *err)
{
	uint64_t now = trace_summary(inputs[0].trace)->start_ns;
	uint32_t node_base = 0, module_base = 0;

	for (size_t i = 0; i < count; i++) {
		measure(&inputs[i]);
		inputs[i].node_base = node_base;
		inputs[i].module_base = module_base;
		node_base += inputs[i].nodes;
		module_base += inputs[i].modules;
	}
	for (; c->written < events; c->copy++) {
		const struct input *input = &inputs[c->copy % count];
		const struct trace_summary *summary = trace_summary(input->trace);
		int code;

		c->input = input;
		map_clear(&c->tids);
		code = copy(c, now, c->copy < count, err);
		if (code)
			return code;
		now += summary->end_ns - summary->start_ns + 1000;
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct composition c = { .next_tid = FIRST_TID };
	struct input inputs[16] = { { 0 } };
	struct writer_options options = { 0 };
	struct err err = { 0 };
	size_t count = argc > 3 ? (size_t)argc - 3 : 0;
	uint64_t events = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
	int code = 0, closed;

	if (!count || count > 16 || !events) {
		fprintf(stderr, "usage: compose OUT EVENTS IN...\n");
		return 2;
	}
	for (size_t i = 0; !code && i < count; i++) {
		code = trace_open(argv[3 + i], &inputs[i].trace, &err);
		if (!code && !trace_summary(inputs[i].trace)->events)
			code = err_set(&err, -1, "'%s' holds no events", argv[3 + i]);
		if (!code && trace_summary(inputs[i].trace)->cpus > options.cpus)
			options.cpus = trace_summary(inputs[i].trace)->cpus;
	}
	if (!code)
		code = writer_create(argv[1], false, &options, &c.writer, &err);
	if (!code) {
		code = compose(&c, inputs, count, events, &err);
		closed = writer_close(c.writer, code ? NULL : &err);
		code = code ? code : closed;
	}
	for (size_t i = 0; i < count; i++)
		if (inputs[i].trace)
			trace_close(inputs[i].trace);
	map_done(&c.tids);
	if (code) {
		fprintf(stderr, "compose: %s\n", err.text);
		return 1;
	}
	printf("%" PRIu64 " events in %" PRIu64 " copies\n", c.written, c.copy);
	return 0;
}
