/* A scene in the making: what scene_build gathers in one pass, and scene_keep
 * lays down in the scene's arena. Private to the two. */
#ifndef DIAGNOSE_SCENE_BUILD_H
#define DIAGNOSE_SCENE_BUILD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "base/vec.h"
#include "diagnose/scene.h"

struct thread_state {
	struct vec(struct span) spans;
	struct vec(uint32_t) waits, wakes, messages, samples;
	uint8_t state;
	bool seen;            /* a scheduling event has named it */
	bool exiting, throttled;
	uint16_t cpu;
	uint32_t wait;        /* open or last wait */
	uint32_t early;       /* wake-up that came while it still ran, index + 1 */
	uint64_t running_ns;
	uint64_t fork_event, exec_ns;
};

struct cpu_state {
	struct vec(struct cpu_run) runs;
};

struct builder {
	struct scene *scene;
	const struct tables *tables;
	struct map by_tid;                    /* tid -> thread that has it now */
	struct thread_state *threads;
	struct vec(struct wait) waits;
	struct vec(struct wake) wakes;
	struct vec(struct message) messages;
	struct vec(struct sample) samples;
	struct vec(struct file_lock) locks;
	struct vec(struct fuse_request) fuse;
	struct map fuse_open;                 /* unique number -> index of the request */
	struct vec(struct stop_signal) stops;
	struct vec(struct quota) quotas;
	struct vec(struct file_change) changes;
	struct vec(struct mark) marks;
	struct vec(struct poll_item) poll_items;
	struct vec(struct cpu_state) cpus;
};

/* Moves what was gathered into the scene; empties the builder's vectors. */
void scene_keep(struct builder *b);

#endif
