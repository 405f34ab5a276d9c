/* See source.h. */
#include "infer/source.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* The upper half of the address space. */
#define KERNEL_ADDRESSES 0xffff800000000000u

struct source {
	const struct tables *tables;
	struct names *names;
	struct functions *functions;
	struct vec(struct map) by_start;   /* per module: start -> function + 1 */
};

struct source *source_new(const struct tables *tables, struct names *names, struct functions *functions)
{
	struct source *source = mem_zalloc(sizeof(*source));
	struct map empty;

	source->tables = tables;
	source->names = names;
	source->functions = functions;
	map_init(&empty);
	for (uint32_t i = 0; i <= tables->module_count; i++)
		vec_push(&source->by_start, empty);
	return source;
}

void source_free(struct source *source)
{
	if (!source)
		return;
	for (size_t i = 0; i < source->by_start.length; i++)
		map_done(&source->by_start.items[i]);
	vec_done(&source->by_start);
	free(source);
}

static uint32_t function_of(struct source *source, uint32_t number, const struct frame *frame)
{
	uint64_t start = names_function_start(source->names, number);
	uint32_t module = frame->module < source->tables->module_count ? frame->module : 0;
	uint64_t *known = map_at(&source->by_start.items[module], start, NULL);
	const struct name *name;
	enum place place = PLACE_unknown;
	char text[32];

	if (*known)
		return (uint32_t)*known - 1;
	name = names_frame(source->names, number);
	if (!module && frame->address >= KERNEL_ADDRESSES)
		place = PLACE_kernel;
	if (module && (source->tables->modules[module].kind == MODULE_KIND_kernel ||
		       source->tables->modules[module].kind == MODULE_KIND_kernel_module))
		place = PLACE_kernel;
	if (name->script)
		place = name->standard ? PLACE_library : PLACE_program;
	snprintf(text, sizeof(text), "+0x%" PRIx64, start);
	*known = functions_add(source->functions, name->function[0] ? name->function : text,
			       name->path[0] ? name->path : name->module, place) + 1;
	source->functions->list.items[*known - 1].guessed |= name->guessed;
	return (uint32_t)*known - 1;
}

static bool frame_of(void *data, uint32_t number, struct context_frame *ret_frame)
{
	struct source *source = data;
	const struct frame *frame;

	if (!number || number >= source->tables->frame_count)
		return false;
	frame = &source->tables->frames[number];
	*ret_frame = (struct context_frame){
		.parent = frame->parent, /* may have a greater number than its callee */
		.function = function_of(source, number, frame),
		.module = frame->module,
		.address = frame->address,
		/* A thread's outermost code is in a known file: where it is not, the frames could
		 * not be placed yet, and say nothing about the calls. */
		.cut = !frame->parent && (frame->status != STACK_STATUS_whole ||
					  (!frame->module && frame->address < KERNEL_ADDRESSES)),
	};
	return true;
}

struct context_source source_contexts(struct source *source)
{
	return (struct context_source){ .data = source, .frame = frame_of };
}
