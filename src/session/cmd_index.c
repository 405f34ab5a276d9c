/* argus index: has what takes long to find found before anybody asks: the hangs of a long
 * trace and what stands at the beginnings of its blocks, noted in the index.
 *
 * The flight recorder starts it for its own ring (--background): at the lowest priority, with a
 * bounded share of a processor, and not while the machine is short of memory; it says in lines
 * of `key=value` how far it is. */
#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "session/command.h"
#include "session/session.h"
#include "session/sweep.h"
#include "trace/blocks.h"

#define PAUSE_S 5
#define LONG_SLEEP_NS 1000000000ull /* worth finding again afterwards what takes memory */
#define MEMORY_PRESSURE 5.0
#define MEMORY_LEAST (512ull << 20)  /* that others may still have */

static const struct option_spec index_options[] = {
	OPTION_INDEX,
	{ "share", 0, OPTION_NUMBER, "PERCENT", "use at most this share of one processor (100; 5 in the background)", .least = 1, .most = 100 },
	{ "background", 0, OPTION_FLAG, NULL, "at the lowest priority, with pauses while the machine is short of memory; tell how far it is, in lines" },
	{ 0 }
};

struct pace {
	struct command_context *context;
	const struct session *session;
	uint64_t share;          /* per cent */
	uint64_t wall_ns, cpu_ns; /* when it was last looked */
	bool background;
};

static uint64_t clock_now(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Share of the last ten seconds in which something had to wait, in per cent; 0 where the kernel does not tell. */
static double pressure(const char *path)
{
	FILE *file = fopen(path, "re");
	double share = 0;

	if (!file)
		return 0;
	if (fscanf(file, "some avg10=%lf", &share) != 1)
		share = 0;
	fclose(file);
	return share;
}

/* What a file of /proc says behind a word, in kB there, in bytes; `else_kib` where it does not. */
static uint64_t bytes_told(const char *path, const char *word, uint64_t else_kib)
{
	FILE *file = fopen(path, "re");
	uint64_t kib = else_kib;
	char line[256];

	while (file && fgets(line, sizeof(line), file))
		if (!strncmp(line, word, strlen(word))) {
			kib = strtoull(line + strlen(word), NULL, 10);
			break;
		}
	if (file)
		fclose(file);
	return kib * 1024;
}

static uint64_t memory_available(void)
{
	return bytes_told("/proc/meminfo", "MemAvailable:", UINT64_MAX / 1024);
}

/* Why it must not work now; NULL when it may. */
static const char *reason_to_pause(void)
{
	if (memory_available() < MEMORY_LEAST || pressure("/proc/pressure/memory") > MEMORY_PRESSURE)
		return "the machine is short of memory";
	return NULL;
}

/* That it ever had, in bytes. What getrusage says began with all that the process which started this one had. */
static uint64_t most_memory(void)
{
	return bytes_told("/proc/self/status", "VmHWM:", 0);
}

static void sleep_ns(const struct pace *pace, uint64_t ns)
{
	struct timespec time = { .tv_sec = (time_t)(ns / 1000000000u), .tv_nsec = (long)(ns % 1000000000u) };

	if (ns >= LONG_SLEEP_NS) {
		blocks_rest(pace->session->blocks);
		mem_step_ends();
	}
	nanosleep(&time, NULL);
}

/* Before each group of blocks. */
static int keep_pace(void *data, const struct sweep_progress *progress)
{
	struct pace *pace = data;
	struct sink *out = pace->context->out;
	uint64_t used = clock_now(CLOCK_PROCESS_CPUTIME_ID) - pace->cpu_ns, passed = clock_now(CLOCK_MONOTONIC) - pace->wall_ns;
	const char *why;
	int r = 0;

	if (pace->background)
		r = sink_printf(out, "hangs=%zu\nleft=%zu\nuntil=%" PRIu64 "\nmemory=%" PRIu64 "\n", progress->hangs, progress->groups_left,
				trace_wall_ns(pace->session->trace, progress->until_ns) / 1000000000u, most_memory());
	if (used * 100 / pace->share > passed)
		sleep_ns(pace, used * 100 / pace->share - passed);
	while (!r && pace->background && progress->groups_left && (why = reason_to_pause())) {
		r = sink_printf(out, "paused=%s\n", why);
		sleep_ns(pace, PAUSE_S * 1000000000ull);
		if (!r && !reason_to_pause())
			r = sink_text(out, "paused=\n");
	}
	pace->wall_ns = clock_now(CLOCK_MONOTONIC);
	pace->cpu_ns = clock_now(CLOCK_PROCESS_CPUTIME_ID);
	return r;
}

/* What else the machine has to do comes first, and this goes first where memory runs out. It is never idle
 * priority: of a machine that is busy for hours those hours are asked about, and a share as small as this one harms nobody. */
static void step_back(void)
{
	const struct sched_param none = { 0 };
	FILE *file;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	sched_setscheduler(0, SCHED_BATCH, &none);
	setpriority(PRIO_PROCESS, 0, 19);
	syscall(SYS_ioprio_set, 1, 0, 3 << 13); /* this process; idle */
	file = fopen("/proc/self/oom_score_adj", "we");
	if (file) {
		fputs("1000", file);
		fclose(file);
	}
}

static int run_index(struct command_context *context, struct err *err)
{
	bool background = options_has(context->options, "background");
	struct pace pace = { .context = context, .background = background,
			     .share = options_number(context->options, "share", background ? 5 : 100) };
	const struct sweep_pace want = { .grows = background, .before = keep_pace, .data = &pace };
	const struct hangs_options all = { 0 };
	const struct hang *list = NULL;
	struct session session;
	size_t hangs = 0;
	int r;

	if (background)
		step_back();
	pace.wall_ns = clock_now(CLOCK_MONOTONIC);
	pace.cpu_ns = clock_now(CLOCK_PROCESS_CPUTIME_ID);
	r = session_open_with(command_trace_path(context), &(struct session_options){ .index = options_text(context->options, "index", NULL) },
			      &session, err);
	if (r)
		return r;
	pace.session = &session;
	if (session.blocks && !background && pace.share == 100)
		r = session_hangs(&session, context->arena, &all, &list, &hangs, err);
	else if (session.blocks)
		r = session_index(&session, &want, &hangs, err);
	if (!r && list)
		hangs = hangs_certain(list, hangs);
	if (!r && background)
		r = sink_printf(context->out, "memory=%" PRIu64 "\n", most_memory());
	if (!r && !session.blocks && !background)
		sink_printf(context->notes, "the trace is small: it has no index\n");
	else if (!r && !background)
		sink_printf(context->notes, "%zu hangs are noted in '%s'\n", hangs, session_index_path(&session, context->arena));
	session_close(&session);
	return r;
}

const struct command command_index = {
	.name = "index",
	.arguments = "[FILE]",
	.summary = "find hangs before anybody asks, and note them beside the trace",
	.help = "The first question to a long trace finds all its hangs and notes them in an index\n"
		"beside its files (FILE.index, 4 % of it to a sixth); this does it beforehand. The recorder\n"
		"in the background does it for its own ring.\n",
	.options = index_options,
	.narrow = NARROW_TRACE,
	.run = run_index,
};
