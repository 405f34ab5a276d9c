/* Of a build without libmicrohttpd: no server (ui/http.h). */
#include <errno.h>

#include "ui/http.h"

int http_check(struct err *err)
{
	return err_set(err, -ENOTSUP, "this build of Argus has no server: it was built without libmicrohttpd (Debian's libmicrohttpd-dev) "
		       "or without the page; `argus debug` asks the same questions at a terminal");
}

int http_start(const struct http_options *options, struct http **ret_http, struct err *err)
{
	(void)options;
	(void)ret_http;
	return http_check(err);
}

void http_stop(struct http *http)
{
	(void)http;
}

uint16_t http_port(const struct http *http)
{
	(void)http;
	return 0;
}

const char *http_token(const struct http *http)
{
	(void)http;
	return "";
}

uint64_t http_last_ns(const struct http *http)
{
	(void)http;
	return 0;
}
