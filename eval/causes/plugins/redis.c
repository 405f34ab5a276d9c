/* Redis module: a command that takes long. */
#include <redismodule.h>

#include "lag.h"

int lag_score(RedisModuleCtx *context, RedisModuleString **words, int count);

int lag_score(RedisModuleCtx *context, RedisModuleString **words, int count)
{
	(void)words;
	LAG_SPIN();
	return RedisModule_ReplyWithLongLong(context, count);
}

int RedisModule_OnLoad(RedisModuleCtx *context, RedisModuleString **words, int count)
{
	(void)words, (void)count;
	if (RedisModule_Init(context, "lag", 1, REDISMODULE_APIVER_1) != REDISMODULE_OK)
		return REDISMODULE_ERR;
	return RedisModule_CreateCommand(context, "lag.score", lag_score, "readonly", 0, 0, 0);
}
