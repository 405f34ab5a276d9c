/* SQLite extension: a function that takes long. */
#include <sqlite3ext.h>

#include "lag.h"

SQLITE_EXTENSION_INIT1

void lag_score(sqlite3_context *context, int count, sqlite3_value **values);
int sqlite3_extension_init(sqlite3 *db, char **error, const sqlite3_api_routines *api);

void lag_score(sqlite3_context *context, int count, sqlite3_value **values)
{
	(void)count;
	LAG_SPIN();
	sqlite3_result_int(context, sqlite3_value_int(values[0]) % 7);
}

int sqlite3_extension_init(sqlite3 *db, char **error, const sqlite3_api_routines *api)
{
	(void)error;
	SQLITE_EXTENSION_INIT2(api);
	return sqlite3_create_function(db, "lag_score", 1, SQLITE_UTF8, NULL, lag_score, NULL, NULL);
}
