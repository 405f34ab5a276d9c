/* Events to text. Numbers are formatted by hand into a buffer with room enough
 * for a whole line: a dump writes millions of lines a second. */
#include "trace/text.h"

#include <string.h>

#include "base/arena.h"
#include "trace/names.h"

/* Room for a head and all fields of one event: names below 24 bytes, a value at
 * most eight flags of 24. */
#define LINE_ROOM (64 + EVENT_MAX_FIELDS * (24 + 8 * 24))

static char *reserve(struct buf *buf, size_t room)
{
	size_t want = buf->length + room + 1;

	if (want > buf->capacity) {
		buf->capacity = want < 2 * buf->capacity ? 2 * buf->capacity : want;
		buf->data = mem_realloc(buf->data, buf->capacity);
	}
	return buf->data + buf->length;
}

static void commit(struct buf *buf, char *end)
{
	buf->length = (size_t)(end - buf->data);
	*end = 0;
}

static char *put_text(char *at, const char *text)
{
	size_t length = strlen(text);

	memcpy(at, text, length);
	return at + length;
}

static const char digit_pairs[201] =
	"00010203040506070809101112131415161718192021222324252627282930313233343536373839404142434445464748495051525354"
	"555657585960616263646566676869707172737475767778798081828384858687888990919293949596979899";

static char *put_u64(char *at, uint64_t value)
{
	char digits[20], *from = digits + sizeof(digits);

	while (value >= 100) {
		from -= 2;
		memcpy(from, digit_pairs + value % 100 * 2, 2);
		value /= 100;
	}
	if (value >= 10) {
		from -= 2;
		memcpy(from, digit_pairs + value * 2, 2);
	} else {
		*--from = (char)('0' + value);
	}
	memcpy(at, from, (size_t)(digits + sizeof(digits) - from));
	return at + (digits + sizeof(digits) - from);
}

static char *put_i64(char *at, int64_t value)
{
	if (value < 0)
		*at++ = '-';
	return put_u64(at, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

static char *put_hex(char *at, uint64_t value)
{
	int nibbles = value ? (67 - __builtin_clzll(value)) / 4 : 1;

	for (int i = nibbles - 1; i >= 0; i--, value >>= 4)
		at[i] = "0123456789abcdef"[value & 15];
	return at + nibbles;
}

static char *put_time(char *at, uint64_t time_ns)
{
	uint32_t rest = (uint32_t)(time_ns % 1000000000);

	at = put_u64(at, time_ns / 1000000000);
	*at++ = '.';
	*at++ = (char)('0' + rest / 100000000);
	rest %= 100000000;
	for (int i = 6; i >= 0; i -= 2, rest /= 100)
		memcpy(at + i, digit_pairs + rest % 100 * 2, 2);
	return at + 8;
}

static char *put_duration(char *at, uint64_t ns)
{
	if (ns == 0)
		return put_text(at, "0");
	if (ns % 1000000000 == 0)
		return put_text(put_u64(at, ns / 1000000000), "s");
	if (ns % 1000000 == 0)
		return put_text(put_u64(at, ns / 1000000), "ms");
	if (ns % 1000 == 0)
		return put_text(put_u64(at, ns / 1000), "us");
	return put_text(put_u64(at, ns), "ns");
}

static char *put_flags(char *at, enum field_kind kind, uint64_t value)
{
	char *start = at;

	for (unsigned bit = 0; bit < 64 && value; bit++) {
		const char *name = value >> bit & 1 ? kind_value_name(kind, 1ull << bit) : NULL;

		if (!name)
			continue;
		if (at > start)
			*at++ = '|';
		at = put_text(at, name);
		value &= ~(1ull << bit);
	}
	if (value || at == start) {
		if (at > start)
			*at++ = '|';
		at = put_text(at, "0x");
		at = put_hex(at, value);
	}
	return at;
}

static char *put_object(char *at, uint64_t object)
{
	const char *kind = object_kind(object) ? kind_value_name(FIELD_OBJECT_KIND, object_kind(object)) : NULL;

	if (kind) {
		at = put_text(at, kind);
		*at++ = ':';
		return put_hex(at, object & ((1ull << OBJECT_KIND_SHIFT) - 1));
	}
	return put_hex(put_text(at, "0x"), object);
}

static char *put_named(char *at, const char *name, uint64_t value)
{
	return name ? put_text(at, name) : put_u64(at, value);
}

static char *put_value(char *at, enum field_kind kind, uint64_t value)
{
	/* The plain numbers first; everything that the switch leaves is a list of names. */
	switch ((int)kind) {
	case FIELD_U8:
	case FIELD_U16:
	case FIELD_U32:
	case FIELD_U64:
	case FIELD_TID:
	case FIELD_PID:
	case FIELD_CPU:
	case FIELD_CPU32:
	case FIELD_BYTES:
	case FIELD_STACK:
	case FIELD_MODULE:
	case FIELD_WALL:
		return put_u64(at, value);
	case FIELD_I32:
	case FIELD_I64:
		return put_i64(at, (int64_t)value);
	case FIELD_HEX:
	case FIELD_CHANNEL:
	case FIELD_CGROUP:
	case FIELD_KERNEL_ADDRESS:
		return put_hex(put_text(at, "0x"), value);
	case FIELD_TIME:
		return put_time(at, value);
	case FIELD_DURATION:
		return put_duration(at, value);
	case FIELD_OBJECT:
		return put_object(at, value);
	case FIELD_SYSCALL:
		return value == SYSCALL_NONE ? put_text(at, "none") : put_named(at, syscall_name((unsigned)value), value);
	case FIELD_SIGNAL:
		return put_named(at, value > UINT32_MAX ? NULL : signal_name((unsigned)value), value);
	case FIELD_DEVICE:
		at = put_u64(at, value >> 20);
		*at++ = ':';
		return put_u64(at, value & 0xfffff);
	}
	if (kind_is_flags(kind))
		return put_flags(at, kind, value);
	return put_named(at, kind_value_name(kind, value), value);
}

uint64_t field_value(const struct field_info *field, const void *data)
{
	const unsigned char *at = (const unsigned char *)data + field->offset;
	uint16_t u16_value;
	uint32_t u32_value;
	uint64_t value = 0;

	switch (field->bytes) {
	case 1:
		return *at;
	case 2:
		memcpy(&u16_value, at, 2);
		return u16_value;
	case 4:
		memcpy(&u32_value, at, 4);
		return field->kind == FIELD_I32 ? (uint64_t)(int64_t)(int32_t)u32_value : u32_value;
	case 8:
		memcpy(&value, at, 8);
	}
	return value;
}

void field_set(const struct field_info *field, void *data, uint64_t value)
{
	memcpy((unsigned char *)data + field->offset, &value, field->bytes); /* little-endian, as the whole format */
}

static void put_quoted(struct buf *buf, const char *text, size_t length)
{
	buf_char(buf, '"');
	buf_escaped(buf, text, length, "\"");
	buf_char(buf, '"');
}

static void format_tail(struct buf *buf, enum field_kind kind, const char *tail, size_t length)
{
	const char *end;

	if (kind == FIELD_KINDS || (kind == FIELD_TEXTS && tail[length - 1])) {
		/* not of the declared form: kept as it is */
		buf_text(buf, " tail=");
		put_quoted(buf, tail, length);
		return;
	}
	for (; length; length -= (size_t)(end - tail), tail = end) {
		const char *stop = kind == FIELD_TEXTS ? memchr(tail, 0, length) : tail + length;

		end = kind == FIELD_TEXTS ? stop + 1 : stop;
		buf_char(buf, ' ');
		put_quoted(buf, tail, (size_t)(stop - tail));
	}
}

static char *put_fields(char *at, const struct event_info *info, const void *data)
{
	for (const struct field_info *field = info->fields; field < info->fields + info->field_count; field++) {
		uint64_t value = field_value(field, data);

		if (value == field_default(field->kind))
			continue;
		*at++ = ' ';
		at = put_text(at, field->name);
		*at++ = '=';
		at = put_value(at, field->kind, value);
	}
	return at;
}

void text_format_fields(struct buf *buf, const struct event *e)
{
	const struct event_info *info;

	if (e->type >= EVENT_MAX || !event_infos[e->type].name)
		return;
	info = &event_infos[e->type];
	if (e->data)
		commit(buf, put_fields(reserve(buf, LINE_ROOM), info, e->data));
	if (e->tail_length)
		format_tail(buf, info->tail, e->tail, e->tail_length);
}

/* The event's name, fields and tail, and the newline; `at` is in reserved room. */
static void finish_line(struct buf *buf, char *at, const struct event *e)
{
	const struct event_info *info = &event_infos[e->type];

	at = put_text(at, info->name);
	if (e->data)
		at = put_fields(at, info, e->data);
	*at++ = '\n';
	commit(buf, at);
	if (e->tail_length) {
		buf->length--;
		format_tail(buf, info->tail, e->tail, e->tail_length);
		buf_char(buf, '\n');
	}
}

static char *put_place(char *at, const struct event *e)
{
	at = put_time(at, e->time);
	*at++ = ' ';
	*at++ = '[';
	at = put_u64(at, e->cpu);
	*at++ = ']';
	*at++ = ' ';
	return at;
}

void text_format(struct buf *buf, const struct event *e)
{
	char *at;

	if (e->type >= EVENT_MAX || !event_infos[e->type].name)
		return;
	at = put_place(reserve(buf, LINE_ROOM), e);
	at = put_u64(at, e->tid);
	*at++ = ' ';
	finish_line(buf, at, e);
}

void text_format_line(struct buf *buf, const struct event *e, const char *comm)
{
	const char *c = comm;
	char *at;

	if (e->type >= EVENT_MAX || !event_infos[e->type].name)
		return;
	at = put_u64(reserve(buf, LINE_ROOM), e->number);
	*at++ = ' ';
	at = put_place(at, e);
	while (*c >= ' ' && *c < 0x7f && *c != '\\' && c - comm < 16)
		*at++ = *c++;
	if (*c) {
		commit(buf, at);
		buf_escaped(buf, c, strlen(c), NULL);
		at = reserve(buf, LINE_ROOM);
	}
	*at++ = ' ';
	at = put_u64(at, e->tid);
	*at++ = ' ';
	finish_line(buf, at, e);
}

void text_format_value(struct buf *buf, enum field_kind kind, uint64_t value)
{
	commit(buf, put_value(reserve(buf, LINE_ROOM), kind, value));
}

void text_format_time(struct buf *buf, uint64_t time_ns)
{
	commit(buf, put_time(reserve(buf, LINE_ROOM), time_ns));
}
