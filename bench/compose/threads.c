/* See composition.h: threads of the composed trace. Those that last keep their numbers;
 * others get new ones in each playing, and are forgotten behind it. */
#include "composition.h"

struct life *life_of(struct composition *c, uint32_t tid)
{
	return tid && tid < TID_LIMIT && c->life_of[tid] ? &c->lives.items[c->life_of[tid] - 1] : NULL;
}

struct life *life_add(struct composition *c, uint32_t tid, uint32_t recorded, uint64_t recorded_ns)
{
	struct life life = { .tid = tid, .lasting = c->recording.lasting[recorded],
			     .entry = tables_thread(c->recording.tables, recorded, recorded_ns) };

	vec_push(&c->lives, life);
	c->life_of[tid] = (uint32_t)c->lives.length;
	return &c->lives.items[c->lives.length - 1];
}

static uint32_t free_tid(struct composition *c)
{
	do {
		if (++c->next_tid == TID_LIMIT)
			c->next_tid = FIRST_TID;
	} while (c->life_of[c->next_tid] || c->recording.lasting[c->next_tid]);
	return c->next_tid;
}

uint32_t tid_of(struct composition *c, uint32_t recorded)
{
	if (!recorded || recorded >= TID_LIMIT || c->recording.lasting[recorded])
		return recorded;
	if (!c->tid_of[recorded]) {
		c->tid_of[recorded] = free_tid(c);
		vec_push(&c->named, recorded);
		life_add(c, c->tid_of[recorded], recorded, c->now_ns - c->shift_ns);
	}
	return c->tid_of[recorded];
}

void tid_forget_ended(struct composition *c, uint32_t recorded)
{
	struct life *life = recorded < TID_LIMIT && c->tid_of[recorded] ? life_of(c, c->tid_of[recorded]) : NULL;

	if (life && life->ended)
		c->tid_of[recorded] = 0;
}

void lives_drop(struct composition *c)
{
	size_t kept = 0;

	for (size_t i = 0; i < c->lives.length; i++) {
		struct life life = c->lives.items[i];

		c->life_of[life.tid] = 0;
		if (!life.lasting)
			continue;
		c->lives.items[kept++] = life;
		c->life_of[life.tid] = (uint32_t)kept;
	}
	c->lives.length = kept;
	for (size_t i = 0; i < c->named.length; i++)
		c->tid_of[c->named.items[i]] = 0;
	vec_clear(&c->named);
}
