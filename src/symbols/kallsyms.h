/* The kernel's functions, from /proc/kallsyms: to be read while recording, for
 * afterwards another kernel may run.
 *
 * There are more than a hundred thousand, and a recorder keeps them for as long
 * as it runs: so each takes eight bytes and its name. */
#ifndef SYMBOLS_KALLSYMS_H
#define SYMBOLS_KALLSYMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct kallsyms {
	uint64_t text;             /* address of _text, 0 when the kernel hides addresses */
	uint64_t base;             /* that the symbols' addresses are counted from */
	uint64_t *symbols;         /* sorted; the address in the upper half, the place of the name in the lower */
	size_t count;
	char *names;
};

struct kernel_symbol {
	uint64_t start, bytes;     /* up to the next one; 0: it is the last */
	const char *name;
};

int kallsyms_read(struct kallsyms *ret_kallsyms, struct err *err);
/* Only the address of _text: another machine tells functions by their distance
 * from it. 0 when the kernel hides it. */
uint64_t kallsyms_text(void);
/* From any text of the same form. */
void kallsyms_parse(const char *text, size_t length, struct kallsyms *ret_kallsyms);
/* The function that holds the address; false when none does. */
bool kallsyms_find(const struct kallsyms *kallsyms, uint64_t address, struct kernel_symbol *ret_symbol);
void kallsyms_done(struct kallsyms *kallsyms);

#endif
