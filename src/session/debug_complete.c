/* The interactive session: words that may come next, from its verbs and the trace. */
#include "session/debug.h"

#include <inttypes.h>
#include <string.h>

/* So many of the trace's threads are offered; the answer's and the hangs' always. */
#define OFFERED_MOST 2000

struct offer {
	struct debug *debug;
	const char *begun;            /* of the word; what does not begin so is left out */
	struct vec(const char *) words;
};

static void offer(struct offer *o, const char *word)
{
	if (!word[0] || strncmp(word, o->begun, strlen(o->begun)) || strpbrk(word, " \t\n"))
		return;
	for (size_t i = 0; i < o->words.length; i++)
		if (!strcmp(o->words.items[i], word))
			return;
	vec_push(&o->words, word);
}

static void offer_number(struct offer *o, uint64_t number)
{
	if (number)
		offer(o, arena_printf(&o->debug->arena, "%" PRIu64, number));
}

static uint32_t number_of(const struct debug *debug, uint32_t thread, bool process)
{
	const struct thread *t = &debug->session.tables->threads[thread];

	return process ? t->pid : t->tid;
}

/* Those that hung and those of the answer; all only when the person has begun one. */
static void offer_threads(struct offer *o, bool processes)
{
	struct debug *debug = o->debug;
	const struct diagnosis *g = debug->diagnosis;

	debug_find_hangs(debug);
	for (size_t i = 0; i < debug->hang_count; i++)
		offer_number(o, number_of(debug, debug->hangs[i].thread, processes));
	for (size_t i = 0; g && i < g->path_count; i++)
		if (g->path[i].actor.thread)
			offer_number(o, number_of(debug, g->path[i].actor.thread, processes));
	for (uint32_t i = 1; o->begun[0] && i < debug->session.scene->thread_count && o->words.length < OFFERED_MOST; i++)
		offer_number(o, number_of(debug, i, processes));
}

static void offer_names(struct offer *o)
{
	const struct tables *tables = o->debug->session.tables;

	for (uint32_t i = 1; i < tables->thread_count && o->words.length < OFFERED_MOST; i++)
		offer(o, tables->threads[i].comm);
}

/* Words of marks: a text in a mark is what is looked for. */
static void offer_marks(struct offer *o)
{
	const struct scene *scene = o->debug->session.scene;

	for (uint32_t i = 0; i < scene->mark_count; i++)
		for (const char *at = scene->marks[i].text; *at; at += strspn(at, " ")) {
			size_t length = strcspn(at, " ");

			offer(o, arena_strndup(&o->debug->arena, at, length));
			at += length;
		}
}

/* Events that the answer rests on, and those of the wait where one stands. */
static void offer_events(struct offer *o)
{
	struct debug *debug = o->debug;
	const struct diagnosis *g = debug->diagnosis;
	const struct episode *e = debug->slice.length ? debug_episode(debug, &debug->slice.items[debug->slice.length - 1]) : NULL;

	for (size_t i = 0; g && i < g->path_count; i++)
		offer_number(o, g->path[i].event);
	for (size_t i = 0; g && i < g->trigger_count; i++)
		offer_number(o, g->triggers[i].event);
	if (e) {
		offer_number(o, debug->session.scene->waits[e->last].begin_event);
		offer_number(o, debug->session.scene->waits[e->last].end_event);
	}
}

static void offer_kind(struct offer *o, const char *kind, bool *ret_files)
{
	if (!strcmp(kind, "<pid>"))
		offer_threads(o, true);
	else if (!strcmp(kind, "<tid>"))
		offer_threads(o, false);
	else if (!strcmp(kind, "<name>"))
		offer_names(o);
	else if (!strcmp(kind, "<mark>"))
		offer_marks(o);
	else if (!strcmp(kind, "<event>"))
		offer_events(o);
	else if (!strcmp(kind, "<file>"))
		*ret_files = true;
	else if (!strcmp(kind, "<verb>"))
		for (size_t i = 0; debug_verb(i); i++)
			offer(o, debug_verb(i)->name);
	else if (!strcmp(kind, "<hang>")) {
		debug_find_hangs(o->debug);
		for (size_t i = 0; i < o->debug->hang_count; i++)
			offer_number(o, i + 1);
	} else if (kind[0] != '<')
		offer(o, kind);
}

/* The verb that the text begins with, written out or clear from its first letters. */
static const struct debug_verb *verb_of(const char *word)
{
	const struct debug_verb *found = NULL;

	for (size_t i = 0; debug_verb(i); i++) {
		if (!strcmp(debug_verb(i)->name, word))
			return debug_verb(i);
		if (!strncmp(debug_verb(i)->name, word, strlen(word))) {
			if (found)
				return NULL;
			found = debug_verb(i);
		}
	}
	return found;
}

const char *const *debug_complete(struct debug *debug, const char *text, size_t length, const char *begun, bool *ret_files)
{
	struct offer o = { .debug = debug, .begun = begun };
	char *copy = arena_strndup(&debug->arena, text, length), *rest, *first = strtok_r(copy, " \t", &rest), *second = strtok_r(NULL, " \t", &rest);
	const struct debug_verb *verb = first ? verb_of(first) : NULL;
	const char **list;
	const char *after = NULL;

	*ret_files = false;
	if (!first)
		offer_kind(&o, "<verb>", ret_files);
	if (verb && second && !strcmp(verb->name, "why")) /* `why pid` and the like say what comes next */
		after = !strcmp(second, "pid") ? "<pid>" : !strcmp(second, "tid") ? "<tid>" : !strcmp(second, "mark") ? "<mark>" : NULL;
	else if (verb)
		after = verb->words;
	if (after) {
		char *words = arena_strdup(&debug->arena, after), *at;

		for (char *word = strtok_r(words, " ", &at); word; word = strtok_r(NULL, " ", &at))
			offer_kind(&o, word, ret_files);
	}
	list = arena_array(&debug->arena, const char *, o.words.length + 1);
	for (size_t i = 0; i < o.words.length; i++)
		list[i] = o.words.items[i];
	vec_done(&o.words);
	return list;
}
