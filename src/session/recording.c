/* See recording.h. */
#include "session/recording.h"

#include <errno.h>
#include <string.h>

bool recording_full(const struct options *given)
{
	return !strcmp(options_text(given, "level", "lean"), "full");
}

int recording_ring(const struct options *given, uint64_t *ret_bytes, struct err *err)
{
	uint64_t bytes = options_number(given, "ring", 0);

	if (bytes & (bytes - 1))
		return err_set(err, -EINVAL, "--ring takes 1M, 2M, 4M and so on to 64M, not '%s'", options_text(given, "ring", ""));
	*ret_bytes = bytes;
	return 0;
}

int recording_probes(struct arena *arena, const struct options *given, const struct probe_points **ret_points, struct err *err)
{
	struct probe_points *points = arena_new(arena, struct probe_points);
	const char *text;
	int r;

	*points = (struct probe_points){ 0 };
	for (size_t n = 0; (text = options_nth(given, "probe", n)); n++) {
		r = probe_points_add(arena, points, text, err);
		if (r)
			return r;
	}
	*ret_points = points->count ? points : NULL;
	return 0;
}
