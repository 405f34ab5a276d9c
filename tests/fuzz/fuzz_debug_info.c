/* Debug information, as a file: lines and inlined functions. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "symbols/names_lines.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct file_opener *opener;
	char path[64];
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	if (fd < 0)
		return 0;
	if (!opener)
		opener = file_opener_new();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (write(fd, data, size) == (ssize_t)size) {
		struct names_lines *lines = names_lines_open(opener, path, "");
		struct arena arena = { 0 };
		if (lines) {
			for (uint64_t address = 0x1000; address < 0x1400; address += 0x10) {
				struct name name = { .file = "" };
				names_lines_find(lines, &arena, address, &name);
			}
			names_lines_close(lines);
		}
		arena_done(&arena);
	}
	close(fd);
	return 0;
}
