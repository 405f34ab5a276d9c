/* Rules: how events become segments and edges, and what a person knows.
 *
 * A rule is one statement of a small language (docs/rules.md). A set holds the
 * statements of several files: the default pack, other packs, knowledge. A file
 * with an error adds nothing and leaves the set as it was; the error names file,
 * line and column. A set is immutable for those who only read it. */
#ifndef RULES_RULES_H
#define RULES_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "rules/condition.h"

enum rule_kind {
	RULE_boundary,
	RULE_peers,
	RULE_edge,
	RULE_wake,
	RULE_cut,
	RULE_idle,
	RULE_flag,
	RULE_probe,     /* for who records: where a probe of this name goes */
	/* corrections about single events */
	RULE_cut_edge,
	RULE_keep_edge,
	RULE_join,
	RULE_boundary_at,
	RULE_idle_wait
};

enum rule_place {
	PLACE_before,   /* the event begins a segment */
	PLACE_after,    /* the event is its segment's last */
	PLACE_callout,  /* a segment from one event to its counterpart; nests */
	PLACE_isolate   /* the event becomes a node of its own */
};

enum rule_segment { RULE_SEGMENT_plain, RULE_SEGMENT_callout, RULE_SEGMENT_work, RULE_SEGMENT_interrupt, RULE_SEGMENT_maintenance };

enum rule_peers {
	PEERS_none,
	PEERS_receive,  /* at a receive from another than the segment received from */
	PEERS_any,      /* at a message with another than the segment had to do with */
	PEERS_both      /* at a receive from another, and at a send to another than it sent to */
};

/* How the beginnings of an edge are kept until the ends come. */
enum rule_take {
	TAKE_once,  /* the latest beginning, used up by the end */
	TAKE_fifo,  /* the oldest beginning, used up by the end */
	TAKE_last,  /* the latest beginning, kept */
	TAKE_all    /* all beginnings since the last end */
};

#define RULE_KEYS 3

/* One end of an edge rule. */
struct rule_end {
	uint16_t event;              /* enum event_type */
	uint8_t keys;
	struct operand key[RULE_KEYS];
	struct condition where;
};

struct rule {
	enum rule_kind kind;
	const char *name;
	const char *text;            /* as written */
	const char *file;
	uint32_t line, column;
	struct condition where;
	uint16_t event, end_event;   /* boundaries: the event; callouts: the end too */
	struct condition end_where;
	const char *probe, *end_probe; /* callbacks: the probes that they begin and end with; NULL: no probes */
	enum rule_place place;
	enum rule_segment segment;
	enum rule_peers peers;
	enum rule_take take;
	struct rule_end from, to;    /* edges */
	const char *called;          /* callbacks and edges: what answers call it, with {...} for what its event says; "" nothing */
	const char *meeting;         /* callbacks: the field that says where threads wait for each other; NULL none */
	bool meets;                  /* ... they do in this callback; else who is in it will come there */
	uint16_t mechanism;          /* number of the kind of edge; 0 any or the default */
	uint8_t confidence;          /* 0: the mechanism's */
	bool drop;                   /* wake: no edge */
	bool charge_source;          /* wake: to the interrupt's source, not to the thread */
	uint64_t from_event, to_event; /* corrections; the one event of boundary_at and idle_wait is from_event */
	uint64_t address;            /* flags */
	const char *target, *build;  /* probes: where, as --probe takes it; the build-id that it is right for, "" any */
	const char *around;          /* probes: "FIRST,SECOND", between whose calls the one is that is meant ("FIRST,": behind it); NULL: none */
	bool behind;                 /* ... at the second of them */
	const char *reads;           /* ... what is read there: "arg1,arg2,arg3,target,object"; "" nothing */
	const char *reads_text;      /* ... which of these is a text that is read, too; "" none */
	bool reads_class;            /* ... or, a C++ object, whose class's name is */
};

struct rules;

/* Numbers of the kinds of edges belong to a folder above; whoever parses rules
 * that name them says how. Returns 0 when there is no such kind. */
typedef unsigned rules_mechanism_find(const char *name, size_t length);

/* An empty set. */
struct rules *rules_new(void);
void rules_free(struct rules *rules);

/* Adds the statements of a text; `name` is shown in errors and by the rules. */
int rules_add_text(struct rules *rules, const char *name, const char *text, size_t length,
		   rules_mechanism_find *mechanism_find, struct err *err);
int rules_add_file(struct rules *rules, const char *path, rules_mechanism_find *mechanism_find, struct err *err);
/* Adds the built-in pack "default". */
int rules_add_default(struct rules *rules, rules_mechanism_find *mechanism_find, struct err *err);

/* Adds the built-in pack of this name; -ENOENT when there is none. */
int rules_add_pack(struct rules *rules, const char *name, rules_mechanism_find *mechanism_find, struct err *err);

size_t rules_count(const struct rules *rules);
const struct rule *rules_at(const struct rules *rules, size_t index);

/* Built-in packs: name and text. */
struct rules_pack {
	const char *name;
	const char *text;
	size_t length;
};
extern const struct rules_pack rules_packs[];
extern const size_t rules_pack_count;

#endif
