/* See proc_text.h. */
#include "record/proc_text.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static uint64_t number_after(const char *text, const char *word)
{
	const char *at = strstr(text, word);

	return at ? strtoull(at + strlen(word), NULL, 10) : 0;
}

static uint8_t state_of(char letter)
{
	switch (letter) {
	case 'S': return TASK_STATE_sleeping;
	case 'D': return TASK_STATE_blocked;
	case 'T': return TASK_STATE_stopped;
	case 't': return TASK_STATE_traced;
	case 'I': return TASK_STATE_idle;
	case 'P': return TASK_STATE_parked;
	case 'X':
	case 'Z': return TASK_STATE_dead;
	}
	return TASK_STATE_running;
}

uint64_t proc_text_switches(const char *status)
{
	return number_after(status, "\nvoluntary_ctxt_switches:\t") + number_after(status, "\nnonvoluntary_ctxt_switches:\t");
}

uint64_t proc_text_waits(const char *status)
{
	return number_after(status, "\nvoluntary_ctxt_switches:\t");
}

static bool has_word(const char *list, size_t length, const char *word)
{
	size_t bytes = strlen(word);

	for (const char *at = list; at < list + length; at += strcspn(at, ",:") + 1)
		if (strcspn(at, ",:") == bytes && !strncmp(at, word, bytes))
			return true;
	return false;
}

const char *proc_text_group(char *text, const char *controller)
{
	const char *found = NULL;

	for (char *line = text, *next; line && *line; line = next) {
		char *first = strchr(line, ':'), *second = first ? strchr(first + 1, ':') : NULL, *end = strchr(line, '\n');

		next = end ? end + 1 : NULL;
		if (end)
			*end = 0;
		if (!second || (end && second > end))
			continue;
		if (has_word(first + 1, (size_t)(second - first - 1), controller))
			return second + 1;
		if (second == first + 1)
			found = second + 1;
	}
	return found;
}

/* The kernel writes a line's end in a name as \n, and the backslash twice. */
static void read_name(const char *status, char *to, size_t size)
{
	const char *from = strncmp(status, "Name:\t", 6) ? "" : status + 6;
	size_t length = 0;

	for (; *from && *from != '\n' && length + 1 < size; from++) {
		bool escaped = *from == '\\' && (from[1] == 'n' || from[1] == '\\');

		from += escaped;
		to[length++] = (char)(escaped && *from == 'n' ? '\n' : *from);
	}
	to[length] = 0;
}

bool proc_text_read(uint32_t pid, uint32_t tid, const char *name, char *to, size_t size)
{
	char path[96];
	ssize_t got;
	int fd;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/task/%" PRIu32 "/%s", pid, tid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	got = fd < 0 ? -1 : read(fd, to, size - 1);
	if (fd >= 0)
		close(fd);
	to[got > 0 ? got : 0] = 0;
	return got > 0;
}

bool proc_text_thread(const char *status, const char *stat, uint64_t ticks, struct task_found *ret_found, struct proc_thread *ret_more)
{
	const char *end = strrchr(stat, ')');
	unsigned long long start = 0;
	unsigned parent = 0, processor = 0;
	long prio = 0;
	char letter;

	if (!end || !ticks ||
	    sscanf(end + 1, " %c %u %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %ld %*d %*d %*d %llu %*u %*d %*u %*u %*u %*u %*u %*u "
			    "%*u %*u %*u %*u %*u %*u %*u %*d %u", &letter, &parent, &prio, &start, &processor) < 4)
		return false;
	memset(ret_found, 0, sizeof(*ret_found));
	ret_found->task.start_ns = start * (1000000000ull / ticks);
	ret_found->task.parent = parent;
	ret_found->task.uid = (uint32_t)number_after(status, "\nUid:\t");
	ret_found->task.prio = (uint32_t)prio + 100u;
	ret_found->task.flags = strstr(status, "\nVmSize:") ? 0 : TASK_FLAGS_kernel_thread;
	read_name(status, ret_found->comm, sizeof(ret_found->comm));
	ret_found->waiting.state = state_of(letter);
	ret_found->waiting.syscall = SYSCALL_NONE;
	*ret_more = (struct proc_thread){
		.switches = proc_text_switches(status),
		.processor = processor,
		.tracer = (uint32_t)number_after(status, "\nTracerPid:\t"),
	};
	return true;
}

bool proc_text_call(const char *text, struct proc_call *ret)
{
	uint64_t *w = ret->words;

	*ret = (struct proc_call){ .number = -1 };
	if (!text[0] || text[0] == 'r')
		return false;
	if (sscanf(text, "-1 0x%" SCNx64 " 0x%" SCNx64, &ret->sp, &ret->ip) == 2)
		return true;
	return sscanf(text, "%ld 0x%" SCNx64 " 0x%" SCNx64 " 0x%" SCNx64 " 0x%" SCNx64 " 0x%" SCNx64 " 0x%" SCNx64 " 0x%" SCNx64 " 0x%" SCNx64,
		      &ret->number, &w[0], &w[1], &w[2], &w[3], &w[4], &w[5], &ret->sp, &ret->ip) >= 1;
}

long proc_text_restarted(const char *wchan)
{
	static const struct {
		const char *begins;
		long number;
	} calls[] = { { "poll_", 7 }, { "do_poll", 7 }, { "do_sys_poll", 7 }, { "do_restart_poll", 7 }, { "futex_", 202 },
		      { "hrtimer_nanosleep", 230 }, { "do_nanosleep", 230 }, { "common_nsleep", 230 } };

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (!strncmp(wchan, calls[i].begins, strlen(calls[i].begins)))
			return calls[i].number;
	return PROC_CALL_RESTART;
}

unsigned proc_text_stack(const char *text, struct proc_function ret_functions[PROC_FUNCTIONS_MOST])
{
	unsigned count = 0;

	while (*text && count < PROC_FUNCTIONS_MOST) {
		size_t line = strcspn(text, "\n"), mark = *text == '[' ? strcspn(text, " \n") : 0, length;
		const char *name = text + mark + (mark && text[mark] == ' ');

		length = strcspn(name, "+ \n");
		/* where there is no name, or none may be seen, there is a number */
		if (length && length <= PROC_FUNCTION_MOST && !(name[0] >= '0' && name[0] <= '9'))
			ret_functions[count++] = (struct proc_function){ name, length };
		text += line + (text[line] == '\n');
	}
	return count;
}

bool proc_text_times(const char *text, uint64_t *ret_run_ns, uint64_t *ret_queued_ns)
{
	return sscanf(text, "%" SCNu64 " %" SCNu64, ret_run_ns, ret_queued_ns) == 2;
}

static void keep_lock(const char *line, struct proc_fdinfo *info)
{
	size_t length = strcspn(line, "\n");
	const char *family = memmem(line, length, "OFDLCK", 6);

	if (!family || length + 2 > sizeof(info->lock))
		return;
	memcpy(info->lock, line, length);
	info->lock[length] = '\n';
	info->lock[length + 1] = 0;
}

void proc_text_fdinfo(const char *text, struct proc_fdinfo *ret_info)
{
	const char *line = text;

	memset(ret_info, 0, sizeof(*ret_info));
	while (line && *line) {
		unsigned fd, events;

		if (!strncmp(line, "flags:\t", 7))
			ret_info->flags = (uint32_t)strtoul(line + 7, NULL, 8);
		else if (!strncmp(line, "Pid:\t", 5) && (int)strtol(line + 5, NULL, 10) > 0)
			ret_info->awaited = (uint32_t)strtoul(line + 5, NULL, 10);
		else if (!strncmp(line, "eventfd-id: ", 12))
			ret_info->eventfd = strtoull(line + 12, NULL, 10) + 1;
		else if (!strncmp(line, "fuse_connection:\t", 17))
			ret_info->fuse = (uint32_t)strtoul(line + 17, NULL, 10);
		else if (!strncmp(line, "lock:\t", 6) && !ret_info->lock[0])
			keep_lock(line + 6, ret_info);
		else if (ret_info->watched < PROC_WATCHED_MOST && sscanf(line, "tfd: %u events: %x", &fd, &events) == 2) {
			ret_info->items[ret_info->watched].fd = fd;
			ret_info->items[ret_info->watched++].events = events;
		}
		line = strchr(line, '\n');
		line = line ? line + 1 : NULL;
	}
}

/* "\040" is how a space is told. */
static void decode_octal(char *text)
{
	char *to = text;

	for (const char *at = text; *at; to++) {
		unsigned code;

		if (*at == '\\' && sscanf(at + 1, "%3o", &code) == 1 && at[1] && at[2] && at[3]) {
			*to = (char)code;
			at += 4;
		} else {
			*to = *at++;
		}
	}
	*to = 0;
}

static bool lies_on(const char *path, const char *point, size_t length)
{
	return !strncmp(path, point, length) && (!path[length] || path[length] == '/' || (length && point[length - 1] == '/'));
}

uint32_t proc_text_fuse_mount(char *mountinfo, const char *path)
{
	char *next, *words, *type, *point, *rest;
	uint32_t found = 0;
	size_t longest = 0, count = 0;

	for (char *line = mountinfo; line && *line; line = next) {
		unsigned major_number, minor_number;
		int at = 0;
		bool is_fuse;

		next = strchr(line, '\n');
		if (next)
			*next++ = 0;
		words = strstr(line, " - ");
		if (!words || sscanf(line, "%*u %*u %u:%u %*s %n", &major_number, &minor_number, &at) != 2 || !at)
			continue;
		type = words + 3;
		is_fuse = !strncmp(type, "fuse", 4) && (type[4] == ' ' || type[4] == '.' || !strncmp(type, "fuseblk", 7));
		point = line + at;
		rest = strchr(point, ' ');
		if (!rest)
			continue;
		*rest = 0;
		decode_octal(point);
		if (path[0] ? strlen(point) < longest || !lies_on(path, point, strlen(point)) : !is_fuse)
			continue;
		longest = strlen(point);
		count++;
		found = is_fuse ? major_number << 20 | minor_number : 0;
	}
	return path[0] || count == 1 ? found : 0;
}
