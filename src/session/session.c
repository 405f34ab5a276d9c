/* A loaded trace, see session.h. */
#include "session/session.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/options.h"
#include "session/life.h"
#include "session/recorded.h"
#include "session/sweep.h"
#include "trace/blocks.h"
#include "trace/when.h"

#define WHOLE_WEIGHT 1500000u     /* of a trace that is laid out whole */
#define LOOK_WEIGHT 2000000u      /* of a stretch that is looked at */
#define LOOK_BLOCKS 30            /* so many blocks */
#define LEAD_NS 2000000000ull     /* before a window, at least, ... */
#define LEAD_MOST_NS 30000000000ull /* ... and twice as long as it is, for what was usual, at most, ... */
#define TAIL_NS 1000000000ull     /* ... and behind it */

uint64_t session_block_weight(void)
{
	const char *text = getenv("ARGUS_BLOCK_EVENTS");

	return text ? strtoull(text, NULL, 10) : 0;
}

static bool is_small(const struct trace *trace)
{
	uint64_t limit = session_block_weight() ? session_block_weight() * 2 : WHOLE_WEIGHT;

	return trace_summary(trace)->weight <= limit;
}

static int build(struct session *s, const struct trace *trace, struct err *err)
{
	int r = scene_build(trace, NULL, &s->scene, err);

	if (r)
		return r;
	s->scene->judgement = s->judgement;
	s->tables = s->scene->tables;
	r = names_open(trace, s->tables, NULL, &s->names, err);
	if (r)
		return r;
	s->diagnoser = diagnoser_new(s->scene, s->names);
	s->root_pid = s->elsewhere ? 0 : recorded_root(trace, s->tables);
	s->looks++;
	return 0;
}

/* What is looked at. */
static void look_away(struct session *s)
{
	diagnoser_free(s->diagnoser);
	if (s->names)
		names_close(s->names);
	scene_free(s->scene);
	if (s->part)
		trace_close(s->part);
	arena_done(&s->look_arena);
	/* what rules said names threads of this scene */
	if (s->judgement)
		vec_clear(&s->judgement->spoken);
	s->diagnoser = NULL;
	s->names = NULL;
	s->scene = NULL;
	s->tables = NULL;
	s->part = NULL;
}

int session_open(const char *path, struct session *ret_session, struct err *err)
{
	return session_open_with(path, &(struct session_options){ 0 }, ret_session, err);
}

int session_open_with(const char *path, const struct session_options *want, struct session *ret_session, struct err *err)
{
	const struct blocks_options options = { .weight = session_block_weight(), .folder = want->index };
	struct session s = { 0 };
	int r = trace_open(path, &s.trace, err);
	struct judgement usual;

	if (r)
		return r;
	s.judgement = mem_alloc(sizeof(*s.judgement));
	judgement_init(s.judgement);
	if (want->judgement) {
		judgement_init(&usual);
		s.judgement_changed = memcmp(&usual, want->judgement, sizeof(usual)) != 0;
		*s.judgement = *want->judgement;
	}
	s.once = want->once;
	s.judgement->machine = recorded_whole_machine(s.trace);
	s.judgement->unattended = trace_machine(s.trace, "recorder_pid") && !recorded_command(s.trace);
	arena_init(&s.look_arena);
	r = is_small(s.trace) ? build(&s, s.trace, err) : blocks_open(s.trace, &options, &s.blocks, err);
	if (r) {
		session_close(&s);
		return r;
	}
	*ret_session = s;
	return 0;
}

void session_hurry(struct session *session, uint64_t from_ns)
{
	if (session->once && session->blocks)
		session->from_head |= blocks_begin_at_head(session->blocks, blocks_find(session->blocks, from_ns));
}

/* Of a folder all its files but the indexes; what went meanwhile makes it no larger. */
static uint64_t bytes_on_disk(const char *path)
{
	uint64_t bytes = 0;
	struct stat at;
	DIR *dir;

	if (stat(path, &at))
		return 0;
	if (!S_ISDIR(at.st_mode))
		return (uint64_t)at.st_size;
	dir = opendir(path);
	for (const struct dirent *entry; dir && (entry = readdir(dir)); ) {
		const char *dot = strrchr(entry->d_name, '.');

		if ((!dot || strcmp(dot, ".index")) && !fstatat(dirfd(dir), entry->d_name, &at, AT_SYMLINK_NOFOLLOW) && S_ISREG(at.st_mode))
			bytes += (uint64_t)at.st_size;
	}
	if (dir)
		closedir(dir);
	return bytes;
}

uint64_t session_grown(const struct session *session)
{
	uint64_t now = bytes_on_disk(trace_path(session->trace)), then = trace_summary(session->trace)->bytes;

	return now > then ? now - then : 0;
}

void session_save_index(struct session *session)
{
	struct err err;

	if (session->blocks)
		blocks_save(session->blocks, &err);
}

const char *session_index_path(const struct session *session, struct arena *arena)
{
	return blocks_where(session->blocks, arena);
}

void session_close(struct session *session)
{
	look_away(session);
	if (session->judgement)
		judgement_done(session->judgement);
	free(session->judgement);
	if (session->temporary && session->blocks)
		blocks_keep_to_itself(session->blocks);
	blocks_close(session->blocks);
	life_free(session->life);
	if (session->trace)
		trace_close(session->trace);
	*session = (struct session){ 0 };
}

bool session_process_lives(struct session *s, uint32_t pid, uint64_t from_ns, uint64_t to_ns)
{
	if (!s->blocks)
		return true;
	if (!s->life || s->life_pid != pid) {
		life_free(s->life);
		s->life = life_of_process(s->trace, pid);
		s->life_pid = pid;
	}
	return life_is_there(s->life, from_ns, to_ns);
}

/* ---- windows of a long trace ---- */

static uint64_t weight_of(const struct session *s, size_t first, size_t last)
{
	uint64_t end = last + 1 < blocks_count(s->blocks) ? blocks_at(s->blocks, last + 1)->weight_before : trace_summary(s->trace)->weight;

	return end - blocks_at(s->blocks, first)->weight_before;
}

static uint64_t look_weight(void)
{
	return session_block_weight() ? session_block_weight() * LOOK_BLOCKS : LOOK_WEIGHT;
}

static int look_at_part(struct session *s, size_t first, size_t last, uint64_t end_ns, struct err *err)
{
	int r;

	look_away(s);
	arena_init(&s->look_arena);
	r = blocks_part(s->blocks, first, last, end_ns, &s->look_arena, &s->part, err);
	return r ? r : build(s, s->part, err);
}

/* What went before tells what its threads do usually: the longer the window, the slower they may be. */
static uint64_t lead_of(uint64_t from_ns, uint64_t to_ns)
{
	uint64_t lead = to_ns == UINT64_MAX || to_ns < from_ns ? 0 : 2 * (to_ns - from_ns);

	return lead < LEAD_NS ? LEAD_NS : lead > LEAD_MOST_NS ? LEAD_MOST_NS : lead;
}

int session_look(struct session *s, uint64_t from_ns, uint64_t to_ns, struct err *err)
{
	uint64_t end = to_ns < UINT64_MAX - TAIL_NS ? to_ns + TAIL_NS : to_ns;
	size_t first, last;

	if (!s->blocks)
		return 0;
	from_ns = from_ns > lead_of(from_ns, to_ns) ? from_ns - lead_of(from_ns, to_ns) : 0;
	session_hurry(s, from_ns);
	first = blocks_find(s->blocks, from_ns);
	last = blocks_find(s->blocks, end);
	while (first < last && weight_of(s, first, last) > look_weight()) {
		/* what is behind the window matters least */
		if (last > blocks_find(s->blocks, to_ns))
			end = blocks_end_ns(s->blocks, --last);
		else
			first++;
	}
	if (s->scene && s->scene->start_ns <= blocks_at(s->blocks, first)->from_ns &&
	    (s->scene->end_ns >= end || s->scene->end_ns == trace_summary(s->trace)->end_ns))
		return 0;
	return look_at_part(s, first, last, end, err);
}

int session_look_at_begin(struct session *s, uint64_t from_ns, uint64_t to_ns, uint64_t *ret_to_ns, struct err *err)
{
	size_t first = blocks_find(s->blocks, from_ns), last = blocks_find(s->blocks, to_ns);

	while (first < last && weight_of(s, first, last) > look_weight())
		last--;
	*ret_to_ns = blocks_end_ns(s->blocks, last) < to_ns ? blocks_end_ns(s->blocks, last) : to_ns;
	return look_at_part(s, first, last, *ret_to_ns, err);
}

int session_hangs(struct session *s, struct arena *arena, const struct hangs_options *options, const struct hang **ret_hangs,
		  size_t *ret_count, struct err *err)
{
	if (s->blocks)
		return session_sweep(s, arena, options, ret_hangs, ret_count, err);
	*ret_count = hangs_find(arena, s->diagnoser, options, ret_hangs);
	return 0;
}

int session_hangs_elsewhere(struct session *s, struct arena *arena, const struct hangs_options *options, const struct hang **ret_hangs,
			    size_t *ret_count, struct err *err)
{
	struct hangs_options all = *options;
	uint32_t root_pid = s->root_pid;
	const struct hang *hangs;
	size_t count;
	int r;

	if (hangs_certain(*ret_hangs, *ret_count) || options->pid || !recorded_command(s->trace) || !recorded_whole_machine(s->trace))
		return 0;
	all.root_pid = s->root_pid = 0;
	s->elsewhere = s->judgement->unattended = true;
	r = session_hangs(s, arena, &all, &hangs, &count, err);
	if (!r && hangs_certain(hangs, count)) {
		*ret_hangs = hangs;
		*ret_count = count;
		return 0;
	}
	s->elsewhere = s->judgement->unattended = false;
	s->root_pid = root_pid;
	return r;
}

int session_find_thread(const struct session *s, struct hang *hang, struct err *err)
{
	hang->thread = tables_thread(s->tables, hang->tid, hang->end_ns);
	return hang->thread ? 0 : err_set(err, -ENOENT, "thread %" PRIu32 " is not in the trace at that time", hang->tid);
}

int session_turn_to(struct session *s, struct arena *arena, struct hang *hang, uint32_t pid, bool outer, struct err *err)
{
	struct hangs_options options = { .pid = pid, .from_ns = hang->start_ns, .to_ns = hang->end_ns,
					 .first_tid = outer ? hang->tid : 0,
					 .looked_up = hang->rule != RULE_as_if_asked && hang->rule != RULE_kept_on_the_way };
	const struct hang *hangs, *best = NULL;
	uint64_t most = 0, began_ns = UINT64_MAX;
	size_t count;
	int r;

	if (!s->blocks)
		return 0;
	r = session_look(s, hang->start_ns, hang->end_ns, err);
	if (r)
		return r;
	options.root_pid = s->root_pid;
	count = hangs_find(arena, s->diagnoser, &options, &hangs);
	for (size_t i = 0; i < count; i++) {
		uint64_t from = hangs[i].start_ns > hang->start_ns ? hangs[i].start_ns : hang->start_ns;
		uint64_t to = hangs[i].end_ns < hang->end_ns ? hangs[i].end_ns : hang->end_ns;
		uint64_t shared = to > from ? to - from : 0;

		if (hangs[i].tid == hang->tid && shared > most) {
			best = &hangs[i];
			most = shared;
		}
	}
	if (best && outer)
		best = &hangs[0];
	if (best) {
		/* what is looked at may not reach as far back as the hang does */
		if (hang->tid == best->tid && hang->start_ns < s->scene->start_ns)
			began_ns = hang->start_ns;
		*hang = *best;
		if (began_ns < hang->start_ns)
			hang->start_ns = began_ns;
		return 0;
	}
	return session_find_thread(s, hang, err);
}

int session_time(const struct session *session, const char *text, uint64_t *ret_ns, struct err *err)
{
	const struct trace_summary *summary = trace_summary(session->trace);
	uint64_t ns;

	if (text[0] == '@' || text[0] == '+' || text[0] == '-' || strchr(text, ':')) {
		int r = trace_time_parse(session->trace, text, &ns, err);

		if (r)
			return r;
	} else {
		if (parse_duration(text, &ns))
			return err_set(err, -EINVAL, "'%s' is not a time: write seconds since the start of the trace (12.5), "
				       "before its end (-2s), the trace's own as dump prints them, @ and nanoseconds, or the time of "
				       "day (14:03:07)", text);
		/* Numbers as large as the clock itself are the clock's. */
		if (summary->start_ns > 1000000000 && ns / 1000000000 >= summary->start_ns)
			ns /= 1000000000;
		else if (ns > summary->end_ns - summary->start_ns && ns >= summary->start_ns)
			; /* beyond the trace as a distance, within it as dump prints it */
		else
			ns += summary->start_ns;
	}
	if (ns < summary->start_ns || ns > summary->end_ns)
		return err_set(err, -ERANGE, "'%s' is outside the trace, which lasts %.3f s", text,
			       (double)(summary->end_ns - summary->start_ns) / 1e9);
	*ret_ns = ns;
	return 0;
}

int session_window(const struct session *session, const char *from, const char *to, uint64_t last_ns, uint64_t *ret_from_ns, uint64_t *ret_to_ns,
		   struct err *err)
{
	const struct trace_summary *summary = trace_summary(session->trace);
	uint64_t from_ns = summary->start_ns, to_ns = summary->end_ns;
	int r = 0;

	if (last_ns && last_ns < to_ns - from_ns)
		from_ns = to_ns - last_ns;
	if (from)
		r = session_time(session, from, &from_ns, err);
	if (!r && to)
		r = session_time(session, to, &to_ns, err);
	if (!r && from_ns >= to_ns)
		r = err_set(err, -EINVAL, "the window ends before it begins");
	*ret_from_ns = from_ns;
	*ret_to_ns = to_ns;
	return r;
}

int session_mark(const struct session *session, const char *text, uint64_t *ret_ns, struct err *err)
{
	struct trace_filter filter = { .unnumbered = true };
	struct trace_cursor *cursor;
	const struct event *e;
	bool any = false, found = false;

	trace_filter_add(&filter, EVENT_mark);
	cursor = trace_cursor_new(session->trace, &filter);
	while ((e = trace_cursor_next(cursor))) {
		any = true;
		if (strstr(e->tail, text)) {
			*ret_ns = e->time;
			found = true;
		}
	}
	trace_cursor_free(cursor);
	return found ? 0 : err_set(err, -ENOENT, "the trace has no mark '%s'%s", text, any ? "" : "; it has none at all");
}

struct named_process {
	uint32_t pid;
	bool there;
};

static void compare_process(void *data, uint32_t tid, uint32_t pid)
{
	struct named_process *named = data;

	named->there |= pid == named->pid || tid == named->pid;
}

int session_process(const struct session *session, uint32_t pid, uint32_t *ret_thread, struct err *err)
{
	const struct tables *tables = session->tables;
	struct named_process named = { .pid = pid };

	*ret_thread = 0;
	if (session->blocks) {
		trace_each_tid(session->trace, compare_process, &named);
		if (!named.there)
			return err_set(err, -ENOENT, "process %" PRIu32 " is not in the trace", pid);
		if (!tables)
			return 0;
	}

	for (int leader = 1; leader >= 0; leader--)
		for (uint32_t i = tables->thread_count; i-- > 1; )
			if (tables->threads[i].pid == pid && (!leader || tables->threads[i].tid == pid)) {
				*ret_thread = i;
				return 0;
			}
	for (uint32_t i = 1; i < tables->thread_count; i++)
		if (tables->threads[i].tid == pid)
			return err_set(err, -ENOENT, "%" PRIu32 " is a thread of process %" PRIu32 " (%s): give that with --pid, "
				       "or --tid with --from and --to", pid, tables->threads[i].pid, tables->threads[i].comm);
	return err_set(err, -ENOENT, "process %" PRIu32 " is not in the trace", pid);
}
