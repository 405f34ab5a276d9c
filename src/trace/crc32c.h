/* CRC32C (Castagnoli), by the processor's instruction where it has one. */
#ifndef TRACE_CRC32C_H
#define TRACE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* Begin with crc 0; feed the result back in to go on. */
uint32_t crc32c(uint32_t crc, const void *data, size_t size);

#endif
