/* For probes.sh: a thread hands jobs to a worker by their addresses, through a queue
 * without locks that the worker looks at now and then; a mark (USDT) tells each turn,
 * another what the job is called. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

#define JOBS 50

struct job {
	int number;
	const char *label;
	struct part {
		short left;
		char name[16];
	} part;
};

static struct job jobs[JOBS];
static _Atomic(struct job *) queue[JOBS];

/* What <sys/sdt.h> makes of a mark with one argument. */
#define MARK(provider, name, form, value) \
	__asm__ volatile("990: nop\n" \
			 ".pushsection .note.stapsdt,\"\",\"note\"\n" \
			 ".balign 4\n" \
			 ".4byte 992f-991f, 994f-993f, 3\n" \
			 "991: .asciz \"stapsdt\"\n" \
			 "992: .balign 4\n" \
			 "993: .8byte 990b, _.stapsdt.base, 0\n" \
			 ".asciz \"" provider "\"\n" \
			 ".asciz \"" name "\"\n" \
			 ".asciz \"" form "\"\n" \
			 "994: .balign 4\n" \
			 ".popsection\n" \
			 ".ifndef _.stapsdt.base\n" \
			 ".pushsection .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n" \
			 ".weak _.stapsdt.base\n" \
			 ".hidden _.stapsdt.base\n" \
			 "_.stapsdt.base: .space 1\n" \
			 ".size _.stapsdt.base, 1\n" \
			 ".popsection\n" \
			 ".endif\n" : : "r"(value))

static void pool_put(struct job *job, int number)
{
	job->number = number;
	atomic_store(&queue[number], job);
}

static int pool_run(struct job *job)
{
	MARK("pool", "turn", "-4@%0", job->number);
	MARK("pool", "label", "8@%0", job->label);
	return job->number * 2;
}

/* Called through these, they stay functions of their own. */
static void (*volatile put)(struct job *job, int number) = pool_put;
static int (*volatile run)(struct job *job) = pool_run;

static void pause_ns(long ns)
{
	nanosleep(&(struct timespec){ .tv_nsec = ns }, NULL);
}

static void *work(void *unused)
{
	long sum = 0;

	(void)unused;
	for (int done = 0; done < JOBS;) {
		struct job *job = atomic_load(&queue[done]);

		if (!job) {
			pause_ns(500000);
			continue;
		}
		sum += run(job);
		done++;
	}
	return (void *)sum;
}

int main(void)
{
	pthread_t worker;
	void *sum;

	if (pthread_create(&worker, NULL, work, NULL))
		return 1;
	for (int i = 0; i < JOBS; i++) {
		jobs[i].label = i % 2 ? "odd" : "even";
		jobs[i].part.left = (short)-i;
		snprintf(jobs[i].part.name, sizeof(jobs[i].part.name), "job %d", i);
		put(&jobs[i], i);
		pause_ns(5000000);
	}
	pthread_join(worker, &sum);
	printf("%ld\n", (long)sum);
	return 0;
}
