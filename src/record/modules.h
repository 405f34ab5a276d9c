/* The modules that processes map: each file once, whatever paths and processes
 * it is met in, with its unwind table made when it is first met.
 *
 * A table that is laid into the unwinder's maps is kept there alone, but for an outline, from whose file pages are laid
 * as stacks come through them. Modules that
 * no layout has are kept for a while, in case they are met again; of many the
 * oldest are forgotten.
 *
 * Numbers are the trace's, and none is used twice. The loader's thread adds and
 * forgets, others read those of a layout. */
#ifndef RECORD_MODULES_H
#define RECORD_MODULES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/map.h"
#include "record/module_files.h"
#include "record/unwind_maps.h"
#include "symbols/unwind_table.h"

#define MODULES_MAX (1u << 22)  /* of memory only what is used is taken */
#define MODULES_UNUSED_MAX 1024u
#define MODULE_KERNEL 1u        /* number of the kernel */

struct loaded_module {
	uint32_t number, kind;      /* MODULE_KIND_ */
	uint64_t device, inode;
	int64_t changed_ns, bytes;  /* of the file when it was read */
	char *path;
	uid_t user;                 /* of run-time code: whose process it is */
	char build_id[65];
	uint32_t mapping_kind;      /* enum stack_mapping_kind */
	uint32_t first_page;        /* STACK_MAPPING_TABLE */
	uint32_t era;               /* of the unwinder's maps in which its table was laid, or found no room */
	bool laid;
	bool abandoned;             /* laid, and no layout's */
	bool is_unused;             /* among those of modules.unused */
	uint32_t users;             /* mappings of layouts */
	uint64_t key;               /* in modules.by_file */
	struct unwind_table table;  /* of one that is laid there are only base and page_count, or its outline */
	uint32_t segment_count;     /* file offset to address as linked */
	struct module_segment segments[8];
	struct python_build python;
};

struct modules {
	struct module_files files;
	struct loaded_module **list; /* by number; NULL: forgotten */
	_Atomic uint32_t count;     /* numbers given are below */
	struct unwind_maps *maps;   /* where tables are laid; NULL as long as none are */
	struct map by_file;         /* hash of device, inode and version -> number */
	struct map recent;          /* hash of device, inode and generation -> when it was looked at, number */
	struct vec(uint32_t) unused; /* oldest first; some are in use again */
	size_t unused_first;
	uint64_t tables_ns;         /* time that making tables took */
	bool is_brief;              /* for a look of a moment: nobody writes programs anew meanwhile */
};

void modules_init(struct modules *modules);
void modules_done(struct modules *modules);
/* A number that stays without a module here; 0 when there is none left. Of any thread. */
uint32_t modules_reserve(struct modules *modules);
/* The mappings' modules, made when new; NULL where no more can be kept. */
void modules_find(struct modules *modules, const struct module_source *sources, size_t count, const struct loaded_module **ret_modules);
/* Whether the module of a mapping of a file is known already. */
bool modules_known(struct modules *modules, const struct module_source *source);
/* Makes the module of a mapping whose file was looked at; it stays the caller's. */
void modules_take(struct modules *modules, const struct module_source *source, const struct module_file *file);
/* Lays a module's table into the maps when it is not there; where the maps were begun
 * anew it is read again, by `where` it is mapped. Returns how the unwinder is to treat
 * its mappings (enum stack_mapping_kind). */
uint32_t modules_lay(struct modules *modules, const struct loaded_module *module, const struct module_source *where,
		     struct unwind_maps *maps);
/* Of one whose table was laid as an outline: all of its rows. */
void modules_lay_rest(const struct loaded_module *module, struct unwind_maps *maps);
/* The rule in force at an offset of the module's file. `maps`: those in which its table may have been laid, and in which
 * what is asked for is laid; NULL none. */
struct unwind_rule module_rule(const struct loaded_module *module, struct unwind_maps *maps, uint64_t offset);
/* A mapping of a layout has the module, or no longer. */
void modules_use(struct modules *modules, const struct loaded_module *module);
void modules_release(struct modules *modules, const struct loaded_module *module);
/* Forgets the oldest of too many that nobody uses. */
void modules_collect(struct modules *modules);
/* What its record in the trace says behind the numbers. */
void module_texts(const struct loaded_module *module, struct buf *to);
/* Address as linked of a file offset; false outside of the segments with code. */
bool module_address(const struct loaded_module *module, uint64_t offset, uint64_t *ret_address);

#endif
