/* See archive.h. */
#include "base/archive.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>

#define BLOCK 512
#define GZIP_WINDOW (15 + 16) /* the largest window, with gzip's head */

/* ustar, as POSIX has it */
struct tar_head {
	char name[100], mode[8], uid[8], gid[8], size[12], time[12], sum[8], type, link[100], magic[6], version[2];
	char user[32], group[32], major[8], minor[8], prefix[155], rest[12];
};

void archive_init(struct archive *archive)
{
	buf_init(&archive->tar);
}

void archive_done(struct archive *archive)
{
	buf_done(&archive->tar);
}

static void add_zeros(struct buf *buf, size_t count)
{
	static const char zeros[2 * BLOCK];

	buf_add(buf, zeros, count);
}

void archive_add(struct archive *archive, const char *name, const struct buf *text)
{
	struct tar_head head = { .type = '0', .magic = "ustar", .version = { '0', '0' } };
	unsigned sum = 0;

	_Static_assert(sizeof(head) == BLOCK, "a head is a block");
	snprintf(head.name, sizeof(head.name), "%s", name);
	snprintf(head.mode, sizeof(head.mode), "%07o", 0600);
	snprintf(head.uid, sizeof(head.uid), "%07o", 0);
	snprintf(head.gid, sizeof(head.gid), "%07o", 0);
	snprintf(head.size, sizeof(head.size), "%011lo", (unsigned long)text->length);
	snprintf(head.time, sizeof(head.time), "%011o", 0);
	memset(head.sum, ' ', sizeof(head.sum));
	for (size_t i = 0; i < sizeof(head); i++)
		sum += ((const uint8_t *)&head)[i];
	snprintf(head.sum, sizeof(head.sum), "%06o", sum);
	buf_add(&archive->tar, &head, sizeof(head));
	buf_add(&archive->tar, buf_str(text), text->length);
	add_zeros(&archive->tar, (BLOCK - text->length % BLOCK) % BLOCK);
}

int archive_pack(struct archive *archive, struct buf *ret_packed, struct err *err)
{
	z_stream stream = { 0 };
	uint8_t piece[16384];
	int r;

	add_zeros(&archive->tar, 2 * BLOCK); /* its end */
	if (deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, GZIP_WINDOW, 9, Z_DEFAULT_STRATEGY) != Z_OK)
		return err_set(err, -ENOMEM, "compressing: %s", stream.msg ? stream.msg : "no memory");
	stream.next_in = (Bytef *)archive->tar.data;
	stream.avail_in = (uInt)archive->tar.length;
	do {
		stream.next_out = piece;
		stream.avail_out = sizeof(piece);
		r = deflate(&stream, Z_FINISH);
		buf_add(ret_packed, piece, sizeof(piece) - stream.avail_out);
	} while (r == Z_OK);
	deflateEnd(&stream);
	return r == Z_STREAM_END ? 0 : err_set(err, -EIO, "compressing failed");
}
