/* Failures that explain themselves.
 *
 * A function that can fail returns 0 or a negative errno and takes a
 * `struct err *` as its last parameter, in which it leaves a sentence fit for
 * the user. The pointer may be NULL when the caller does not want the words.
 * Callers add context with err_prefix(); only src/ui and main print. */
#ifndef BASE_ERR_H
#define BASE_ERR_H

#include <stdarg.h>

struct err {
	int code;        /* negative errno, 0 while nothing failed */
	char text[480];  /* one sentence, no newline at the end */
};

/* Sets code and text; returns code, so that `return err_set(...)` works. */
int err_set(struct err *err, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Like err_set, and appends ": " and the system's words for the errno. */
int err_sys(struct err *err, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Puts context before the text that is there: "opening 'x': ...". Returns err's code. */
int err_prefix(struct err *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
