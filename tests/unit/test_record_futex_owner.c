/* Owners read from the memory of glibc's locks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <pthread.h>
#include <unistd.h>

#include "record/futex_owner.h"

static u32 owner_at(u32 op, u32 value, const void *at, u8 *kind)
{
	u32 words[FUTEX_OWNER_WORDS] = { 0 };

	assert_true(futex_owner_words(op, value) <= FUTEX_OWNER_WORDS);
	memcpy(words, at, futex_owner_words(op, value) * sizeof(words[0]));
	return futex_owner(op, value, words, kind);
}

static void test_mutexes_of_all_kinds(void **unused)
{
	(void)unused;
	static const int types[] = { PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ERRORCHECK };
	u32 me = (u32)gettid();
	u8 kind;

	for (size_t i = 0; i < 3; i++)
		for (int robust = 0; robust < 2; robust++) {
			struct { pthread_mutex_t mutex; char behind[64]; } m;
			pthread_mutexattr_t a;
			u32 value;

			memset(&m, 0x5a, sizeof(m));
			pthread_mutexattr_init(&a);
			pthread_mutexattr_settype(&a, types[i]);
			pthread_mutexattr_setrobust(&a, robust ? PTHREAD_MUTEX_ROBUST : PTHREAD_MUTEX_STALLED);
			pthread_mutex_init(&m.mutex, &a);
			pthread_mutex_lock(&m.mutex);
			value = robust ? (u32)m.mutex.__data.__lock | FUTEX_OWNER_WAITERS : 2;
			m.mutex.__data.__lock = (int)value; /* as the first waiter leaves it */
			assert_int_equal(owner_at(FUTEX_OWNER_WAIT | FUTEX_OWNER_PRIVATE, value, &m, &kind), me);
			assert_int_equal(kind, HINT_KIND_mutex_owner);
			assert_int_equal(owner_at(FUTEX_OWNER_WAIT_BITSET, value, &m, &kind), me);
			pthread_mutex_unlock(&m.mutex);
		}
}

static void test_priority_ceiling(void **unused)
{
	(void)unused;
	/* word, depth, owner, users, kind (PTHREAD_MUTEX_PRIO_PROTECT) */
	const u32 words[FUTEX_OWNER_WORDS] = { 10u << 19 | 2, 0, 4711, 1, 0x40 };
	u8 kind;

	assert_int_equal(futex_owner(FUTEX_OWNER_WAIT, words[0], words, &kind), 4711);
	assert_int_equal(kind, HINT_KIND_mutex_owner);
}

static void test_rwlock_held_for_writing(void **unused)
{
	(void)unused;
	struct { pthread_rwlock_t lock; char behind[64]; } l;
	u8 kind;

	memset(&l, 0x5a, sizeof(l));
	pthread_rwlock_init(&l.lock, NULL);
	pthread_rwlock_wrlock(&l.lock);
	/* as waiters leave the words: in use, awaited */
	l.lock.__data.__wrphase_futex = 3;
	l.lock.__data.__writers_futex = 3;
	assert_int_equal(owner_at(FUTEX_OWNER_WAIT_BITSET | FUTEX_OWNER_PRIVATE, 3, &l.lock.__data.__wrphase_futex, &kind), gettid());
	assert_int_equal(kind, HINT_KIND_rwlock_writer);
	assert_int_equal(owner_at(FUTEX_OWNER_WAIT_BITSET | FUTEX_OWNER_PRIVATE, 3, &l.lock.__data.__writers_futex, &kind), gettid());
	l.lock.__data.__cur_writer = 0;
	assert_int_equal(owner_at(FUTEX_OWNER_WAIT_BITSET | FUTEX_OWNER_PRIVATE, 3, &l.lock.__data.__wrphase_futex, &kind), 0);
	assert_int_equal(kind, HINT_KIND_none);
}

static void test_other_locks_have_none(void **unused)
{
	(void)unused;
	static const u32 strange[FUTEX_OWNER_WORDS] = { 2, 7, 0xffffffff, 1, 0 }, busy[FUTEX_OWNER_WORDS] = { 3, 1, 2, 3, 4, 5, 6, 7, 8 };
	static const u32 nobody[FUTEX_OWNER_WORDS] = { 2, 0, 0x400001, 1, 0 };
	static const u32 kindless[FUTEX_OWNER_WORDS] = { 2, 0, 4711, 1, 0x12345 }, robust[FUTEX_OWNER_WORDS] = { 0x80000007, 0, 0, 0, 0 };
	u8 kind;

	assert_int_equal(futex_owner(FUTEX_OWNER_WAIT | FUTEX_OWNER_PRIVATE, 2, strange, &kind), 0);
	assert_int_equal(futex_owner(FUTEX_OWNER_WAIT | FUTEX_OWNER_PRIVATE, 2, kindless, &kind), 0);
	assert_int_equal(futex_owner(FUTEX_OWNER_WAIT | FUTEX_OWNER_PRIVATE, 2, nobody, &kind), 0);
	assert_int_equal(kind, 0);
	assert_int_equal(futex_owner(FUTEX_OWNER_LOCK_PI | FUTEX_OWNER_PRIVATE, 0, &nobody[2], &kind), 0);
	assert_int_equal(futex_owner(FUTEX_OWNER_WAIT, 0x400001, nobody, &kind), 0);
	assert_int_equal(futex_owner(FUTEX_OWNER_WAIT | FUTEX_OWNER_PRIVATE, 3, busy, &kind), 0);
	assert_int_equal(futex_owner(FUTEX_OWNER_WAIT | FUTEX_OWNER_PRIVATE, 0x80000007, robust, &kind), 0);
	assert_int_equal(futex_owner(1, 2, strange, &kind), 0);
	assert_int_equal(kind, HINT_KIND_none);
}

static void test_a_joined_thread_and_priority_inheritance(void **unused)
{
	(void)unused;
	const u32 words[FUTEX_OWNER_WORDS] = { FUTEX_OWNER_WAITERS | 99 };
	u8 kind;

	assert_int_equal(futex_owner(FUTEX_OWNER_WAIT_BITSET, 4711, words, &kind), 4711);
	assert_int_equal(kind, HINT_KIND_thread_exit);
	assert_int_equal(futex_owner(FUTEX_OWNER_LOCK_PI2 | FUTEX_OWNER_PRIVATE, 0, words, &kind), 99);
	assert_int_equal(kind, HINT_KIND_pi_owner);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mutexes_of_all_kinds),
		cmocka_unit_test(test_priority_ceiling),
		cmocka_unit_test(test_rwlock_held_for_writing),
		cmocka_unit_test(test_other_locks_have_none),
		cmocka_unit_test(test_a_joined_thread_and_priority_inheritance),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
