/* See kernel_types.h. */
#ifdef HAVE_BPF
#include "record/kernel_types.h"

#include <bpf/btf.h>
#include <stdint.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/map.h"
#include "base/vec.h"

#define KIND_ENUM64 19 /* in headers since 6.0 */

struct named {
	uint32_t source, id;
	uint32_t next;             /* of the same name, 1 above its place; 0 none */
};

struct kernel_types {
	struct vec(const struct btf *) sources;
	struct vec(struct named) named;
	struct map names;          /* hash of a name without its flavour -> 1 above the place of its first */
};

/* What an object gets while it is put together. */
struct chosen {
	const struct kernel_types *types;
	struct vec(uint32_t *) numbers; /* for each source of each of its types: 0 not wanted, else its number */
	struct vec(struct named) todo;
	uint32_t end;              /* behind the highest of the kernel's own */
	uint32_t added;            /* types of modules */
	struct vec(struct named) modules;
};

/* "request___old" is a `request`: as the library has it. */
static size_t essential_length(const char *name)
{
	size_t length = strlen(name);

	for (size_t i = length; i >= 5; i--) {
		const char *at = name + i - 5;

		if (at[0] != '_' && at[1] == '_' && at[2] == '_' && at[3] == '_' && at[4] != '_')
			return (size_t)(at - name) + 1;
	}
	return length;
}

static bool is_asked_for(const struct btf_type *type)
{
	switch (btf_kind(type)) {
	case BTF_KIND_INT:
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
	case BTF_KIND_ENUM:
	case BTF_KIND_TYPEDEF:
	case BTF_KIND_FLOAT:
	case KIND_ENUM64:
		return type->name_off != 0;
	}
	return false;
}

static uint32_t first_of(const struct btf *btf)
{
	const struct btf *base = btf__base_btf(btf);

	return base ? btf__type_cnt(base) : 1;
}

static const char *name_of(const struct btf *btf, const struct btf_type *type)
{
	return btf__name_by_offset(btf, type->name_off);
}

struct kernel_types *kernel_types_new(void)
{
	struct kernel_types *types = mem_zalloc(sizeof(*types));

	map_init(&types->names);
	return types;
}

void kernel_types_free(struct kernel_types *types)
{
	if (!types)
		return;
	vec_done(&types->sources);
	vec_done(&types->named);
	map_done(&types->names);
	free(types);
}

void kernel_types_add(struct kernel_types *types, const struct btf *btf)
{
	uint32_t source = (uint32_t)types->sources.length;

	vec_push(&types->sources, btf);
	for (uint32_t id = first_of(btf); id < btf__type_cnt(btf); id++) {
		const struct btf_type *type = btf__type_by_id(btf, id);

		if (!is_asked_for(type))
			continue;
		const char *name = name_of(btf, type);
		uint64_t *first = map_at(&types->names, hash_bytes(name, essential_length(name)), NULL);
		struct named named = { .source = source, .id = id, .next = (uint32_t)*first };
		vec_push(&types->named, named);
		*first = types->named.length;
	}
}

static uint32_t first_named(const struct kernel_types *types, const char *name, size_t length)
{
	const uint64_t *first = map_find(&types->names, hash_bytes(name, length));

	return first ? (uint32_t)*first : 0;
}

bool kernel_types_has(const struct kernel_types *types, const char *name, unsigned kind)
{
	for (uint32_t at = first_named(types, name, essential_length(name)); at; at = types->named.items[at - 1].next) {
		const struct named *named = &types->named.items[at - 1];
		const struct btf *btf = types->sources.items[named->source];
		const struct btf_type *type = btf__type_by_id(btf, named->id);

		if (btf_kind(type) == kind && !strcmp(name_of(btf, type), name))
			return true;
	}
	return false;
}

static uint32_t *number_of(const struct chosen *chosen, uint32_t source, uint32_t id)
{
	uint32_t first = first_of(chosen->types->sources.items[source]);

	return !source || id < first ? &chosen->numbers.items[0][id] : &chosen->numbers.items[source][id - first];
}

/* With its name and its members. */
static void choose(struct chosen *chosen, uint32_t source, uint32_t id)
{
	uint32_t *number = number_of(chosen, source, id);
	struct named one = { .source = id < first_of(chosen->types->sources.items[source]) ? 0 : source, .id = id };

	if (!id || *number)
		return;
	if (!one.source) {
		*number = id;
		if (id >= chosen->end)
			chosen->end = id + 1;
	} else {
		*number = ++chosen->added;
		vec_push(&chosen->modules, one);
	}
	vec_push(&chosen->todo, one);
}

/* What lies in the type itself, not what it points to. */
static void choose_parts(struct chosen *chosen, const struct named *one)
{
	const struct btf_type *type = btf__type_by_id(chosen->types->sources.items[one->source], one->id);

	if (btf_is_composite(type))
		for (unsigned i = 0; i < btf_vlen(type); i++)
			choose(chosen, one->source, btf_members(type)[i].type);
	else if (btf_is_array(type))
		choose(chosen, one->source, btf_array(type)->type);
	else if (btf_is_mod(type) || btf_is_typedef(type))
		choose(chosen, one->source, type->type);
}

static void choose_named(struct chosen *chosen, const char *name)
{
	const struct kernel_types *types = chosen->types;
	size_t length = essential_length(name);

	for (uint32_t at = first_named(types, name, length); at; at = types->named.items[at - 1].next) {
		const struct named *named = &types->named.items[at - 1];
		const struct btf *btf = types->sources.items[named->source];
		const char *other = name_of(btf, btf__type_by_id(btf, named->id));

		if (essential_length(other) == length && !memcmp(other, name, length))
			choose(chosen, named->source, named->id);
	}
}

static size_t rest_bytes(const struct btf_type *type)
{
	size_t count = btf_vlen(type);

	switch (btf_kind(type)) {
	case BTF_KIND_INT:
	case BTF_KIND_VAR:
	case BTF_KIND_DECL_TAG:
		return 4;
	case BTF_KIND_ARRAY:
		return sizeof(struct btf_array);
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		return count * sizeof(struct btf_member);
	case BTF_KIND_ENUM:
		return count * sizeof(struct btf_enum);
	case KIND_ENUM64:
	case BTF_KIND_DATASEC:
		return count * 12;
	case BTF_KIND_FUNC_PROTO:
		return count * sizeof(struct btf_param);
	}
	return 0;
}

static uint32_t add_name(struct buf *names, const struct btf *btf, uint32_t offset)
{
	const char *name = offset ? btf__name_by_offset(btf, offset) : NULL;
	uint32_t at = (uint32_t)names->length;

	if (!name || !*name)
		return 0;
	buf_add(names, name, strlen(name) + 1);
	return at;
}

/* A type's number in what the object gets. */
static uint32_t renumbered(const struct chosen *chosen, uint32_t source, uint32_t id)
{
	uint32_t first = first_of(chosen->types->sources.items[source]);

	if (!source || id < first)
		return id < chosen->end ? id : 0;
	uint32_t number = *number_of(chosen, source, id);
	return number ? chosen->end + number - 1 : 0;
}

static bool refers(const struct btf_type *type)
{
	return btf_is_mod(type) || btf_is_typedef(type) || btf_is_ptr(type) || btf_is_func_proto(type);
}

static void add_whole(struct chosen *chosen, uint32_t source, uint32_t id, struct buf *out, struct buf *names)
{
	const struct btf *btf = chosen->types->sources.items[source];
	const struct btf_type *type = btf__type_by_id(btf, id);
	struct btf_type head = *type;
	size_t at = out->length + sizeof(head);

	head.name_off = add_name(names, btf, type->name_off);
	if (refers(type))
		head.type = renumbered(chosen, source, type->type);
	buf_add(out, &head, sizeof(head));
	buf_add(out, type + 1, rest_bytes(type));
	void *rest = out->data + at;
	for (unsigned i = 0; btf_is_composite(type) && i < btf_vlen(type); i++) {
		struct btf_member *member = (struct btf_member *)rest + i;

		member->name_off = add_name(names, btf, member->name_off);
		member->type = renumbered(chosen, source, member->type);
	}
	for (unsigned i = 0; btf_is_any_enum(type) && i < btf_vlen(type); i++) {
		/* each begins with its name */
		uint32_t *value = (uint32_t *)((char *)rest + i * (btf_is_enum(type) ? sizeof(struct btf_enum) : 12));

		*value = add_name(names, btf, *value);
	}
	for (unsigned i = 0; btf_is_func_proto(type) && i < btf_vlen(type); i++) {
		struct btf_param *param = (struct btf_param *)rest + i;

		param->name_off = 0;
		param->type = renumbered(chosen, source, param->type);
	}
	if (btf_is_array(type)) {
		struct btf_array *array = rest;

		array->type = renumbered(chosen, source, array->type);
		array->index_type = renumbered(chosen, source, array->index_type);
	}
}

/* Keeps a type's place: what it is and how large, no name, so that nothing finds it. */
static void add_place(const struct btf_type *type, struct buf *out)
{
	static const struct btf_type nothing = { .info = BTF_KIND_PTR << 24 };
	struct btf_type head = { .info = type->info & ~0xffffu, .size = type->size };

	switch (btf_kind(type)) {
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
	case BTF_KIND_ENUM:
	case KIND_ENUM64:
		buf_add(out, &head, sizeof(head));
		break;
	default:
		buf_add(out, &nothing, sizeof(nothing));
	}
}

void *kernel_types_for(const struct kernel_types *types, const struct btf *object, size_t *ret_bytes)
{
	struct chosen chosen = { .types = types, .end = 1 };
	struct buf out, names;
	struct btf_header head = { .magic = BTF_MAGIC, .version = BTF_VERSION, .hdr_len = sizeof(head) };

	for (size_t i = 0; i < types->sources.length; i++) {
		const struct btf *btf = types->sources.items[i];
		uint32_t *numbers = mem_zalloc(sizeof(*numbers) * (btf__type_cnt(btf) - first_of(btf) + 1));

		vec_push(&chosen.numbers, numbers);
	}
	for (uint32_t id = 1; id < btf__type_cnt(object); id++) {
		const struct btf_type *type = btf__type_by_id(object, id);

		if (is_asked_for(type))
			choose_named(&chosen, name_of(object, type));
	}
	while (chosen.todo.length) {
		struct named one = chosen.todo.items[--chosen.todo.length];

		choose_parts(&chosen, &one);
	}
	buf_init(&out);
	buf_init(&names);
	buf_add(&out, &head, sizeof(head));
	buf_char(&names, 0);
	for (uint32_t id = 1; id < chosen.end; id++)
		if (chosen.numbers.items[0][id])
			add_whole(&chosen, 0, id, &out, &names);
		else
			add_place(btf__type_by_id(types->sources.items[0], id), &out);
	for (size_t i = 0; i < chosen.modules.length; i++)
		add_whole(&chosen, chosen.modules.items[i].source, chosen.modules.items[i].id, &out, &names);
	head.type_len = head.str_off = (uint32_t)(out.length - sizeof(head));
	head.str_len = (uint32_t)names.length;
	memcpy(out.data, &head, sizeof(head));
	buf_add(&out, names.data, names.length);
	buf_done(&names);
	for (size_t i = 0; i < chosen.numbers.length; i++)
		free(chosen.numbers.items[i]);
	vec_done(&chosen.numbers);
	vec_done(&chosen.todo);
	vec_done(&chosen.modules);
	*ret_bytes = out.length;
	return out.data;
}
#endif
