/* gawk extension: a function that sleeps. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>

#include <gawkapi.h>

#include "lag.h"

static const gawk_api_t *api;
static awk_ext_id_t ext_id;
static const char *ext_version = "lag 1";
static awk_bool_t (*init_func)(void) = NULL;
int plugin_is_GPL_compatible;

awk_value_t *lag_score(int count, awk_value_t *result, struct awk_ext_func *self);

awk_value_t *lag_score(int count, awk_value_t *result, struct awk_ext_func *self)
{
	(void)self;
	LAG_SLEEP();
	return make_number(count, result);
}

static awk_ext_func_t func_table[] = { { "lag_score", lag_score, 1, 1, awk_false, NULL } };

dl_load_func(func_table, lag, "")
