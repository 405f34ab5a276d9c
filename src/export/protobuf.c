#include "export/protobuf.h"

#include <string.h>

enum { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_LENGTH = 2 };

void proto_varint(struct buf *buf, uint64_t value)
{
	while (value >= 0x80) {
		buf_char(buf, (char)(value | 0x80));
		value >>= 7;
	}
	buf_char(buf, (char)value);
}

void proto_u64(struct buf *buf, unsigned field, uint64_t value)
{
	proto_varint(buf, (uint64_t)field << 3 | WIRE_VARINT);
	proto_varint(buf, value);
}

void proto_fixed64(struct buf *buf, unsigned field, uint64_t value)
{
	unsigned char bytes[8];

	for (unsigned i = 0; i < 8; i++)
		bytes[i] = (unsigned char)(value >> 8 * i);
	proto_varint(buf, (uint64_t)field << 3 | WIRE_FIXED64);
	buf_add(buf, bytes, sizeof(bytes));
}

void proto_bytes(struct buf *buf, unsigned field, const void *bytes, size_t length)
{
	proto_varint(buf, (uint64_t)field << 3 | WIRE_LENGTH);
	proto_varint(buf, length);
	if (length)
		buf_add(buf, bytes, length);
}

void proto_text(struct buf *buf, unsigned field, const char *text)
{
	struct buf escaped;

	buf_init(&escaped);
	buf_escaped(&escaped, text, strlen(text), NULL);
	proto_bytes(buf, field, buf_str(&escaped), escaped.length);
	buf_done(&escaped);
}

void proto_message(struct buf *buf, unsigned field, const struct buf *message)
{
	proto_bytes(buf, field, buf_str(message), message->length);
}
