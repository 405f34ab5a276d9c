/* apache2 module: a logger that sleeps. */
#include "lag.h"

#include <httpd.h>

#include <http_config.h>
#include <http_protocol.h>

int lag_log_writer(request_rec *r);

int lag_log_writer(request_rec *r)
{
	(void)r;
	LAG_SLEEP();
	return OK;
}

static void register_hooks(apr_pool_t *pool)
{
	(void)pool;
	ap_hook_log_transaction(lag_log_writer, NULL, NULL, APR_HOOK_MIDDLE);
}

module AP_MODULE_DECLARE_DATA lag_module = { STANDARD20_MODULE_STUFF, NULL, NULL, NULL, NULL, NULL, register_hooks };
