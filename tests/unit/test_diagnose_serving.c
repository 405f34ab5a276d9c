/* src/diagnose/serving.c, owed.c: of those that could serve a request the one that does, and whether anybody still listens to who asked. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "diagnose/owed.h"
#include "diagnose/serving.h"
#include "scene_of_text.h"

#define ASKS                                                                                                                            \
	"60 10 task pid=10 start_ns=50s ns_tid=10 flags=leader \"client\" \"/client\"\n"                                                \
	"60 10 waiting since_ns=59.5 object=unix_stream:a1 argument=3 syscall=recvfrom state=sleeping wait=read\n"                      \
	"60 10 descriptor object=unix_stream:a1 channel_in=31 channel_out=32 fd=3 peer=20 kind=unix_stream access=3 state=1 \"-> /s\"\n" \
	"60 20 task pid=20 start_ns=30s ns_tid=20 flags=leader \"server\" \"/server\"\n"
#define SERVER_END(time, queued) \
	time " 20 descriptor object=unix_stream:a2 channel_in=32 channel_out=31 " queued "fd=6 peer=10 kind=unix_stream access=3 state=1 \"/s\"\n"
#define CLIENT ASKS SERVER_END("60", "")
#define UNREAD SERVER_END("60", "queued=9 ")
#define TAKEN SERVER_END("60.4", "")
#define ACCEPTS "60 20 waiting since_ns=59.4 object=unix_stream:a9 syscall=accept4 state=sleeping wait=accept\n"
#define THREAD(tid, start) "60 " #tid " task pid=20 start_ns=" start " ns_tid=" #tid " \"server\" \"/server\"\n60 " #tid " waiting "
#define SLEEPS "syscall=clock_nanosleep state=sleeping wait=sleep\n"
#define ON_CHILD "syscall=wait4 state=sleeping wait=child\n"
#define END "60.5 10 waiting since_ns=59.5 object=unix_stream:a1 argument=3 syscall=recvfrom state=sleeping wait=read\n"

struct opened {
	struct scene_of_text s;
	struct arena arena;
	struct ends ends;
	const struct wait *asked;
};

static struct opened *open_text(const char *text)
{
	struct opened *o = calloc(1, sizeof(*o));

	scene_of_text_open(&o->s, text);
	arena_init(&o->arena);
	ends_build(&o->arena, o->s.scene, &o->ends);
	o->asked = &o->s.scene->waits[scene_of_text_wait(&o->s, 10)->last];
	return o;
}

static void close_all(struct opened *o)
{
	ends_done(&o->ends);
	arena_done(&o->arena);
	scene_of_text_close(&o->s);
	free(o);
}

/* The number of the thread that serves the client; 0 none. */
static uint32_t serves(const char *text)
{
	struct opened *o = open_text(text);
	const struct scene *scene = o->s.scene;
	struct request_asked asked = { .thread = o->asked->thread, .since_ns = serving_asked_since(scene, &scene->episodes[o->asked->episode]),
				       .from_ns = scene->start_ns, .to_ns = scene->end_ns };
	uint32_t thread = serving_holder(scene, &o->ends, ends_receiving(&o->ends, 32), &asked), tid = thread ? scene_tid(scene, thread) : 0;

	if (thread)
		assert_int_equal(serving_thread(scene, &o->ends, thread, &asked), thread);
	close_all(o);
	return tid;
}

static bool is_owed(const char *text)
{
	struct opened *o = open_text(text);
	bool owed = owed_by_now(o->s.scene, &o->ends, o->asked, o->s.scene->start_ns);

	close_all(o);
	return owed;
}

static void the_one_at_work_serves(void **state)
{
	(void)state;
	assert_int_equal(serves(CLIENT ACCEPTS END), 0);
	/* since it was asked, and not before */
	assert_int_equal(serves(CLIENT ACCEPTS THREAD(21, "30s") "since_ns=59.6 " SLEEPS THREAD(22, "30s") "since_ns=58.0 " SLEEPS END), 21);
	/* who waits for others does more than who sleeps */
	assert_int_equal(serves(CLIENT ACCEPTS THREAD(21, "30s") "since_ns=59.6 " SLEEPS THREAD(22, "30s") "since_ns=59.7 " ON_CHILD END), 22);
	/* of two alike the one that was born for it */
	assert_int_equal(serves(CLIENT ACCEPTS THREAD(21, "30s") "since_ns=59.6 " SLEEPS THREAD(22, "59.5s") "since_ns=59.7 " SLEEPS END), 22);
}

static void who_waits_for_a_locks_owner_is_at_work(void **state)
{
	static const char *const kinds[] = { "mutex_owner", "pi_owner", "rwlock_writer", "interpreter_lock" };
	char text[4000];

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		snprintf(text, sizeof(text), "%s%ssince_ns=59.6 object=futex:77 hint=21 argument=137 syscall=futex state=sleeping wait=futex hint_kind=%s\n%s",
			 CLIENT "60 20 waiting since_ns=59.4 object=unix_stream:a9 syscall=accept4 state=sleeping wait=accept\n"
			 THREAD(21, "30s") "since_ns=40 " SLEEPS, THREAD(22, "30s"), kinds[i], END);
		assert_int_equal(serves(text), 22);
	}
}

static void who_does_not_listen_owes_the_answer(void **state)
{
	(void)state;
	assert_true(is_owed(CLIENT "60 20 waiting since_ns=59.51 " SLEEPS END));
	assert_true(is_owed(CLIENT "60 20 waiting since_ns=59.51 " ON_CHILD END));
	/* it listens, or may */
	assert_false(is_owed(CLIENT "60 20 waiting since_ns=59.51 object=unix_stream:a2 syscall=recvfrom state=sleeping wait=read\n" END));
	assert_false(is_owed(CLIENT "60 20 waiting since_ns=59.51 object=epoll:e1 syscall=epoll_wait state=sleeping wait=epoll\n" END));
	assert_false(is_owed(CLIENT "60 20 waiting since_ns=59.51 detail=0x5000000000000a2 argument=1 syscall=poll state=sleeping wait=poll\n" END));
	assert_false(is_owed(CLIENT ACCEPTS END));
	/* a thread that sleeps by its own clock, beside one that may listen or be asked */
	assert_false(is_owed(CLIENT "60 20 waiting since_ns=40 object=futex:77 argument=137 syscall=futex state=sleeping wait=futex\n"
			     THREAD(21, "30s") "since_ns=59.6 " SLEEPS END));
	/* nor who did that before it was asked */
	assert_false(is_owed(CLIENT "60 20 waiting since_ns=50 " SLEEPS END));
}

static void what_is_unread_is_owed(void **state)
{
	(void)state;
	assert_true(is_owed(ASKS UNREAD ACCEPTS END));
	assert_false(is_owed(ASKS UNREAD TAKEN ACCEPTS END));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_one_at_work_serves),
		cmocka_unit_test(who_waits_for_a_locks_owner_is_at_work),
		cmocka_unit_test(who_does_not_listen_owes_the_answer),
		cmocka_unit_test(what_is_unread_is_owed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
