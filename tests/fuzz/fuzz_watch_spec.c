/* What stands behind --watch: any text is taken or refused with a sentence. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "probe/watch_spec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct watch_spec spec;
	struct err err = { 0 };
	struct arena arena;

	arena_init(&arena);
	if (watch_spec_parse(&arena, arena_strndup(&arena, (const char *)data, size), &spec, &err)) {
		if (!err.text[0])
			__builtin_trap();
	} else if (!spec.name || spec.step_count > WATCH_STEPS_MOST || spec.bytes > 8) {
		__builtin_trap();
	}
	arena_done(&arena);
	return 0;
}
