/* What the stepping program and the recorder share. */
#ifndef RECORD_STEP_MAPS_H
#define RECORD_STEP_MAPS_H

#include "trace/event.h"

struct step_wish {
	u32 pid, tid;            /* pid 0: whom the recording is about; tid 0: all threads */
	u64 most;                /* places passed that are recorded */
	u64 taken;
};

#endif
