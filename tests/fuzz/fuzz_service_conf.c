/* /etc/argus/argus.conf: any file is taken or refused with a sentence. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "record/service_conf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct service_conf conf;
	struct err err = { 0 };

	if (service_conf_parse((const char *)data, size, &conf, &err)) {
		if (!err.text[0])
			__builtin_trap();
	} else if (!memchr(conf.see_all, 0, sizeof(conf.see_all)) || conf.recordings > SERVICE_RECORDINGS_MOST ||
		   conf.recording_bytes < 1u << 20 || conf.recording_ns < 1000000000u) {
		__builtin_trap();
	} else {
		service_conf_sees_all(&conf, 1, &(uint32_t){ 1 }, 1);
	}
	return 0;
}
