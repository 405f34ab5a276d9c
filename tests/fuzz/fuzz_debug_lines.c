/* The interactive session's lines: whatever is written, each line is answered or
 * refused in words, and the session goes on. Lines that would read or write files are
 * left out. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "fuzz_session.h"
#include "session/debug.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool names_file(const char *line)
{
	static const char *const verbs[] = { "save", "load", "baseline" };
	size_t start = strspn(line, " \t\r\n"), length = strcspn(line + start, " \t\r\n#");

	for (size_t i = 0; length && i < sizeof(verbs) / sizeof(*verbs); i++)
		if (!strncmp(verbs[i], line + start, length))
			return true;
	return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char text[4096], *rest;
	struct debug debug;
	struct err err = { 0 };

	if (size >= sizeof(text))
		return 0;
	memcpy(text, data, size);
	text[size] = 0;
	if (debug_open(&debug, fuzz_session_path(), &err))
		__builtin_trap();
	for (char *line = strtok_r(text, "\n", &rest); line && !debug.quit; line = strtok_r(NULL, "\n", &rest)) {
		struct buf out;

		if (names_file(line))
			continue;
		buf_init(&out);
		err = (struct err){ 0 };
		if (debug_line(&debug, line, &out, &err) < 0 && !err.text[0])
			__builtin_trap();
		buf_done(&out);
	}
	debug_close(&debug);
	return 0;
}
