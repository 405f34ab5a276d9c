/* Packed bytes of an index, see blocks_pack.h. */
#include "trace/blocks_pack.h"

#include <errno.h>
#include <zstd.h>

enum { LEVEL = 1, WINDOW_LEAST = 17, WINDOW_MOST = 27 /* as far as every decompressor looks back */ };

/* So much that the key is within reach from the last byte. */
static int window_log(size_t bytes)
{
	int log = WINDOW_LEAST;

	while (log < WINDOW_MOST && (size_t)1 << log < bytes)
		log++;
	return log;
}

struct blob blocks_pack(struct arena *arena, struct blob raw, struct blob key)
{
	ZSTD_CCtx *compressor = ZSTD_createCCtx();
	size_t room = ZSTD_compressBound(raw.size), size = 0;
	unsigned char *to = arena_alloc(arena, room, 1);

	if (compressor && !ZSTD_isError(ZSTD_CCtx_setParameter(compressor, ZSTD_c_compressionLevel, LEVEL)) &&
	    !ZSTD_isError(ZSTD_CCtx_setParameter(compressor, ZSTD_c_checksumFlag, 1)) &&
	    !ZSTD_isError(ZSTD_CCtx_setParameter(compressor, ZSTD_c_windowLog, window_log(raw.size + key.size))) &&
	    !ZSTD_isError(ZSTD_CCtx_refPrefix(compressor, key.at, key.size)))
		size = ZSTD_compress2(compressor, to, room, raw.at, raw.size);
	ZSTD_freeCCtx(compressor);
	return (struct blob){ to, ZSTD_isError(size) ? 0 : size };
}

int blocks_unpack(unsigned char *to, size_t raw_size, struct blob packed, struct blob key)
{
	ZSTD_DCtx *decompressor = ZSTD_createDCtx();
	size_t size = 0;

	if (decompressor && !ZSTD_isError(ZSTD_DCtx_refPrefix(decompressor, key.at, key.size)))
		size = ZSTD_decompressDCtx(decompressor, to, raw_size, packed.at, packed.size);
	ZSTD_freeDCtx(decompressor);
	return !ZSTD_isError(size) && size == raw_size ? 0 : -EBADMSG;
}
