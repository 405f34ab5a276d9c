/* See recording.h. */
#include "session/recording.h"

#include <errno.h>
#include <string.h>

#include "graph/graph.h"
#include "record/packs.h"

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

/* "NAME", "NAME=PROGRAM" or a file's path. */
static int add_pack(struct arena *arena, const char *given, struct sink *notes, struct probe_points *points, struct err *err)
{
	const char *equals = strchr(given, '=');
	const char *pack = arena_strndup(arena, given, equals ? (size_t)(equals - given) : strlen(given));
	struct rules *rules = rules_new();
	bool is_file = strchr(pack, '/') || strchr(pack, '.');
	size_t before = points->count;
	struct pack_unfit unfit;
	int r = is_file ? rules_add_file(rules, pack, mechanism_find, err) : rules_add_pack(rules, pack, mechanism_find, err);

	if (!r)
		r = packs_place(arena, rules, equals ? equals + 1 : NULL, points, &unfit, err);
	if (r)
		err_prefix(err, "--pack %s", given);
	else if (unfit.probe)
		sink_printf(notes, "pack %s: it does not know this build of %s (%s): without its probe %s\n", pack, unfit.file,
			    unfit.build[0] ? unfit.build : "it is not here, or has no build-id", unfit.probe);
	if (!r && points->count == before)
		r = err_set(err, -ENOENT, "--pack %s: none of its probes has a place here", given);
	rules_free(rules);
	return r;
}

int recording_probes(struct arena *arena, const struct options *given, struct sink *notes, const struct probe_points **ret_points,
		     struct err *err)
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
	for (size_t n = 0; (text = options_nth(given, "pack", n)); n++) {
		r = add_pack(arena, text, notes, points, err);
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
