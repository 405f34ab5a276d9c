/* The modules that processes map: each file once, whatever paths and processes
 * it is met in, with its unwind table made when it is first met.
 *
 * Numbers are the trace's. The loader's thread adds, others read what has a
 * number; entries stay where they are. */
#ifndef RECORD_MODULES_H
#define RECORD_MODULES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/map.h"
#include "record/module_files.h"
#include "record/unwind_maps.h"
#include "symbols/unwind_table.h"

#define MODULES_MAX (1u << 22)  /* of memory only what is used is taken */
#define MODULE_KERNEL 1u        /* number of the kernel */

struct loaded_module {
	uint32_t number, kind;      /* MODULE_KIND_ */
	uint64_t device, inode;
	int64_t changed_ns, bytes;  /* of the file when it was read */
	const char *path;
	uid_t user;                 /* of run-time code: whose process it is */
	char build_id[65];
	uint32_t mapping_kind;      /* enum stack_mapping_kind */
	uint32_t first_page;        /* STACK_MAPPING_TABLE */
	uint32_t era;               /* of the unwinder's maps in which its table was laid, or found no room */
	bool laid;
	struct unwind_table table;
	uint32_t segment_count;     /* file offset to address as linked */
	struct module_segment segments[8];
};

struct modules {
	struct arena arena;
	struct module_files files;
	struct loaded_module **list; /* by number */
	uint32_t count;             /* numbers given are below */
	struct map by_file;         /* hash of device, inode and version -> number */
	struct map recent;          /* hash of device, inode and generation -> when it was looked at, number */
	uint64_t tables_ns;         /* time that making tables took */
	uint64_t table_bytes;
};

void modules_init(struct modules *modules);
void modules_done(struct modules *modules);
/* The mappings' modules, made when new; NULL where no more can be kept. */
void modules_find(struct modules *modules, const struct module_source *sources, size_t count, const struct loaded_module **ret_modules);
/* Whether the module of a mapping of a file is known already. */
bool modules_known(struct modules *modules, const struct module_source *source);
/* Makes the module of a mapping whose file was looked at; it stays the caller's. */
void modules_take(struct modules *modules, const struct module_source *source, const struct module_file *file);
/* Lays a module's table into the maps when it is not there. Returns how the
 * unwinder is to treat its mappings (enum stack_mapping_kind). */
uint32_t modules_lay(const struct loaded_module *module, struct unwind_maps *maps);
/* Address as linked of a file offset; false outside of the segments with code. */
bool module_address(const struct loaded_module *module, uint64_t offset, uint64_t *ret_address);

#endif
