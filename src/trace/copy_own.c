/* See copy_own.h.
 *
 * Two passes: which events stay, and so which modules and stacks they speak of; then the
 * copy. An event that is not named here stays only where its thread is the user's. */
#include "trace/copy_own.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/keyed_hash.h"
#include "base/map.h"
#include "base/vec.h"
#include "trace/tables.h"

#define TIDS (1u << 22)          /* Linux has no greater number */
#define KERNEL_HALF (1ull << 63) /* of addresses; errors are just below the end */
#define ERRORS_FROM ((uint64_t)-4095)
#define LOW_BITS ((1ull << OBJECT_KIND_SHIFT) - 1)

struct bits {
	uint8_t *bytes;
	uint32_t count;
};

struct frame_link {
	uint32_t node, parent, module;
};

enum verdict {
	DROP,
	KEEP,
	OUTLINE,          /* without what is another user's */
};

struct view {
	uint32_t uid;
	struct hash_key key;
	struct bits own;             /* threads, as they are at the event that is looked at */
	struct bits modules, nodes;  /* that what is kept speaks of */
	struct map requests;         /* of own threads, under way */
	struct vec(struct frame_link) frames;
};

static void bits_init(struct bits *bits, uint32_t count)
{
	*bits = (struct bits){ mem_zalloc(count / 8), count };
}

static bool bit(const struct bits *bits, uint32_t i)
{
	return i < bits->count && bits->bytes[i / 8] >> (i % 8) & 1;
}

static void set_bit(struct bits *bits, uint32_t i, bool on)
{
	if (i < bits->count)
		bits->bytes[i / 8] = (uint8_t)((bits->bytes[i / 8] & ~(1u << (i % 8))) | (unsigned)on << (i % 8));
}

/* ---- whose ---- */

static bool is_own(const struct view *view, uint32_t tid)
{
	return tid && bit(&view->own, tid);
}

/* What the event says of whose threads are, before it is judged. */
static void learn(struct view *view, const struct event *e)
{
	if (e->type == EVENT_task) {
		const struct event_task *task = event_as(e, task);

		set_bit(&view->own, e->tid, task->uid == view->uid &&
			!(task->flags & (TASK_FLAGS_kernel_thread | TASK_FLAGS_other_rights | TASK_FLAGS_argus)));
	} else if (e->type == EVENT_fork) {
		set_bit(&view->own, event_as(e, fork)->child, is_own(view, e->tid));
	}
}

static void forget(struct view *view, const struct event *e)
{
	if (e->type == EVENT_exit)
		set_bit(&view->own, e->tid, false);
}

static enum verdict keep_if(bool so)
{
	return so ? KEEP : DROP;
}

/* Where one of two threads is the user's: all of it when that is the one that did it. */
static enum verdict by_two(const struct view *view, const struct event *e, uint32_t other)
{
	return is_own(view, e->tid) ? KEEP : is_own(view, other) ? OUTLINE : DROP;
}

/* Requests of own threads, which somebody else ends. */
static enum verdict begins(struct view *view, const struct event *e, uint64_t request)
{
	if (!is_own(view, e->tid))
		return DROP;
	map_put(&view->requests, hash_u64(request) ^ e->type, 1);
	return KEEP;
}

static enum verdict ends(struct view *view, unsigned begin, uint64_t request)
{
	return keep_if(map_remove(&view->requests, hash_u64(request) ^ begin));
}

static enum verdict judge(struct view *view, const struct event *e)
{
	switch (e->type) {
	case EVENT_machine: case EVENT_clock: case EVENT_gap: case EVENT_snapshot: case EVENT_mark: case EVENT_cgroup:
	case EVENT_freeze: case EVENT_probe_point: case EVENT_probe_switch:
		return KEEP;
	case EVENT_task:
		return is_own(view, e->tid) ? KEEP : OUTLINE;
	case EVENT_module:
		return keep_if(bit(&view->modules, event_as(e, module)->module));
	case EVENT_symbol:
		return keep_if(bit(&view->modules, event_as(e, symbol)->module));
	case EVENT_frame:
		return keep_if(bit(&view->nodes, event_as(e, frame)->node));
	case EVENT_watch_point:
		return keep_if(is_own(view, event_as(e, watch_point)->pid));
	case EVENT_switch:
		return by_two(view, e, event_as(e, switch)->next);
	case EVENT_wake:
		/* an interrupt is nobody's, whomever it interrupted */
		if (event_as(e, wake)->context != CONTEXT_thread && !is_own(view, event_as(e, wake)->target))
			return keep_if(is_own(view, event_as(e, wake)->armer));
		return by_two(view, e, event_as(e, wake)->target);
	case EVENT_signal:
		return by_two(view, e, event_as(e, signal)->target);
	case EVENT_rename:
		return keep_if(is_own(view, event_as(e, rename)->target));
	case EVENT_throttle:
		return keep_if(is_own(view, event_as(e, throttle)->target));
	case EVENT_block_issue:
		return begins(view, e, event_as(e, block_issue)->request);
	case EVENT_block_complete:
		return ends(view, EVENT_block_issue, event_as(e, block_complete)->request);
	case EVENT_fuse_send:
		return begins(view, e, event_as(e, fuse_send)->unique);
	case EVENT_fuse_end:
		return ends(view, EVENT_fuse_send, event_as(e, fuse_end)->unique);
	case EVENT_uring_submit:
		return begins(view, e, event_as(e, uring_submit)->request);
	case EVENT_uring_complete:
		return ends(view, EVENT_uring_submit, event_as(e, uring_complete)->request);
	case EVENT_timer_fire:
		return keep_if(is_own(view, event_as(e, timer_fire)->armer));
	default:
		return keep_if(is_own(view, e->tid));
	}
}

/* ---- what is left of an event ---- */

static uint64_t scramble(const struct view *view, uint64_t value)
{
	struct keyed_hash hash;

	keyed_hash_begin(&hash, &view->key);
	keyed_hash_add(&hash, &value, sizeof(value));
	return keyed_hash_end(&hash);
}

/* Numbers of objects that are made of an inode or an identifier tell nothing. */
static uint64_t safe_object(const struct view *view, uint64_t object)
{
	switch (object_kind(object)) {
	case OBJECT_KIND_none: case OBJECT_KIND_file: case OBJECT_KIND_directory: case OBJECT_KIND_pipe: case OBJECT_KIND_fifo:
	case OBJECT_KIND_device: case OBJECT_KIND_queue: case OBJECT_KIND_semaphore: case OBJECT_KIND_fuse:
		return object;
	default:
		return (object & ~LOW_BITS) | (scramble(view, object) & LOW_BITS);
	}
}

static uint64_t safe_value(const struct view *view, enum field_kind kind, uint64_t value)
{
	switch (kind) {
	case FIELD_OBJECT: case FIELD_CHANNEL:
		return safe_object(view, value);
	case FIELD_KERNEL_ADDRESS:
		return 0;
	case FIELD_HEX:
		return value & KERNEL_HALF && value < ERRORS_FROM ? scramble(view, value) | KERNEL_HALF : value;
	default:
		return value;
	}
}

static void make_safe(const struct view *view, const struct event *e, unsigned char *data)
{
	const struct event_info *info = &event_infos[e->type];

	for (unsigned i = 0; i < info->field_count; i++) {
		uint64_t value;

		if (info->fields[i].bytes != sizeof(value))
			continue;
		memcpy(&value, data + info->fields[i].offset, sizeof(value));
		value = safe_value(view, info->fields[i].kind, value);
		memcpy(data + info->fields[i].offset, &value, sizeof(value));
	}
	if (e->type == EVENT_switch && ((struct event_switch *)(void *)data)->wait == WAIT_KIND_poll)
		((struct event_switch *)(void *)data)->detail = safe_object(view, event_as(e, switch)->detail);
	if (e->type == EVENT_waiting && ((struct event_waiting *)(void *)data)->wait == WAIT_KIND_poll)
		((struct event_waiting *)(void *)data)->detail = safe_object(view, event_as(e, waiting)->detail);
}

static void outline(const struct event *e, unsigned char *data)
{
	if (e->type == EVENT_switch) {
		const struct event_switch *s = event_as(e, switch);

		*(struct event_switch *)(void *)data = (struct event_switch){
			.next = s->next, .syscall = SYSCALL_NONE, .state = s->state, .next_prio = s->next_prio,
			.wait = s->state ? WAIT_KIND_other : s->wait,
			.flags = (s->flags & (SWITCH_FLAGS_preempted | SWITCH_FLAGS_kernel_thread)) | (e->tid ? SWITCH_FLAGS_unfiltered : 0),
		};
	} else if (e->type == EVENT_wake) {
		const struct event_wake *w = event_as(e, wake);
		bool interrupt = w->context != CONTEXT_thread;

		*(struct event_wake *)(void *)data = (struct event_wake){
			.target = w->target, .target_cpu = w->target_cpu, .syscall = SYSCALL_NONE, .context = w->context, .cause = w->cause,
			.vector = w->vector, .source = interrupt ? w->source : 0, .armer = interrupt ? w->armer : 0,
			.flags = w->flags,
		};
	} else if (e->type == EVENT_signal) {
		((struct event_signal *)(void *)data)->ustack = 0;
	} else if (e->type == EVENT_task) {
		const struct event_task *t = event_as(e, task);

		*(struct event_task *)(void *)data = (struct event_task){ .start_ns = t->start_ns, .pid = t->pid, .parent = t->parent,
			.uid = t->uid, .flags = t->flags, .prio = t->prio };
	}
}

/* What tells where the kernel lies. */
static uint32_t copy_machine(const struct event *e, char *to)
{
	uint32_t length = 0;

	for (const char *at = e->tail, *end = at + e->tail_length; at < end;) {
		size_t size = strnlen(at, (size_t)(end - at));

		size += at + size < end;
		if (strncmp(at, "kernel_text=", 12) != 0) {
			memcpy(to + length, at, size);
			length += (uint32_t)size;
		}
		at += size;
	}
	to[length] = 0;
	return length;
}

/* The name alone: its other texts stay, empty. */
static uint32_t copy_name(const struct event *e, char *to)
{
	uint32_t length = (uint32_t)strnlen(e->tail, e->tail_length);

	memcpy(to, e->tail, length);
	memset(to + length, 0, 4);
	return length + 4;
}

static int put(struct view *view, const struct event *e, enum verdict verdict, struct writer *writer, struct err *err)
{
	uint64_t data[32] = { 0 };
	struct event out = *e;
	char *texts = NULL;
	int r;

	_Static_assert(sizeof(data) >= 144, "the largest event");
	if (e->data) {
		memcpy(data, e->data, event_infos[e->type].bytes);
		if (verdict == OUTLINE)
			outline(e, (unsigned char *)data);
		make_safe(view, e, (unsigned char *)data);
		out.data = data;
	}
	if (e->type == EVENT_machine || (e->type == EVENT_task && verdict == OUTLINE)) {
		texts = mem_alloc((size_t)e->tail_length + 5);
		out.tail_length = e->type == EVENT_machine ? copy_machine(e, texts) : copy_name(e, texts);
		out.tail = texts;
	}
	r = writer_add_event(writer, &out, err);
	free(texts);
	return r;
}

/* ---- what is spoken of ---- */

static void note_fields(struct view *view, const struct event *e)
{
	const struct event_info *info = &event_infos[e->type];

	for (unsigned i = 0; e->data && i < info->field_count; i++) {
		uint32_t value;

		if (info->fields[i].bytes != sizeof(value) ||
		    (info->fields[i].kind != FIELD_STACK && info->fields[i].kind != FIELD_MODULE))
			continue;
		memcpy(&value, (const char *)e->data + info->fields[i].offset, sizeof(value));
		if (value)
			set_bit(info->fields[i].kind == FIELD_STACK ? &view->nodes : &view->modules, value, true);
	}
}

/* A caller's node is told before those that it called, so that one way back finds all; in
 * whatever order another wrote it, it comes to an end. */
static void note_callers(struct view *view)
{
	bool more = true;

	while (more) {
		more = false;
		for (size_t i = view->frames.length; i--;) {
			const struct frame_link *f = &view->frames.items[i];

			if (!bit(&view->nodes, f->node))
				continue;
			set_bit(&view->modules, f->module, true);
			more |= f->parent < view->nodes.count && f->parent && !bit(&view->nodes, f->parent);
			if (f->parent)
				set_bit(&view->nodes, f->parent, true);
		}
	}
}

static int each(const struct trace *trace, struct view *view, struct writer *writer, struct err *err)
{
	struct trace_filter filter = { .unnumbered = true };
	struct trace_cursor *cursor = trace_cursor_new(trace, &filter);
	int r = 0;

	memset(view->own.bytes, 0, view->own.count / 8);
	map_clear(&view->requests);
	for (const struct event *e; !r && (e = trace_cursor_next(cursor));) {
		enum verdict verdict;

		if (e->type >= EVENT_MAX || !event_infos[e->type].name || (!e->data && event_infos[e->type].bytes))
			continue;
		learn(view, e);
		verdict = judge(view, e);
		if (writer && verdict != DROP)
			r = put(view, e, verdict, writer, err);
		else if (!writer && e->type == EVENT_frame)
			vec_push(&view->frames, ((struct frame_link){ event_as(e, frame)->node, event_as(e, frame)->parent, event_as(e, frame)->module }));
		else if (!writer && verdict == KEEP)
			note_fields(view, e);
		forget(view, e);
	}
	trace_cursor_free(cursor);
	return r;
}

int trace_copy_own(const struct trace *trace, uint32_t uid, struct writer *writer, struct err *err)
{
	struct view view = { .uid = uid };
	int r = hash_key_make(&view.key);

	if (r)
		return err_sys(err, r, "making a key");
	bits_init(&view.own, TIDS);
	bits_init(&view.modules, MODULE_NUMBERS);
	bits_init(&view.nodes, NODE_NUMBERS);
	map_init(&view.requests);
	each(trace, &view, NULL, NULL);
	note_callers(&view);
	r = each(trace, &view, writer, err);
	map_done(&view.requests);
	vec_done(&view.frames);
	free(view.own.bytes);
	free(view.modules.bytes);
	free(view.nodes.bytes);
	return r;
}
