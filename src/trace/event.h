/* What derives from the event table: structs, numbers, descriptors.
 *
 * This header is shared with the BPF programs (which define __bpf__ and get the
 * structs and enums only). A field's struct type, size and offset are the same
 * in the kernel's rings and in memory; files code them differently. */
#ifndef TRACE_EVENT_H
#define TRACE_EVENT_H

#ifdef __bpf__
#include <linux/types.h>
typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
#else
#include <stddef.h>
#include <stdint.h>
typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
#endif

/* Numbers: EVENT_switch, EVENT_wake, ... */
enum event_type {
#define EVENT(name, number, categories, level, source, doc) EVENT_##name = number,
#define FIELD(event, type, name, kind, doc)
#define TAIL(event, kind, doc)
#define END(event, bytes)
#include "trace/events.def"
#undef EVENT
#undef FIELD
#undef TAIL
#undef END
	EVENT_MAX = 96 /* all numbers are below */
};

/* Payloads: struct event_switch, struct event_wake, ... */
#define EVENT(name, number, categories, level, source, doc) struct event_##name {
#define FIELD(event, type, name, kind, doc) type name;
#define TAIL(event, kind, doc)
#define END(event, bytes) }; _Static_assert(sizeof(struct event_##event) == (bytes), "size of event " #event);
#include "trace/events.def"
#undef EVENT
#undef FIELD
#undef TAIL
#undef END

/* Named values: WAIT_KIND_futex, CONTEXT_softirq, ... */
#define KIND(kind)
#define VALUE(kind, number, name, doc) enum { kind##_##name = number };
#include "trace/kinds.def"
#undef KIND
#undef VALUE

#define DESCRIPTOR_SPOKE_LAST 4u /* in the access of a TCP connection */
#define DESCRIPTOR_UNNAMED 1u    /* state of a word in shared memory */
#define SYSCALL_NONE 0xffffu   /* in no system call */
#define PROBES_MOST 256u       /* probes of a recording; their numbers begin with 1 */

/* An object's number: its kind in the top byte, below it the inode and a mix of
 * its device for what has one; a futex is its address mixed with the address
 * space (private) or with its page's object (shared). 0 is unknown. */
#define OBJECT_KIND_SHIFT 56
#define object_kind(object) ((unsigned)((u64)(object) >> OBJECT_KIND_SHIFT))

#ifndef __bpf__

enum event_category {
	SEMANTICS = 1,
	BOUNDARY = 2,
	CONNECTION = 4,
	STATE = 8,
	META = 16
};

enum event_level { ALWAYS, LEAN, FULL, PACK };

/* How a field is shown and coded. Kinds that name values come from kinds.def. */
enum field_kind {
	FIELD_U8, FIELD_U16, FIELD_U32, FIELD_U64, FIELD_I32, FIELD_I64, FIELD_HEX,
	FIELD_TID, FIELD_PID, FIELD_CPU, FIELD_CPU32, FIELD_TIME, FIELD_WALL, FIELD_DURATION, FIELD_BYTES,
	FIELD_OBJECT, FIELD_CHANNEL, FIELD_STACK, FIELD_SYSCALL, FIELD_SIGNAL, FIELD_DEVICE,
	FIELD_CGROUP, FIELD_MODULE, FIELD_KERNEL_ADDRESS,
	FIELD_TEXT,  /* tails only: a text */
	FIELD_TEXTS, /* tails only: texts, each ended by a NUL */
#define KIND(kind) FIELD_##kind,
#define VALUE(kind, number, name, doc)
#include "trace/kinds.def"
#undef KIND
#undef VALUE
	FIELD_KINDS
};

struct field_info {
	const char *name;
	const char *doc;
	enum field_kind kind;
	uint8_t offset;    /* in the payload struct */
	uint8_t bytes;     /* 1, 2, 4 or 8 */
};

#define EVENT_MAX_FIELDS 22

struct event_info {
	const char *name;      /* NULL for numbers that are not used */
	const char *doc;
	const char *source;
	uint8_t categories;    /* enum event_category, or'ed */
	uint8_t level;         /* enum event_level */
	uint8_t bytes;         /* of the payload struct */
	uint8_t field_count;
	enum field_kind tail;  /* FIELD_TEXT or FIELD_TEXTS; FIELD_KINDS for none */
	const char *tail_doc;
	struct field_info fields[EVENT_MAX_FIELDS];
};

/* By event number; entries of unused numbers have no name. */
extern const struct event_info event_infos[EVENT_MAX];

/* NULL when there is no such event. */
const struct event_info *event_info_find(const char *name);
/* Number of the info, 0 for NULL. */
unsigned event_info_number(const struct event_info *info);
const struct field_info *field_info_find(const struct event_info *info, const char *name);

/* "TID", "WAIT_KIND", ...: the kind's name in the table; "" for FIELD_KINDS. */
const char *kind_name(enum field_kind kind);
/* Name of a value of a named kind, NULL when it has none; for flags of one bit. */
const char *kind_value_name(enum field_kind kind, uint64_t value);
/* The value in words; NULL when it has none. */
const char *kind_value_doc(enum field_kind kind, uint64_t value);
/* -ENOENT when the kind has no such name. */
int kind_value_find(enum field_kind kind, const char *name, size_t length, uint64_t *ret_value);
/* True when values of the kind are or'ed bits (SWITCH_FLAGS, ...): its list has no 0. */
int kind_is_flags(enum field_kind kind);

/* One event as readers hand it out. */
struct event {
	uint64_t time;         /* CLOCK_MONOTONIC, ns */
	uint64_t number;       /* place in the trace's order of time, from 1: what `dump` prints and answers cite */
	uint32_t tid;
	uint16_t cpu;
	uint16_t type;         /* enum event_type, or above EVENT_MAX: unknown, to be passed over */
	const void *data;      /* payload struct, aligned to 8; NULL when the event has none */
	const char *tail;      /* NUL-terminated behind its length; "" when there is none */
	uint32_t tail_length;
};

/* const struct event_switch *s = event_as(e, switch); */
#define event_as(e, name) ((const struct event_##name *)(e)->data)

#endif
#endif
