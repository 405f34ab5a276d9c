/* Locks of all kinds that stay held: `locks CASE FOLDER`. As hangs.c, it prints one line when it
 * is set up: the process to ask about, and what is true of it. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sem.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define HERE __attribute__((noinline))
#define STAY() __asm__ volatile("" ::: "memory")

/* All that threads and processes share. */
struct shared {
	pthread_mutex_t mutex;
	pthread_rwlock_t rwlock;
	sem_t semaphore;
	atomic_uint word;
	volatile pid_t holder;
};

static struct shared *shared;
static const char *folder;
static int set, file;

HERE static void hold_on(void) { shared->holder = gettid(); for (;;) pause(); }

/* ---- how each is taken ---- */

static void take_mutex(void) { pthread_mutex_lock(&shared->mutex); STAY(); }
static void take_write(void) { pthread_rwlock_wrlock(&shared->rwlock); STAY(); }
static void take_read(void) { pthread_rwlock_rdlock(&shared->rwlock); STAY(); }
static void take_semaphore(void) { sem_wait(&shared->semaphore); STAY(); }
static void take_set(void) { struct sembuf take = { 0, -1, 0 }; semop(set, &take, 1); STAY(); }

/* As Rust's: 0 free, 1 held, 2 held and awaited; nobody's number anywhere. */
HERE static void take_word(void)
{
	unsigned expected = 0;
	if (atomic_compare_exchange_strong(&shared->word, &expected, 1))
		return;
	while (atomic_exchange(&shared->word, 2))
		syscall(SYS_futex, &shared->word, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, 2, NULL, NULL, ~0u);
}
/* As Go's runtime waits: by a note's word that is 0. */
HERE static void take_note(void)
{
	unsigned expected = 0;
	if (atomic_compare_exchange_strong(&shared->word, &expected, 8))
		return;
	for (;;)
		syscall(SYS_futex, &shared->word, FUTEX_WAIT_PRIVATE, 8, NULL, NULL, 0);
}
static int opened(void) { char path[4096]; snprintf(path, sizeof(path), "%s/file", folder); return open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600); }
static void take_flock(void) { flock(file = opened(), LOCK_EX); STAY(); }
static void take_by(int command) { struct flock all = { .l_type = F_WRLCK }; fcntl(file = opened(), command, &all); STAY(); }
static void take_posix(void) { take_by(F_SETLKW); }
static void take_open_file(void) { take_by(F_OFD_SETLKW); }

/* ---- who takes it first, and who then waits ---- */

static void (*first)(void), (*second)(void);
HERE static void guarded_first(void) { first(); hold_on(); STAY(); }
HERE static void guarded_second(void) { second(); _exit(1); }
/* Where nobody keeps the owner: both in one function, as critical sections mostly are. */
HERE static void guarded_by_both(void (*take)(void)) { take(); hold_on(); STAY(); }
static int by_both;
static void *holder(void *x)
{
	if (by_both)
		guarded_by_both(first);
	guarded_first();
	return x;
}

struct lock_case {
	const char *name;
	void (*first)(void), (*second)(void);
	int type, protocol, robust, shared, process;
	int unowned;
};

static void mutex_of(const struct lock_case *c)
{
	pthread_mutexattr_t a;

	pthread_mutexattr_init(&a);
	pthread_mutexattr_settype(&a, c->type);
	pthread_mutexattr_setprotocol(&a, c->protocol);
	if (c->protocol == PTHREAD_PRIO_PROTECT)
		pthread_mutexattr_setprioceiling(&a, 1);
	pthread_mutexattr_setrobust(&a, c->robust ? PTHREAD_MUTEX_ROBUST : PTHREAD_MUTEX_STALLED);
	pthread_mutexattr_setpshared(&a, c->shared);
	if (pthread_mutex_init(&shared->mutex, &a))
		exit(77);
}

static void rwlock_of(const struct lock_case *c)
{
	pthread_rwlockattr_t a;

	pthread_rwlockattr_init(&a);
	pthread_rwlockattr_setpshared(&a, c->shared);
	pthread_rwlock_init(&shared->rwlock, &a);
}

static void remove_set(int number) { (void)number; semctl(set, 0, IPC_RMID); _exit(0); }

static void stand(const struct lock_case *c)
{
	struct sembuf give = { 0, 1, 0 };
	struct sched_param real = { .sched_priority = 1 };
	pthread_t t;

	mutex_of(c);
	rwlock_of(c);
	sem_init(&shared->semaphore, c->shared, 1);
	if (c->first == take_set) {
		set = semget(IPC_PRIVATE, 1, 0600);
		signal(SIGTERM, remove_set);
		semop(set, &give, 1);
	}
	if (c->protocol == PTHREAD_PRIO_PROTECT && sched_setscheduler(0, SCHED_FIFO, &real))
		exit(77);
	first = c->first;
	second = c->second;
	by_both = c->unowned;
	if (!c->process) {
		pthread_create(&t, NULL, holder, NULL);
	} else if (!fork()) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		holder(NULL);
	}
	while (!shared->holder)
		usleep(1000);
	/* who else has the memory mapped is known */
	if (c->unowned && c->process)
		printf("ask=%d culprit=%d function=guarded_by_both\n", getpid(), shared->holder);
	else if (c->unowned)
		printf("ask=%d mentions=%d mentions_text=may\n", getpid(), shared->holder);
	else
		printf("ask=%d culprit=%d function=guarded_first\n", getpid(), shared->holder);
	fflush(stdout);
	close(1);
	if (c->unowned)
		guarded_by_both(second);
	guarded_second();
}

#define SHARED PTHREAD_PROCESS_SHARED, 1
static const struct lock_case cases[] = {
	{ "mutex_normal", take_mutex, take_mutex, PTHREAD_MUTEX_NORMAL },
	{ "mutex_recursive", take_mutex, take_mutex, PTHREAD_MUTEX_RECURSIVE },
	{ "mutex_errorcheck", take_mutex, take_mutex, PTHREAD_MUTEX_ERRORCHECK },
	{ "mutex_adaptive", take_mutex, take_mutex, PTHREAD_MUTEX_ADAPTIVE_NP },
	{ "mutex_inherit", take_mutex, take_mutex, PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_INHERIT },
	{ "mutex_ceiling", take_mutex, take_mutex, PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_PROTECT },
	{ "mutex_robust", take_mutex, take_mutex, PTHREAD_MUTEX_NORMAL, 0, 1 },
	{ "mutex_robust_recursive", take_mutex, take_mutex, PTHREAD_MUTEX_RECURSIVE, 0, 1 },
	{ "mutex_robust_inherit", take_mutex, take_mutex, PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_INHERIT, 1 },
	{ "mutex_shared", take_mutex, take_mutex, PTHREAD_MUTEX_NORMAL, 0, 0, SHARED },
	{ "mutex_shared_robust", take_mutex, take_mutex, PTHREAD_MUTEX_NORMAL, 0, 1, SHARED },
	{ "mutex_shared_inherit", take_mutex, take_mutex, PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_INHERIT, 0, SHARED },
	{ "rwlock_reader_waits", take_write, take_read },
	{ "rwlock_writer_waits", take_write, take_write },
	{ "rwlock_shared", take_write, take_write, 0, 0, 0, SHARED },
	{ "rwlock_readers", take_read, take_write, .unowned = 1 },
	{ "semaphore_posix", take_semaphore, take_semaphore, .unowned = 1 },
	{ "semaphore_posix_shared", take_semaphore, take_semaphore, 0, 0, 0, SHARED, .unowned = 1 },
	{ "semaphore_sysv", take_set, take_set, .process = 1 },
	{ "word_like_rust", take_word, take_word, .unowned = 1 },
	{ "word_like_go", take_note, take_note, .unowned = 1 },
	{ "lock_flock", take_flock, take_flock, .process = 1 },
	{ "lock_posix", take_posix, take_posix, .process = 1 },
	{ "lock_open_file", take_open_file, take_open_file, .process = 1 },
};

int main(int count, char **words)
{
	if (count < 3)
		return 2;
	folder = words[2];
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_DUMPABLE, !getenv("HANGS_UNREADABLE"));
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (!strcmp(cases[i].name, words[1]))
			stand(&cases[i]);
	return 2;
}
