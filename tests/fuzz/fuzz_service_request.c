/* What a member sends to the recording service: any message is taken or refused with a
 * sentence; what is taken says the same when it is sent again. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "record/service_request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct service_request request, again;
	struct err err = { 0 };
	struct buf buf;

	if (service_request_parse((const char *)data, size, &request, &err)) {
		if (!err.text[0])
			__builtin_trap();
		return 0;
	}
	buf_init(&buf);
	if (service_request_put(&request, &buf, NULL) || service_request_parse(buf.data, buf.length, &again, NULL) ||
	    memcmp(&request, &again, sizeof(request)))
		__builtin_trap();
	buf_done(&buf);
	return 0;
}
