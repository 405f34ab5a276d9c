/* PostgreSQL extension: a function that takes long. */
#include <postgres.h>

#include <fmgr.h>

#include "lag.h"

PG_MODULE_MAGIC;
PG_FUNCTION_INFO_V1(lag_score);

Datum lag_score(PG_FUNCTION_ARGS)
{
	int32 n = PG_GETARG_INT32(0);

	LAG_SPIN();
	PG_RETURN_INT32(n % 7);
}
