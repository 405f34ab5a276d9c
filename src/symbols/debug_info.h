/* A file's debug information (DWARF), opened with elfutils, with the file beside it
 * in which dwz keeps what several share. */
#ifndef SYMBOLS_DEBUG_INFO_H
#define SYMBOLS_DEBUG_INFO_H

#include <elfutils/libdw.h>
#include <stdbool.h>

#include "symbols/file_opener.h"

struct debug_info {
	int fd, supplement_fd;
	Dwarf *dwarf, *supplement;
};

/* Of the file at `path`, else of that at `debug_path` ("" none); false when neither has any. */
bool debug_info_open(struct debug_info *info, struct file_opener *opener, const char *path, const char *debug_path);
void debug_info_close(struct debug_info *info);
/* The unit that the address is in, as the file was linked. */
bool debug_info_unit(const struct debug_info *info, uint64_t address, Dwarf_Die *ret_unit);

#endif
