/* See names.h. */
#include "trace/names.h"

#include <errno.h>
#include <string.h>

static const char *const syscalls[] = {
#define SYSCALL_NAME(number, name) [number] = #name,
#include "trace/syscalls.def"
#undef SYSCALL_NAME
};

static const char *const signals[] = {
	[1] = "SIGHUP", [2] = "SIGINT", [3] = "SIGQUIT", [4] = "SIGILL", [5] = "SIGTRAP", [6] = "SIGABRT",
	[7] = "SIGBUS", [8] = "SIGFPE", [9] = "SIGKILL", [10] = "SIGUSR1", [11] = "SIGSEGV", [12] = "SIGUSR2",
	[13] = "SIGPIPE", [14] = "SIGALRM", [15] = "SIGTERM", [16] = "SIGSTKFLT", [17] = "SIGCHLD", [18] = "SIGCONT",
	[19] = "SIGSTOP", [20] = "SIGTSTP", [21] = "SIGTTIN", [22] = "SIGTTOU", [23] = "SIGURG", [24] = "SIGXCPU",
	[25] = "SIGXFSZ", [26] = "SIGVTALRM", [27] = "SIGPROF", [28] = "SIGWINCH", [29] = "SIGIO", [30] = "SIGPWR",
	[31] = "SIGSYS",
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static int find(const char *const *names, size_t count, const char *name, size_t length)
{
	for (size_t i = 0; i < count; i++)
		if (names[i] && strlen(names[i]) == length && !memcmp(names[i], name, length))
			return (int)i;
	return -ENOENT;
}

const char *syscall_name(unsigned number)
{
	return number < COUNT(syscalls) ? syscalls[number] : NULL;
}

int syscall_find(const char *name, size_t length)
{
	return find(syscalls, COUNT(syscalls), name, length);
}

const char *signal_name(unsigned number)
{
	return number < COUNT(signals) ? signals[number] : NULL;
}

int signal_find(const char *name, size_t length)
{
	return find(signals, COUNT(signals), name, length);
}
