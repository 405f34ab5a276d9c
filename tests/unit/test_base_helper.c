/* Helpers: they answer; what never comes back is left behind, and another goes on; the one who
 * waits is not idle meanwhile; nothing of the owner's is kept open by one. */
#include "base/helper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/arena.h"

enum { COUNT = 1, STUCK, COMPUTE, DIE, OPEN_ROOT, HOW_LONG, LARGE };

#define LARGE_BYTES (3u << 20)

static _Atomic int *shared;        /* with helpers too */
static struct helpers *helpers;
static int ends[2];                /* a pipe that was there before them */

static void answer_number(struct helper_port *port, int64_t number)
{
	helper_answer(port, 1, &number, sizeof(number), -1);
}

static void serve(struct helper_port *port, const struct helper_message *request)
{
	struct timespec t;
	char *large;
	int fd;

	switch (request->kind) {
	case COUNT:
		/* ends only because of what the waiting thread does */
		while (*shared < 3)
			usleep(100);
		answer_number(port, *shared);
		break;
	case STUCK:
		answer_number(port, 1);
		for (;;)
			pause();
	case COMPUTE:
		do {
			clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
		} while (t.tv_sec < 2);
		answer_number(port, t.tv_sec);
		break;
	case DIE:
		kill(getpid(), SIGKILL);
		break;
	case OPEN_ROOT:
		fd = open("/", O_PATH | O_CLOEXEC);
		helper_answer(port, 1, "", 0, fd);
		close(fd);
		break;
	case HOW_LONG:
		answer_number(port, request->bytes);
		break;
	case LARGE:
		large = mem_alloc(LARGE_BYTES);
		memset(large, 'x', LARGE_BYTES);
		helper_answer(port, 1, large, LARGE_BYTES, -1);
		free(large);
		break;
	}
}

/* The one answer to a request; -errno when there was none. */
static int64_t ask(struct helper *helper, uint32_t kind, const void *data, size_t bytes)
{
	struct helper_message answer;
	int64_t number = 0;
	int r = helper_ask(helper, kind, data, bytes, -1);

	if (r || (r = helper_next(helper, &answer)) != 1)
		return r ? r : -ENODATA;
	struct helper_reader reader = helper_read(&answer);
	helper_read_bytes(&reader, &number, sizeof(number));
	helper_message_done(&answer);
	r = helper_next(helper, &answer);
	return r ? r : number;
}

static void count_one(void *data)
{
	(void)data;
	++*shared;
}

static void test_answers(void **state)
{
	struct helper *helper = helper_open(helpers);
	struct helper_message answer;
	struct stat root, found;
	char *large = test_calloc(1, LARGE_BYTES);

	(void)state;
	assert_int_equal(ask(helper, HOW_LONG, "abc", 3), 3);
	assert_int_equal(ask(helper, HOW_LONG, "", 0), 0);
	assert_int_equal(ask(helper, HOW_LONG, large, LARGE_BYTES), LARGE_BYTES);
	test_free(large);
	assert_int_equal(helper_ask(helper, LARGE, "", 0, -1), 0);
	assert_int_equal(helper_next(helper, &answer), 1);
	assert_int_equal(answer.bytes, LARGE_BYTES);
	assert_int_equal(((char *)answer.data)[LARGE_BYTES - 1], 'x');
	helper_message_done(&answer);
	assert_int_equal(helper_next(helper, &answer), 0);
	/* a descriptor comes along */
	assert_int_equal(helper_ask(helper, OPEN_ROOT, "", 0, -1), 0);
	assert_int_equal(helper_next(helper, &answer), 1);
	assert_true(answer.fd >= 0);
	assert_int_equal(stat("/", &root), 0);
	assert_int_equal(fstat(answer.fd, &found), 0);
	assert_int_equal(found.st_ino, root.st_ino);
	helper_message_done(&answer);
	assert_int_equal(helper_next(helper, &answer), 0);
	assert_int_equal(helper_left(helper), 0);
	helper_close(helper);
}

static void test_waits_busily(void **state)
{
	struct helper *helper = helper_open(helpers);

	(void)state;
	*shared = 0;
	helper_meanwhile(helper, count_one, NULL);
	assert_true(ask(helper, COUNT, "", 0) >= 3);
	helper_close(helper);
}

static void test_works_long(void **state)
{
	struct helper *helper = helper_open(helpers);

	(void)state;
	assert_int_equal(ask(helper, COMPUTE, "", 0), 2);
	helper_close(helper);
}

static void test_stuck(void **state)
{
	struct helper *helper = helper_open(helpers);

	(void)state;
	helper_patience(helper, 150);
	assert_int_equal(ask(helper, STUCK, "", 0), -ETIMEDOUT);
	/* this one could be killed; another goes on in any case */
	while (helper_left(helper))
		usleep(1000);
	assert_int_equal(ask(helper, HOW_LONG, "abc", 3), 3);
	assert_int_equal(ask(helper, DIE, "", 0), -EPIPE);
	assert_int_equal(ask(helper, HOW_LONG, "abcd", 4), 4);
	helper_close(helper);
}

/* Whoever waits for the end of a pipe must not wait for a helper. */
static void test_keeps_nothing(void **state)
{
	struct helper *helper = helper_open(helpers);
	struct pollfd ready = { .fd = ends[0], .events = POLLIN };

	(void)state;
	assert_int_equal(ask(helper, HOW_LONG, "abc", 3), 3);
	close(ends[1]);
	assert_int_equal(poll(&ready, 1, 10000), 1);
	assert_true(ready.revents & POLLHUP);
	pid_t pids[8];
	assert_true(helpers_pids(helpers, pids, 8) >= 2);
	helper_close(helper);
}

/* Messages of a helper that has gone wrong. */
static void test_reads_within(void **state)
{
	char data[] = "ab\0cd";
	struct helper_message message = { .data = data, .bytes = 5, .fd = -1 };
	struct helper_reader reader = helper_read(&message);
	uint32_t number = 7;

	(void)state;
	assert_string_equal(helper_read_text(&reader), "ab");
	assert_false(reader.failed);
	helper_read_bytes(&reader, &number, sizeof(number));
	assert_true(reader.failed);
	assert_int_equal(number, 0);
	assert_string_equal(helper_read_text(&reader), "");
	reader = helper_read(&message);
	helper_read_text(&reader);
	assert_string_equal(helper_read_text(&reader), "");
	assert_true(reader.failed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_answers), cmocka_unit_test(test_waits_busily), cmocka_unit_test(test_works_long),
		cmocka_unit_test(test_stuck), cmocka_unit_test(test_keeps_nothing), cmocka_unit_test(test_reads_within),
	};

	shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED || pipe(ends) < 0 || helpers_open(serve, false, &helpers, NULL) < 0)
		return 1;
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	helpers_close(helpers);
	return failed;
}
