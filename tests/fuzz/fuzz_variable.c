/* A file's symbols and debug information: variables and their types. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "probe/variable.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena arena;
	struct elf_file elf;
	char path[64];
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	if (fd < 0)
		return 0;
	arena_init(&arena);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (write(fd, data, size) == (ssize_t)size && !elf_file_open(path, &elf, NULL)) {
		static const char *const names[] = { "queue", "a", "main" };
		struct variable_file file;

		if (!variable_file_open(&file, elf, path, path, NULL)) {
			for (size_t i = 0; i < 3; i++) {
				struct variable variable;
				uint64_t offset;

				if (variable_find(&arena, &file, names[i], &variable, NULL))
					continue;
				(void)variable_type_text(&arena, &variable);
				if (!variable_follow(&variable, NULL) && variable_field(&variable, "first", &offset, NULL))
					(void)variable_element(&variable, 2, &offset, NULL);
			}
			variable_file_close(&file);
		}
	}
	arena_done(&arena);
	close(fd);
	return 0;
}
