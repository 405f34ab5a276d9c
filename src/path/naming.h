/* A part of a trace in names: who a thread is by its role, in which function a stack is,
 * what a wait is for. Names are texts of the fold; each thread and stack is looked at once. */
#ifndef PATH_NAMING_H
#define PATH_NAMING_H

#include "diagnose/describe.h"
#include "path/fold.h"

enum wait_class {
	WAIT_CLASS_other,
	WAIT_CLASS_lock,          /* a mutex or read-write lock of the program's: one holds it */
	WAIT_CLASS_condition,
	WAIT_CLASS_end,           /* of a thread */
	WAIT_CLASS_barrier,
	WAIT_CLASS_semaphore
};

/* A stack in names. */
struct stack_names {
	uint32_t function;        /* innermost of the program and its libraries, 0 not known */
	uint32_t called;          /* what that called of the C library: "pthread_mutex_lock"; 0 not known */
	uint8_t class;            /* enum wait_class that the call tells */
	bool read_write;          /* it is one of a read-write lock */
};

struct lock_names;

struct naming {
	const struct scene *scene;
	struct names *names;      /* NULL: nothing is named */
	struct texts *texts;
	struct lock_names *lock_names; /* NULL: locks have no names of their own */
	struct arena arena;
	struct describer describer;
	struct role_name *roles;  /* by thread */
	bool *has_role;
	uint8_t *scripted;        /* by frame node, enum scripted: is a function of a script on the way out */
	bool *interpreters;       /* by module: runs scripts */
	struct scene_near *near;  /* by thread */
	bool *no_locks;           /* by thread: it waits for none, and is not looked at for that again */
	uint32_t *near_runs;      /* by processor: its run that was looked at last */
	uint32_t *starts;         /* by thread: the function it was started with, where that is its role's name; else 0 */
	bool made_known;          /* the next has been found */
	struct map made_starts;   /* stack at which threads are made -> the function that they start with, 0 several */
	uint32_t *stacks;         /* by frame node: place in stack_list + 1, 0 not looked at */
	struct vec(struct stack_names) stack_list;
	uint32_t *functions;      /* by frame node: text + 1 of its function, 0 not looked at */
	uint8_t *runtime;         /* by frame node: whether it only carries the program's functions, + 1; 0 not looked at */
	struct map between;       /* two stacks -> text of the function between them */
	uint32_t doing_words[CLASS_CLASSES]; /* texts, 0 not made yet */
	struct map locks;         /* object -> text */
	struct map wait_words;         /* hash of a wait's kind, call and object -> text */
};

void naming_init(struct naming *naming, const struct scene *scene, struct diagnoser *diagnoser, struct names *names, struct texts *texts,
	       struct lock_names *lock_names);
/* Names are texts of the fold that they are for: what was named before is named anew for another one. */
void naming_anew(struct naming *naming, struct texts *texts);
void naming_done(struct naming *naming);

struct role_name naming_role(struct naming *naming, uint32_t thread);
/* Where a thread surely is: in the function it was started with; 0 not known. */
static inline uint32_t naming_start(struct naming *naming, uint32_t thread)
{
	naming_role(naming, thread);
	return naming->starts[thread];
}
struct stack_names naming_stack(struct naming *naming, uint32_t stack);
/* True for frames of what only carries the program's own functions: the C library, the start,
 * and, below the function of a script, its interpreter and the library that comes with that. */
bool naming_is_runtime(struct naming *naming, uint32_t node);
/* Text of the function of a frame; 0 when it has no name. */
uint32_t naming_function(struct naming *naming, uint32_t node);
/* True when the function is on the stack. */
bool naming_is_on_stack(struct naming *naming, uint32_t stack, uint32_t function);
/* True when the stack ends before the thread's first function: what is further out is not known. */
bool naming_is_cut(const struct naming *naming, uint32_t stack);
/* The innermost function in which the thread was all the time between the two stacks; 0 unknown. */
uint32_t naming_between(struct naming *naming, uint32_t before, uint32_t behind);
/* What a thread does that does not wait, in words. */
uint32_t naming_doing(struct naming *naming, uint8_t doing);
enum wait_class naming_wait_class(struct naming *naming, const struct wait *wait);
/* True for read-write locks, which several may have. */
bool naming_is_shared_lock(struct naming *naming, const struct wait *wait);
/* The lock that is waited for, by its name or by where it is taken. */
uint32_t naming_lock(struct naming *naming, const struct wait *wait);
/* What is waited for, in words: "fsync", "reading from a pipe", "lock journal_lock". */
uint32_t naming_what(struct naming *naming, const struct wait *wait);
static inline bool naming_is_kernel(const struct naming *naming, uint32_t thread)
{
	return scene_is_system(naming->scene, thread);
}

#endif
