/* A ninth set of programs that replay was not made with: locks that are spun for, locks held two at a
 * time, and sleeps in code without unwind tables. Written, recorded, measured and asked about once
 * (whatif.py). `twelfth NAME` runs one; what is slow is SLOW_WORK per cent of what it was. */
#define _GNU_SOURCE
#include "common.h"

#include <sys/mman.h>
#include <sys/syscall.h>

/* ---- a lock that is held so shortly that spinning mostly gets it ---- */

static pthread_mutex_t counter_mutex = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP;

KEEP static void count_word(void)
{
	pthread_mutex_lock(&counter_mutex);
	COMPUTE(SLOW(10 * US));
	pthread_mutex_unlock(&counter_mutex);
}

KEEP static void *counter(void *data)
{
	for (unsigned i = 0; i < 12000; i++) {
		COMPUTE(8 * US);
		count_word();
	}
	return data;
}

static void short_spins(void)
{
	run_threads(2, counter);
}

/* ---- one that is held shortly nine times, and for a sleep the tenth ---- */

static pthread_mutex_t journal_mutex = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP;

KEEP static void append_entry(unsigned i)
{
	pthread_mutex_lock(&journal_mutex);
	if (i % 10 == 9)
		pause_ns(SLOW(1500 * US));
	else
		COMPUTE(20 * US);
	pthread_mutex_unlock(&journal_mutex);
}

KEEP static void *appender(void *data)
{
	for (unsigned i = 0; i < 700; i++) {
		COMPUTE(60 * US);
		append_entry(i);
	}
	return data;
}

static void mixed_spins(void)
{
	run_threads(3, appender);
}

/* ---- more threads than processors spin for one ---- */

static pthread_mutex_t heap_mutex = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP;

KEEP static void grow_heap(void)
{
	pthread_mutex_lock(&heap_mutex);
	COMPUTE(SLOW(200 * US));
	pthread_mutex_unlock(&heap_mutex);
}

KEEP static void *allocator(void *data)
{
	for (unsigned i = 0; i < 300; i++) {
		COMPUTE(70 * US);
		grow_heap();
	}
	return data;
}

static void spin_crowd(void)
{
	run_threads(6, allocator);
}

/* ---- one of two accounts' locks, and the bank's inside of it, both kept through a sleep ---- */

static pthread_mutex_t accounts[2] = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER }, bank_mutex = PTHREAD_MUTEX_INITIALIZER;

KEEP static void post_payment(void)
{
	pthread_mutex_lock(&bank_mutex);
	pause_ns(SLOW(900 * US));
	pthread_mutex_unlock(&bank_mutex);
}

KEEP static void *payer(void *data)
{
	for (unsigned i = 0; i < 90; i++) {
		pthread_mutex_t *account = &accounts[(i + (uintptr_t)data) % 2];

		COMPUTE(100 * US);
		pthread_mutex_lock(account);
		COMPUTE(50 * US);
		post_payment();
		pthread_mutex_unlock(account);
	}
	return data;
}

static void payments(void)
{
	run_threads(4, payer);
}

/* ---- a lock is held by who waits for the one inside, which another thread has for long ---- */

static pthread_mutex_t desk_mutex = PTHREAD_MUTEX_INITIALIZER, stamp_mutex = PTHREAD_MUTEX_INITIALIZER;
static volatile unsigned papers_left = 300;

KEEP static void ink_stamp(void)
{
	pthread_mutex_lock(&stamp_mutex);
	COMPUTE(SLOW(1 * MS));
	pthread_mutex_unlock(&stamp_mutex);
	COMPUTE(50 * US);
}

KEEP static void *inker(void *data)
{
	while (papers_left)
		ink_stamp();
	return data;
}

KEEP static void *clerk(void *data)
{
	for (bool left = true; left; ) {
		COMPUTE(50 * US);
		pthread_mutex_lock(&desk_mutex);
		pthread_mutex_lock(&stamp_mutex);
		COMPUTE(100 * US);
		left = papers_left && --papers_left;
		pthread_mutex_unlock(&stamp_mutex);
		pthread_mutex_unlock(&desk_mutex);
	}
	return data;
}

static void inner_lock(void)
{
	pthread_t thread = start(inker, NULL);

	run_threads(3, clerk);
	pthread_join(thread, NULL);
}

/* ---- through a list, each next one's lock is taken before the last one's is given back ---- */

static pthread_mutex_t nodes[6] = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
				    PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER };

KEEP static void copy_node(void)
{
	pause_ns(SLOW(1200 * US));
}

KEEP static void *walker(void *data)
{
	for (unsigned i = 0; i < 60; i++) {
		pthread_mutex_lock(&nodes[0]);
		for (unsigned at = 0; at < 6; at++) {
			if (at == 3)
				copy_node();
			else
				COMPUTE(60 * US);
			if (at < 5)
				pthread_mutex_lock(&nodes[at + 1]);
			pthread_mutex_unlock(&nodes[at]);
		}
	}
	return data;
}

static void hand_over_hand(void)
{
	run_threads(4, walker);
}

/* ---- sleeps in code made at run time, behind which no stack is known ---- */

static void (*bare_sleep)(const struct timespec *time);

/* nanosleep(time, NULL) in a frame that no table tells of and no frame pointer leads out of. */
static void make_bare_sleep(void)
{
#ifdef __x86_64__
	static const unsigned char code[] = {
		0x55,                         /* push %rbp */
		0x48, 0x83, 0xec, 0x38,       /* sub $56,%rsp */
		0x31, 0xed,                   /* xor %ebp,%ebp */
		0x31, 0xf6,                   /* xor %esi,%esi */
		0xb8, SYS_nanosleep, 0, 0, 0, /* mov $nanosleep,%eax */
		0x0f, 0x05,                   /* syscall */
		0x48, 0x83, 0xc4, 0x38,       /* add $56,%rsp */
		0x5d, 0xc3,                   /* pop %rbp; ret */
	};
	unsigned char *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	need(at != MAP_FAILED, "mmap");
	memcpy(at, code, sizeof(code));
	need(!mprotect(at, 4096, PROT_READ | PROT_EXEC), "mprotect");
	memcpy(&bare_sleep, &at, sizeof(at));
#else
	need(false, "code for this processor");
#endif
}

KEEP static void bare_pause(uint64_t ns)
{
	struct timespec t = { 0, (long)ns };

	bare_sleep(&t);
}

KEEP static void *script(void *data)
{
	for (unsigned i = 0; i < 100; i++) {
		COMPUTE(700 * US);
		bare_pause(SLOW(2500 * US));
	}
	return data;
}

static void bare_script(void)
{
	make_bare_sleep();
	run_threads(2, script);
}

static pthread_mutex_t engine_mutex = PTHREAD_MUTEX_INITIALIZER;

KEEP static void run_engine(void)
{
	pthread_mutex_lock(&engine_mutex);
	bare_pause(SLOW(1 * MS));
	pthread_mutex_unlock(&engine_mutex);
}

KEEP static void *caller(void *data)
{
	for (unsigned i = 0; i < 90; i++) {
		COMPUTE(400 * US);
		run_engine();
	}
	return data;
}

static void bare_lock(void)
{
	make_bare_sleep();
	run_threads(4, caller);
}

MAIN(,
	PROGRAM(short_spins), PROGRAM(mixed_spins), PROGRAM(spin_crowd), PROGRAM(payments), PROGRAM(inner_lock),
	PROGRAM(hand_over_hand), PROGRAM(bare_script), PROGRAM(bare_lock))
