/* What probes record instead of their first arguments: found in debug information, or named as registers. */
#ifndef RECORD_PROBE_VALUES_H
#define RECORD_PROBE_VALUES_H

#include "record/probe_points.h"

/* "q->length, job->id, name:string", at most PROBE_FIELDS, at each of the point's places; they must be the same at
 * all of them, for one event's meaning cannot change. */
int probe_values_find(struct arena *arena, struct probe_point *point, const char *text, struct err *err);
/* "%fields=r15,[rsp+48],[rdi:4]%text=rcx", either may be missing; of a mark "%fields=arg1,arg5%text=arg2". */
int probe_values_read(const char *text, struct probe_point *point, struct err *err);
/* A register's place in struct user_registers (record/bpf/registers.bpf.h). */
uint16_t probe_values_register(uint8_t number);

#endif
