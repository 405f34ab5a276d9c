/* What the unwinder in the kernel and the agent share: the maps' elements and
 * the messages about stacks.
 *
 * A process's mappings are a layout: a run of elements of the map
 * stack_mappings, sorted by address. Processes that were forked from each other
 * share one until their mappings differ; a layout's number is never used again,
 * so that whatever is remembered about it goes out of use with it.
 *
 * A mapping with a table says where its pages begin in stack_pages; a page
 * entry says where its rows begin in stack_rows, cut into shards of 1 MiB that
 * are added as needed; a row's rule is a number in stack_rules, shared by all
 * modules. symbols/unwind.h has rows and rules. */
#ifndef RECORD_STACK_MAPS_H
#define RECORD_STACK_MAPS_H

#include "record/python_maps.h"
#include "symbols/unwind.h"

#define STACK_FRAMES_MAX 127u       /* frames kept of one stack, innermost first */

#define STACK_LAYOUT_MAPPINGS_MAX 4096u /* of one process */
#define STACK_LAYOUT_STEPS 13           /* of a search in them */
#define STACK_PROCESSES_MAX 32768u
#define STACK_MAPPINGS_MAX 65536u       /* in all layouts */
#define STACK_PAGES_MAX (1u << 18)      /* 1 GiB of code */
#define STACK_SHARD_SHIFT 18            /* rows of a shard */
#define STACK_SHARD_ROWS (1u << STACK_SHARD_SHIFT)
#define STACK_SHARDS_MAX 160u
#define STACK_PAGE_STEPS 13             /* of a search in one page's rows */
#define STACK_RULES_MAX 65536u          /* numbers below UNWIND_KINDS are the rules without words */
#define STACK_KNOWN_SHIFT 17            /* stacks that can be told apart in one generation */
#define STACK_MEMO_SHIFT 16
#define STACK_LAST_SHIFT 13
#define STACK_LAST_WAYS 4u              /* places for stacks shown at one ip, equally far into a page */
#define STACK_LAST_SLOTS 128u
#define STACK_LAST_RUNS 16u
#define STACK_RUN_GAP 64u               /* words: so far apart, two runs are read sooner than the words between */
#define STACK_RUN_BELOW 8u              /* words */
#define STACK_WINDOW_BYTES 8192u
#define STACK_COPY_BYTES 16384u
#define STACK_RING_BYTES (4u << 20)
#define STACK_LEVELS 4u                 /* programs that can interrupt each other on one processor */

struct stack_process {
	u32 layout;
	u32 first, count;           /* in stack_mappings */
	u32 used;                   /* set when a stack is walked */
	u32 doubts;                 /* so many stacks that end outside of all mappings may be copied: the list may be old */
	u32 python;                 /* element of python_offsets; 0: it runs no interpreter that is known */
	u64 python_key;             /* where the number of the key is under which threads find their state */
	u64 python_names;           /* Ruby's table of names */
};

#define STACK_DOUBTS 4096u
#define STACK_DOUBTS_SETTLED 64u        /* so many turned out to end there indeed: no more are copied */

enum stack_mapping_kind {
	STACK_MAPPING_TABLE,        /* has an unwind table */
	STACK_MAPPING_NO_TABLE,     /* has none: frame pointers */
	STACK_MAPPING_JIT,          /* anonymous code: frame pointers */
	STACK_MAPPING_PENDING,      /* its table is being made */
	STACK_MAPPING_BAD,          /* its table is malformed, or there was no room for it */
};

struct stack_mapping {
	u64 start, end;             /* addresses in the process */
	u64 table;                  /* address in the process of the table's first page */
	u32 page;                   /* that page's number in stack_pages */
	u32 pages;                  /* how many the table has */
	u32 kind;                   /* enum stack_mapping_kind */
	u32 reserved;
};

/* The place of its first row, shard << STACK_SHARD_SHIFT | row, and above it how many they are: all in one shard. In
 * one word, which is written and read whole, for rows may be laid while stacks are walked; 0: they are not yet. */
struct stack_page {
	u64 rows;
};

#define STACK_PAGE_ROW(rows) ((u32)(rows))
#define STACK_PAGE_COUNT(rows) ((u32)((rows) >> 32))

struct stack_shard {
	u32 rows[STACK_SHARD_ROWS];
};

/* Words of a stack that are read at once. */
struct stack_run {
	u16 first;                  /* in words above sp */
	u16 words;
};

/* A stack that was shown, and which of its words decide that it is the same
 * again: the return addresses and the saved frame pointers in use. Few of its
 * bytes: large buffers between them are not read. Where only return addresses and
 * distances led on, another thread's equal words are the same stack, wherever they lie. */
struct stack_last {
	u32 sequence;               /* odd while it is being written */
	u32 layout, id;
	u16 count;
	u8 runs;
	u8 fixed;                   /* addresses on the stack led on: sp and bp must be equal too */
	u64 ip, sp, bp;
	u64 hash;                   /* of the words */
	u16 words[STACK_LAST_SLOTS]; /* in all that the runs hold; without runs above sp: each is read by itself */
	struct stack_run run[STACK_LAST_RUNS];
};

/* What programs look up at each stack; one element of the map stack_now. */
struct stack_now {
	u32 generation;
	u32 levels;                 /* of page tables */
	u64 memory;                 /* where the kernel has all memory mapped; 0 not known */
};

/* What the program that looks for that is told: where in the caller's memory
 * which words are. */
#define STACK_COOKIE_WORDS 8
struct stack_cookie {
	u64 address;
	u64 words[STACK_COOKIE_WORDS];
};

/* Messages in stack_ring. */
enum stack_message_type {
	STACK_MESSAGE_USER = 1,     /* struct stack_message, addresses */
	STACK_MESSAGE_KERNEL,       /* the same */
	STACK_MESSAGE_COPY,         /* struct stack_copy, bytes */
	STACK_MESSAGE_PYTHON,       /* struct python_message, frames */
	STACK_MESSAGE_PYTHON_CODE,  /* struct python_code_message, texts */
};

struct stack_message {
	u32 type, id;
	u32 tgid, layout;
	u32 status, count;          /* STACK_STATUS_; addresses that follow, innermost first; a caller's less 1 */
	u64 time_ns;
};

struct stack_copy {
	u32 type, id;
	u32 tgid, bytes;            /* bytes that follow, from sp on */
	u64 ip, sp, bp, di;
	u64 time_ns;
	u64 narrow;                 /* a 32-bit program's: there is nothing to unwind */
};

/* Numbers of stacks: slots of the table of known ones from 1 on and the table's
 * generation above them, or with the highest bit those of copies and of sleepers'
 * stacks, each used once. A table that fills makes way for the other one, emptied; numbers of the
 * generation before stay good until the next. */
#define STACK_ID_COPY 0x80000000u
#define STACK_GENERATION_SHIFT 20
#define STACK_GENERATION_MASK 0x7ffu
#define STACK_SLOT_MASK ((1u << STACK_GENERATION_SHIFT) - 1)

/* Counted per processor in stack_counts. */
enum stack_count {
	STACK_COUNT_RECOGNISED,
	STACK_COUNT_WALKED,
	STACK_COUNT_NEW,
	STACK_COUNT_COPIED,
	STACK_COUNT_LOST,           /* new ones for which there was no room */
	STACK_COUNT_PYTHON,         /* walks of all of an interpreter's frames */
	STACK_COUNT_PYTHON_CUT,     /* ... that did not come to their end */
	STACK_COUNTS = 8
};

#endif
