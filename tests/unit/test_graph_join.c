/* Joins: certain ones, ambiguous sets, gaps, positions, losses, lives. */
/* Sends and receives joined by their bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "graph/join.h"

#define MS 1000000ull

struct got {
	struct joins joins;
	struct join_edge edges[256];
	unsigned count;
};

static void take(struct joins *joins, const struct join_edge *edge)
{
	struct got *got = (struct got *)joins;

	assert_true(got->count < 256);
	got->edges[got->count++] = *edge;
}

static void begin(struct got *got)
{
	memset(got, 0, sizeof(*got));
	joins_init(&got->joins, 0, take);
}

static struct join_message message(uint64_t token, bool receives, uint64_t from, uint64_t to, uint32_t bytes)
{
	return (struct join_message){ .channel = 1, .object = receives ? 3 : 2, .begin_ns = from * MS, .end_ns = to * MS,
				      .token = token, .bytes = bytes, .kind = MESSAGE_KIND_pipe, .receives = receives };
}

static void put(struct got *got, uint64_t token, bool receives, uint64_t from, uint64_t to, uint32_t bytes)
{
	struct join_message m = message(token, receives, from, to, bytes);

	join_message(&got->joins, &m);
}

static void expect(const struct got *got, unsigned i, uint64_t send, uint64_t receive, uint32_t bytes, bool ambiguous)
{
	assert_true(i < got->count);
	assert_int_equal(got->edges[i].send, send);
	assert_int_equal(got->edges[i].receive, receive);
	assert_int_equal(got->edges[i].bytes, bytes);
	assert_int_equal(got->edges[i].ambiguous, ambiguous);
}

static void end(struct got *got, unsigned count)
{
	join_finish(&got->joins);
	assert_int_equal(got->count, count);
	joins_done(&got->joins);
}

static void test_bytes_in_order(void **unused)
{
	struct got got;

	(void)unused;
	begin(&got);
	join_start(&got.joins);
	put(&got, 1, false, 1, 2, 10);
	put(&got, 2, false, 3, 4, 20);
	put(&got, 3, true, 5, 6, 15);
	put(&got, 4, true, 7, 8, 15);
	join_finish(&got.joins);
	expect(&got, 0, 1, 3, 10, false);
	expect(&got, 1, 2, 3, 5, false);
	expect(&got, 2, 2, 4, 15, false);
	end(&got, 3);
}

/* A send that blocks on a full pipe ends after the receives of its first bytes. */
static void test_receive_recorded_before_its_send(void **unused)
{
	struct got got;

	(void)unused;
	begin(&got);
	join_start(&got.joins);
	put(&got, 2, true, 2, 3, 40);
	put(&got, 3, true, 4, 5, 40);
	put(&got, 1, false, 1, 6, 100);
	put(&got, 4, true, 7, 8, 20);
	join_finish(&got.joins);
	expect(&got, 0, 1, 2, 40, false);
	expect(&got, 1, 1, 3, 40, false);
	expect(&got, 2, 1, 4, 20, false);
	end(&got, 3);
}

static void test_racing_sends_are_a_set(void **unused)
{
	struct got got;

	(void)unused;
	begin(&got);
	join_start(&got.joins);
	put(&got, 1, false, 1, 4, 10);
	put(&got, 2, false, 2, 5, 10);
	put(&got, 3, false, 6, 7, 10);
	put(&got, 4, true, 8, 9, 10);
	put(&got, 5, true, 10, 11, 20);
	join_finish(&got.joins);
	expect(&got, 0, 1, 4, 10, true);
	expect(&got, 1, 2, 4, 10, true);
	expect(&got, 2, 1, 5, 10, true);
	expect(&got, 3, 2, 5, 10, true);
	expect(&got, 4, 3, 5, 10, false);
	end(&got, 5);
}

static void test_racing_receives_are_a_set(void **unused)
{
	struct got got;

	(void)unused;
	begin(&got);
	join_start(&got.joins);
	put(&got, 1, false, 1, 2, 10);
	put(&got, 2, false, 3, 4, 10);
	put(&got, 3, true, 5, 8, 10);
	put(&got, 4, true, 6, 9, 10);
	join_finish(&got.joins);
	for (unsigned i = 0; i < got.count; i++)
		assert_true(got.edges[i].ambiguous);
	end(&got, 4);
}

/* One of two receives that overlap is joined before the other: neither is certain for that. */
static void test_racing_receives_are_a_set_across_a_settling(void **unused)
{
	struct got got;

	(void)unused;
	begin(&got);
	join_start(&got.joins);
	put(&got, 1, false, 1, 2, 10);
	put(&got, 2, false, 3, 4, 10);
	put(&got, 3, true, 5, 8, 10);
	put(&got, 4, true, 6, 30, 10);
	put(&got, 5, false, 1019, 1020, 10); /* the horizon is 20 now */
	expect(&got, 0, 1, 3, 10, true);
	expect(&got, 1, 2, 3, 10, true);
	assert_int_equal(got.count, 2);
	put(&got, 6, true, 2021, 2022, 10);
	join_finish(&got.joins);
	expect(&got, 2, 1, 4, 10, true);
	expect(&got, 3, 2, 4, 10, true);
	expect(&got, 4, 5, 6, 10, false);
	end(&got, 5);
}

/* A state record while the first send is under way: its bytes may be in it or not,
 * but the channel began empty. */
static void test_a_state_amid_the_first_send_keeps_the_start(void **unused)
{
	struct join_message state = message(0, true, 0, 2, 0);
	struct got got;

	(void)unused;
	begin(&got);
	join_start(&got.joins);
	join_queue(&got.joins, &state);
	put(&got, 1, false, 1, 3, 10);
	put(&got, 2, true, 4, 5, 10);
	join_finish(&got.joins);
	expect(&got, 0, 1, 2, 10, false);
	end(&got, 1);
}

/* A read that found nothing, before the state record was used. */
static void test_an_empty_read_behind_a_state_forgets_nothing(void **unused)
{
	struct join_message state = message(0, true, 0, 1, 0), empty = message(4, true, 6, 7, 0);
	struct got got;

	(void)unused;
	begin(&got);
	empty.empty = true;
	join_queue(&got.joins, &state);
	put(&got, 1, false, 2, 3, 10);
	put(&got, 2, true, 4, 5, 10);
	join_message(&got.joins, &empty);
	join_finish(&got.joins);
	expect(&got, 0, 1, 2, 10, false);
	end(&got, 1);
}

static void test_bytes_from_before_are_known_as_such(void **unused)
{
	struct got got;

	(void)unused;
	begin(&got);
	join_queue(&got.joins, &(struct join_message){ .channel = 1, .end_ns = 1 * MS, .bytes = 30, .receives = true });
	join_start(&got.joins);
	put(&got, 1, false, 2, 3, 10);
	put(&got, 2, true, 4, 5, 35);
	join_finish(&got.joins);
	expect(&got, 0, JOIN_BEFORE, 2, 30, false);
	expect(&got, 1, 1, 2, 5, false);
	end(&got, 2);
}

/* Ends that were looked at and closed before they moved anything; others then have their number. */
static void test_a_state_of_another_life_tells_nothing(void **unused)
{
	static const struct { uint8_t kind; uint32_t bytes; } lives[] = {
		{ MESSAGE_KIND_unix_stream, 30 }, { MESSAGE_KIND_unix_seqpacket, 30 }, { MESSAGE_KIND_unix_dgram, 0 },
	};

	(void)unused;
	for (size_t i = 0; i < sizeof(lives) / sizeof(lives[0]); i++) {
		struct join_message told = { .channel = 1, .object = 9, .end_ns = 1 * MS, .bytes = lives[i].bytes, .receives = true };
		struct join_message send = message(1, false, 2, 3, 10), receive = message(2, true, 4, 5, 10);
		struct got got;

		begin(&got);
		join_start(&got.joins);
		join_queue(&got.joins, &told);
		told.object = 8;
		told.receives = false;
		join_queue(&got.joins, &told);
		send.kind = receive.kind = lives[i].kind;
		join_message(&got.joins, &send);
		join_message(&got.joins, &receive);
		join_finish(&got.joins);
		expect(&got, 0, 1, 2, lives[i].kind == MESSAGE_KIND_unix_stream ? 10 : got.edges[0].bytes, false);
		end(&got, 1);
	}
}

static void test_no_join_across_a_gap_until_seen_empty(void **unused)
{
	struct got got;
	struct join_message empty = message(0, true, 20, 21, 0);

	(void)unused;
	begin(&got);
	join_start(&got.joins);
	put(&got, 1, false, 1, 2, 10);
	join_gap(&got.joins, 0);
	put(&got, 2, true, 11, 12, 10);
	put(&got, 3, false, 13, 14, 10);
	put(&got, 4, true, 15, 16, 10);
	empty.empty = true;
	join_message(&got.joins, &empty);
	put(&got, 5, false, 22, 23, 10);
	put(&got, 6, true, 24, 25, 10);
	join_finish(&got.joins);
	expect(&got, 0, 5, 6, 10, false);
	end(&got, 1);
}

static void test_positions_tell_after_a_gap(void **unused)
{
	struct got got;
	struct join_message send = message(1, false, 1, 2, 100), receive = message(2, true, 3, 4, 60);

	(void)unused;
	begin(&got);
	send.kind = receive.kind = MESSAGE_KIND_tcp;
	/* 40 bytes were queued already; the numbers wrap */
	send.position = 0xfffffff0u;
	receive.position = 0xfffffff0u - 40;
	join_message(&got.joins, &send);
	join_message(&got.joins, &receive);
	join_finish(&got.joins);
	expect(&got, 0, JOIN_BEFORE, 2, 40, false);
	expect(&got, 1, 1, 2, 20, false);
	end(&got, 2);
}

static void test_datagrams_one_by_one_and_lost_ones_skipped(void **unused)
{
	static const uint32_t sizes[] = { 10, 20, 30, 40 };
	struct got got;

	(void)unused;
	begin(&got);
	join_start(&got.joins);
	for (unsigned i = 0; i < 4; i++) {
		struct join_message m = message(i + 1, false, 10 + i * 2, 11 + i * 2, sizes[i]);

		m.kind = MESSAGE_KIND_udp;
		join_message(&got.joins, &m);
	}
	for (unsigned i = 0; i < 4; i++) {
		struct join_message m = message(i + 11, true, 30 + i * 2, 31 + i * 2, sizes[i]);

		m.kind = MESSAGE_KIND_udp;
		if (i != 1)
			join_message(&got.joins, &m);
	}
	join_finish(&got.joins);
	expect(&got, 0, 1, 11, 10, false);
	expect(&got, 1, 3, 13, 30, false);
	expect(&got, 2, 4, 14, 40, false);
	end(&got, 3);
}

static void test_an_eventfd_read_takes_all(void **unused)
{
	struct got got;

	(void)unused;
	begin(&got);
	for (unsigned i = 0; i < 4; i++) {
		struct join_message m = message(i, i == 2 || i == 3, 10 + i * 2, 11 + i * 2, 8);

		m.kind = MESSAGE_KIND_eventfd;
		join_message(&got.joins, &m);
	}
	join_finish(&got.joins);
	expect(&got, 0, 0, 2, 8, false);
	expect(&got, 1, 1, 2, 8, false);
	end(&got, 2);
}

static void test_a_number_used_again_begins_anew(void **unused)
{
	struct got got;
	struct join_message m;

	(void)unused;
	begin(&got);
	join_start(&got.joins);
	m = message(1, false, 1, 2, 10);
	m.kind = MESSAGE_KIND_unix_stream;
	join_message(&got.joins, &m);
	m = message(2, false, 5, 6, 10);
	m.kind = MESSAGE_KIND_unix_stream;
	m.object = 77;
	join_message(&got.joins, &m);
	m = message(3, true, 7, 8, 10);
	m.kind = MESSAGE_KIND_unix_stream;
	join_message(&got.joins, &m);
	join_finish(&got.joins);
	expect(&got, 0, 2, 3, 10, false);
	end(&got, 1);
}

/* Memory stays bounded when nobody reads, and joins are handed out on the way. */
static void test_many(void **unused)
{
	struct got got;
	unsigned handed;

	(void)unused;
	begin(&got);
	join_start(&got.joins);
	for (uint64_t i = 0; i < 100000; i++)
		put(&got, i, false, 1 + i, 1 + i, 1);
	assert_true(got.count == 0);
	joins_done(&got.joins);
	begin(&got);
	join_start(&got.joins);
	for (uint64_t i = 0; i < 5000; i++) {
		put(&got, i, false, 1 + i * 4, 2 + i * 4, 5);
		put(&got, i, true, 3 + i * 4, 4 + i * 4, 5);
		handed = got.count;
		for (unsigned k = 0; k < handed; k++)
			assert_int_equal(got.edges[k].send, got.edges[k].receive);
		if (handed > 100)
			got.count = 0;
	}
	assert_true(got.joins.channels.length == 1);
	joins_done(&got.joins);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bytes_in_order),
		cmocka_unit_test(test_receive_recorded_before_its_send),
		cmocka_unit_test(test_racing_sends_are_a_set),
		cmocka_unit_test(test_racing_receives_are_a_set),
		cmocka_unit_test(test_racing_receives_are_a_set_across_a_settling),
		cmocka_unit_test(test_a_state_amid_the_first_send_keeps_the_start),
		cmocka_unit_test(test_an_empty_read_behind_a_state_forgets_nothing),
		cmocka_unit_test(test_bytes_from_before_are_known_as_such),
		cmocka_unit_test(test_a_state_of_another_life_tells_nothing),
		cmocka_unit_test(test_no_join_across_a_gap_until_seen_empty),
		cmocka_unit_test(test_positions_tell_after_a_gap),
		cmocka_unit_test(test_datagrams_one_by_one_and_lost_ones_skipped),
		cmocka_unit_test(test_an_eventfd_read_takes_all),
		cmocka_unit_test(test_a_number_used_again_begins_anew),
		cmocka_unit_test(test_many),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
