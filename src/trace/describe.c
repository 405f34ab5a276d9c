/* See describe.h. */
#include "trace/describe.h"

#include <errno.h>
#include <string.h>

#include "trace/varint.h"

static unsigned char *put_name(unsigned char *at, const char *name)
{
	size_t length = strlen(name);

	at = varint_put(at, length);
	memcpy(at, name, length);
	return at + length;
}

unsigned char *describe_put(unsigned char *at)
{
	unsigned count = 0;

	for (unsigned i = 0; i < EVENT_MAX; i++)
		count += event_infos[i].name != NULL;
	at = varint_put(at, count);
	for (unsigned i = 0; i < EVENT_MAX; i++) {
		const struct event_info *info = &event_infos[i];

		if (!info->name)
			continue;
		at = put_name(varint_put(at, i), info->name);
		*at++ = info->categories;
		*at++ = info->level;
		at = put_name(at, kind_name(info->tail));
		*at++ = info->field_count;
		for (const struct field_info *field = info->fields; field < info->fields + info->field_count; field++) {
			*at++ = field->bytes;
			at = put_name(put_name(at, field->name), kind_name(field->kind));
		}
	}
	return at;
}

struct text_part {
	const char *text;
	uint64_t length;
};

static const unsigned char *get_name(const unsigned char *at, const unsigned char *end, struct text_part *ret_name)
{
	if (at)
		at = varint_get(at, end, &ret_name->length);
	if (!at || ret_name->length > (size_t)(end - at))
		return NULL;
	ret_name->text = (const char *)at;
	return at + ret_name->length;
}

static bool part_is(struct text_part part, const char *text)
{
	return text && strlen(text) == part.length && !memcmp(text, part.text, part.length);
}

static const unsigned char *get_field(const unsigned char *at, const unsigned char *end, const struct event_info *info,
				      struct field_plan *plan)
{
	struct text_part name, kind;
	unsigned bytes = at < end ? *at++ : 0;

	at = get_name(get_name(at, end, &name), end, &kind);
	if (!at || (bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8))
		return NULL;
	*plan = (struct field_plan){ .skip = 1 };
	for (unsigned i = 0; info && i < info->field_count; i++)
		if (part_is(name, info->fields[i].name))
			*plan = (struct field_plan){ 0, info->fields[i].offset, info->fields[i].bytes };
	return at;
}

static const unsigned char *get_event(const unsigned char *at, const unsigned char *end, struct event_plan plans[])
{
	struct text_part name, tail;
	struct event_plan *plan;
	const struct event_info *info = NULL;
	uint64_t number = 0;

	at = get_name(varint_get(at, end, &number), end, &name);
	if (!at || number >= DESCRIBE_NUMBERS || end - at < 2)
		return NULL;
	plan = &plans[number];
	if (number < EVENT_MAX && part_is(name, event_infos[number].name))
		info = &event_infos[number];
	*plan = (struct event_plan){ .described = true, .known = info != NULL, .categories = at[0] };
	at = get_name(at + 2, end, &tail);
	if (!at || at == end || *at > DESCRIBE_FIELDS)
		return NULL;
	plan->field_count = *at++;
	for (unsigned i = 0; at && i < plan->field_count; i++)
		at = get_field(at, end, info, &plan->fields[i]);
	return at;
}

int describe_get(const unsigned char *at, const unsigned char *end, struct event_plan plans[DESCRIBE_NUMBERS])
{
	uint64_t count = 0;

	memset(plans, 0, DESCRIBE_NUMBERS * sizeof(plans[0]));
	at = varint_get(at, end, &count);
	for (uint64_t i = 0; at && i < count; i++)
		at = get_event(at, end, plans);
	return at == end ? 0 : -EBADMSG;
}

void describe_own(struct event_plan plans[DESCRIBE_NUMBERS])
{
	memset(plans, 0, DESCRIBE_NUMBERS * sizeof(plans[0]));
	for (unsigned i = 0; i < EVENT_MAX; i++) {
		const struct event_info *info = &event_infos[i];

		if (!info->name)
			continue;
		plans[i] = (struct event_plan){ true, true, info->categories, info->field_count, { { 0 } } };
		for (unsigned k = 0; k < info->field_count; k++)
			plans[i].fields[k] = (struct field_plan){ 0, info->fields[k].offset, info->fields[k].bytes };
	}
}
