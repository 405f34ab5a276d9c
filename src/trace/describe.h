/* The event table as it stands in the head of a file, so that a reader of
 * another version knows each record's shape. */
#ifndef TRACE_DESCRIBE_H
#define TRACE_DESCRIBE_H

#include <stdbool.h>
#include <stddef.h>

#include "trace/event.h"

#define DESCRIBE_NUMBERS 256    /* numbers of events in files are below */
#define DESCRIBE_FIELDS 64

/* What to do with one field of a file's event: where it goes in ours. */
struct field_plan {
	uint8_t skip;           /* we do not have it */
	uint8_t offset, bytes;
};

struct event_plan {
	bool described;         /* the file has the event */
	bool known;             /* and so have we, under the same name */
	uint8_t categories;
	uint8_t field_count;
	struct field_plan fields[DESCRIBE_FIELDS];
};

/* Bytes that the table takes at most. */
#define DESCRIBE_ROOM (96u * 1024)

/* Returns the place behind the table. */
unsigned char *describe_put(unsigned char *at);
/* -EBADMSG when it is malformed. */
int describe_get(const unsigned char *at, const unsigned char *end, struct event_plan plans[DESCRIBE_NUMBERS]);
/* The plans for files with this version's own table. */
void describe_own(struct event_plan plans[DESCRIBE_NUMBERS]);

#endif
