/* See one_time.h. */
#include "diagnose/one_time.h"

#include <string.h>
#include <strings.h>

#include "symbols/names.h"

#define AWAITS_WITHIN 6u      /* frames, innermost first: a runtime's own way to wait */
#define DOES_WITHIN 64u

/* Parts of names, each with a text that all such names hold, as a large library is not read for others. */
static const struct {
	const char *name, *holds;
} functions[] = {
	{ "pthread_once", "once" }, { "std::call_once", "once" }, { "::Once::call", "call" }, { "cxa_guard_acquire", "guard" },
	{ "::initialize_impl", "initialize_impl" },
};

static bool is_once(struct names *names, uint32_t node)
{
	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++)
		if (names_may_hold(names, node, functions[i].holds) && strstr(names_frame(names, node)->function, functions[i].name))
			return true;
	return false;
}

static uint32_t module_of(const struct tables *tables, uint32_t node)
{
	return node && node < tables->frame_count ? tables->frames[node].module : 0;
}

/* The frame of the function in which it waits for such work: between it and the call there is nothing but the C library and its own. 0: there is
 * none. */
static uint32_t awaited_in(struct names *names, const struct tables *tables, const struct wait *w)
{
	uint32_t node = w->ustack, library = module_of(tables, node), other = 0;

	if (!names || w->kind != WAIT_KIND_futex || w->timeout_ns || w->hint || wait_is_shared(w))
		return 0;
	for (unsigned i = 0; node && node < tables->frame_count && i < AWAITS_WITHIN; i++, node = tables->frames[node].parent) {
		uint32_t module = module_of(tables, node);

		if (!module || (module != library && other && module != other))
			return 0;
		other = module != library ? module : other;
		if (is_once(names, node))
			return node;
	}
	return 0;
}

bool one_time_awaits(struct names *names, const struct tables *tables, const struct wait *w)
{
	return awaited_in(names, tables, w) != 0;
}

bool one_time_does(struct names *names, const struct tables *tables, const struct wait *w)
{
	uint32_t awaited = awaited_in(names, tables, w), node = awaited ? tables->frames[awaited].parent : w->ustack;

	for (unsigned i = 0; names && node && node < tables->frame_count && i < DOES_WITHIN; i++, node = tables->frames[node].parent)
		if (is_once(names, node))
			return true;
	return false;
}
