/* The clipped backward walk: to whom the time of a window is charged.
 *
 * A thread's own running and runnable time is charged to it. The time of a wait
 * that a thread ended is charged to what that thread did meanwhile, clipped to
 * the wait: its running to it, its own waits in the same way. A wait that an
 * interrupt ended is charged to the interrupt's source. A wait that a timeout
 * ended, or nothing, has no waker; `missing` may say who should have ended it,
 * else it stays with the waiting thread. Before a thread was born its time is
 * its creator's.
 *
 * The pieces adjoin, in the order of time, and cover the window. */
#ifndef DIAGNOSE_WALK_H
#define DIAGNOSE_WALK_H

#include "base/vec.h"
#include "diagnose/scene.h"

enum piece_charge {
	CHARGE_THREAD,    /* thread did this itself */
	CHARGE_SOURCE,    /* an interrupt's source ended the thread's wait */
	CHARGE_MISSING,   /* the thread waited, and nobody is known who should have ended it */
	CHARGE_CIRCLE     /* the thread waited for one that waits for it */
};

struct piece {
	uint64_t start_ns, end_ns;
	uint32_t thread;
	uint32_t wait;         /* last wait of the episode it lies in, 0 none */
	uint32_t step;         /* how the walk came here: index into walk->steps */
	uint32_t sender;       /* of the packet that ended the wait and was on its way until then; 0 not known, or from outside */
	uint8_t state;         /* enum span_state */
	uint8_t charge;        /* enum piece_charge */
	bool throttled;
	bool person;           /* nobody but its user ends the wait */
	bool deep;             /* who ended the wait is known, but as many wait for each other as are followed */
};

/* How a waiting thread leads to the one that its time is charged to. */
enum walk_link {
	LINK_SELF,
	LINK_WAKE,        /* it woke the waiting thread */
	LINK_CREATOR,     /* it created the thread that woke it */
	LINK_MESSAGE,     /* a message of the waiting thread reached it, or lies unread */
	LINK_SENT,        /* it sent what set the waiting thread to work */
	LINK_ACTIVITY,    /* woken on behalf of the waiting thread */
	LINK_OWNER,       /* a hint: it owns what is waited for */
	LINK_JOINED,      /* a hint: a thread whose end is what is waited for */
	LINK_ENDED,       /* it ended while it owned what is waited for */
	LINK_INHERITED,   /* it owned the lock when its process forked, and the copy is never given back */
	LINK_KILLED,      /* it was killed, and shared what is waited for */
	LINK_ENDED_KIN,   /* the only thread of its process that ended */
	LINK_ENDED_TAKER, /* the only one of its program that came and ended since that had last gone by there */
	LINK_GONE,        /* the only process of its kin that ended just before, or meanwhile */
	LINK_PEER,        /* it is at the other end of what is waited on */
	LINK_LISTENER,    /* it listens where the connection leads, and has not accepted it */
	LINK_SERVED,      /* the only one that it listens to, of those that are connected */
	LINK_FILE_LOCK,   /* it holds the file lock */
	LINK_LEASE,       /* it holds a lease on a file, for whose end the other waits */
	LINK_TO_COME,     /* it has not come to where the threads of a team wait for each other */
	LINK_CAME_LAST,   /* it came there last, which let the others go on */
	LINK_ASKED,       /* the spinning one set it to work just before, and it was done only as that ended */
	LINK_CHILD,
	LINK_STARTED,     /* a thread of its process that it created */
	LINK_CLOSED,      /* as it, all threads of its process wait for nothing but each other */
	LINK_CLOSED_BUT,  /* the same, but for some that only sleep and look up */
	LINK_BEGAN_LAST,  /* others of its process come and go; of those that wait as it does this one began behind it, and last */
	LINK_BACKING,     /* it serves the file system on which a loop device's file lies */
	LINK_SERVER,      /* it serves the file system */
	LINK_SUPERVISOR,  /* it is to answer the system call, as a seccomp supervisor */
	LINK_LOCKSTEP,    /* it waits at the same place, and went on when the other gave up */
	LINK_FLAG,        /* the only one that seems able to change what a loop looks at */
	LINK_WROTE,       /* it wrote what a loop looks at, which ended the loop */
	LINK_AWAITED,     /* its end is what is waited for */
	LINK_PARENT,      /* its child, whose end the other awaits, has ended and was not waited for */
	LINK_HAD_IT,      /* it took away what the other could not make */
	LINK_TRACER,      /* it stopped it, as debuggers do */
	LINK_TOLD,        /* it was woken by what was meant for this one, too */
	LINK_SIGNALLED,   /* it was sent a signal to end, and took long to */
	LINK_SIMILAR,     /* it ended a similar wait at another time */
	LINK_SHARES_ALONE, /* the only other process that has the word's memory mapped */
	LINK_SHARES,      /* one of several of them */
	LINK_HAS_IT,      /* it has the file open that the other is to make, or may not have */
	LINK_WRITES,      /* it has a file open for writing whose change is waited for */
	LINK_KEEPS_OPEN,  /* has a pipe open that one that has ended wrote to, from which it comes */
	LINK_FILLS_GROUP, /* it has most of the processes of a control group that is at its limit of them */
	LINK_AT_WORK,     /* another worker of a server, at work for one that waits */
	LINK_SESSION,     /* another worker of a server, with a session open that says nothing */
	LINK_ONE_TIME,    /* inside work that is done once, for whose end the other waits */
	LINK_PROCESS      /* a thread of the same process, the only ones that could */
};

const char *walk_link_words(enum walk_link link);

/* From `from_ns` on, `thread` had the turn. */
struct hop {
	uint64_t from_ns;
	uint32_t thread;
	uint8_t link;
	uint8_t confidence;
	bool final;          /* what it did meanwhile is its own matter: its waits are not resolved */
	uint64_t evidence;
};

#define WALK_MAX_HOPS 24

struct ends;
struct names;
struct pieces vec(struct piece);

/* One step from a waiting thread to the one it is charged to. Entry 0 is the
 * victim. */
struct walk_step {
	uint32_t thread;
	uint32_t parent;       /* step of the thread that waited for this one */
	uint32_t episode;      /* its wait: index into episodes + 1, 0 none */
	uint8_t link;          /* enum walk_link */
	uint8_t confidence;    /* of the weakest link from the victim to here, per cent */
	uint8_t own;           /* of the last of them */
	bool served;           /* its wait is the last of many, with other work between them */
	uint64_t evidence;     /* event that led here, 0 none */
	uint64_t from_ns;      /* when the step was first taken, in the window */
};
_Static_assert(sizeof(struct walk_step) == 32, "no holes: of a long path there are many");

struct walk_steps vec(struct walk_step);

#define WALK_PIECES_MANY 256u

struct walk {
	const struct scene *scene;
	/* Who should have ended the episode: writes hops in the order of time and
	 * returns their number, 0 for nobody known. `depth` and `stack` tell the
	 * threads that wait on each other so far. NULL: never asks. */
	unsigned (*missing)(struct walk *walk, const struct episode *episode, uint64_t from_ns, uint64_t to_ns,
			    struct hop hops[WALK_MAX_HOPS]);
	/* Who had, at the moment, what the wait is for, and until when at least: the wait is charged to each in turn, not to what
	 * the last of them did before it had it. False where that is not known. NULL: never asks. */
	bool (*holder)(const struct walk *walk, const struct wait *wait, uint64_t time_ns, uint32_t *ret_thread, uint64_t *ret_until);
	void *data;
	/* Whose work a thread did when it served many: back from what it did at last, over
	 * who set it to work for that (request.h). NULL: each of its waits for itself. */
	const struct ends *ends;
	struct names *names;  /* of functions; NULL: none are looked at */
	/* Called when a thread waits for so long for one on the stack: stack[from..depth).
	 * May be NULL. */
	void (*circle)(struct walk *walk, unsigned from, uint64_t ns);
	uint32_t doubted; /* episode + 1 that was ended by one who may have served others: its suspects go first */
	uint32_t beat;    /* a thread that only keeps a beat: the first one's wait, which it cuts into pieces, is one; 0 none */
	struct pieces *pieces;
	struct walk_steps *steps;
	/* Called when WALK_PIECES_MANY have come together: takes them from the front, all but the last, which may grow. NULL: all
	 * are kept. */
	void (*many)(struct walk *walk, void *many_data);
	void *many_data;
	struct scene_near *near; /* by thread: of a long walk, whose searches it shortens; NULL: each is made anew */
	unsigned above;  /* of the stack, filled in by the caller: who waits for the thread whose window is walked */
	unsigned depth;
	uint32_t stack[64];
	uint64_t served;  /* of the stack, those that serve others too while theirs is awaited, as bits */
};

/* Appends the pieces of the window to walk->pieces. */
void walk_window(struct walk *walk, uint32_t thread, uint64_t from_ns, uint64_t to_ns);
bool walk_on_stack(const struct walk *walk, uint32_t thread);
/* The wait to open a FIFO, or to read one, was ended by one that was born only then: rule `fifo_newcomer`. */
bool walk_other_end_came(const struct scene *scene, const struct wait *w);
/* A kernel worker does one piece of work after the other, each for somebody else: before the piece that ended the wait the time
 * is that one's who set it to work. 0 nobody. */
uint32_t walk_set_to_work_by(const struct walk *walk, uint32_t worker, uint64_t time, const struct wait **ret_wait);

#endif
