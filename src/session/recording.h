/* What `record` and `start` share: options that say what is recorded, and how. */
#ifndef SESSION_RECORDING_H
#define SESSION_RECORDING_H

#include "record/config.h"
#include "record/recorder.h"
#include "session/command.h"

#define RECORDING_LEVEL \
	{ "level", 0, OPTION_WORD, "LEVEL", "lean: waits, wake-ups, life of tasks; full: every system call and message too (lean)", \
	  .choices = "lean full" }
/* `hz`: the command's default, in digits */
#define RECORDING_FREQ(hz) \
	{ "freq", 'F', OPTION_NUMBER, "HZ", "CPU samples per second on each processor; 0: none (" hz ")", .most = 10000 }
#define RECORDING_RING \
	{ "ring", 0, OPTION_BYTES, "SIZE", "buffer for each processor: 1M, 2M, 4M and so on to 64M (by the memory that the machine has)", \
	  .least = RECORDER_RING_LEAST, .most = RECORDER_RING_MOST }

#define RECORDING_PROBE \
	{ "probe", 0, OPTION_TEXT, "[NAME=]FILE:FUNCTION", "an event at each call (...FUNCTION%return: return); docs/probes.md" }, \
	{ "near", 0, OPTION_FLAG, NULL, "put probes that would cost a single-step at places near by that do not, where the values are the same" }

#define RECORDING_PACK \
	{ "pack", 0, OPTION_TEXT, "NAME|FILE", "the probes of a pack: what a framework does within a program (glib, argus=PROGRAM); docs/packs.md" }, \
	{ "packs", 0, OPTION_WORD, "WHICH", "auto: all packs whose library is here; none (none)", .choices = "auto none" }, \
	{ "pack-budget", 0, OPTION_TEXT, "PERCENT", "of one processor, that packs' probes may take; the hottest are off for a while beyond it (3%)" }

#define RECORDING_WATCH \
	{ "watch", 0, OPTION_TEXT, "[NAME=]PLACE", "an event at each write of a variable or address (PLACE%access: reads too); docs/watch.md" }
#define RECORDING_STEP \
	{ "step", 0, OPTION_TEXT, "FILE:FUNCTION", "the path of each thread through a function, branch by branch; docs/flags.md" }
#define RECORDING_LIMIT \
	{ "limit", 0, OPTION_NUMBER, "HITS", "turn a watchpoint off when one thread hits it more often than this in a second (5000; 0: never)", \
	  .most = UINT32_MAX }

/* Watched places in the arena, with --limit. The caller adds processes. */
int recording_watch_specs(struct arena *arena, const char *const *texts, size_t count, const struct options *given,
			  struct watch_wishes **ret_wishes, struct err *err);
/* --watch and --limit, in the arena; NULL when there is none. */
int recording_watches(struct arena *arena, const struct options *given, struct watch_wishes **ret_wishes, struct err *err);
/* --probe, --pack, --packs and --pack-budget, in the arena. Which packs are on, and what of them does not
 * fit here, is told in `notes`. */
int recording_probes(struct arena *arena, const struct options *given, struct sink *notes, const struct probe_points **ret_points,
		     struct err *err);
bool recording_full(const struct options *given);
/* --ring, which is to say exactly what is done. */
int recording_ring(const struct options *given, uint64_t *ret_bytes, struct err *err);

#endif
