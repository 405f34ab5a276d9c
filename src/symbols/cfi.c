#include "symbols/cfi.h"

#include <dwarf.h>
#include <stdlib.h>

#include "base/map.h"
#include "symbols/cfi_program.h"

enum {
	MAX_FUNCTIONS = 8 << 20,
	MAX_ROWS = 64 << 20,
	MAX_CIES = 65536,    /* real modules have a few dozen, of some 30 bytes; */
	MAX_CIE_BYTES = 4096, /* without limits every function could point into one long CIE */
	RSP = 7,
};

struct parser {
	const struct cfi_section *section;
	struct cfi *cfi;
	struct map cies;                     /* offset in the section -> index + 1; 0: unusable */
	struct vec(struct cfi_cie) parsed;
};

/* An entry's head: false at the section's end. `body` is what lies behind the
 * CIE pointer, *ret_id that pointer, *ret_id_at its place. */
static bool entry_next(struct bytes *all, const uint8_t *start, struct bytes *body, uint64_t *ret_id, uint64_t *ret_id_at)
{
	if (all->end - all->at < 4)
		return false;
	uint64_t length = bytes_u32(all);
	bool wide = length == 0xffffffff;
	if (wide)
		length = bytes_u64(all);
	if (length == 0 || all->bad || length > (uint64_t)(all->end - all->at))
		return false;
	*body = (struct bytes){ .at = all->at, .end = all->at + length };
	all->at += length;
	*ret_id_at = (uint64_t)(body->at - start);
	*ret_id = wide ? bytes_u64(body) : bytes_u32(body);
	return true;
}

static bool cie_augmentation(struct parser *p, struct bytes *b, const char *text, struct cfi_cie *cie)
{
	struct cfi_pointers pointers = { .data = p->section->data, .address = p->section->address };
	if (text[0] == 0)
		return true;
	if (text[0] != 'z')
		return false;
	cie->augmented = true;
	uint64_t length = bytes_uleb(b);
	if (b->bad || length > (uint64_t)(b->end - b->at))
		return false;
	struct bytes data = { .at = b->at, .end = b->at + length };
	bytes_skip(b, length);
	for (const char *c = text + 1; *c; c++) {
		uint8_t encoding;
		switch (*c) {
		case 'R':
			cie->pointer_encoding = bytes_u8(&data);
			break;
		case 'P':
			encoding = bytes_u8(&data);
			cfi_pointer(&data, encoding & 0x0f, &pointers);
			break;
		case 'L':
			bytes_u8(&data);
			break;
		case 'S':
			cie->signal_frame = true;
			break;
		default:
			/* the length tells where it ends, but not what it means */
			return !data.bad;
		}
	}
	return !data.bad;
}

static bool cie_parse(struct parser *p, struct bytes b, struct cfi_cie *cie)
{
	*cie = (struct cfi_cie){ .pointer_encoding = DW_EH_PE_absptr };
	uint8_t version = bytes_u8(&b);
	if (version != 1 && version != 3 && version != 4)
		return false;
	const char *augmentation = (const char *)b.at;
	const uint8_t *end = memchr(b.at, 0, (size_t)(b.end - b.at));
	if (!end)
		return false;
	b.at = end + 1;
	if (version == 4 && (bytes_u8(&b) != 8 || bytes_u8(&b) != 0))
		return false;
	cie->code_align = bytes_uleb(&b);
	cie->data_align = bytes_sleb(&b);
	uint64_t return_register = version == 1 ? bytes_u8(&b) : bytes_uleb(&b);
	if (b.bad || return_register != 16 || cie->code_align > 16 || cie->data_align < -64 || cie->data_align > 64)
		return false;
	if (!cie_augmentation(p, &b, augmentation, cie))
		return false;
	struct cfi_pointers pointers = { .data = p->section->data, .address = p->section->address };
	struct cfi_state state = { .cfa_register = RSP };
	if (!cfi_run(b, cie, &pointers, &state, 0, NULL))
		return false;
	cie->initial = state;
	return true;
}

/* The CIE at an offset of the section, NULL when it is not usable. */
static const struct cfi_cie *cie_at(struct parser *p, uint64_t offset)
{
	bool is_new;
	uint64_t *known = map_at(&p->cies, offset, &is_new);
	if (!is_new)
		return *known ? &p->parsed.items[*known - 1] : NULL;
	if (offset >= p->section->bytes || p->cies.length > MAX_CIES)
		return NULL;
	struct bytes all = { .at = p->section->data + offset, .end = p->section->data + p->section->bytes }, body;
	uint64_t id, at;
	struct cfi_cie cie;
	if (!entry_next(&all, p->section->data, &body, &id, &at) || body.end - body.at > MAX_CIE_BYTES ||
	    id != (p->section->debug_frame ? (body.at - p->section->data - at == 8 ? UINT64_MAX : 0xffffffff) : 0) ||
	    !cie_parse(p, body, &cie))
		return NULL;
	vec_push(&p->parsed, cie);
	*known = p->parsed.length;
	return &p->parsed.items[*known - 1];
}

static bool fde_parse(struct parser *p, const struct cfi_cie *cie, struct bytes b)
{
	const struct cfi_section *s = p->section;
	struct cfi_pointers pointers = { .data = s->data, .address = s->address, .text_address = s->text_address,
					 .data_address = s->data_address };
	uint64_t start = cfi_pointer(&b, cie->pointer_encoding, &pointers);
	uint64_t length = cfi_pointer(&b, cie->pointer_encoding & 0x0f, &pointers);
	if (cie->augmented)
		bytes_skip(&b, bytes_uleb(&b));
	if (b.bad || length > UINT32_MAX || start > UINT64_MAX - length)
		return false;
	/* a function the linker threw away */
	if (length == 0 || start == 0)
		return true;
	pointers.function = start;
	struct cfi_function function = { .start = start, .end = start + length, .first_row = p->cfi->rows.length };
	struct cfi_state state = cie->initial;
	if (p->cfi->bounds_only) {
		function.first_row = p->cfi->functions.length; /* the order in which they came */
		vec_push(&p->cfi->functions, function);
		return true;
	}
	if (!cfi_run(b, cie, &pointers, &state, length, p->cfi)) {
		/* the function is known, but not how to leave it */
		p->cfi->rows.length = function.first_row;
		struct cfi_row row = { .rule = { .kind = UNWIND_BAD } };
		vec_push(&p->cfi->rows, row);
		p->cfi->skipped++;
	}
	function.row_count = (uint32_t)(p->cfi->rows.length - function.first_row);
	vec_push(&p->cfi->functions, function);
	return true;
}

void cfi_parse(const struct cfi_section *section, struct cfi *cfi)
{
	struct parser p = { .section = section, .cfi = cfi };
	struct bytes all = { .at = section->data, .end = section->data + section->bytes }, body;
	uint64_t id, at;

	while (entry_next(&all, section->data, &body, &id, &at)) {
		bool wide = (uint64_t)(body.at - section->data) - at == 8;
		if (cfi->functions.length >= MAX_FUNCTIONS || cfi->rows.length >= MAX_ROWS) {
			cfi->skipped++;
			break;
		}
		uint64_t cie_offset;
		if (section->debug_frame) {
			if (id == (wide ? UINT64_MAX : 0xffffffff))
				continue;
			cie_offset = id;
		} else {
			if (id == 0)
				continue;
			if (id > at) {
				cfi->skipped++;
				continue;
			}
			cie_offset = at - id;
		}
		const struct cfi_cie *cie = cie_at(&p, cie_offset);
		if (!cie || !fde_parse(&p, cie, body))
			cfi->skipped++;
	}
	map_done(&p.cies);
	vec_done(&p.parsed);
}

static int by_start(const void *a, const void *b)
{
	const struct cfi_function *x = a, *y = b;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->first_row < y->first_row ? -1 : x->first_row > y->first_row;
}

void cfi_sort(struct cfi *cfi)
{
	size_t kept = 0;
	bool sorted = true;
	for (size_t i = 1; i < cfi->functions.length && sorted; i++)
		sorted = by_start(&cfi->functions.items[i - 1], &cfi->functions.items[i]) < 0;
	if (!sorted)
		qsort(cfi->functions.items, cfi->functions.length, sizeof(cfi->functions.items[0]), by_start);
	for (size_t i = 0; i < cfi->functions.length; i++) {
		struct cfi_function f = cfi->functions.items[i];
		if (kept > 0) {
			struct cfi_function *last = &cfi->functions.items[kept - 1];
			/* the same function again, as when both sections have it */
			if (f.start == last->start || (f.start < last->end && f.end <= last->end))
				continue;
			if (f.start < last->end)
				last->end = f.start;
		}
		cfi->functions.items[kept++] = f;
	}
	cfi->functions.length = kept;
}

void cfi_done(struct cfi *cfi)
{
	vec_done(&cfi->functions);
	vec_done(&cfi->rows);
}
