/* A stack as lines of text or as JSON. */
#ifndef SESSION_SHOW_STACK_H
#define SESSION_SHOW_STACK_H

#include <stdint.h>

#include "base/buf.h"
#include "base/json.h"
#include "symbols/names.h"

/* One line a frame, innermost first, inlined functions too; a last line says
 * why the stack is not whole. Nothing for node 0. */
void show_stack_text(struct buf *buf, struct names *names, const struct tables *tables, uint32_t node, const char *indent);
/* An array of frames under `key`. */
void show_stack_json(struct json *json, const char *key, struct names *names, const struct tables *tables, uint32_t node);
/* The array "inlined": the functions inlined at a name's place, innermost first. */
void show_inlined_json(struct json *json, const struct name *name);

#endif
