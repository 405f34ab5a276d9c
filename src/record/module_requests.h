/* What module_files.c asks its helper process, and what module_serve.c answers. */
#ifndef RECORD_MODULE_REQUESTS_H
#define RECORD_MODULE_REQUESTS_H

#include "record/module_files.h"

enum module_request {
	MODULE_LOOK = 1,           /* u64 count; a look and a path for each */
	MODULE_READ,               /* a u8: an outline will do; the file comes along, O_PATH */
	MODULE_MAPS,               /* a pid_t */
	MODULE_JIT,                /* a jit_head, texts of dumps, addresses */
};

enum module_answer {
	MODULE_STAGE = 1,          /* a u32: what is looked at next can only be had through the process */
	MODULE_FOUND,              /* a module_found; the file comes along when its status is 0 */
	MODULE_IMAGE,              /* an image, a packed unwind table when its status is 0; or its outline, and the
				    * file with the rows comes along */
	MODULE_SOURCES,            /* an i64: 0 or negative errno; a module_line and a path for each */
	MODULE_NAMES,              /* a module_name and a text for each */
};

enum module_reach {
	REACH_PATH,                /* by its path, then through the process */
	REACH_PROCESS,             /* a path to a file of this device did not answer */
	REACH_NOTHING,             /* nor does the device itself */
};

struct module_line {
	uint64_t pid, start, end, offset, device, inode;
};

struct module_look {
	struct module_line line;
	uint64_t reach;            /* enum module_reach */
};

struct module_found {
	int64_t status, changed_ns, bytes;
};

struct jit_head {
	uint64_t pid, user, dumps, addresses;
};

struct module_name {
	uint64_t start, bytes;
};

#endif
