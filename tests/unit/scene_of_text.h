/* Scenes for tests of the diagnosis, from traces in the text form. */
#ifndef SCENE_OF_TEXT_H
#define SCENE_OF_TEXT_H

#include <stdlib.h>

#include "diagnose/side.h"
#include "text_trace.h"

struct scene_of_text {
	struct trace *trace;
	struct tables *tables;
	struct scene *scene;
	struct side side;          /* without names: places are addresses */
};

static inline void scene_of_text_open(struct scene_of_text *s, const char *text)
{
	struct err err = { 0 };

	s->trace = text_trace_open(text);
	if (tables_build(s->trace, &s->tables, &err) || scene_build(s->trace, s->tables, &s->scene, &err)) {
		fprintf(stderr, "%s\n", err.text);
		abort();
	}
	side_init(&s->side, s->scene, NULL);
}

static inline void scene_of_text_close(struct scene_of_text *s)
{
	side_done(&s->side);
	scene_free(s->scene);
	tables_free(s->tables);
	trace_close(s->trace);
}

/* Two runs of one program, which are compared. */
struct scenes_of_text {
	struct scene_of_text now, base;
};

static inline struct scenes_of_text *scenes_of_text_open(const char *now, const char *base)
{
	struct scenes_of_text *s = calloc(1, sizeof(*s));

	scene_of_text_open(&s->now, now);
	scene_of_text_open(&s->base, base);
	return s;
}

static inline void scenes_of_text_close(struct scenes_of_text *s)
{
	scene_of_text_close(&s->now);
	scene_of_text_close(&s->base);
	free(s);
}

/* Entry in the tables of the thread, at the moment after the trace's begin. */
static inline uint32_t scene_of_text_thread(const struct scene_of_text *s, uint32_t tid)
{
	for (uint32_t i = 1; i < s->tables->thread_count; i++)
		if (s->tables->threads[i].tid == tid)
			return i;
	return 0;
}

/* The thread's longest wait. */
static inline const struct episode *scene_of_text_wait(const struct scene_of_text *s, uint32_t tid)
{
	const struct scene_thread *t = &s->scene->threads[scene_of_text_thread(s, tid)];
	const struct episode *longest = NULL;

	for (uint32_t i = 0; i < t->episode_count; i++) {
		const struct episode *e = &s->scene->episodes[t->episode + i];

		if (!longest || e->end_ns - e->start_ns > longest->end_ns - longest->start_ns)
			longest = e;
	}
	return longest;
}

#endif
