/* See word_lock.h.
 *
 * A name is taken to pieces: what stands before the last `::` or `.` is left out, and words end at underscores and digits, and where a
 * capital follows a small letter. Innermost first, the first function that says what is waited for decides, but for those that enter a monitor. */
#include "diagnose/word_lock.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#define FRAMES_LOOKED_AT 6
#define TAKER_FRAMES 12 /* an interpreter has some of its own below */
#define WORD_MOST 16u

enum said { SAID_NOTHING, SAID_LOCK, SAID_OTHER };

static enum said word_says(const char *word)
{
	static const char *const locks[] = { "lock", "rdlock", "wrlock" };
	static const char *const others[] = {
		"acquire", "cond", "condvar", "condition", "sem", "semaphore", "event", "recv", "receive", "send", "queue", "park", "join", "notify",
		"unlock", "try", "trylock", "timedlock", "barrier", "once", "latch",
	};

	for (size_t i = 0; i < sizeof(locks) / sizeof(*locks); i++)
		if (!strcasecmp(word, locks[i]))
			return SAID_LOCK;
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (!strcasecmp(word, others[i]))
			return SAID_OTHER;
	return SAID_NOTHING;
}

/* Behind the last `::` or `.`, without what follows a parenthesis or such. */
static const char *last_part(const char *name, size_t *ret_length)
{
	size_t length = 0, at;
	int depth = 0;

	/* templates may stand anywhere: <T as Trait>::name, name<T> */
	for (size_t i = 0; name[i]; i++) {
		if (name[i] == '<')
			depth++;
		else if (name[i] == '>' && depth)
			depth--;
		else if (!depth && (name[i] == '(' || name[i] == ' '))
			break;
		else if (!depth)
			length = i + 1;
	}
	for (at = length; at > 0 && name[at - 1] != ':' && name[at - 1] != '.' && name[at - 1] != '>'; )
		at--;
	*ret_length = length - at;
	return name + at;
}

/* A monitor is entered as a lock is taken, whatever the waiting for that is made of. */
static bool enters_monitor(const char *function)
{
	const char *monitor = strcasestr(function, "monitor");

	return monitor && strcasestr(monitor, "enter");
}

static enum said name_says(const char *function)
{
	size_t length, in = 0;
	const char *part = last_part(function, &length);
	enum said said = SAID_NOTHING;
	char word[WORD_MOST];

	for (size_t i = 0; i <= length; i++) {
		bool ends = i == length || !isalpha((unsigned char)part[i]) ||
			    (i && isupper((unsigned char)part[i]) && islower((unsigned char)part[i - 1]));

		if (ends && in) {
			enum said its;

			word[in < WORD_MOST ? in : 0] = '\0';
			its = word_says(word);
			if (its == SAID_OTHER)
				return its;
			if (its == SAID_LOCK)
				said = its;
			in = 0;
		}
		if (i < length && isalpha((unsigned char)part[i])) {
			if (in < WORD_MOST)
				word[in] = part[i];
			in++;
		}
	}
	return said;
}

/* Whatever letter it begins with; a large library is not read for it. */
static bool may_be_lock(struct names *names, const struct tables *tables, uint32_t node)
{
	for (unsigned i = 0; node && node < tables->frame_count && i < FRAMES_LOOKED_AT; i++, node = tables->frames[node].parent)
		if (names_may_hold(names, node, "ock") || names_may_hold(names, node, "onitor"))
			return true;
	return false;
}

bool word_lock_is(struct names *names, const struct tables *tables, const struct wait *w)
{
	return !w->timeout_ns && word_lock_named(names, tables, w);
}

bool word_lock_named(struct names *names, const struct tables *tables, const struct wait *w)
{
	enum said first = SAID_NOTHING;

	if (!names || w->kind != WAIT_KIND_futex || w->hint || !may_be_lock(names, tables, w->ustack))
		return false;
	for (uint32_t node = w->ustack, i = 0; node && node < tables->frame_count && i < FRAMES_LOOKED_AT && first != SAID_LOCK;
	     i++, node = tables->frames[node].parent) {
		const struct name *name = names_frame(names, node);

		if (!name->guessed && enters_monitor(name->function))
			return true;
		if (!name->guessed && first == SAID_NOTHING)
			first = name_says(name->function);
	}
	return first == SAID_LOCK;
}

static bool is_word(const char *at, size_t length, const char *word)
{
	return length == strlen(word) && !strncasecmp(at, word, length);
}

/* A function of a type, by which a lock is acquired. */
static bool acquires_lock(const char *function)
{
	size_t length, word;
	const char *part = last_part(function, &length);
	bool lock = false, acquires = false;

	if (part == function || part[-1] != ':')
		return false;
	for (size_t at = 0; at < length; at += word + 1) {
		word = strcspn(part + at, "_");
		word = word < length - at ? word : length - at;
		acquires |= is_word(part + at, word, "acquire") || is_word(part + at, word, "upgrade");
		lock |= is_word(part + at, word, "lock");
	}
	return lock && acquires;
}

bool word_lock_of_type(struct names *names, const struct tables *tables, const struct wait *w)
{
	if (!names || w->kind != WAIT_KIND_futex || w->hint || wait_is_shared(w) || !may_be_lock(names, tables, w->ustack))
		return false;
	for (uint32_t node = w->ustack, i = 0; node && node < tables->frame_count && i < FRAMES_LOOKED_AT; i++, node = tables->frames[node].parent)
		if (!names_frame(names, node)->guessed && acquires_lock(names_frame(names, node)->function))
			return true;
	return false;
}

/* Of a type that is a queue, and called what taking from one is called. */
static bool takes(const char *function)
{
	static const char *const words[] = { "get", "take", "pop", "deq", "dequeue", "shift", "recv", "receive" };
	const char *last = strcasestr(function, "queue");
	size_t length;

	/* the last word of it, whatever of modules, types and their arguments stands before it */
	for (const char *at = last; at && *at && *at != '(' && *at != ' ' && *at != '@'; at++)
		if (ispunct((unsigned char)*at) && isalpha((unsigned char)at[1]) && *at != '<')
			last = at + 1;
	length = last ? strcspn(last, "( <@") : 0;
	for (size_t i = 0; length && i < sizeof(words) / sizeof(*words); i++)
		if (length == strlen(words[i]) && !strncasecmp(last, words[i], length))
			return true;
	return false;
}

bool word_takes(struct names *names, const struct tables *tables, const struct wait *w)
{
	bool may = false;

	if (!names || w->kind != WAIT_KIND_futex || w->hint)
		return false;
	for (uint32_t node = w->ustack, i = 0; node && node < tables->frame_count && i < TAKER_FRAMES && !may; i++, node = tables->frames[node].parent)
		may = names_may_hold(names, node, "ueue");
	for (uint32_t node = w->ustack, i = 0; may && node && node < tables->frame_count && i < TAKER_FRAMES; i++, node = tables->frames[node].parent)
		if (!names_frame(names, node)->guessed && takes(names_frame(names, node)->function))
			return true;
	return false;
}
