/* See when.h. */
#include "trace/when.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "trace/text_words.h"

#define SECOND 1000000000u

/* hh:mm, or hh:mm:ss with a fraction, as ns since midnight. */
static bool parse_clock(const char *text, uint64_t *ret_ns)
{
	unsigned hours, minutes;
	uint64_t rest;
	int used = 0, short_used = 0;

	if (sscanf(text, "%2u:%2u%n", &hours, &minutes, &short_used) == 2 && !text[short_used] && hours < 24 && minutes < 60) {
		*ret_ns = (hours * 60ull + minutes) * 60 * SECOND;
		return true;
	}
	if (sscanf(text, "%2u:%2u:%n", &hours, &minutes, &used) != 2 || !used || hours > 23 || minutes > 59 ||
	    word_time((struct word){ text + used, strlen(text + used) }, &rest) || rest >= 61ull * SECOND ||
	    strspn(text + used, "0123456789.") != strlen(text + used))
		return false;
	*ret_ns = (hours * 60ull + minutes) * 60 * SECOND + rest;
	return true;
}

/* The first moment of that time of day at or after the trace's start. */
static int find_clock(const struct trace *trace, uint64_t of_day, uint64_t *ret_ns, struct err *err)
{
	const struct trace_summary *summary = trace_summary(trace);
	time_t start = (time_t)(summary->start_wall_ns / SECOND);
	struct tm local;
	uint64_t wall;

	if (!summary->start_wall_ns || !localtime_r(&start, &local))
		return err_set(err, -EINVAL, "the trace does not tell the wall clock; give its own time");
	for (int day = 0; day < 3; day++) {
		struct tm at = local;

		at.tm_mday += day;
		at.tm_hour = at.tm_min = at.tm_sec = 0;
		at.tm_isdst = -1;
		at.tm_sec = (int)(of_day / SECOND);
		wall = (uint64_t)mktime(&at) * SECOND + of_day % SECOND;
		/* a second's grace: people leave fractions out */
		if (wall + SECOND > summary->start_wall_ns) {
			*ret_ns = trace_time_of_wall(trace, wall);
			return 0;
		}
	}
	return err_set(err, -EINVAL, "that time of day is not in the trace");
}

int trace_time_parse(const struct trace *trace, const char *text, uint64_t *ret_ns, struct err *err)
{
	const struct trace_summary *summary = trace_summary(trace);
	bool sign = *text == '+' || *text == '-';
	struct word word = { text + sign, strlen(text + sign) };
	uint64_t ns;

	if (!sign && strchr(text, ':') && parse_clock(text, &ns))
		return find_clock(trace, ns, ret_ns, err);
	if (*text == '@') {
		if (word_number((struct word){ text + 1, strlen(text + 1) }, ret_ns))
			return err_set(err, -EINVAL, "'%s' is not a time: behind @ comes a number of nanoseconds", text);
		return 0;
	}
	if (word_time(word, &ns))
		return err_set(err, -EINVAL, "'%s' is not a time: 1234.5 (the trace's own), 12.5 or +300ms (from its start), "
			       "-2s (from its end) or 14:03:59", text);
	if (*text == '+')
		ns = summary->start_ns + ns < ns ? UINT64_MAX : summary->start_ns + ns;
	else if (*text == '-')
		ns = ns > summary->end_ns ? 0 : summary->end_ns - ns;
	else if (ns < summary->start_ns)
		ns += summary->start_ns; /* before the trace: a distance, as `why` and `hangs` print them */
	*ret_ns = ns;
	return 0;
}

void trace_wall_format(struct buf *buf, uint64_t wall_ns)
{
	time_t seconds = (time_t)(wall_ns / SECOND);
	struct tm local;
	char text[64];

	if (!wall_ns || !localtime_r(&seconds, &local) || !strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &local))
		return;
	buf_printf(buf, "%s.%06" PRIu64, text, wall_ns % SECOND / 1000);
}

void trace_clock_format(struct buf *buf, uint64_t wall_ns)
{
	time_t seconds = (time_t)(wall_ns / SECOND);
	struct tm local;
	char text[16];

	if (wall_ns && localtime_r(&seconds, &local) && strftime(text, sizeof(text), "%H:%M:%S", &local))
		buf_text(buf, text);
}
