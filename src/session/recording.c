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

int recording_watch_specs(struct arena *arena, const char *const *texts, size_t count, const struct options *given,
			  struct watch_wishes **ret_wishes, struct err *err)
{
	struct watch_wishes *wishes = arena_new(arena, struct watch_wishes);
	struct watch_spec *specs = arena_array(arena, struct watch_spec, count);

	for (size_t i = 0; i < count; i++) {
		int r = watch_spec_parse(arena, texts[i], &specs[i], err);

		if (r)
			return r;
	}
	*wishes = (struct watch_wishes){ .specs = specs, .spec_count = count,
					 .limit = (uint32_t)options_number(given, "limit", WATCH_LIMIT) };
	*ret_wishes = wishes;
	return 0;
}

int recording_watches(struct arena *arena, const struct options *given, struct watch_wishes **ret_wishes, struct err *err)
{
	const char **texts;
	size_t count = 0;

	while (options_nth(given, "watch", count))
		count++;
	*ret_wishes = NULL;
	if (!count)
		return 0;
	texts = arena_array(arena, const char *, count);
	for (size_t i = 0; i < count; i++)
		texts[i] = options_nth(given, "watch", i);
	return recording_watch_specs(arena, texts, count, given, ret_wishes, err);
}
