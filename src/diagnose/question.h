/* A question about one wait while it is asked: what the rules of the stage SUSPECT share.
 * Private to the finding of suspects. */
#ifndef DIAGNOSE_QUESTION_H
#define DIAGNOSE_QUESTION_H

#include "diagnose/loops.h"
#include "diagnose/shared_word.h"
#include "diagnose/suspects.h"

struct question {
	struct inquiry *inquiry;
	const struct scene *scene;
	const struct episode *episode;
	const struct wait *wait;
	uint64_t from, to;
	const uint32_t *waiting;
	unsigned waiting_count;
	struct suspects *suspects;
	enum rule_id rule;         /* that is asked */
	bool hears_child;          /* its own bell may be rung as a child ends */
	struct facing {            /* see suspects_facing.c: known once it is asked for */
		bool known, any;   /* ... and somebody has the other end */
		uint64_t object;   /* the one thing that is waited on; 0 none */
		uint32_t holder;   /* of the lock that is waited for; 0 not known */
		struct word_sharers sharers; /* of the memory in which the awaited word lies */
	} facing;
	bool alone;                /* no other thread of its process could have acted */
};

static inline uint8_t weight_of(const struct question *q)
{
	return (uint8_t)rule_infos[q->rule].weight;
}

static inline uint8_t limit(const struct question *q, enum limit_id id)
{
	uint64_t value = limit_of(q->scene, id);

	return value < 100 ? (uint8_t)value : 100;
}

/* Looking again and again for something, or sleeping: nobody is asked to end that. */
static inline bool only_looks(const struct question *q)
{
	return q->wait->kind == WAIT_KIND_sleep || loop_is(q->scene, q->episode);
}

static inline bool is_waiting(const struct question *q, uint32_t thread)
{
	for (unsigned i = 0; i < q->waiting_count; i++)
		if (q->waiting[i] == thread)
			return true;
	return false;
}

/* Who was gone for most of the time could not have acted. */
static inline bool alive(const struct question *q, uint32_t thread)
{
	const struct thread *t = &q->scene->tables->threads[thread];

	return t->start_ns < q->to && t->end_ns > q->from + (q->to - q->from) / 2;
}

/* The wait in which the thread stands as the time that is asked about ends; NULL: in none. */
static inline const struct wait *stands_in(const struct question *q, uint32_t thread)
{
	return scene_stands_until(q->scene, thread, q->to);
}

/* By a debugger or tracer, which is to let it go on. */
static inline bool stands_traced(const struct question *q, uint32_t thread)
{
	const struct wait *w = stands_in(q, thread);

	return w && w->kind == WAIT_KIND_stop && w->hint_kind == HINT_KIND_tracer && w->hint;
}

/* True: it was added. */
bool suspect_thread(struct question *q, uint32_t thread, enum walk_link link, uint8_t confidence, uint64_t evidence);
/* The only living thread of its process, beside the one that waits, of which that holds. */
void suspect_only_mate(struct question *q, bool (*holds)(const struct question *q, uint32_t thread));

/* Owners as read from memory, see suspects_hints.c. */
void ask_hint(struct question *q);
/* Rules about locks of files, see suspects_locks.c: who took it, or keeps it by now. */
void suspect_lock_holder(struct question *q, uint32_t owner, uint64_t object, uint8_t confidence, uint64_t evidence);
void ask_file_locks(struct question *q);
/* Who has not come to where threads wait for each other, see suspects_meeting.c. */
void ask_meeting(struct question *q);
void ask_closed_process(struct question *q);
/* Owners that are gone, see suspects_words.c. */
void ask_owner_ended(struct question *q);
void ask_inherited_lock(struct question *q);
bool inherited_lock(const struct question *q);
void ask_killed_kin(struct question *q);
void ask_ended_taker(struct question *q);
void ask_gone_kin(struct question *q);
void ask_left_behind(struct question *q);
void ask_ended_kin(struct question *q);
void ask_made_threads(struct question *q);
void ask_twin(struct question *q);
void ask_one_time(struct question *q);
void ask_sharers(struct question *q);
/* Takes out who was set to work and waits for the same word: it stands in the queue, too. */
void drop_those_behind(struct question *q);
/* Who of its own process may be to end it, see suspects_process.c. */
void ask_process(struct question *q);
void ask_own_asker(struct question *q);
void ask_reads_answer(struct question *q);
void ask_turned_mate(struct question *q);
/* Who goes on as this one gives up, see suspects_lockstep.c. */
void ask_lockstep(struct question *q);
/* Rules about the other end, see suspects_ends.c. */
void ask_other_end(struct question *q);
void suspect_ends_of(struct question *q, uint64_t object);
void ask_served_alone(struct question *q);
void ask_upstream(struct question *q);
void ask_fuse(struct question *q);
void ask_loop_device(struct question *q);
void ask_supervisor(struct question *q);
/* See suspects_facing.c: it is known who has the other end of what is waited on, and the way does not lead over any of those; nor does that by which
 * such a wait went well. */
bool suspects_turned_from(struct question *q, const struct trail *trail);
/* What may come over one connection, to which the process that asks has not the other end, is all that the thread waits for, and no other thread of its
 * process listens to anything. */
bool suspects_stands_for_another(const struct question *q, uint32_t thread);
/* It is known who has the far end of the connection open, and that is not the process that the kernel calls its peer. */
bool suspects_passed_on(const struct question *q, uint64_t object, uint32_t peer);
/* Takes out who was set to work and rests again, where another is likelier to owe what has not come. */
void drop_resting(struct question *q);
/* Who waits for this one, and is not heard where it waits. */
void drop_unheard(struct question *q);
/* Who alone has the other end is that, however far from the victim. */
void trust_facing(struct question *q);
/* The thread's process has asked another over a connection that it began, some time ago, and has got nothing since: it does not rest. */
bool suspects_has_asked(const struct question *q, uint32_t thread);
bool suspects_of_another(const struct question *q, const struct baseline *found);
/* See suspects_pool.c: the process has other threads. */
bool suspects_has_threads(const struct question *q, uint32_t process);
/* The one is a loop, and listens, and the thread of its process waits for a word, without an owner: it may rest, as a pool's threads do, of which another waits
 * for the same at the same place. The last is so of the loop that asks. */
bool suspects_word_of_loop(const struct question *q, uint32_t thread, uint32_t loop);
bool suspects_stands_in_pool(const struct question *q, uint32_t thread);
/* That is a connection which the process serves, and over which it was not the last to say something: who has its other end waits for it, or says nothing. */
bool suspects_asks_us(const struct question *q, uint64_t object);
/* The thread of the process that turned to something as another asked it, before that moment, who still has no answer: of several the last; 0 none. */
uint32_t suspects_at_work_before(const struct question *q, uint32_t process, uint64_t asked_ns);
/* Of the process that leaves unread what came over the connection: the hops to the thread of it that is at work for this one, or for another that
 * asked before; how sure that is. Two at most. */
unsigned suspects_takes_it(struct question *q, const struct descriptor *d, uint32_t process, struct hop *hops, uint8_t *confidence);
/* See suspects_children.c. */
void ask_working_child(struct question *q);
void ask_keeper(struct question *q);
/* See suspects_looked.c. */
void ask_watched(struct question *q);
void ask_looked_at(struct question *q);
void ask_tried_command(struct question *q);
void ask_fills_group(struct question *q);
/* See suspects_bus.c. */
void ask_bus(struct question *q);
/* See suspects_sessions.c. */
void ask_idle_session(struct question *q);
/* At the other end a server rests until this process says something. */
bool suspects_awaits_us(const struct question *q, uint64_t object);
void ask_told_last(struct question *q);
/* See suspects_behind.c. */
/* The only connection that the process of who waits began, and asked over since then or later, and has got nothing; NULL none, or several to different
 * processes. */
const struct descriptor *suspects_silent_upstream(const struct question *q, uint64_t since_ns);
void ask_behind_server(struct question *q);
/* Who of the process at the other end is meant, see suspects_mates.c: `process` itself, another thread of it, where it waits for this one
 * already (*ret_mate), or 0 where that is not known. */
uint32_t suspects_meant(struct question *q, uint32_t process, bool *ret_mate);
/* The loop listens to who waits for it: to hear what that one asks next. */
bool suspects_heard_anyway(const struct question *q, uint32_t process);
/* Of those that have both ends of a pipe: what this one started has one of the tokens that lie there, or what the one started that shares them out. */
void suspects_child_with_token(struct question *q, uint64_t pipe);
void ask_kept_mate(struct question *q);
/* See suspects_turned.c. */
void ask_turned(struct question *q);
/* See suspects_relay.c. */
void ask_relay(struct question *q);
/* Nothing tells whom a server asked: of those to whom it has connected, or was connected from the beginning, the one that alone does something else. */
uint32_t suspects_beyond(const struct question *q, uint32_t server);
/* The poll is for nothing but what its own process has both ends of, and timers. */
bool suspects_listens_inside(const struct question *q);
/* It reads what the waiting process is to write. */
bool suspects_reads_from_us(const struct question *q, uint32_t process);
/* The only thread of the process that listens to the connection, and to other things, as it stands; 0 none, or several. */
uint32_t suspects_listener(const struct question *q, uint32_t process, uint64_t connection);
void ask_neighbours(struct question *q);
void ask_unread_datagrams(struct question *q);

#endif
