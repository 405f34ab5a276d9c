/* A small server for one person on this machine: the page of `argus serve`.
 *
 * Who may ask is decided here, for every request, before anybody else sees it: a one-time
 * token, which lies in a file that only the user can read, is exchanged for a cookie that
 * no script sees and no other site sends; the Host must be this machine's (a name that
 * somebody else points here does not count), and a request from another page is refused.
 * Requests are answered one after the other, on a thread of the server's own. */
#ifndef UI_HTTP_H
#define UI_HTTP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

#define HTTP_SECRET 65        /* hexadecimal, with its NUL */
#define HTTP_BODY_MOST 65536

struct http_request {
	bool post;
	const char *path;
	const char *body;          /* of a post; ends with a NUL */
	size_t body_length;
	/* Of the query: "/lanes?from=12"; NULL when it is not there. */
	const char *(*value)(const struct http_request *request, const char *name);
	void *connection;          /* private */
};

struct http_reply {
	unsigned status;           /* 200 unless set */
	const char *type;          /* "application/json" unless set */
	const char *policy;        /* Content-Security-Policy; one that allows nothing unless set */
	struct buf body;
};

struct http_options {
	const char *address;       /* numeric, IPv4 */
	uint16_t port;             /* 0: any */
	void (*answer)(void *data, const struct http_request *request, struct http_reply *reply);
	/* The token was used: its file may go. */
	void (*entered)(void *data);
	void *data;
};

struct http;

/* -ENOTSUP, with words, where this build has none. */
int http_check(struct err *err);
int http_start(const struct http_options *options, struct http **ret_http, struct err *err);
void http_stop(struct http *http);
uint16_t http_port(const struct http *http);
/* To be posted to /enter, once. */
const char *http_token(const struct http *http);
/* CLOCK_MONOTONIC of the last request that was let in; 0: none yet. */
uint64_t http_last_ns(const struct http *http);

/* ---- who may ask, for tests ---- */

struct http_gate {
	char token[HTTP_SECRET];   /* "" used */
	char session[HTTP_SECRET];
	char cookie[32];           /* its name */
	const char *address;
};

/* What of a request decides; NULL: it has no such header. */
struct http_caller {
	const char *host, *origin, *site, *cookies;
	bool enters;               /* it brings the token */
};

int http_gate_init(struct http_gate *gate, const char *address, struct err *err);
/* 0, or the status to refuse it with. */
unsigned http_gate_check(const struct http_gate *gate, const struct http_caller *caller);
/* Uses the token up; false: it is not this one. */
bool http_gate_enter(struct http_gate *gate, const char *body);

#endif
