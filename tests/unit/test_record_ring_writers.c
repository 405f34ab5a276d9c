/* src/record/bpf/ring.bpf.h: programs that interrupt each other while they take room and
 * publish. The header is compiled as it is; a trap after each instruction stands for an
 * interrupt there, so every order of their reads and writes comes to pass. What the
 * reader takes is whole, in order, and nothing counts as lost in a ring with room. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <linux/bpf.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include "record/ring.h"

/* What the header takes from the BPF side. */
#define RECORD_BPF_CONFIG_BPF_H
#define SEC(name)
#define __uint(name, value) int (*name)[value]
#undef __always_inline
#define __always_inline inline __attribute__((always_inline))
#define __noinline __attribute__((noinline))
#define bpf_get_smp_processor_id() 0
#define bpf_map_lookup_elem(map, key) ((void)(map), (void)(key), (void *)NULL)
#define bpf_ringbuf_output(map, data, size, flags) ((void)(map), (void)(data), wakes++)
static volatile struct { u64 ring_bytes; } config;
static unsigned wakes;
#include "record/bpf/ring.bpf.h"

#define BYTES (2u * RING_RESERVE)
#define FOREVER 100000 /* instructions; none of the programs has so many */

struct word {
	u64 code, again;
};

static struct ring *ring;
static u64 taken, written;      /* records that the reader has seen, and that were begun */
static u64 sum_taken, sum_written;
static volatile sig_atomic_t step, strike_at, stepping;
static unsigned struck;
static void (*strike)(void);

static void fill(struct word *word)
{
	word->code = __atomic_add_fetch(&written, 1, __ATOMIC_RELAXED); /* interrupts count, too */
	__atomic_fetch_add(&sum_written, word->code, __ATOMIC_RELAXED);
	word->again = ~word->code;
}

static void put(void)
{
	struct word *word = ring_begin(ring, EVENT_exit, 1, 1, sizeof(*word));

	if (!word)
		return;
	fill(word);
	ring_end(ring);
}

static void put_shared(void)
{
	struct word *word = ring_begin_shared(ring, EVENT_exit, 1, 1, sizeof(*word));

	if (!word)
		return;
	fill(word);
	ring_end(ring);
}

/* As the agent does; what it has read it makes unreadable, so that a record which is not
 * whole cannot be taken for one. */
static void take(void)
{
	u64 done = __atomic_load_n(&ring->done, __ATOMIC_ACQUIRE);

	while (ring->tail < done) {
		struct record *record = (void *)((char *)ring + RING_DATA + (ring->tail & (BYTES - 1)));
		struct word *word = (void *)(record + 1);

		assert_int_equal(record->size, sizeof(*record) + sizeof(*word));
		assert_int_equal(record->type, EVENT_exit);
		assert_true(word->again == ~word->code);
		sum_taken += word->code;
		taken++;
		memset(record, 0xee, sizeof(*record) + sizeof(*word));
		ring->tail += sizeof(*record) + sizeof(*word);
	}
	assert_true(ring->tail <= ring->head);
}

static void put_twice(void)
{
	put();
	put();
}

static void put_twice_and_take(void)
{
	put_twice();
	take();
}

static void take_between(void)
{
	put();
	take();
	put();
}

static void on_trap(int number, siginfo_t *info, void *context)
{
	ucontext_t *at = context;

	(void)number;
	(void)info;
#if defined(__x86_64__)
	if (!stepping) {
		at->uc_mcontext.gregs[REG_EFL] &= ~0x100;
		return;
	}
	at->uc_mcontext.gregs[REG_EFL] |= 0x100; /* a trap after the next one */
#else
	(void)at;
#endif
	if (step++ == strike_at) {
		struck++;
		strike();
	}
}

static int setup(void **state)
{
	struct sigaction action = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO };

	(void)state;
	return sigaction(SIGTRAP, &action, NULL);
}

static void begin_ring(void)
{
	ring = calloc(1, RING_DATA + BYTES + RING_SLACK);
	config.ring_bytes = BYTES;
	ring->limit = BYTES - RING_RESERVE;
	ring->open = 1;
	/* records cross the end */
	ring->head = ring->done = ring->tail = BYTES - 8;
	taken = written = sum_taken = sum_written = 0;
}

static void end_ring(void)
{
	/* the one behind publishes what an interrupt kept back */
	put();
	take();
	assert_int_equal(ring->lost, 0);
	assert_int_equal(ring->depth, 0);
	assert_int_equal(ring->tail, ring->head);
	assert_int_equal(taken, written);
	assert_int_equal(sum_taken, sum_written);
	free(ring);
}

/* The program with an interrupt behind its first instruction, its second, and so on. */
static void interrupt_everywhere(void (*program)(void), void (*interrupt)(void))
{
	unsigned places = 0;

#if !defined(__x86_64__)
	print_message("traps after each instruction are made for x86-64 alone\n");
	skip();
#endif
	strike = interrupt;
	for (strike_at = 0; strike_at < FOREVER; strike_at = strike_at + 1) {
		begin_ring();
		step = 0;
		struck = 0;
		stepping = 1;
		raise(SIGTRAP);
		program();
		stepping = 0;
		end_ring();
		if (!struck)
			break;
		places++;
	}
	assert_true(places > 20 && places < FOREVER);
}

static void interrupts_write(void **state)
{
	(void)state;
	interrupt_everywhere(put, put_twice);
	interrupt_everywhere(put_shared, put_twice);
}

/* The reader passes what the interrupted program has seen as the ring's end. */
static void interrupts_write_and_are_read(void **state)
{
	(void)state;
	interrupt_everywhere(put, put_twice_and_take);
	interrupt_everywhere(put_shared, put_twice_and_take);
	interrupt_everywhere(put, take_between);
}

static void the_reader_comes_at_any_time(void **state)
{
	(void)state;
	interrupt_everywhere(put_twice, take);
}

static void a_full_ring_counts_what_it_drops(void **state)
{
	u64 room = (BYTES - RING_RESERVE) / (sizeof(struct record) + sizeof(struct word));

	(void)state;
	begin_ring();
	ring->limit /= 8; /* the agent sleeps */
	wakes = 0;
	for (u64 i = 0; i < room + 7; i++)
		put();
	assert_int_equal(wakes, 1);
	assert_int_equal(written, room);
	assert_int_equal(ring->lost, 7);
	ring->lost = 0;
	take();
	end_ring();
	begin_ring();
	ring->open = ring->limit = 0;
	put();
	assert_int_equal(ring->head, ring->tail);
	assert_int_equal(ring->lost, 0);
	free(ring);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(interrupts_write),
		cmocka_unit_test(interrupts_write_and_are_read),
		cmocka_unit_test(the_reader_comes_at_any_time),
		cmocka_unit_test(a_full_ring_counts_what_it_drops),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
