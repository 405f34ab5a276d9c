/* See word_sleep.h. */
#include "diagnose/word_sleep.h"

#include <string.h>
#include <strings.h>

#include "symbols/names.h"

#define FRAMES_LOOKED_AT 12

static const char *const functions[] = { "sleep", "usleep", "nanosleep", "sleep_for", "sleep_until" };

/* The last part of a name, without what follows it: `Kernel#sleep (<cfunc>)`, `std::this_thread::sleep_for<...>`. */
static const char *last_part(const char *name, size_t *ret_length)
{
	size_t length = strcspn(name, "(< "), at = length;

	while (at > 0 && !strchr(":#.", name[at - 1]))
		at--;
	*ret_length = length - at;
	return name + at;
}

static bool says_sleep(const char *function)
{
	static const char ending[] = "_sleep";
	size_t length, end = sizeof(ending) - 1;
	const char *part = last_part(function, &length);

	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++)
		if (length == strlen(functions[i]) && !strncasecmp(part, functions[i], length))
			return true;
	return length > end && !strncasecmp(part + length - end, ending, end);
}

bool word_sleep_named(struct names *names, const struct tables *tables, const struct wait *w)
{
	uint32_t node = w->ustack;

	for (unsigned i = 0; names && node && node < tables->frame_count && i < FRAMES_LOOKED_AT; i++, node = tables->frames[node].parent) {
		/* whatever letter it begins with; a large library is not read for it */
		if (names_may_hold(names, node, "leep") && says_sleep(names_frame(names, node)->function))
			return true;
	}
	return false;
}

bool word_sleep_is(struct names *names, const struct tables *tables, const struct wait *w)
{
	return (w->kind == WAIT_KIND_futex || w->kind == WAIT_KIND_semaphore) && w->timeout_ns && !w->hint && !wait_is_shared(w) &&
	       word_sleep_named(names, tables, w);
}
