/* See recording.h. */
#include "session/recording.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "graph/graph.h"
#include "record/packs.h"
#include "record/probe_near.h"

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

/* What is said of packs. */
struct pack_words {
	struct buf on, unfit;
};

static void pack_is_on(struct pack_words *words, const char *name)
{
	buf_printf(&words->on, "%s%s", words->on.length ? " " : "", name);
}

static void pack_does_not_fit(struct pack_words *words, const char *text)
{
	buf_printf(&words->unfit, "%s%s", words->unfit.length ? "\n" : "", text);
}

/* "NAME", "NAME=PROGRAM" or a file's path. */
static int add_pack(struct arena *arena, const char *given, struct pack_words *words, struct probe_points *points, struct err *err)
{
	const char *equals = strchr(given, '=');
	const char *pack = arena_strndup(arena, given, equals ? (size_t)(equals - given) : strlen(given));
	struct rules *rules = rules_new();
	bool is_file = strchr(pack, '/') || strchr(pack, '.');
	size_t before = points->count;
	struct pack_unfit unfit;
	int r = is_file ? rules_add_file(rules, pack, mechanism_find, err) : rules_add_pack(rules, pack, mechanism_find, err);

	if (!r)
		r = packs_place(arena, rules, pack, equals ? equals + 1 : NULL, points, &unfit, err);
	if (r)
		err_prefix(err, "--pack %s", given);
	else if (unfit.probe)
		pack_does_not_fit(words, arena_printf(arena, "pack %s: %s", pack, pack_unfit_words(arena, &unfit)));
	if (!r && points->count == before)
		r = err_set(err, -ENOENT, "--pack %s: none of its probes has a place here", given);
	if (!r)
		pack_is_on(words, given);
	rules_free(rules);
	return r;
}

static bool is_given(const struct options *given, const char *pack)
{
	const char *text;

	for (size_t n = 0; (text = options_nth(given, "pack", n)); n++)
		if (!strncmp(text, pack, strlen(pack)) && (!text[strlen(pack)] || text[strlen(pack)] == '='))
			return true;
	return false;
}

static void add_own_pack(struct arena *arena, const char *name, const struct rules *rules, const struct mapped_libraries *libraries,
			 struct pack_words *words, struct probe_points *points)
{
	struct pack_unfit unfit = { 0 };
	size_t before = points->count;
	struct err err = { 0 };
	int r = packs_place(arena, rules, name, NULL, points, &unfit, &err);

	if (r)
		points->count = before;
	/* that its library is not here is nothing to be told */
	if (r && r != -ENOENT)
		pack_does_not_fit(words, arena_printf(arena, "pack %s: %s", name, err.text));
	else if (unfit.probe && unfit.build[0])
		pack_does_not_fit(words, arena_printf(arena, "pack %s: %s", name, pack_unfit_words(arena, &unfit)));
	packs_place_mapped(arena, rules, name, libraries, points, &words->unfit);
	if (points->count > before)
		pack_is_on(words, name);
}

/* All packs whose library is here, in all copies that are in use. A pack that needs to be told a
 * program is none of them. */
static void add_packs(struct arena *arena, const struct options *given, struct pack_words *words, struct probe_points *points)
{
	struct rules **packs = arena_array(arena, struct rules *, rules_pack_count);
	struct mapped_libraries libraries = { 0 };

	for (size_t i = 0; i < rules_pack_count; i++) {
		const char *name = rules_packs[i].name;

		if (is_given(given, name) || strstr(rules_packs[i].text, "$FILE"))
			continue;
		packs[i] = rules_new();
		if (rules_add_pack(packs[i], name, mechanism_find, NULL) == 0) {
			packs_libraries(arena, packs[i], &libraries);
		} else {
			rules_free(packs[i]);
			packs[i] = NULL;
		}
	}
	mapped_libraries_find(arena, &libraries);
	for (size_t i = 0; i < rules_pack_count; i++) {
		if (packs[i])
			add_own_pack(arena, rules_packs[i].name, packs[i], &libraries, words, points);
		rules_free(packs[i]);
	}
	mapped_libraries_done(&libraries);
}

/* "3%", "3", "0.5%": a share of one processor. */
static int read_budget(const struct options *given, double *ret_share, struct err *err)
{
	const char *text = options_text(given, "pack-budget", "3%");
	char *end;
	double per_cent = strtod(text, &end);

	if (end == text || (*end && strcmp(end, "%") != 0) || !(per_cent >= 0) || per_cent > 100)
		return err_set(err, -EINVAL, "--pack-budget takes per cent of a processor (0: no bound), not '%s'", text);
	*ret_share = per_cent / 100;
	return 0;
}

/* Probes at whose places the kernel single-steps; what packs cost is bounded. */
static void tell_costs(const struct probe_points *points, bool near, struct sink *notes)
{
	for (size_t i = 0; i < points->count; i++) {
		const struct probe_point *point = &points->items[i];

		if (!point->slow || point->pack)
			continue;
		if (point->near && near) {
			sink_printf(notes, "--probe %s: placed at %s, where a hit costs 1 us instead of 10\n", point->written, point->near);
			continue;
		}
		sink_printf(notes, "--probe %s: a hit costs some 10 us, for '%s' there is single-stepped (a nop, push, branch or direct call: 1 us)\n",
			    point->written, point->slow);
		if (point->near)
			sink_printf(notes, "  at %s near by the values are the same, for 1 us: --near takes it\n", point->near);
		else if (near)
			sink_printf(notes, "  there is no such place near by with the same values\n");
	}
}

int recording_probes(struct arena *arena, const struct options *given, struct sink *notes, const struct probe_points **ret_points,
		     struct err *err)
{
	struct probe_points *points = arena_array(arena, struct probe_points, 1);
	struct pack_words words = { 0 };
	const char *text;
	int r = read_budget(given, &points->pack_budget, err);

	for (size_t n = 0; !r && (text = options_nth(given, "probe", n)); n++)
		r = probe_points_add(arena, points, text, err);
	if (!r && points->count) {
		probe_near_find(arena, points, options_has(given, "near"));
		tell_costs(points, options_has(given, "near"), notes);
	}
	for (size_t n = 0; !r && (text = options_nth(given, "pack", n)); n++)
		r = add_pack(arena, text, &words, points, err);
	if (!r && !strcmp(options_text(given, "packs", "none"), "auto"))
		add_packs(arena, given, &words, points);
	if (!r && words.on.length) {
		points->packs = arena_strdup(arena, buf_str(&words.on));
		sink_printf(notes, "packs: %s\n", points->packs);
	}
	if (words.unfit.length) {
		points->packs_unfit = arena_strdup(arena, buf_str(&words.unfit));
		sink_printf(notes, "%s\n", points->packs_unfit);
	}
	probe_points_close(points);
	*ret_points = points->count || points->packs_unfit ? points : NULL;
	buf_done(&words.on);
	buf_done(&words.unfit);
	return r;
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
