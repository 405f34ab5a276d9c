/* The instructions of call frame information, run. */
#ifndef SYMBOLS_CFI_PROGRAM_H
#define SYMBOLS_CFI_PROGRAM_H

#include "symbols/cfi.h"
#include "symbols/cfi_bytes.h"

/* How one register of the caller is found. */
struct cfi_register {
	enum { CFI_SAME, CFI_UNDEFINED, CFI_OFFSET, CFI_EXPRESSION, CFI_REGISTER, CFI_OTHER } how;
	int64_t offset;                /* from the CFA; CFI_REGISTER: the register */
	struct bytes expression;
};

struct cfi_state {
	uint64_t cfa_register;         /* CFI_CFA_EXPRESSION: by expression */
	int64_t cfa_offset;
	struct bytes cfa_expression;
	struct cfi_register rbp, ra;
};
#define CFI_CFA_EXPRESSION UINT64_MAX

struct cfi_pointers {                  /* what encoded pointers are relative to */
	const uint8_t *data;           /* section */
	uint64_t address, text_address, data_address, function;
};

struct cfi_cie {
	uint64_t code_align;
	int64_t data_align;
	uint8_t pointer_encoding;
	bool augmented, signal_frame;
	struct cfi_state initial;
	struct bytes instructions;
};

/* A pointer as DW_EH_PE_ says; indirect ones are not followed but `bad`. */
uint64_t cfi_pointer(struct bytes *b, uint8_t encoding, const struct cfi_pointers *pointers);

/* Runs instructions from *state on; adds a row wherever the rule changes
 * (none when `rows` is NULL: a CIE's own). False when they cannot be run. */
bool cfi_run(struct bytes instructions, const struct cfi_cie *cie, const struct cfi_pointers *pointers,
	     struct cfi_state *state, uint64_t length, struct cfi *rows);

#endif
