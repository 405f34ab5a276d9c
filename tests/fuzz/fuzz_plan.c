/* A plan, which comes from elsewhere: any text becomes options of `argus record` or is refused
 * in words, and sets nothing but what a plan may set. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "session/command.h"
#include "session/plan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct options *merged)
{
	static const char *const never[] = { "output", "plan", "max-size" };

	for (size_t i = 0; i < sizeof(never) / sizeof(never[0]); i++)
		if (options_has(merged, never[i]))
			__builtin_trap();
	for (size_t i = 0; i < merged->value_count; i++)
		if (!merged->values[i].spec)
			__builtin_trap();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct command *record = command_find("record");
	struct arena arena = { 0 };
	struct options given = { 0 }, merged = { 0 };
	struct err err = { 0 };
	char path[64];
	int fd = memfd_create("plan", MFD_CLOEXEC), r;

	if (!record || fd < 0 || write(fd, data, size) != (ssize_t)size)
		__builtin_trap();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	r = plan_merge(&arena, path, record->options, record->rules, &given, &merged, &err);
	if (r && !err.text[0])
		__builtin_trap();
	if (!r)
		check(&merged);
	arena_done(&arena);
	close(fd);
	return 0;
}
