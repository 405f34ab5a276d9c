/* The unwinder: walks the current thread's user stack by the tables that the
 * agent has laid into maps (record/stack_maps.h).
 *
 * The stack is read through the page tables (memory.bpf.h), where that does not
 * go in windows that are copied; of each address the rule is remembered, so that
 * a walk in known territory costs two look-ups a frame. A stack that was shown
 * before, by this thread or another one of the same mappings, is recognised by the
 * words that decided the walk, before anything is walked. */
#ifndef RECORD_BPF_UNWIND_BPF_H
#define RECORD_BPF_UNWIND_BPF_H

#include "record/bpf/python.bpf.h"
#include "record/bpf/walk.bpf.h"

/* system calls */
#define CALL_EXECVE 59
#define CALL_EXECVEAT 322
#define USER_CODE 0x33               /* values of the register cs */
#define USER_CODE_NARROW 0x23

/* A word that decided the walk. */
static __always_inline void stack_decides(struct walk *w, u64 address, u64 word)
{
	u64 slot = (address - w->start) >> 3;
	u32 n = w->slot_count;
	w->hash = stack_mix(w->hash, word);
	if (n < STACK_LAST_SLOTS)
		w->slots[n & (STACK_LAST_SLOTS - 1)] = slot;
	w->slot_count = n + 1;
	if (slot > w->top)
		w->top = slot;
}

static __always_inline int stack_read(struct walk *w, u64 address, u64 *ret_word)
{
	if (stack_word(w, address, ret_word) < 0)
		return -1;
	stack_decides(w, address, *ret_word);
	return 0;
}

/* The frame pointer counts only when it is used; often it is just a register. */
static __always_inline int stack_read_bp(struct walk *w, u64 address, u64 *ret_word)
{
	if (stack_word(w, address, ret_word) < 0)
		return -1;
	w->bp_slot = address;
	return 0;
}

static __always_inline void stack_use_bp(struct walk *w)
{
	if (w->bp_slot == 1)
		return;
	if (w->bp_slot)
		stack_decides(w, w->bp_slot, w->registers.bp);
	w->bp_slot = 1;
	w->fixed = 1;
}

#define UNWIND_READ(context, address, ret_word) stack_read(context, address, ret_word)
#define UNWIND_READ_BP(context, address, ret_word) stack_read_bp(context, address, ret_word)
#define UNWIND_USE_BP(context) stack_use_bp(context)
#include "symbols/unwind_step.h"

/* The rule's number for an address by mappings, pages and rows; rules without
 * words of their own have their kind's number. Not static, as stack_walk: so
 * the verifier looks at it once, and not in every state in which it is called. */
__noinline u32 stack_rule(u32 first, u32 mappings, u64 address)
{
	u32 at = first, count = mappings;
	for (int i = 0; i < STACK_LAYOUT_STEPS && count > 1; i++) {
		u32 half = count / 2, probe = at + half;
		struct stack_mapping *m = bpf_map_lookup_elem(&stack_mappings, &probe);
		if (!m)
			return UNWIND_NONE;
		if (m->start <= address)
			at = probe;
		count -= half;
	}
	struct stack_mapping *m = bpf_map_lookup_elem(&stack_mappings, &at);
	if (!m || address < m->start || address >= m->end)
		return UNWIND_NO_MAPPING;
	switch (m->kind) {
	case STACK_MAPPING_TABLE:
		break;
	case STACK_MAPPING_JIT:
		return UNWIND_JIT;
	case STACK_MAPPING_PENDING:
		return UNWIND_PENDING;
	case STACK_MAPPING_BAD:
		return UNWIND_BAD;
	default:
		return UNWIND_FRAME_POINTER;
	}
	u64 offset = address - m->table;
	if (address < m->table || offset >> UNWIND_PAGE_SHIFT >= m->pages)
		return UNWIND_NONE;
	u32 page = m->page + (offset >> UNWIND_PAGE_SHIFT);
	struct stack_page *p = bpf_map_lookup_elem(&stack_pages, &page);
	if (!p)
		return UNWIND_NONE;
	u64 laid = *(volatile u64 *)&p->rows;
	if (!laid)
		return UNWIND_PENDING;
	u32 shard = STACK_PAGE_ROW(laid) >> STACK_SHARD_SHIFT, zero = 0;
	void *rows = bpf_map_lookup_elem(&stack_rows, &shard);
	if (!rows)
		return UNWIND_NONE;
	struct stack_shard *s = bpf_map_lookup_elem(rows, &zero);
	if (!s)
		return UNWIND_NONE;
	u32 row = STACK_PAGE_ROW(laid) & (STACK_SHARD_ROWS - 1), key = (offset & 4095) << UNWIND_ROW_SHIFT | UNWIND_RULE_MASK;
	count = STACK_PAGE_COUNT(laid);
	for (int i = 0; i < STACK_PAGE_STEPS && count > 1; i++) {
		u32 half = count / 2;
		if (s->rows[(row + half) & (STACK_SHARD_ROWS - 1)] <= key)
			row += half;
		count -= half;
	}
	return s->rows[row & (STACK_SHARD_ROWS - 1)] & UNWIND_RULE_MASK;
}

static __always_inline u32 rule_find(struct walk *w, u64 address)
{
	u64 hash = stack_mix((u64)w->layout << 32 | w->layout, address);
	u32 at = hash >> (64 - STACK_MEMO_SHIFT), rule;
	u64 *memo = bpf_map_lookup_elem(&stack_memo, &at);
	if (!memo)
		return UNWIND_NONE;
	/* the hash's lower bits and the rule in one word, which is written whole */
	u64 known = *memo;
	if (known >> UNWIND_ROW_SHIFT == (hash << UNWIND_ROW_SHIFT) >> UNWIND_ROW_SHIFT)
		return known & UNWIND_RULE_MASK;
	rule = stack_rule(w->first, w->mappings, address);
	/* what is not there yet may be there the next time */
	if (rule != UNWIND_PENDING)
		*memo = hash << UNWIND_ROW_SHIFT | rule;
	return rule;
}

/* Walks to the next frame; not 0 behind the last one. Not static, for the verifier to follow it once. */
__noinline int walk_step(struct walk *w)
{
	if (!w)
		return 1;
	u64 ip = w->registers.exact ? w->registers.ip : w->registers.ip - 1;

	w->frames[w->message.count++ & STACK_FRAMES_MAX] = ip;
	u32 number = rule_find(w, ip);
	struct unwind_rule *rule = bpf_map_lookup_elem(&stack_rules, &number);
	if (!rule)
		return 1;
	/* a frame pointer that was none led here */
	if (number == UNWIND_NO_MAPPING && w->registers.guessed)
		w->message.count--;
	w->kinds |= 1u << (rule->kind & 31);
	int step = unwind_step(w, *rule, &w->registers);
	w->status = step == UNWIND_STEP_ON ? STACK_STATUS_too_deep : step;
	return step != UNWIND_STEP_ON;
}

static long walk_frame(u32 index, void *data)
{
	return LOOP_ENDS(walk_step(*(struct walk **)data));
}

/* Number of a stack by its hash; a new one is told to the agent. */
__noinline u32 stack_number(struct walk *w, u64 hash)
{
	u32 id = w ? stack_slot(w, hash) : 0;
	if (!id || !w->claimed)
		return id;
	w->message.id = id;
	u64 bytes = sizeof(w->message) + 8ull * (w->message.count & STACK_FRAMES_MAX);
	return stack_told(w, id, bpf_ringbuf_output(&stack_ring, &w->message, bytes, BPF_RB_NO_WAKEUP) == 0);
}

/* The first of the places where stacks shown here may be. Of threads' stacks, which
 * begin with pages, what is equally deep is equally far into its page. */
static __always_inline u32 last_places(struct walk *w)
{
	u64 hash = stack_mix(stack_mix(w->layout, w->ip), w->start & 4095);
	return hash >> (64 - STACK_LAST_SHIFT) & ~(STACK_LAST_WAYS - 1);
}

#define LAST_AT_ONCE 8u

/* So many of the words from one on, taken into the hash; 0 when one is not there. Not static, for the verifier to follow
 * a few of the words and not each. */
__noinline u64 last_hash_on(struct walk *w, struct stack_last *last, u64 hash, u32 from)
{
	if (!w || !last)
		return 0;
	for (u32 i = 0; i < LAST_AT_ONCE; i++) {
		u32 at = from + i;
		KEEP_APART(at);
		if (at >= last->count || at >= STACK_LAST_SLOTS)
			break;
		u64 address = w->start + 8ull * last->words[at];
		u64 page = walk_page(w, address);
		if (!page)
			return 0;
		hash = stack_mix(hash, kernel_word((void *)(page + (address & 4095))));
	}
	return hash;
}

/* Of the words by themselves; 0 when one is not there. */
static __always_inline u64 last_hash(struct walk *w, struct stack_last *last, u32 count)
{
	u64 hash = 0;
	if (count > STACK_LAST_SLOTS)
		return 0;
	for (u32 from = 0; from < STACK_LAST_SLOTS; from += LAST_AT_ONCE) {
		/* older verifiers follow a limit that is a constant, and no other */
		KEEP_APART(count);
		if (from >= count)
			break;
		hash = last_hash_on(w, last, hash, from);
		if (!hash)
			return 0;
	}
	__asm__ volatile("" ::: "memory");
	return hash;
}

/* The stack's number, unless it was written over meanwhile. */
static __always_inline u32 last_number(const struct stack_last *last, u32 sequence)
{
	u32 id = *(volatile u32 *)&last->id;
	__asm__ volatile("" ::: "memory");
	return *(volatile u32 *)&last->sequence == sequence ? id : 0;
}

/* The same of words that were copied into the walk's window. */
__noinline u64 last_window_on(struct walk *w, struct stack_last *last, u64 hash, u32 from)
{
	if (!w || !last)
		return 0;
	for (u32 i = 0; i < LAST_AT_ONCE; i++) {
		u32 at = from + i;
		KEEP_APART(at);
		if (at >= last->count || at >= STACK_LAST_SLOTS)
			break;
		hash = stack_mix(hash, w->window[last->words[at] & (STACK_WINDOW_WORDS - 1)]);
	}
	return hash;
}

/* The number of the stack at that place if it is the current one, else 0. */
__noinline u32 last_is(struct walk *w, u32 place)
{
	struct stack_last *last = w ? bpf_map_lookup_elem(&stack_lasts, &place) : NULL;
	if (!last)
		return 0;
	u32 sequence = *(volatile u32 *)&last->sequence, at = 0;
	if ((sequence & 1) || last->layout != w->layout || last->ip != w->ip ||
	    (last->fixed && (last->sp != w->start || last->bp != w->bp)) || last->id >> STACK_GENERATION_SHIFT != w->generation)
		return 0;
	if (!last->runs)
		return w->memory.base && last_hash(w, last, last->count) == last->hash ? last_number(last, sequence) : 0;
	if (w->sleeper)
		return 0;
	for (u32 i = 0; i < STACK_LAST_RUNS && i < last->runs; i++) {
		u32 words = last->run[i].words, bytes = words * 8;
		if (at + words >= STACK_WINDOW_WORDS)
			return 0;
		KEEP_LIMITS(bytes);
		KEEP_LIMITS(at);
		if (bpf_probe_read_user(&w->window[at & (STACK_WINDOW_WORDS - 1)], bytes & (STACK_WINDOW_BYTES - 1),
					(void *)(w->start + 8ull * last->run[i].first)) < 0)
			return 0;
		at += words;
	}
	u64 hash = 0;
	for (u32 from = 0; from < STACK_LAST_SLOTS && from < last->count; from += LAST_AT_ONCE)
		hash = last_window_on(w, last, hash, from);
	return hash == last->hash ? last_number(last, sequence) : 0;
}

/* The stack's number when it was shown before; 0 when not. */
__noinline u32 stack_recognise(struct walk *w)
{
	if (!w)
		return 0;
	u32 first = last_places(w), id = 0;
	for (u32 way = 0; way < STACK_LAST_WAYS && !id; way++)
		id = last_is(w, first + way);
	return id;
}

/* Takes a word that decides into the runs; leaves one run too many where there
 * is no room. Words come innermost first, but for saved frame pointers, which
 * may lie in a run that is finished. */
static long run_add(u32 index, void *data)
{
	struct walk *w = *(struct walk **)data;
	if (!w)
		return 1;
	u32 slot = w->slots[index & (STACK_LAST_SLOTS - 1)], at = 0, count = w->run_count;
	for (u32 i = 0; i < STACK_LAST_RUNS && i < count; i++) {
		struct stack_run *run = &w->run[i];
		u32 first = run->first, end = first + run->words;
		if (i == count - 1 && slot >= end && slot < end + STACK_RUN_GAP && at + slot - first < STACK_WINDOW_WORDS - 1) {
			end = slot + 1;
			run->words = end - first;
		}
		if (slot >= first && slot < end) {
			w->slots[index & (STACK_LAST_SLOTS - 1)] = at + slot - first;
			return 0;
		}
		at += end - first;
	}
	/* with the words below, where a saved frame pointer may be that counts later */
	u32 below = slot < STACK_RUN_BELOW ? slot : STACK_RUN_BELOW;
	w->run_count = count + 1;
	if (count >= STACK_LAST_RUNS || at + below >= STACK_WINDOW_WORDS - 1) {
		w->run_count = STACK_LAST_RUNS + 1;
		return 1;
	}
	w->slots[index & (STACK_LAST_SLOTS - 1)] = at + below;
	w->run[count] = (struct stack_run){ .first = slot - below, .words = below + 1 };
	return 0;
}

/* Where to keep what is shown: where nothing is, or what nobody can show any
 * more, else in the places in turn. */
static __always_inline struct stack_last *last_to_replace(struct walk *w)
{
	u32 first = last_places(w), place = first + (w->turn++ & (STACK_LAST_WAYS - 1));
	for (u32 way = 0; way < STACK_LAST_WAYS; way++) {
		u32 at = first + way;
		struct stack_last *last = bpf_map_lookup_elem(&stack_lasts, &at);
		if (last && (!last->ip || last->id >> STACK_GENERATION_SHIFT != w->generation)) {
			place = at;
			break;
		}
	}
	return bpf_map_lookup_elem(&stack_lasts, &place);
}

/* Kept for recognition, unless another processor is at the same place. */
__noinline int stack_remember(struct walk *w, u32 id)
{
	struct stack_last *last = w ? last_to_replace(w) : NULL;
	if (!last || w->slot_count > STACK_LAST_SLOTS || w->top > 0xffff)
		return 0;
	w->run_count = 0;
	if (!w->memory.base)
		bpf_loop(w->slot_count, run_add, &w, 0);
	if (w->run_count > STACK_LAST_RUNS)
		return 0;
	u32 sequence = last->sequence;
	if ((sequence & 1) || __sync_val_compare_and_swap(&last->sequence, sequence, sequence + 1) != sequence)
		return 0;
	last->layout = w->layout;
	last->id = id;
	last->ip = w->ip;
	last->sp = w->start;
	last->bp = w->bp;
	last->hash = w->hash;
	last->count = w->slot_count;
	last->runs = w->run_count;
	last->fixed = w->fixed;
	__builtin_memcpy(last->run, w->run, sizeof(last->run));
	__builtin_memcpy(last->words, w->slots, sizeof(last->words));
	__asm__ volatile("" ::: "memory");
	*(volatile u32 *)&last->sequence = sequence + 2;
	return 0;
}

/* The bytes of the walk's copy to the agent, which will have the tables later. */
static __always_inline u32 stack_copy_tell(struct walk *w, u32 bytes)
{
	u32 id = stack_number_once();
	if (!id)
		return 0;
	w->copy.type = STACK_MESSAGE_COPY;
	w->copy.id = id;
	w->copy.tgid = w->message.tgid;
	w->copy.bytes = bytes;
	w->copy.ip = w->ip;
	w->copy.sp = w->start;
	w->copy.bp = w->bp;
	w->copy.di = w->registers.di;
	w->copy.narrow = w->narrow;
	w->copy.time_ns = bpf_ktime_get_ns();
	/* the agent comes by itself; copies fill the ring faster than it expects */
	u64 wake = bpf_ringbuf_query(&stack_ring, BPF_RB_AVAIL_DATA) > STACK_RING_BYTES / 4 ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP;
	KEEP_LIMITS(bytes);
	if (bpf_ringbuf_output(&stack_ring, &w->copy, sizeof(w->copy) + (bytes & (2 * STACK_COPY_BYTES - 1)), wake) == 0) {
		stack_count(STACK_COUNT_COPIED);
		return id;
	}
	stack_count(STACK_COUNT_LOST);
	return 0;
}

__noinline u32 stack_copy_out(struct walk *w)
{
	if (!w)
		return 0;
	u64 start = w->start;
	/* by the page: the stack's end may be near */
	u32 bytes = 4096 - (start & 4095);
	if (w->narrow || bpf_probe_read_user(w->copied, bytes & 8191, (void *)start) < 0)
		bytes = 0;
	for (u32 i = 1; i < STACK_COPY_BYTES / 4096 && bytes; i++) {
		if (bpf_probe_read_user(w->copied + (bytes & (STACK_COPY_BYTES - 1)), 4096, (void *)(start + bytes)) < 0)
			break;
		bytes += 4096;
	}
	return stack_copy_tell(w, bytes);
}

/* Readies a walk by the process's tables; 0 when the unwinder has none. */
__noinline int walk_tables(struct walk *w)
{
	if (!w)
		return 0;
	u32 tgid = w->message.tgid, zero = 0;
	struct stack_process *process = bpf_map_lookup_elem(&stack_processes, &tgid);
	struct stack_now *now = bpf_map_lookup_elem(&stack_now, &zero);
	if (!now)
		return 0;
	w->base = w->bytes = 0;
	walk_forget_page(w);
	w->generation = now->generation & STACK_GENERATION_MASK;
	w->memory.base = now->memory;
	w->memory.levels = now->levels;
	w->python = 0;
	if (!process)
		return 0;
	if (!process->used)
		process->used = 1;
	w->python = process->python;
	w->python_key = process->python_key;
	w->python_names = process->python_names;
	w->layout = process->layout;
	w->first = process->first;
	w->mappings = process->count;
	return 1;
}

/* Whether the process's tables, which are being made anew, may still lack the mapping. */
__noinline int walk_doubts(struct walk *w)
{
	if (!w || w->status != STACK_STATUS_no_mapping)
		return false;
	u32 tgid = w->message.tgid;
	struct stack_process *process = bpf_map_lookup_elem(&stack_processes, &tgid);
	if (!process || !process->doubts)
		return false;
	process->doubts--;
	return true;
}

/* Walks; false when the tables do not suffice, so that the agent has to do it by a copy. */
static __always_inline bool walk_frames(struct walk *w)
{
	w->hash = w->top = w->bp_slot = 0;
	w->slot_count = w->fixed = w->kinds = 0;
	w->status = STACK_STATUS_too_deep;
	if (w->narrow) {
		/* where it was, and why no more is known */
		w->frames[0] = w->ip;
		w->message.count = 1;
		w->status = STACK_STATUS_narrow;
	} else {
		bpf_loop(STACK_FRAMES_MAX, walk_frame, &w, 0);
	}
	if (w->status == STACK_STATUS_pending)
		return false;
	if (walk_doubts(w))
		return false;
	stack_count(STACK_COUNT_WALKED);
	w->message.type = STACK_MESSAGE_USER;
	w->message.layout = w->layout;
	w->message.status = w->status;
	w->message.time_ns = bpf_ktime_get_ns();
	return true;
}

#define FRAMES_AT_ONCE 8u

/* So many frames from one on, taken into the hash. */
__noinline u64 frames_hash_on(struct walk *w, u64 hash, u32 from, u32 count)
{
	for (u32 i = 0; w && i < FRAMES_AT_ONCE; i++) {
		u32 at = from + i;
		KEEP_APART(at);
		if (at >= count || at >= STACK_FRAMES_MAX)
			break;
		hash = stack_mix(hash, w->frames[at]);
	}
	return hash;
}

static __always_inline u64 frames_hash(struct walk *w, u64 hash, u32 count)
{
	for (u32 from = 0; from < STACK_FRAMES_MAX; from += FRAMES_AT_ONCE) {
		if (from >= count)
			break;
		hash = frames_hash_on(w, hash, from, count);
	}
	return hash;
}

/* Number of the stack that was walked. */
__noinline u32 stack_walked(struct walk *w)
{
	if (!w)
		return 0;
	if (w->status == STACK_STATUS_no_page || w->kinds & (1u << UNWIND_DEREF_RBP | 1u << UNWIND_DEREF_RSP | 1u << UNWIND_SIGNAL))
		w->fixed = 1;
	return stack_number(w, frames_hash(w, stack_mix(w->layout, w->status), w->message.count));
}

/* `often`: it may be one that was shown before. To know that again is most of what the verifier has to look at. */
static __always_inline u32 stack_walk_in(struct walk *w, bool often)
{
	if (!walk_tables(w))
		return stack_copy_out(w);
	u32 id = often ? stack_recognise(w) : 0;
	if (id) {
		stack_count(STACK_COUNT_RECOGNISED);
		return w->python ? python_stack(w, id) : id;
	}
	if (!walk_frames(w))
		return stack_copy_out(w);
	id = stack_walked(w);
	/* in rdi, a register decides that nobody compares */
	if (often && id && !(w->kinds & 1u << UNWIND_RA_RDI))
		stack_remember(w, id);
	return w->python ? python_stack(w, id) : id;
}

/* Number of the kernel stack that lies in the frames of the walk begun last. */
__noinline u32 stack_number_kernel(u32 count)
{
	u32 zero = 0;
	u32 *level = bpf_map_lookup_elem(&stack_level, &zero);
	if (!level)
		return 0;
	u32 at = *level - 1;
	struct walk *w = bpf_map_lookup_elem(&stack_walks, &at);
	if (!w)
		return 0;
	w->message.type = STACK_MESSAGE_KERNEL;
	w->message.tgid = w->message.layout = 0;
	w->message.status = STACK_STATUS_whole;
	w->message.count = count;
	w->message.time_ns = bpf_ktime_get_ns();
	return stack_number(w, frames_hash(w, stack_mix(0, count), count));
}

static __always_inline struct walk *walk_begin(u32 **ret_level)
{
	u32 zero = 0;
	u32 *level = bpf_map_lookup_elem(&stack_level, &zero);
	if (!level)
		return NULL;
	u32 at = *level;
	struct walk *w = bpf_map_lookup_elem(&stack_walks, &at);
	if (!w)
		return NULL;
	*level = at + 1;
	*ret_level = level;
	return w;
}

/* Whose walk it is: a pointer that the verifier knows as one is not passed on to what it looks at by itself. */
static __always_inline void walk_of(struct walk *w, struct task_struct *task, struct pt_regs *registers)
{
	w->task = (u64)task;
	w->entry = (u64)registers;
}

/* Where the thread left user mode; false when it has no stack of the user's. */
__noinline int walk_start(struct walk *w)
{
	if (!w)
		return false;
	struct task_struct *task = (void *)w->task;
	struct pt_regs *registers = (void *)w->entry;
	u64 segment = GET(registers, cs);
	if (segment != USER_CODE && segment != USER_CODE_NARROW)
		return false;
	w->ip = GET(registers, ip);
	w->start = GET(registers, sp);
	w->bp = GET(registers, bp);
	w->registers = (struct unwind_registers){ .ip = w->ip, .sp = w->start, .bp = w->bp, .di = GET(registers, di), .exact = 1 };
	w->narrow = segment != USER_CODE;
	w->fs = GET(task, thread.fsbase);
	w->memory.root = memory_root(task);
	w->message.tgid = GET(task, tgid);
	w->message.count = 0;
	return true;
}

static __always_inline u32 walk_current(bool often)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct pt_regs *registers = (struct pt_regs *)bpf_task_pt_regs((void *)task);
	u32 *level, id = 0;
	/* kernel threads have no stack of the user */
	if (!GET(task, mm) || (GET(task, flags) & 0x200000))
		return 0;
	/* within execve there comes a moment when the old program's stack is gone and the new one's not yet in use */
	u64 call = GET(registers, orig_ax), word;
	if ((call == CALL_EXECVE || call == CALL_EXECVEAT) && bpf_probe_read_user(&word, 8, (void *)GET(registers, sp)) < 0)
		return 0;
	struct walk *w = walk_begin(&level);
	if (!w)
		return 0;
	walk_of(w, task, registers);
	if (walk_start(w))
		id = stack_walk_in(w, often);
	(*level)--;
	return id;
}

__noinline u32 stack_walk(void)
{
	return walk_current(true);
}

/* For programs that run seldom: a microsecond more for each stack, and half of the time that it takes
 * to load them. */
__noinline u32 stack_walk_seldom(void)
{
	return walk_current(false);
}

#endif
