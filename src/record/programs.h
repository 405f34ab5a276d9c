/* The BPF objects: opened, configured, loaded with shared maps, attached.
 *
 * Nothing is pinned: programs and maps live as long as the process, whatever
 * ends it. What this kernel does not have (a trace point, say) is left out and
 * can be asked for. */
#ifndef RECORD_PROGRAMS_H
#define RECORD_PROGRAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "record/config.h"
#include "record/kernel.h"

struct bpf_map;
struct bpf_program;
struct programs;

struct programs_options {
	struct record_config config;
	uint32_t cpus;           /* rings */
	bool full;
	bool look;               /* for a moment: quickly loaded rather than all that may be of use */
	bool calls;              /* system calls' stacks at the lean level */
	bool probes;             /* the person asks for probes */
	bool steps;              /* ... for steps */
	bool watches;            /* ... for watched memory */
};

struct program_check {
	const char *object, *name;
	int status;              /* 0, or why the kernel refused it */
	bool needed;             /* no recording at all without it */
	uint32_t instructions;   /* that the kernel's verifier went through; 0 not known */
};

/* First of all. -EPERM when the kernel will not let us load anything: found out before seconds go into it. */
int programs_allowed(struct err *err);
int programs_load(const struct kernel *kernel, const struct programs_options *options, struct programs **ret_programs,
		  struct err *err);
/* Whether the kernel takes each program; loads them and lets them go. */
void programs_check(const struct kernel *kernel, const struct programs_options *options,
		    void (*take)(void *data, const struct program_check *check), void *data);
/* Attaches all that hook trace points; may be called once. */
int programs_attach(struct programs *programs, struct err *err);
void programs_detach(struct programs *programs);
void programs_free(struct programs *programs);

/* Whether it is attached to places by links_uprobe_multi() (Linux 6.6). */
bool programs_uprobe_multi(const struct bpf_program *program);
struct bpf_program *programs_find(const struct programs *programs, const char *name);
/* Descriptor of a shared map, or -ENOENT. */
int programs_map(const struct programs *programs, const char *name);
/* Runs of programs that the kernel dropped because the same one ran already on that processor. */
uint64_t programs_missed(const struct programs *programs);
/* Time spent in the programs and how often they ran; counted only while the
 * kernel's statistics are on (bpf_stats_enabled). */
void programs_cost(const struct programs *programs, uint64_t *ret_ns, uint64_t *ret_runs);
/* The nth hook left out because the kernel lacks it; NULL behind the last. */
const char *programs_absent(const struct programs *programs, size_t n);
/* The nth program left out because the kernel refused it; NULL behind the last. */
const char *programs_refused(const struct programs *programs, size_t n);

#endif
