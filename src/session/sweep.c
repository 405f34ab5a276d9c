/* Hangs over a long trace, group by group of blocks, each with some of what is before
 * and behind it: memory goes with the group. What was found is noted in the index.
 *
 * A hang is told in the group in which it ends. A wait that lasts longer stands in each
 * part from its true beginning on; of work that goes on over several groups each tells
 * its piece, and the pieces are joined. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/map.h"
#include "base/progress.h"
#include "session/recorded.h"
#include "session/sweep.h"
#include "trace/blocks.h"

#define GROUP_BLOCKS 4u        /* that are judged together */
#define LEAD_BLOCKS 1u         /* before them */
#define TAIL_NS 1000000000ull  /* behind them, at most a block */
#define NOTE_HANGS 1u
#define JOIN_NS 1000000ull     /* between two pieces of one hang */

struct sweep {
	struct session *session;
	const struct hangs_options *options;
	struct arena *arena;
	struct vec(struct hang) hangs;
};

struct group {
	size_t first, last;        /* blocks */
	uint64_t from_ns, to_ns;
};

/* What a note was made by: another build, or another question, may find others. */
struct note_head {
	uint64_t program[2];
	uint64_t to_ns;
	uint32_t root_pid, pid, count, reserved;
};

struct note_hang {
	uint64_t start_ns, end_ns;
	uint32_t tid, pid, weight, awaits, slices, rule;
	char comm[16], reason[100];
};

static struct note_head note_head(const struct sweep *s, const struct group *group)
{
	struct note_head head = { .to_ns = group->to_ns, .root_pid = s->options->root_pid, .pid = s->options->pid };
	struct stat st;

	if (!stat("/proc/self/exe", &st)) {
		head.program[0] = (uint64_t)st.st_size;
		head.program[1] = (uint64_t)st.st_mtim.tv_sec * 1000000000u + (uint64_t)st.st_mtim.tv_nsec;
	}
	return head;
}

static void take(struct sweep *s, const struct hang *hang)
{
	vec_push(&s->hangs, *hang);
}

static bool read_note(struct sweep *s, const struct group *group)
{
	struct note_head want = note_head(s, group), head;
	size_t size = 0;
	const char *bytes = blocks_noted(s->session->blocks, group->first, NOTE_HANGS + s->options->pid, &size);

	if (!bytes || size < sizeof(head))
		return false;
	memcpy(&head, bytes, sizeof(head));
	want.count = head.count;
	if (memcmp(&head, &want, sizeof(head)) || size != sizeof(head) + head.count * sizeof(struct note_hang))
		return false;
	for (uint32_t i = 0; i < head.count; i++) {
		struct note_hang n;

		memcpy(&n, bytes + sizeof(head) + i * sizeof(n), sizeof(n));
		if (n.start_ns >= n.end_ns)
			continue;
		take(s, &(struct hang){ .thread = n.tid, .start_ns = n.start_ns, .end_ns = n.end_ns, .weight = n.weight, .awaits = n.awaits,
					.slices = n.slices, .rule = n.rule < RULE_COUNT ? n.rule : RULE_NONE, .tid = n.tid, .pid = n.pid,
					.reason = hang_reason(s->arena, arena_strndup(s->arena, n.reason, strnlen(n.reason, sizeof(n.reason)))),
					.comm = arena_strndup(s->arena, n.comm, strnlen(n.comm, sizeof(n.comm))) });
	}
	return true;
}

static void write_note(struct sweep *s, const struct group *group, size_t from)
{
	struct note_head head = note_head(s, group);
	struct arena arena;
	char *bytes;

	arena_init(&arena);
	head.count = (uint32_t)(s->hangs.length - from);
	bytes = arena_alloc(&arena, sizeof(head) + head.count * sizeof(struct note_hang), 8);
	memcpy(bytes, &head, sizeof(head));
	for (uint32_t i = 0; i < head.count; i++) {
		const struct hang *h = &s->hangs.items[from + i];
		struct note_hang n = { .start_ns = h->start_ns, .end_ns = h->end_ns, .tid = h->tid, .pid = h->pid, .weight = h->weight,
				       .awaits = h->awaits, .slices = h->slices, .rule = h->rule };

		strncpy(n.comm, h->comm, sizeof(n.comm) - 1);
		strncpy(n.reason, h->reason, sizeof(n.reason) - 1);
		memcpy(bytes + sizeof(head) + i * sizeof(n), &n, sizeof(n));
	}
	blocks_note(s->session->blocks, group->first, NOTE_HANGS + s->options->pid, bytes,
		    sizeof(head) + head.count * sizeof(struct note_hang));
	arena_done(&arena);
}

/* ---- one group ---- */

static void see(void *data, const struct event *e)
{
	blocks_watch_see(data, e);
}

/* A hang as told to who has another scene; false when it is not this group's to tell. */
static bool tell(const struct sweep *s, const struct scene *scene, const struct group *group, bool last, struct hang *h)
{
	bool open = h->end_ns >= scene->end_ns && !last;
	const struct span *span = open ? scene_span(scene, h->thread, scene->end_ns - 1) : NULL;

	if (h->end_ns < group->from_ns || (h->start_ns > group->to_ns && !last))
		return false;
	if (h->end_ns > group->to_ns && !last) {
		/* It ends in another group; of work this is a piece. */
		if (!hang_is_work(h) || (span && span->state != SPAN_RUNNING && span->state != SPAN_RUNNABLE))
			return false;
		h->end_ns = group->to_ns;
	}
	h->awaits = h->awaits ? scene_tid(scene, h->awaits) : 0;
	h->thread = h->tid;
	h->comm = arena_strdup(s->arena, h->comm);
	return h->end_ns > h->start_ns;
}

static int judge(struct sweep *s, const struct group *group, struct err *err)
{
	struct blocks *blocks = s->session->blocks;
	size_t first = group->first > LEAD_BLOCKS ? group->first - LEAD_BLOCKS : 0, count;
	size_t last = group->last + 1 < blocks_count(blocks) ? group->last + 1 : group->last;
	bool end = group->last + 1 == blocks_count(blocks);
	struct hangs_options options = *s->options;
	struct session look = { 0 };
	struct blocks_watch *watch;
	const struct hang *hangs;
	int r;

	arena_init(&look.look_arena);
	r = blocks_part(blocks, first, last, end ? UINT64_MAX : group->to_ns + TAIL_NS, &look.look_arena, &look.part, err);
	watch = r ? NULL : blocks_watch(blocks, first);
	if (!r)
		r = scene_build_watched(look.part, see, watch, &look.scene, err);
	blocks_watch_end(watch);
	if (!r)
		look.scene->judgement = s->session->judgement;
	if (!r)
		r = names_open(look.part, look.scene->tables, NULL, &look.names, err);
	if (!r) {
		look.diagnoser = diagnoser_new(look.scene, look.names);
		options.root_pid = s->options->root_pid ? s->options->root_pid : recorded_root(look.part, look.scene->tables);
		count = hangs_find_all(look.diagnoser, &options, &hangs);
		for (size_t i = 0; i < count; i++) {
			struct hang h = hangs[i];

			if (tell(s, look.scene, group, end, &h))
				take(s, &h);
		}
	}
	diagnoser_free(look.diagnoser);
	if (look.names)
		names_close(look.names);
	scene_free(look.scene);
	if (look.part)
		trace_close(look.part);
	arena_done(&look.look_arena);
	return r;
}

/* ---- all of them ---- */

static int by_thread(const void *a, const void *b)
{
	const struct hang *x = a, *y = b;

	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	return x->start_ns < y->start_ns ? -1 : x->start_ns > y->start_ns;
}

static void join_pieces(struct sweep *s)
{
	size_t kept = 0;

	if (s->hangs.length)
		qsort(s->hangs.items, s->hangs.length, sizeof(*s->hangs.items), by_thread);
	for (size_t i = 0; i < s->hangs.length; i++) {
		struct hang *h = &s->hangs.items[i], *last = kept ? &s->hangs.items[kept - 1] : NULL;

		if (!last || last->tid != h->tid || h->start_ns > last->end_ns + JOIN_NS ||
		    !((hang_is_work(last) && hang_is_work(h)) || h->end_ns <= last->end_ns)) {
			s->hangs.items[kept++] = *h;
			continue;
		}
		if (h->weight > last->weight) {
			last->weight = h->weight;
			last->reason = h->reason;
		}
		if (h->end_ns > last->end_ns)
			last->end_ns = h->end_ns;
	}
	s->hangs.length = kept;
}

/* Groups count from each file's first block on, so that they are the same when older
 * files have gone. */
static struct group group_at(const struct blocks *blocks, size_t first)
{
	struct group group = { .first = first, .last = first };

	while (group.last + 1 < blocks_count(blocks) && group.last + 1 - first < GROUP_BLOCKS &&
	       blocks_at(blocks, group.last + 1)->file == blocks_at(blocks, first)->file)
		group.last++;
	group.from_ns = blocks_at(blocks, first)->from_ns;
	group.to_ns = blocks_end_ns(blocks, group.last);
	return group;
}

int session_sweep(struct session *session, struct arena *arena, const struct hangs_options *options, const struct hang **ret_hangs,
		  size_t *ret_count, struct err *err)
{
	struct sweep s = { .session = session, .options = options, .arena = arena };
	const struct trace_summary *summary = trace_summary(session->trace);
	uint64_t events = summary->events + summary->state_events;
	size_t count = blocks_count(session->blocks), kept = 0;
	bool usual = !options->threshold_ns && !session->judgement_changed;
	struct progress progress;
	int r = 0;

	progress_begin(&progress, "looking for hangs", events);
	for (size_t i = 0; i < count && !r; ) {
		struct group group = group_at(session->blocks, i);
		size_t before = s.hangs.length;

		progress_to(&progress, events * i / count);
		i = group.last + 1;
		if (options->to_ns && (group.from_ns > options->to_ns || group.to_ns < options->from_ns))
			continue;
		if (usual && i < count && read_note(&s, &group))
			continue;
		r = judge(&s, &group, err);
		if (!r && usual && i < count)
			write_note(&s, &group, before);
	}
	progress_end(&progress);
	join_pieces(&s);
	for (size_t i = 0; i < s.hangs.length; i++)
		if (!options->to_ns || (s.hangs.items[i].start_ns <= options->to_ns && s.hangs.items[i].end_ns >= options->from_ns))
			s.hangs.items[kept++] = s.hangs.items[i];
	hangs_rank(s.hangs.items, kept);
	*ret_hangs = arena_memdup(arena, s.hangs.items, kept * sizeof(*s.hangs.items));
	*ret_count = kept;
	vec_done(&s.hangs);
	return r;
}
