/* Protocol buffers, written: each function appends one field. A message within another
 * is written to a buffer of its own first. */
#ifndef EXPORT_PROTOBUF_H
#define EXPORT_PROTOBUF_H

#include <stdint.h>

#include "base/buf.h"

void proto_u64(struct buf *buf, unsigned field, uint64_t value);
void proto_fixed64(struct buf *buf, unsigned field, uint64_t value);
void proto_bytes(struct buf *buf, unsigned field, const void *bytes, size_t length);
/* What is not printable or not UTF-8 comes out escaped. */
void proto_text(struct buf *buf, unsigned field, const char *text);
void proto_message(struct buf *buf, unsigned field, const struct buf *message);
/* A number alone, for packed fields. */
void proto_varint(struct buf *buf, uint64_t value);

#endif
