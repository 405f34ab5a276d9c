/* What the walk of CPython's frames in the kernel and the agent share: where the
 * interpreter keeps them, and the messages about them.
 *
 * A thread's state is found by the key under which the interpreter keeps it with
 * pthread_setspecific(); it counts only when it names the thread that asked. From it a
 * list of frames leads outwards. A frame is told as it lies in memory: which code
 * object, and how far in it. The texts of a code object are told once, before the first
 * stack with it. A code object's memory may become another's: the words of it that a
 * stack was told with are told with its texts too. */
#ifndef RECORD_PYTHON_MAPS_H
#define RECORD_PYTHON_MAPS_H

#include "trace/event.h"

#define PYTHON_FRAMES_MAX 127u      /* of one stack, innermost first */
#define PYTHON_OFFSETS_MAX 16u
#define PYTHON_TOLD_SHIFT 16        /* code objects that were told */

/* How texts lie behind struct python_code_message. */
#define PYTHON_NAME_BYTES 512u
#define PYTHON_FILE_BYTES 2048u
#define PYTHON_LINES_BYTES 8192u
#define PYTHON_LINES_FROM_MOST 4096u /* where they begin */
#define PYTHON_TEXTS_BYTES 16384u   /* all of them, a power of two */

/* Where in the list of frames a call of the C function that runs code ends. */
enum python_mark {
	PYTHON_MARK_EACH,           /* with each frame */
	PYTHON_MARK_ENTRY,          /* with a frame whose mark is not 0 */
	PYTHON_MARK_OWNER,          /* before one whose mark is PYTHON_OWNER_C, which is none of Python's */
};

#define PYTHON_OWNER_C 3u
#define PYTHON_NO_CHAIN 0xffffu

enum script_language {
	SCRIPT_PYTHON,
	SCRIPT_PHP,                 /* the table of lines is the class's name; a frame's place is its line */
	SCRIPT_PERL,                /* ... the package's name; a frame's code is its statement, which has one line */
	SCRIPT_RUBY,                /* ... the class's name; a frame's place is its line */
};

#define SCRIPT_NO_THREAD_ID 0xffffu

/* Of one version: offsets in the interpreter's structures; copied by words of 8 bytes. */
struct python_offsets {
	u16 thread_id;              /* thread's state: what pthread_self() was */
	u16 thread_frame;           /* ... the newest frame, or what points to it */
	u16 chain_frame;            /* in what points to it: the frame; PYTHON_NO_CHAIN where nothing stands between */
	u16 frame_code, frame_previous, frame_place, frame_mark;
	u8 place_bytes;             /* 8: an instruction's address; 4: a number */
	u8 mark;                    /* enum python_mark */
	u16 code_line, code_lines, code_file, code_name;
	u16 text_data, text_wide;   /* a string's characters when all are ASCII, and else */
	u8 language;                /* enum script_language */
	u8 reserved;
	int lock;                   /* from the key's number: the interpreter's lock */
	u32 reserved2;
} __attribute__((aligned(8)));
_Static_assert(sizeof(struct python_offsets) == 40, "whole words");

/* The interpreter's lock, equal in all versions: the state of the thread that had it last, whether
 * somebody has it, the condition on which others wait. */
#define PYTHON_LOCK_HOLDER 8u
#define PYTHON_LOCK_TAKEN 16u
#define PYTHON_LOCK_CONDITION 32u
#define PYTHON_LOCK_CONDITION_BYTES 48u

struct python_frame {
	u64 code;                   /* the code object; PYTHON_ENTRY beside it */
	u64 place;                  /* address or number of the instruction */
	u64 check;                  /* words of the code object, mixed */
};

#define PYTHON_ENTRY (1ull << 63)   /* with this frame a call of the C function begins */

struct python_message {
	u32 type, id;
	u32 tgid, layout;
	u32 base, count;            /* number of the stack without them; frames that follow */
	u32 cut;                    /* the list goes on, but could not be read or is too long */
	u32 reserved;
	u64 time_ns;
};

/* Texts follow: name, file, table of lines. */
struct python_code_message {
	u32 type, layout;
	u64 code, check;
	u64 hash, lines;            /* the kernel's own: of what was told, the table of lines */
	u32 line;                   /* first */
	u16 name_bytes, file_bytes;
	u8 name_unit, file_unit;    /* bytes of a character; 0: all of them are ASCII */
	u16 language;               /* enum script_language */
	u32 lines_bytes;            /* that follow */
	u32 lines_whole;            /* that there are */
	u16 prefix_bytes;           /* Ruby: of the name, before that of the method ("block in ") */
	u8 singleton, reserved;     /* ... the method is an object's own, as a class's are */
};

#endif
