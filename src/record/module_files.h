/* The files that processes map: found, and read for their unwind tables, without
 * ever waiting for a file system that no longer answers: a helper process does it
 * (base/helper.h). Where one does not answer, its files are out of reach until it does.
 *
 * Of one thread at a time. */
#ifndef RECORD_MODULE_FILES_H
#define RECORD_MODULE_FILES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/helper.h"
#include "base/map.h"
#include "base/vec.h"
#include "record/python_build.h"
#include "symbols/symbol_table.h"
#include "symbols/unwind_table.h"

/* What a mapping's line says. */
struct module_source {
	pid_t pid;
	uint64_t start, end, offset;
	uint64_t device, inode;
	uint64_t generation;        /* of the inode, whose number may have been another file's, + 1; 0 not known */
	const char *path;           /* "" anonymous */
	const char *build_id;       /* in hexadecimal, "" unknown */
};

struct module_sources {
	struct arena arena;         /* of the texts */
	struct vec(struct module_source) list;
};

struct module_files {
	struct helper *helper;      /* owned */
	struct map stuck;           /* devices and processes -> how they are out of reach */
	struct map unreached;       /* devices that were out of reach at any time */
	char example[256];          /* path of a file that was, "" none */
	uint32_t outlines;          /* of tables that the cache keeps, each with a descriptor of the file that has the rows */
	uint32_t outlines_most;     /* 0: tables are wanted whole */
};

/* A file that was looked at. */
struct module_file {
	int fd;                     /* O_PATH; negative: out of reach */
	int64_t changed_ns, bytes;
	bool first_is_one;          /* generation 0 is a file's as any other: those whose file system was made with them have it */
};

struct module_segment { uint64_t offset, address, bytes; };

/* What was read of a file. */
struct module_image {
	bool elf;
	char build_id[65];
	struct unwind_table table;  /* owned */
	int status;                 /* 0: there is a table; else why not, negative errno */
	uint64_t table_ns;          /* time that making it took */
	struct python_build python;
	uint32_t segment_count;     /* file offset to address as linked */
	struct module_segment segments[8];
};

/* Answers what the functions below ask; given to helpers_open. */
void module_files_serve(struct helper_port *port, const struct helper_message *request);

void module_files_done(struct module_files *files);
/* The sources' files; the caller closes those that are there. */
void module_files_look(struct module_files *files, const struct module_source *sources, size_t count, struct module_file *ret_files);
/* Reads a file that was looked at; `fd` stays the caller's. */
void module_files_read(struct module_files *files, const struct module_source *source, int fd, struct module_image *ret_image);
/* A table that was read is no longer needed. */
void module_files_forget(struct module_files *files, struct unwind_table *table);
/* The same of an image in memory. */
void module_image_take(struct module_image *image, const struct elf_file *file);

/* What /proc says that a process maps with code, in the order of addresses;
 * -errno when it is gone or may not be looked at. Sources are kept in `ret_sources`. */
int module_files_maps(struct module_files *files, pid_t pid, struct module_sources *ret_sources);
/* Run-time code that names are wanted of. */
struct jit_question {
	pid_t pid;
	uid_t user;                 /* runs it; others' files are not read */
	const char *const *dumps;   /* jitdumps that it has mapped */
	size_t dump_count;
	const uint64_t *addresses;
	size_t address_count;
};

/* Names at the addresses, of its /tmp/perf-PID.map and of the jitdumps. */
void module_files_jit_names(struct module_files *files, const struct jit_question *question, struct symbol_table *ret_names);
void module_sources_done(struct module_sources *sources);
void module_sources_add(struct module_sources *sources, const struct module_source *source);

#endif
