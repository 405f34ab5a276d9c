#include "session/show_stack.h"

#include <inttypes.h>
#include <string.h>

static void add_place(struct buf *buf, const char *file, uint32_t line)
{
	if (!file[0])
		return;
	buf_char(buf, ' ');
	buf_escaped(buf, file, strlen(file), NULL);
	if (line)
		buf_printf(buf, ":%" PRIu32, line);
}

static void add_frame(struct buf *buf, const struct name *name, const char *indent)
{
	for (uint32_t i = 0; i < name->inline_count; i++) {
		buf_text(buf, indent);
		buf_escaped(buf, name->inlines[i].function, strlen(name->inlines[i].function), NULL);
		buf_text(buf, " [inlined]");
		add_place(buf, name->inlines[i].file, name->inlines[i].line);
		buf_char(buf, '\n');
	}
	buf_text(buf, indent);
	buf_escaped(buf, name->text, strlen(name->text), NULL);
	if (name->function[0] && name->module[0]) {
		buf_text(buf, " (");
		buf_escaped(buf, name->module, strlen(name->module), NULL);
		buf_char(buf, ')');
	}
	add_place(buf, name->file, name->line);
	buf_char(buf, '\n');
}

void show_stack_text(struct buf *buf, struct names *names, const struct tables *tables, uint32_t node, const char *indent)
{
	uint32_t status = 0;
	for (; node && node < tables->frame_count; node = tables->frames[node].parent) {
		add_frame(buf, names_frame(names, node), indent);
		status = tables->frames[node].status;
	}
	if (status) {
		const char *why = kind_value_doc(FIELD_STACK_STATUS, status);
		buf_printf(buf, "%s... %s\n", indent, why ? why : "not whole");
	}
}

void show_inlined_json(struct json *json, const struct name *name)
{
	json_array(json, "inlined");
	for (uint32_t i = 0; i < name->inline_count; i++) {
		json_object(json, NULL);
		json_text(json, "function", name->inlines[i].function);
		json_text(json, "file", name->inlines[i].file);
		json_u64(json, "line", name->inlines[i].line);
		json_end(json);
	}
	json_end(json);
}

void show_stack_json(struct json *json, const char *key, struct names *names, const struct tables *tables, uint32_t node)
{
	json_array(json, key);
	for (; node && node < tables->frame_count; node = tables->frames[node].parent) {
		const struct name *name = names_frame(names, node);
		const struct frame *frame = &tables->frames[node];
		json_object(json, NULL);
		json_text(json, "function", name->function);
		json_text(json, "module", name->path);
		json_text(json, "build_id", frame->module < tables->module_count ? tables->modules[frame->module].build_id : "");
		json_u64(json, "address", frame->address);
		json_u64(json, "function_start", name->function_start);
		if (name->guessed)
			json_bool(json, "guessed", true);
		if (name->file[0]) {
			json_text(json, "file", name->file);
			json_u64(json, "line", name->line);
		}
		if (name->inline_count)
			show_inlined_json(json, name);
		if (frame->status)
			json_text(json, "ends", kind_value_name(FIELD_STACK_STATUS, frame->status));
		json_end(json);
	}
	json_end(json);
}
