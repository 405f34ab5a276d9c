/* What the culprit did, and for how long of the window: the pieces that the walk charged
 * it with, added up by what it did in them. A sentence about one state is told with that
 * state's own time, never with that of all. See answer.h. */
#include <inttypes.h>
#include <string.h>

#include "base/map.h"
#include "diagnose/answer.h"
#include "symbols/demangle.h"

#define DOINGS_MOST 64
#define TOLD_PER_CENT 10   /* of its time: what takes less goes untold */
#define SAME_PER_CENT 5    /* between a step's time and the sum: the step's words are about all of it */

static const char *doing_words(const struct describer *d, const struct piece *p)
{
	switch ((enum span_state)p->state) {
	case SPAN_RUNNING: return "computing";
	case SPAN_RUNNABLE: return "waiting for a processor";
	case SPAN_WAITING: return p->wait ? describe_wait(d, &d->scene->waits[p->wait]) : "waiting";
	case SPAN_STOPPED: return describe_stop(&d->scene->waits[p->wait]);
	case SPAN_ABSENT: return "absent";
	case SPAN_UNKNOWN: return "not seen";
	}
	return "not seen";
}

static struct doing *doing_find(struct doing *doings, size_t *count, const char *words)
{
	for (size_t i = 0; i < *count; i++)
		if (!strcmp(doings[i].words, words))
			return &doings[i];
	if (*count == DOINGS_MOST)
		return NULL;
	doings[*count] = (struct doing){ .words = words };
	return &doings[(*count)++];
}

static bool is_fellow(const struct scene *scene, const struct piece *p, const struct piece *own, uint32_t victim)
{
	return p->thread != own->thread && p->thread != victim && scene_same_process(scene, p->thread, own->thread) && p->state == own->state &&
	       own->wait && scene->waits[p->wait].site == scene->waits[own->wait].site;
}

/* Those that did the same as the culprit, in turn with it. */
static void count_fellows(const struct describer *d, const struct pieces *pieces, struct diagnosis *diagnosis)
{
	const struct piece *own = NULL;
	struct map seen;

	for (size_t i = 0; i < pieces->length; i++) {
		const struct piece *p = &pieces->items[i];

		if (p->thread == diagnosis->culprit.thread && (!own || p->end_ns - p->start_ns > own->end_ns - own->start_ns))
			own = p;
	}
	map_init(&seen);
	for (size_t i = 0; own && own->state == SPAN_WAITING && i < pieces->length; i++) {
		bool fresh;

		if (!is_fellow(d->scene, &pieces->items[i], own, diagnosis->victim.thread))
			continue;
		map_at(&seen, pieces->items[i].thread, &fresh);
		diagnosis->fellow_count += fresh;
		diagnosis->fellows_ns += pieces->items[i].end_ns - pieces->items[i].start_ns;
	}
	map_done(&seen);
}

void answer_doings(const struct describer *d, const struct pieces *pieces, struct diagnosis *diagnosis)
{
	struct doing *doings = arena_array(d->arena, struct doing, DOINGS_MOST), *last = NULL;
	const struct piece *before = NULL;
	uint64_t all_ns = 0, person_ns = 0;
	size_t count = 0;

	for (size_t i = 0; i < pieces->length; i++) {
		const struct piece *p = &pieces->items[i];

		if (p->thread != diagnosis->culprit.thread)
			continue;
		all_ns += p->end_ns - p->start_ns;
		person_ns += p->person ? p->end_ns - p->start_ns : 0;
		if (!before || before->state != p->state || before->wait != p->wait)
			last = doing_find(doings, &count, doing_words(d, p));
		before = p;
		if (last)
			last->ns += p->end_ns - p->start_ns;
	}
	for (size_t i = 1; i < count; i++)
		for (size_t j = i; j && doings[j].ns > doings[j - 1].ns; j--) {
			struct doing less = doings[j - 1];

			doings[j - 1] = doings[j];
			doings[j] = less;
		}
	diagnosis->doings = doings;
	diagnosis->doing_count = count;
	count_fellows(d, pieces, diagnosis);
	diagnosis->person = most_of(d->scene, person_ns, all_ns);
}

/* The words without the function that was just named. */
static const char *without_place(struct arena *arena, const char *words, const char *function)
{
	const char *place = function ? arena_printf(arena, ", in %s", demangle_brief(arena, function)) : "";
	size_t length = strlen(words), tail = strlen(place);

	return tail && length > tail && !strcmp(words + length - tail, place) ? arena_strndup(arena, words, length - tail) : words;
}

/* The step says more than the bare state (how often, in which function), and may where
 * it is about the same time. */
static const char *fuller_words(const struct describer *d, const struct diagnosis *g, const struct doing *doing)
{
	const struct path_step *last = g->path_count ? &g->path[g->path_count - 1] : NULL;
	size_t length = strlen(doing->words);
	uint64_t more, less;

	if (!last || last->actor.thread != g->culprit.thread || strncmp(last->words, doing->words, length) ||
	    (last->words[length] != ',' && strncmp(last->words + length, " again", 6)))
		return doing->words;
	more = last->ns > doing->ns ? last->ns : doing->ns;
	less = last->ns > doing->ns ? doing->ns : last->ns;
	if ((more - less) * 100 > more * SAME_PER_CENT)
		return doing->words;
	return without_place(d->arena, last->words, g->culprit.function);
}

void answer_doings_text(const struct describer *d, const struct diagnosis *g, struct buf *buf)
{
	uint64_t whole = 0;
	const char *words;

	for (size_t i = 0; i < g->doing_count; i++)
		whole += g->doings[i].ns;
	if (!whole)
		return;
	words = fuller_words(d, g, &g->doings[0]);
	buf_text(buf, ", ");
	buf_escaped(buf, words, strlen(words), NULL);
	buf_printf(buf, " for %s", describe_time(d->arena, g->doings[0].ns));
	if (g->doing_count > 1 && g->doings[1].ns * 100 >= whole * TOLD_PER_CENT) {
		buf_text(buf, " and ");
		buf_escaped(buf, g->doings[1].words, strlen(g->doings[1].words), NULL);
		buf_printf(buf, " for %s", describe_time(d->arena, g->doings[1].ns));
	}
	buf_text(buf, " of that time");
}

void answer_fellows_text(const struct describer *d, const struct diagnosis *g, struct buf *buf)
{
	if (g->doing_count && g->fellows_ns > g->doings[0].ns)
		buf_printf(buf, " In turn, %zu more %s of its process did the same, for %s of that time.", g->fellow_count,
			   g->fellow_count == 1 ? "thread" : "threads", describe_time(d->arena, g->fellows_ns));
}
