/* The server on libmicrohttpd, see ui/http.h. */
#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "ui/http.h"

#define CONNECTIONS_MOST 32
#define CONNECTION_BYTES 32768     /* a request's head */
#define CONNECTION_SECONDS 30      /* one that says nothing is closed */

struct http {
	struct http_options options;
	struct http_gate gate;
	struct MHD_Daemon *daemon;
	uint16_t port;
	_Atomic uint64_t last_ns;
};

/* Of a request whose body is still coming. */
struct incoming {
	struct buf body;
	bool too_large;
};

int http_check(struct err *err)
{
	(void)err;
	return 0;
}

static const char *value_of(const struct http_request *request, const char *name)
{
	return MHD_lookup_connection_value(request->connection, MHD_GET_ARGUMENT_KIND, name);
}

static const char *header(struct MHD_Connection *connection, const char *name)
{
	return MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

static enum MHD_Result send_reply(struct http *http, struct MHD_Connection *connection, struct http_reply *reply, bool set_cookie)
{
	struct MHD_Response *response = MHD_create_response_from_buffer(reply->body.length, (void *)(uintptr_t)buf_str(&reply->body),
									MHD_RESPMEM_MUST_COPY);
	enum MHD_Result sent;
	struct buf cookie;

	if (!response)
		return MHD_NO;
	MHD_add_response_header(response, "Content-Type", reply->type ? reply->type : "application/json");
	MHD_add_response_header(response, "Content-Security-Policy", reply->policy ? reply->policy : "default-src 'none'; frame-ancestors 'none'");
	MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
	MHD_add_response_header(response, "Referrer-Policy", "no-referrer");
	MHD_add_response_header(response, "Cross-Origin-Resource-Policy", "same-origin");
	MHD_add_response_header(response, "Cross-Origin-Opener-Policy", "same-origin");
	MHD_add_response_header(response, "Cache-Control", "no-store");
	if (set_cookie) {
		buf_init(&cookie);
		buf_printf(&cookie, "%s=%s; Path=/; HttpOnly; SameSite=Strict", http->gate.cookie, http->gate.session);
		MHD_add_response_header(response, "Set-Cookie", buf_str(&cookie));
		buf_done(&cookie);
	}
	sent = MHD_queue_response(connection, reply->status ? reply->status : MHD_HTTP_OK, response);
	MHD_destroy_response(response);
	return sent;
}

static enum MHD_Result refuse(struct http *http, struct MHD_Connection *connection, unsigned status, const char *words)
{
	struct http_reply reply = { .status = status, .type = "text/plain; charset=utf-8" };
	enum MHD_Result sent;

	buf_init(&reply.body);
	buf_printf(&reply.body, "%s\n", words);
	sent = send_reply(http, connection, &reply, false);
	buf_done(&reply.body);
	return sent;
}

/* The cookie comes with a page of this server's own, which then asks for the real one: a
 * redirect would still count as the file's, and go without the cookie. */
static enum MHD_Result enter(struct http *http, struct MHD_Connection *connection, const char *body)
{
	struct http_reply reply = { .type = "text/html; charset=utf-8" };
	enum MHD_Result sent;

	if (!http_gate_enter(&http->gate, body))
		return refuse(http, connection, MHD_HTTP_FORBIDDEN, "This link is not, or no longer, good: it opens the page once. Start argus serve again.");
	http->last_ns = clock_now_ns();
	if (http->options.entered)
		http->options.entered(http->options.data);
	buf_init(&reply.body);
	buf_text(&reply.body, "<!DOCTYPE html><meta charset=\"utf-8\"><meta http-equiv=\"refresh\" content=\"0;url=/\"><title>Argus</title>\n");
	sent = send_reply(http, connection, &reply, true);
	buf_done(&reply.body);
	return sent;
}

static enum MHD_Result answer(struct http *http, struct MHD_Connection *connection, const struct http_request *request)
{
	struct http_caller caller = { header(connection, "Host"), header(connection, "Origin"), header(connection, "Sec-Fetch-Site"),
				      header(connection, "Cookie"), request->post && !strcmp(request->path, "/enter") };
	unsigned refused = http_gate_check(&http->gate, &caller);
	struct http_reply reply = { 0 };
	enum MHD_Result sent;

	if (refused)
		return refuse(http, connection, refused, "Not for you: open the file that `argus serve` names.");
	if (caller.enters)
		return enter(http, connection, request->body);
	http->last_ns = clock_now_ns();
	buf_init(&reply.body);
	http->options.answer(http->options.data, request, &reply);
	sent = send_reply(http, connection, &reply, false);
	buf_done(&reply.body);
	return sent;
}

static enum MHD_Result take_request(void *data, struct MHD_Connection *connection, const char *url, const char *method, const char *version,
				    const char *upload, size_t *upload_size, void **state)
{
	struct incoming *incoming = *state;
	struct http_request request = { .post = !strcmp(method, "POST"), .path = url, .value = value_of, .connection = connection };

	(void)version;
	if (!incoming) {
		*state = incoming = mem_zalloc(sizeof(*incoming));
		buf_init(&incoming->body);
		return MHD_YES;
	}
	if (*upload_size) {
		if (incoming->body.length + *upload_size > HTTP_BODY_MOST)
			incoming->too_large = true;
		else
			buf_add(&incoming->body, upload, *upload_size);
		*upload_size = 0;
		return MHD_YES;
	}
	if (incoming->too_large)
		return refuse(data, connection, 413, "Too large.");
	if (!request.post && strcmp(method, "GET"))
		return refuse(data, connection, MHD_HTTP_METHOD_NOT_ALLOWED, "Only GET and POST.");
	request.body = buf_str(&incoming->body);
	request.body_length = incoming->body.length;
	return answer(data, connection, &request);
}

static void end_request(void *data, struct MHD_Connection *connection, void **state, enum MHD_RequestTerminationCode code)
{
	struct incoming *incoming = *state;

	(void)data;
	(void)connection;
	(void)code;
	if (!incoming)
		return;
	buf_done(&incoming->body);
	free(incoming);
	*state = NULL;
}

int http_start(const struct http_options *options, struct http **ret_http, struct err *err)
{
	struct http *http = mem_zalloc(sizeof(*http));
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(options->port) };
	const union MHD_DaemonInfo *info;
	int r;

	http->options = *options;
	if (inet_pton(AF_INET, options->address, &at.sin_addr) != 1) {
		free(http);
		return err_set(err, -EINVAL, "'%s' is not an address: write numbers, 127.0.0.1", options->address);
	}
	r = http_gate_init(&http->gate, options->address, err);
	if (r) {
		free(http);
		return r;
	}
	errno = 0;
	http->daemon = MHD_start_daemon(MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_POLL, options->port, NULL, NULL, take_request, http,
					MHD_OPTION_SOCK_ADDR, &at, MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS_MOST,
					MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_BYTES,
					MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)CONNECTION_SECONDS,
					MHD_OPTION_NOTIFY_COMPLETED, end_request, NULL, MHD_OPTION_END);
	if (!http->daemon) {
		r = errno ? -errno : -EADDRINUSE;
		free(http);
		return err_set(err, r, "cannot listen at %s:%u: %s; --port 0 takes any that is free", options->address, options->port, strerror(-r));
	}
	info = MHD_get_daemon_info(http->daemon, MHD_DAEMON_INFO_BIND_PORT);
	http->port = info ? info->port : options->port;
	*ret_http = http;
	return 0;
}

void http_stop(struct http *http)
{
	MHD_stop_daemon(http->daemon);
	free(http);
}

uint16_t http_port(const struct http *http)
{
	return http->port;
}

const char *http_token(const struct http *http)
{
	return http->gate.token;
}

uint64_t http_last_ns(const struct http *http)
{
	return http->last_ns;
}
