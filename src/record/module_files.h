/* The files that processes map: found, and read for their unwind tables, without
 * ever waiting for a file system that no longer answers (aside.h). Where one does
 * not, its files are out of reach until it does.
 *
 * Of one thread at a time. */
#ifndef RECORD_MODULE_FILES_H
#define RECORD_MODULE_FILES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/map.h"
#include "base/vec.h"
#include "record/aside.h"
#include "symbols/symbol_table.h"
#include "symbols/unwind_table.h"

/* What a mapping's line says. */
struct module_source {
	pid_t pid;
	uint64_t start, end, offset;
	uint64_t device, inode;
	const char *path;           /* "" anonymous */
	const char *build_id;       /* in hexadecimal, "" unknown */
};

struct module_sources {
	struct arena arena;         /* of the texts */
	struct vec(struct module_source) list;
};

struct module_files {
	struct aside *aside;        /* NULL: files are read here and now */
	struct map stuck;           /* devices and processes -> how they are out of reach */
};

/* A file that was looked at. */
struct module_file {
	int fd;                     /* O_PATH; negative: out of reach */
	int64_t changed_ns, bytes;
};

struct module_segment { uint64_t offset, address, bytes; };

/* What was read of a file. */
struct module_image {
	bool elf;
	char build_id[65];
	struct unwind_table table;  /* owned */
	int status;                 /* 0: there is a table; else why not, negative errno */
	uint64_t table_ns;          /* time that making it took */
	uint32_t segment_count;     /* file offset to address as linked */
	struct module_segment segments[8];
};

void module_files_done(struct module_files *files);
/* The sources' files; the caller closes those that are there. */
void module_files_look(struct module_files *files, const struct module_source *sources, size_t count, struct module_file *ret_files);
/* Reads a file that was looked at; `fd` stays the caller's. */
void module_files_read(struct module_files *files, const struct module_source *source, int fd, struct module_image *ret_image);
/* The same of an image in memory. */
void module_image_take(struct module_image *image, const struct elf_file *file);

/* What /proc says that a process maps with code, in the order of addresses;
 * -errno when it is gone or may not be looked at. Sources are kept in `ret_sources`. */
int module_files_maps(struct module_files *files, pid_t pid, struct module_sources *ret_sources);
/* Names of a process's run-time code: of its /tmp/perf-PID.map and of the jitdumps
 * that it has mapped. `user` runs it; others' files are not read. */
void module_files_jit_names(struct module_files *files, pid_t pid, uid_t user, const char *const *dumps, size_t dump_count,
			    struct symbol_table *ret_names);
void module_sources_done(struct module_sources *sources);
void module_sources_add(struct module_sources *sources, const struct module_source *source);

#endif
