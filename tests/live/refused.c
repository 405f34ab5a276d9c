/* For probe_refused.sh: what is not there to be watched, stepped or probed, and a program that allows few system calls. */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>

volatile int counter;
static int never_changes = 5;

static inline __attribute__((always_inline)) int folded(int number)
{
	return number * counter + never_changes;
}

int turn(int number);
__attribute__((noinline)) int turn(int number)
{
	counter = number;
	return folded(number);
}

static int allow_little(void)
{
	struct sock_filter lines[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clock_nanosleep, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &(struct sock_fprog){ sizeof(lines) / sizeof(lines[0]), lines });
}

int main(int count, char **words)
{
	(void)words;
	if (count > 1 && allow_little())
		return 1;
	for (int i = 0;; i++) {
		turn(i);
		clock_nanosleep(CLOCK_MONOTONIC, 0, &(struct timespec){ .tv_nsec = 2000000 }, NULL);
	}
}
