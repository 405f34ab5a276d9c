/* How whole the stacks of a trace are: of each event's, not of each distinct
 * one, for what is seen often counts often. */
#ifndef SESSION_STACK_HEALTH_H
#define SESSION_STACK_HEALTH_H

#include <stdint.h>

#include "base/buf.h"
#include "base/json.h"
#include "trace/tables.h"

#define STACK_STATUSES 16

struct stack_health {
	uint64_t user, kernel;                    /* stacks that events have */
	uint64_t by_status[STACK_STATUSES];       /* of the user's: STACK_STATUS_; 0 is whole */
	uint64_t without;                         /* events that could have one and have none */
	uint32_t nodes;                           /* of the calling-context tree */
	uint32_t depth;                           /* frames of the deepest */
	/* the module in which most of the stacks that are not whole end, by its number; 0 none */
	uint32_t worst_module;
	uint64_t worst_count;
};

/* Reads the whole trace once. */
void stack_health_count(const struct trace *trace, const struct tables *tables, struct stack_health *ret_health);
void stack_health_text(const struct stack_health *health, const struct tables *tables, struct buf *buf);
void stack_health_json(const struct stack_health *health, const struct tables *tables, struct json *json);

#endif
