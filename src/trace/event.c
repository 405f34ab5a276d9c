/* The event table as data: descriptors, and the names of numbers. */
#include "trace/event.h"

#include <errno.h>
#include <string.h>

#define EVENT(name, number, categories, level, source, doc) enum { field_count_##name = 0
#define FIELD(event, type, name, kind, doc) + 1
#define TAIL(event, kind, doc)
#define END(event, bytes) }; \
	_Static_assert(field_count_##event < EVENT_MAX_FIELDS && (bytes) < 256, "event " #event " is too large");
#include "trace/events.def"
#undef EVENT
#undef FIELD
#undef TAIL
#undef END

/* TAIL closes the fields, says its own and opens an element that no event uses,
 * so that END closes the same braces with and without a tail. */
#pragma GCC diagnostic push
#ifdef __clang__
#pragma GCC diagnostic ignored "-Winitializer-overrides"
#else
#pragma GCC diagnostic ignored "-Woverride-init"
#endif
const struct event_info event_infos[EVENT_MAX] = {
#define EVENT(event, number, category, at_level, from, text) \
	[number] = { .name = #event, .doc = text, .source = from, .categories = (category), .level = (at_level), \
		     .bytes = sizeof(struct event_##event), .field_count = field_count_##event, \
		     .tail = FIELD_KINDS, .fields = {
#define FIELD(event, type, field, kind, text) \
	{ #field, text, FIELD_##kind, offsetof(struct event_##event, field), sizeof(type) },
#define TAIL(event, kind, text) }, .tail = FIELD_##kind, .tail_doc = text, .fields[EVENT_MAX_FIELDS - 1] = {
#define END(event, bytes) } },
#include "trace/events.def"
#undef EVENT
#undef FIELD
#undef TAIL
#undef END
};
#pragma GCC diagnostic pop

const struct event_info *event_info_find(const char *name)
{
	for (unsigned i = 0; i < EVENT_MAX; i++)
		if (event_infos[i].name && !strcmp(event_infos[i].name, name))
			return &event_infos[i];
	return NULL;
}

unsigned event_info_number(const struct event_info *info)
{
	return info ? (unsigned)(info - event_infos) : 0;
}

const struct field_info *field_info_find(const struct event_info *info, const char *name)
{
	for (unsigned i = 0; i < info->field_count; i++)
		if (!strcmp(info->fields[i].name, name))
			return &info->fields[i];
	return NULL;
}

#define VALUE_LIMIT 256

static const char *const value_names[FIELD_KINDS][VALUE_LIMIT] = {
#define KIND(kind)
#define VALUE(kind, number, name, doc) [FIELD_##kind][number] = #name,
#include "trace/kinds.def"
#undef KIND
#undef VALUE
};

static const char *const value_docs[FIELD_KINDS][VALUE_LIMIT] = {
#define KIND(kind)
#define VALUE(kind, number, name, doc) [FIELD_##kind][number] = doc,
#include "trace/kinds.def"
#undef KIND
#undef VALUE
};

static const char *const kind_names[FIELD_KINDS + 1] = {
#define NAME(kind) [FIELD_##kind] = #kind
	NAME(U8), NAME(U16), NAME(U32), NAME(U64), NAME(I32), NAME(I64), NAME(HEX), NAME(TID), NAME(PID), NAME(CPU),
	NAME(CPU32), NAME(TIME), NAME(WALL), NAME(DURATION), NAME(BYTES), NAME(OBJECT), NAME(CHANNEL), NAME(STACK),
	NAME(SYSCALL), NAME(SIGNAL), NAME(DEVICE), NAME(CGROUP), NAME(MODULE), NAME(KERNEL_ADDRESS), NAME(TEXT),
	NAME(TEXTS),
#undef NAME
#define KIND(kind) [FIELD_##kind] = #kind,
#define VALUE(kind, number, name, doc)
#include "trace/kinds.def"
#undef KIND
#undef VALUE
	[FIELD_KINDS] = ""
};

const char *kind_name(enum field_kind kind)
{
	return kind <= FIELD_KINDS ? kind_names[kind] : "";
}

const char *kind_value_name(enum field_kind kind, uint64_t value)
{
	return kind < FIELD_KINDS && value < VALUE_LIMIT ? value_names[kind][value] : NULL;
}

const char *kind_value_doc(enum field_kind kind, uint64_t value)
{
	return kind < FIELD_KINDS && value < VALUE_LIMIT ? value_docs[kind][value] : NULL;
}

int kind_value_find(enum field_kind kind, const char *name, size_t length, uint64_t *ret_value)
{
	if (kind >= FIELD_KINDS)
		return -ENOENT;
	for (unsigned i = 0; i < VALUE_LIMIT; i++) {
		const char *known = value_names[kind][i];

		if (known && strlen(known) == length && !memcmp(known, name, length)) {
			*ret_value = i;
			return 0;
		}
	}
	return -ENOENT;
}

int kind_is_flags(enum field_kind kind)
{
	return kind > FIELD_TEXTS && kind < FIELD_KINDS && !value_names[kind][0];
}
