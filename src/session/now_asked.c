/* See now_asked.h. */
#include "session/now_asked.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "diagnose/describe.h"

#define SHORTEST_NS 1000000000u /* a shorter wait is nothing that one asks about */

static FILE *open_of(uint32_t number, const char *name)
{
	char path[64];

	if (number)
		snprintf(path, sizeof(path), "/proc/%" PRIu32 "/%s", number, name);
	else
		snprintf(path, sizeof(path), "/proc/thread-self/%s", name);
	return fopen(path, "re");
}

/* By the clock of its processor, in nanoseconds: when it began to run last; 0 not known. */
static uint64_t last_run(uint32_t number)
{
	FILE *file = open_of(number, "sched");
	double ms = 0;
	char line[128];

	while (file && ms <= 0 && fgets(line, sizeof(line), file))
		if (sscanf(line, "se.exec_start : %lf", &ms) != 1)
			ms = 0;
	if (file)
		fclose(file);
	return ms > 0 ? (uint64_t)(ms * 1000000) : 0;
}

/* The name may hold spaces and brackets: its end is the last one. */
static void read_state(struct now_asked_one *one)
{
	FILE *file = open_of(one->number, "stat");
	char line[256] = "", *name, *end;

	if (file && fgets(line, sizeof(line), file) && (name = strchr(line, '(')) && (end = strrchr(line, ')')) && end[1] == ' ') {
		one->state = end[2];
		*end = 0;
		snprintf(one->comm, sizeof(one->comm), "%.31s", name + 1);
	}
	if (file)
		fclose(file);
	file = open_of(one->number, "wchan");
	if (file && (!fgets(one->place, sizeof(one->place), file) || !strcmp(one->place, "0")))
		one->place[0] = 0;
	if (file)
		fclose(file);
}

static void look_at(struct now_asked_one *one)
{
	uint64_t ran, own;

	read_state(one);
	if (one->state != 'S' && one->state != 'D')
		return;
	ran = last_run(one->number);
	own = last_run(0);
	one->waited_ns = ran && own > ran && own - ran >= SHORTEST_NS ? own - ran : 0;
}

int now_asked_look(struct now_asked *asked, const struct options *given, struct err *err)
{
	uint64_t number;

	asked->count = 0;
	for (size_t i = 0; i < given->argument_count && asked->count < NOW_ASKED_MOST; i++) {
		struct now_asked_one *one = &asked->list[asked->count];

		if (parse_number(given->arguments[i], &number) || !number || number > INT32_MAX)
			continue;
		if (kill((pid_t)number, 0) < 0 && errno == ESRCH)
			return err_set(err, -ENOENT, "there is no process or thread %s", given->arguments[i]);
		*one = (struct now_asked_one){ .number = (uint32_t)number, .asked_ns = clock_now_ns() };
		look_at(one);
		asked->count++;
	}
	return 0;
}

const struct now_asked_one *now_asked_find(const struct now_asked *asked, const char *word)
{
	uint64_t number;

	for (size_t i = 0; !parse_number(word, &number) && i < asked->count; i++)
		if (asked->list[i].number == number)
			return &asked->list[i];
	return NULL;
}

void now_asked_text(struct arena *arena, const struct now_asked_one *one, struct buf *buf)
{
	const char *doing = one->state == 'R' ? "it ran, or could run" : one->state == 'S' || one->state == 'D' ? "it waited"
			  : one->state == 'T' || one->state == 't' ? "it was stopped" : one->state == 'Z' ? "it had ended" : "it was there";

	buf_text(buf, doing);
	if (one->waited_ns)
		buf_printf(buf, ", for %s", describe_time(arena, one->waited_ns));
	if (one->place[0] && (one->state == 'S' || one->state == 'D')) {
		buf_text(buf, one->waited_ns ? ", in the kernel in " : " in the kernel in ");
		buf_escaped(buf, one->place, strlen(one->place), NULL);
	}
}
