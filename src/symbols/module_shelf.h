/* What was read of modules' files, for names of several parts of one trace, one after the other: what the parts before
 * used last is still there. Of one thread at a time, and one names at a time. */
#ifndef SYMBOLS_MODULE_SHELF_H
#define SYMBOLS_MODULE_SHELF_H

#include "symbols/module_names.h"

struct module_shelf;

struct module_shelf *module_shelf_new(void);
/* Accepts NULL. */
void module_shelf_free(struct module_shelf *shelf);
/* By whom their files are opened. */
struct file_opener *module_shelf_opener(const struct module_shelf *shelf);
/* The module's; stays until it is put back. */
struct module_names *module_shelf_take(struct module_shelf *shelf, const struct module *module);
/* All that were taken; what was not used for long goes. */
void module_shelf_put_back(struct module_shelf *shelf);

#endif
