/* Names of addresses in processes, as events hold them: by what the trace says was mapped
 * there at the time. Of a child that only forked, by what its parent had mapped. */
#ifndef SYMBOLS_ADDRESS_NAMES_H
#define SYMBOLS_ADDRESS_NAMES_H

#include "symbols/names.h"

struct address_names;

/* Reads nothing yet. All must stay. */
struct address_names *address_names_new(const struct trace *trace, const struct tables *tables, struct names *names);
void address_names_free(struct address_names *addresses);
/* Name of what begins at the address in the process of the thread (an entry of the tables);
 * NULL where nothing with code is known there. Valid until names_close. */
const struct name *address_names_find(struct address_names *addresses, uint32_t thread, uint64_t address, uint64_t time_ns);

#endif
