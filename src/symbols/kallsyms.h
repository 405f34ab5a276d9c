/* The kernel's symbols, from /proc/kallsyms: to be read while recording, for
 * afterwards another kernel may run. */
#ifndef SYMBOLS_KALLSYMS_H
#define SYMBOLS_KALLSYMS_H

#include <stdint.h>

#include "base/err.h"
#include "symbols/symbol_table.h"

struct kallsyms {
	struct symbol_table symbols;   /* by absolute address */
	uint64_t text;                 /* of _text, 0 when the kernel hides addresses */
};

int kallsyms_read(struct kallsyms *kallsyms, struct err *err);
/* Only the address of _text: another machine tells functions by their distance
 * from it. 0 when the kernel hides it. */
uint64_t kallsyms_text(void);
/* From any text of the same form. */
void kallsyms_parse(const char *text, size_t length, struct kallsyms *ret_kallsyms);
void kallsyms_done(struct kallsyms *kallsyms);

#endif
