/* src/record/kernel_types.c: what an object's names stand for in the kernel is handed out
 * under the kernel's numbers, with all that lies in it, and nothing else has a name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <bpf/btf.h>
#include <stdlib.h>
#include <string.h>

#include "record/kernel_types.h"

struct fixture {
	struct btf *kernel, *module;
	struct kernel_types *types;
	int number, other, inner, pointer, array, task, second, hook, behind, module_request;
};

static void add_struct(struct btf *btf, int *id, const char *name, const char *member, int type)
{
	*id = btf__add_struct(btf, name, 8);
	assert_int_equal(btf__add_field(btf, member, type, 0, 0), 0);
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	f->kernel = btf__new_empty();
	f->number = btf__add_int(f->kernel, "int", 4, BTF_INT_SIGNED);
	add_struct(f->kernel, &f->other, "other", "first", f->number);
	add_struct(f->kernel, &f->inner, "inner", "value", f->number);
	f->array = btf__add_array(f->kernel, f->number, f->inner, 2);
	f->pointer = btf__add_ptr(f->kernel, f->other);
	add_struct(f->kernel, &f->task, "task", "parts", f->array);
	assert_int_equal(btf__add_field(f->kernel, "to", f->pointer, 64, 0), 0);
	/* the same name twice, as where two files of the kernel mean different things by it */
	add_struct(f->kernel, &f->second, "task___new", "value", f->number);
	f->hook = btf__add_typedef(f->kernel, "btf_trace_hook", f->pointer);
	add_struct(f->kernel, &f->behind, "behind", "value", f->number);

	f->module = btf__new_empty_split(f->kernel);
	int outer = btf__add_const(f->module, f->inner), only;
	add_struct(f->module, &only, "only", "value", f->number);
	f->module_request = btf__add_struct(f->module, "request", 16);
	assert_int_equal(btf__add_field(f->module, "kept", outer, 0, 0), 0);
	assert_int_equal(btf__add_field(f->module, "mine", only, 64, 0), 0);
	f->types = kernel_types_new();
	kernel_types_add(f->types, f->kernel);
	kernel_types_add(f->types, f->module);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	kernel_types_free(f->types);
	btf__free(f->module);
	btf__free(f->kernel);
	free(f);
	return 0;
}

/* What an object gets that names these structures. */
static struct btf *for_names(struct fixture *f, const char *one, const char *other)
{
	struct btf *object = btf__new_empty(), *got;
	size_t bytes;

	assert_true(btf__add_struct(object, one, 4) > 0);
	if (other)
		assert_true(btf__add_struct(object, other, 4) > 0);
	void *data = kernel_types_for(f->types, object, &bytes);
	got = btf__new(data, (uint32_t)bytes);
	assert_non_null(got);
	free(data);
	btf__free(object);
	return got;
}

static const char *name_of(const struct btf *btf, int id)
{
	return btf__name_by_offset(btf, btf__type_by_id(btf, (uint32_t)id)->name_off);
}

static void test_kernel(void **state)
{
	struct fixture *f = *state;
	/* its flavour is the object's own matter */
	struct btf *got = for_names(f, "task___old", NULL);
	const struct btf_type *task = btf__type_by_id(got, (uint32_t)f->task);

	assert_int_equal(btf__find_by_name_kind(got, "task", BTF_KIND_STRUCT), f->task);
	assert_int_equal(btf__find_by_name_kind(got, "task___new", BTF_KIND_STRUCT), f->second);
	assert_int_equal(btf_vlen(task), 2);
	assert_string_equal(btf__name_by_offset(got, btf_members(task)[0].name_off), "parts");
	assert_int_equal(btf_members(task)[0].type, f->array);
	assert_int_equal(btf_members(task)[1].type, f->pointer);
	assert_int_equal(btf_members(task)[1].offset, 64);
	assert_int_equal(btf_array(btf__type_by_id(got, (uint32_t)f->array))->type, f->inner);
	assert_string_equal(name_of(got, f->inner), "inner");
	assert_string_equal(name_of(got, f->number), "int");
	/* behind a pointer: it is there, and how large, but cannot be found */
	assert_string_equal(name_of(got, f->other), "");
	assert_true(btf_is_struct(btf__type_by_id(got, (uint32_t)f->other)));
	assert_int_equal(btf__type_by_id(got, (uint32_t)f->other)->size, 8);
	assert_int_equal(btf_vlen(btf__type_by_id(got, (uint32_t)f->other)), 0);
	/* nothing behind the last that is asked for */
	assert_int_equal(btf__type_cnt(got), f->second + 1);
	btf__free(got);
}

static void test_module(void **state)
{
	struct fixture *f = *state;
	struct btf *got = for_names(f, "request", "task");
	int id = btf__find_by_name_kind(got, "request", BTF_KIND_STRUCT);
	const struct btf_type *request = btf__type_by_id(got, (uint32_t)id);

	assert_true(id > f->second);
	assert_int_equal(btf_vlen(request), 2);
	const struct btf_type *kept = btf__type_by_id(got, btf_members(request)[0].type);
	assert_int_equal(btf_kind(kept), BTF_KIND_CONST);
	assert_int_equal(kept->type, f->inner);
	assert_string_equal(name_of(got, (int)btf_members(request)[1].type), "only");
	assert_int_equal(btf__find_by_name_kind(got, "task", BTF_KIND_STRUCT), f->task);
	btf__free(got);
}

static void test_unknown(void **state)
{
	struct btf *got = for_names(*state, "nobody", NULL);

	assert_int_equal(btf__type_cnt(got), 1);
	btf__free(got);
}

static void test_has(void **state)
{
	struct fixture *f = *state;

	assert_true(kernel_types_has(f->types, "btf_trace_hook", BTF_KIND_TYPEDEF));
	assert_false(kernel_types_has(f->types, "btf_trace_hook", BTF_KIND_STRUCT));
	assert_false(kernel_types_has(f->types, "btf_trace_hoo", BTF_KIND_TYPEDEF));
	/* with another flavour it is another */
	assert_true(kernel_types_has(f->types, "task___new", BTF_KIND_STRUCT));
	assert_false(kernel_types_has(f->types, "task___old", BTF_KIND_STRUCT));
	assert_true(kernel_types_has(f->types, "request", BTF_KIND_STRUCT));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_kernel, setup, teardown),
		cmocka_unit_test_setup_teardown(test_module, setup, teardown),
		cmocka_unit_test_setup_teardown(test_unknown, setup, teardown),
		cmocka_unit_test_setup_teardown(test_has, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
