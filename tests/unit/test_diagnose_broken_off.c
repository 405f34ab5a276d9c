/* src/diagnose/broken_off.c: which waits a signal, or a timer, only broke off. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <signal.h>

#include "diagnose/broken_off.h"
#include "scene_of_text.h"

#define HEAD \
	"1 [0] 1 task pid=1 flags=leader \"init\"\n" \
	"1 [0] 10 task pid=10 parent=1 flags=leader \"waits\"\n" \
	"1 [0] 20 task pid=20 parent=1 flags=leader \"sends\"\n" \
	"1.0 [0] 0 switch next=10\n"
#define SENDS(number) \
	"2.0 [0] 20 wake target=10 cause=signal syscall=kill\n" \
	"2.0001 [0] 20 signal target=10 number=" number " group=1\n" \
	"2.0002 [0] 20 switch next=10 state=dead wait=exit\n"
#define GOES_ON "2.1 [0] 10 switch next=0 state=sleeping wait=sleep timeout_ns=1s syscall=clock_nanosleep\n3 [0] 0 mark \"end\"\n"
#define DIES "2.0003 [0] 10 exit code=15 last=1\n2.0004 [0] 10 switch next=0 state=dead wait=exit\n3 [0] 0 mark \"end\"\n"

/* Whether the first wait of thread 10 was broken off. */
static bool broken(const char *wait, const char *sent, const char *then)
{
	struct scene_of_text s;
	char text[2000];
	bool is;

	snprintf(text, sizeof(text), "%s1.1 [0] 10 switch next=20 state=sleeping %s\n%s%s", HEAD, wait, sent, then);
	scene_of_text_open(&s, text);
	is = broken_off_is(s.scene, &s.scene->waits[s.scene->threads[scene_of_text_thread(&s, 10)].wait]);
	scene_of_text_close(&s);
	return is;
}

static void a_lock_is_not_given_by_a_signal(void **state)
{
	(void)state;
	assert_true(broken("wait=futex object=futex:5 syscall=futex", SENDS("SIGALRM"), GOES_ON));
	assert_true(broken("wait=file_lock object=file:5 syscall=flock", SENDS("SIGALRM"), GOES_ON));
	assert_true(broken("wait=read object=pipe:5 syscall=read", SENDS("SIGALRM"), GOES_ON));
	assert_false(broken("wait=read object=signalfd:5 syscall=read", SENDS("SIGALRM"), GOES_ON));
}

static void who_is_called_is_not_broken_off(void **state)
{
	(void)state;
	/* a shell's trap */
	assert_false(broken("wait=child argument=-1 syscall=wait4", SENDS("SIGUSR1"), GOES_ON));
	assert_true(broken("wait=child argument=-1 syscall=wait4", SENDS("SIGALRM"), GOES_ON));
	assert_false(broken("wait=signal syscall=pause", SENDS("SIGUSR1"), GOES_ON));
}

static void who_listens_is_broken_off_by_its_death_alone(void **state)
{
	(void)state;
	assert_false(broken("wait=poll argument=1 detail=0x300000000000001 syscall=poll", SENDS("SIGTERM"), GOES_ON));
	assert_true(broken("wait=poll argument=1 detail=0x300000000000001 syscall=poll", SENDS("SIGTERM"), DIES));
}

static void five_signals_end_programs(void **state)
{
	(void)state;
	assert_true(broken_off_ends_programs(SIGTERM));
	assert_true(broken_off_ends_programs(SIGKILL));
	assert_false(broken_off_ends_programs(SIGUSR1));
	assert_false(broken_off_ends_programs(SIGCHLD));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_lock_is_not_given_by_a_signal),
		cmocka_unit_test(who_is_called_is_not_broken_off),
		cmocka_unit_test(who_listens_is_broken_off_by_its_death_alone),
		cmocka_unit_test(five_signals_end_programs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
