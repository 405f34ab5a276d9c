/* The folded path, see fold.h. */
#include "path/fold.h"

#include <stdlib.h>
#include <string.h>

#include "path/pools.h"

#define DURATIONS_KEPT 4096u

void fold_init(struct fold *fold)
{
	*fold = (struct fold){ 0 };
	texts_init(&fold->texts);
	map_init(&fold->node_by_key);
	map_init(&fold->row_by_key);
	map_init(&fold->queue_by_lock);
	map_init(&fold->pids);
	vec_push(&fold->nodes, ((struct fold_node){ 0 }));
	vec_push(&fold->stacks, ((struct fold_stack){ 0 }));
}

void fold_done(struct fold *fold)
{
	for (size_t i = 0; i < fold->rows.length; i++) {
		vec_done(&fold->rows.items[i].durations.kept);
		vec_done(&fold->rows.items[i].doings);
		vec_done(&fold->rows.items[i].vias);
	}
	vec_done(&fold->rows);
	vec_done(&fold->nodes);
	vec_done(&fold->stacks);
	vec_done(&fold->shares);
	vec_done(&fold->queues);
	vec_done(&fold->closed);
	vec_done(&fold->pools);
	line_done(&fold->line);
	map_done(&fold->node_by_key);
	map_done(&fold->row_by_key);
	map_done(&fold->queue_by_lock);
	map_done(&fold->pids);
	texts_done(&fold->texts);
}

static bool same_key(const struct fold_key *a, const struct fold_key *b)
{
	return a->who.program == b->who.program && a->who.thread == b->who.thread && a->function == b->function &&
	       a->what == b->what && a->doing == b->doing;
}

/* Of two words of names and what else tells keys apart; maps mix it. */
static uint64_t hash_three(uint64_t a, uint64_t b, uint64_t c)
{
	return hash_u64(a * 0x9e3779b97f4a7c15u + b) + c * 0xff51afd7ed558ccdu;
}

uint32_t fold_child(struct fold *fold, uint32_t node, const struct fold_key *key)
{
	uint64_t hash = hash_three((uint64_t)key->who.program << 32 | key->who.thread, (uint64_t)key->function << 32 | key->what,
				   (uint64_t)node << 8 | key->doing);

	for (uint32_t at = node; at; at = fold->nodes.items[at].parent)
		if (same_key(&fold->nodes.items[at].key, key))
			return at;
	for (;; hash++) {
		bool fresh = false;
		uint64_t *number = map_at(&fold->node_by_key, hash, &fresh);

		if (fresh) {
			*number = fold->nodes.length;
			vec_push(&fold->nodes, ((struct fold_node){ .key = *key, .parent = node }));
			return (uint32_t)fold->nodes.length - 1;
		}
		if (fold->nodes.items[*number].parent == node && same_key(&fold->nodes.items[*number].key, key))
			return (uint32_t)*number;
	}
}

uint32_t fold_row(struct fold *fold, uint32_t lock, struct role_name who, uint32_t function, bool runs)
{
	uint64_t hash = hash_three((uint64_t)who.program << 32 | who.thread, (uint64_t)lock << 32 | function, runs);

	for (;; hash++) {
		bool fresh = false;
		uint64_t *number = map_at(&fold->row_by_key, hash, &fresh);
		const struct fold_row *row;

		if (fresh) {
			*number = fold->rows.length;
			vec_push(&fold->rows, ((struct fold_row){ .lock = lock, .who = who, .function = function, .runs = runs,
				.number = (uint32_t)*number, .became = (uint32_t)*number, .durations.every = 1 }));
			return (uint32_t)fold->rows.length - 1;
		}
		row = &fold->rows.items[*number];
		if (row->lock == lock && row->who.program == who.program && row->who.thread == who.thread && row->function == function &&
		    row->runs == runs)
			return (uint32_t)*number;
	}
}

static void take_duration(struct durations *d, uint64_t ns)
{
	if (d->seen++ % d->every)
		return;
	if (d->kept.length == DURATIONS_KEPT) {
		for (size_t i = 0; i < DURATIONS_KEPT / 2; i++)
			d->kept.items[i] = d->kept.items[i * 2];
		d->kept.length = DURATIONS_KEPT / 2;
		d->every *= 2;
		if ((d->seen - 1) % d->every)
			return;
	}
	vec_push(&d->kept, ns);
}

static void count_link(struct fold *fold, uint32_t number, uint64_t ns)
{
	struct fold_row *row = &fold->rows.items[number];

	row->count++;
	fold->links_seen++;
	if (ns < fold->short_below_ns)
		fold->short_ns += ns;
	if (ns > row->longest_ns)
		row->longest_ns = ns;
	take_duration(&row->durations, ns);
}

static size_t doing_at(struct fold_row *row, uint32_t what, uint8_t doing)
{
	size_t i = 0;

	while (i < row->doings.length && (row->doings.items[i].what != what || row->doings.items[i].doing != doing))
		i++;
	if (i == row->doings.length)
		vec_push(&row->doings, ((struct row_doing){ .what = what, .doing = doing }));
	return i;
}

static void add_doing(struct fold *fold, uint32_t number, const struct fold_key *key, uint64_t ns, bool goes_on)
{
	struct fold_row *row = &fold->rows.items[number];
	size_t i = doing_at(row, key->what, key->doing);

	row->doings.items[i].ns += ns;
	row->doings.items[i].count += !(goes_on && fold->last_doing_row == number && fold->last_doing == i);
	fold->last_doing_row = number;
	fold->last_doing = (uint32_t)i;
}

static void add_via(struct fold_row *row, const struct fold_key *wait, uint64_t ns)
{
	for (size_t i = 0; i < row->vias.length; i++)
		if (same_key(&row->vias.items[i].wait, wait)) {
			row->vias.items[i].ns += ns;
			return;
		}
	vec_push(&row->vias, ((struct row_via){ *wait, ns }));
}

void fold_add(struct fold *fold, uint32_t row, uint32_t node, uint32_t via, uint64_t tag, uint64_t start_ns, uint64_t end_ns)
{
	struct fold_link *last = &fold->last;
	struct fold_node *n = &fold->nodes.items[node];
	uint64_t ns = end_ns - start_ns;
	bool goes_on = fold->part_links && last->row == row && last->tag == tag && last->end_ns == start_ns;

	fold->total_ns += ns;
	fold->by_class[n->key.doing] += ns;
	fold->rows.items[row].ns += ns;
	n->own_ns += ns;
	n->count++;
	if (ns > n->longest_ns)
		n->longest_ns = ns;
	line_add(&fold->line, row, start_ns, end_ns);
	add_doing(fold, row, &n->key, ns, goes_on);
	if (via)
		add_via(&fold->rows.items[row], &fold->nodes.items[via].key, ns);
	if (goes_on) {
		last->end_ns = end_ns;
		return;
	}
	if (fold->part_links == 1)
		fold->first = *last;
	else if (fold->part_links)
		vec_push(&fold->closed, ((struct closed_link){ last->end_ns - last->start_ns, last->row }));
	*last = (struct fold_link){ row, tag, start_ns, end_ns };
	fold->part_links++;
}

static uint32_t new_stack(struct fold *fold, uint32_t function)
{
	vec_push(&fold->stacks, ((struct fold_stack){ .function = function }));
	return (uint32_t)fold->stacks.length - 1;
}

static uint32_t stack_child(struct fold *fold, uint32_t parent, uint32_t function)
{
	uint32_t child;

	for (uint32_t i = fold->stacks.items[parent].child; i; i = fold->stacks.items[i].next)
		if (fold->stacks.items[i].function == function)
			return i;
	child = new_stack(fold, function);
	fold->stacks.items[child].next = fold->stacks.items[parent].child;
	fold->stacks.items[parent].child = child;
	return child;
}

static void add_stack(struct fold *fold, uint32_t root, const uint32_t *functions, size_t count)
{
	uint32_t at = root;

	fold->stacks.items[at].count++;
	while (count-- > 0) {
		if (fold->stacks.items[at].function == functions[count])
			continue; /* it calls itself */
		at = stack_child(fold, at, functions[count]);
		fold->stacks.items[at].count++;
	}
}

void fold_sample(struct fold *fold, uint32_t row, uint32_t node, const uint32_t *functions, size_t count)
{
	if (!fold->rows.items[row].stacks)
		fold->rows.items[row].stacks = new_stack(fold, 0);
	if (!fold->nodes.items[node].stacks)
		fold->nodes.items[node].stacks = new_stack(fold, 0);
	add_stack(fold, fold->rows.items[row].stacks, functions, count);
	add_stack(fold, fold->nodes.items[node].stacks, functions, count);
}

struct fold_queue *fold_queue(struct fold *fold, uint32_t lock)
{
	bool fresh = false;
	uint64_t *number = map_at(&fold->queue_by_lock, lock, &fresh);

	if (fresh) {
		*number = fold->queues.length;
		vec_push(&fold->queues, ((struct fold_queue){ .lock = lock }));
	}
	return &fold->queues.items[*number];
}

void fold_part_end(struct fold *fold)
{
	struct fold_link *last = &fold->last, *later = &fold->later;

	if (!fold->part_links)
		return;
	if (fold->has_later && last->row == later->row && last->tag == later->tag && last->end_ns == later->start_ns)
		last->end_ns = later->end_ns;
	else if (fold->has_later)
		count_link(fold, later->row, later->end_ns - later->start_ns);
	for (size_t i = 0; i < fold->closed.length; i++)
		count_link(fold, fold->closed.items[i].row, fold->closed.items[i].ns);
	if (fold->part_links > 1)
		count_link(fold, last->row, last->end_ns - last->start_ns);
	*later = fold->part_links > 1 ? fold->first : *last;
	fold->has_later = true;
	fold->part_links = 0;
	vec_clear(&fold->closed);
	fold->last_doing_row = UINT32_MAX;
}

/* ---- parts that were folded for themselves ---- */

/* Numbers of the part's names, nodes and stacks here. What is new here gets its number in the order in which the part had
 * met it, as it would have if the part had been folded here. */
struct joining {
	struct fold *fold;
	const struct fold *part;
	uint32_t *texts, *nodes, *rows, *stacks;
};

static struct role_name role_here(const struct joining *j, struct role_name who)
{
	return (struct role_name){ j->texts[who.program], j->texts[who.thread] };
}

static struct fold_key key_here(const struct joining *j, const struct fold_key *key)
{
	return (struct fold_key){ role_here(j, key->who), j->texts[key->function], j->texts[key->what], key->doing };
}

static void join_names(struct joining *j)
{
	const struct fold *part = j->part;

	for (uint32_t i = 0; i < part->texts.list.length; i++)
		j->texts[i] = texts_add(&j->fold->texts, texts_get(&part->texts, i));
	for (uint32_t i = 1; i < part->nodes.length; i++) {
		const struct fold_node *n = &part->nodes.items[i];
		struct fold_key key = key_here(j, &n->key);

		j->nodes[i] = fold_child(j->fold, j->nodes[n->parent], &key);
	}
	for (uint32_t i = 0; i < part->rows.length; i++) {
		const struct fold_row *row = &part->rows.items[i];

		j->rows[i] = fold_row(j->fold, j->texts[row->lock], role_here(j, row->who), j->texts[row->function], row->runs);
	}
}

static void join_row(const struct joining *j, const struct fold_row *from, struct fold_row *to)
{
	to->ns += from->ns;
	for (size_t i = 0; i < from->doings.length; i++) {
		const struct row_doing *d = &from->doings.items[i];
		size_t at = doing_at(to, j->texts[d->what], d->doing);

		to->doings.items[at].ns += d->ns;
		to->doings.items[at].count += d->count;
	}
	for (size_t i = 0; i < from->vias.length; i++) {
		struct fold_key wait = key_here(j, &from->vias.items[i].wait);

		add_via(to, &wait, from->vias.items[i].ns);
	}
}

/* Of the stacks' roots: they have no function. */
static void join_root(struct joining *j, uint32_t from, uint32_t *to)
{
	if (!from || j->stacks[from])
		return;
	*to = *to ? *to : new_stack(j->fold, 0);
	j->stacks[from] = *to;
}

static void join_stacks(struct joining *j)
{
	const struct fold *part = j->part;
	uint32_t *parents = mem_zalloc(arena_array_bytes(sizeof(*parents), part->stacks.length));
	uint32_t *row_of = mem_zalloc(arena_array_bytes(sizeof(*row_of), part->stacks.length));
	uint32_t *node_of = mem_zalloc(arena_array_bytes(sizeof(*node_of), part->stacks.length));

	for (uint32_t i = 0; i < part->rows.length; i++)
		row_of[part->rows.items[i].stacks] = i + 1;
	for (uint32_t i = 0; i < part->nodes.length; i++)
		node_of[part->nodes.items[i].stacks] = i + 1;
	for (uint32_t i = 1; i < part->stacks.length; i++)
		for (uint32_t child = part->stacks.items[i].child; child; child = part->stacks.items[child].next)
			parents[child] = i;
	for (uint32_t i = 1; i < part->stacks.length; i++) {
		if (parents[i])
			j->stacks[i] = stack_child(j->fold, j->stacks[parents[i]], j->texts[part->stacks.items[i].function]);
		else if (row_of[i])
			join_root(j, i, &j->fold->rows.items[j->rows[row_of[i] - 1]].stacks);
		else if (node_of[i])
			join_root(j, i, &j->fold->nodes.items[j->nodes[node_of[i] - 1]].stacks);
		j->fold->stacks.items[j->stacks[i]].count += part->stacks.items[i].count;
	}
	free(parents);
	free(row_of);
	free(node_of);
}

static void join_queues(const struct joining *j)
{
	for (size_t i = 0; i < j->part->queues.length; i++) {
		const struct fold_queue *from = &j->part->queues.items[i];
		struct fold_queue *to = fold_queue(j->fold, j->texts[from->lock]);

		to->waited_ns += from->waited_ns;
		to->waits += from->waits;
		to->held_ns += from->held_ns;
		to->most = from->most > to->most ? from->most : to->most;
		to->threads = from->threads > to->threads ? from->threads : to->threads;
	}
}

static void join_links(const struct joining *j)
{
	struct fold *fold = j->fold;

	fold->part_links = j->part->part_links;
	fold->first = j->part->first;
	fold->last = j->part->last;
	if (fold->part_links > 1)
		fold->first.row = j->rows[fold->first.row];
	if (fold->part_links)
		fold->last.row = j->rows[fold->last.row];
	vec_clear(&fold->closed);
	vec_reserve(&fold->closed, j->part->closed.length);
	for (size_t i = 0; i < j->part->closed.length; i++)
		vec_push(&fold->closed, ((struct closed_link){ j->part->closed.items[i].ns, j->rows[j->part->closed.items[i].row] }));
	line_join(&fold->line, &j->part->line, j->rows);
}

void fold_init_part(struct fold *part, const struct fold *fold)
{
	fold_init(part);
	line_like(&part->line, &fold->line);
}

void fold_join(struct fold *fold, const struct fold *part)
{
	struct joining j = { .fold = fold, .part = part,
			     .texts = mem_zalloc(arena_array_bytes(sizeof(*j.texts), part->texts.list.length)),
			     .nodes = mem_zalloc(arena_array_bytes(sizeof(*j.nodes), part->nodes.length)),
			     .rows = mem_zalloc(arena_array_bytes(sizeof(*j.rows), part->rows.length + 1)),
			     .stacks = mem_zalloc(arena_array_bytes(sizeof(*j.stacks), part->stacks.length)) };
	const struct map_slot *pid;

	join_names(&j);
	for (size_t i = 0; i < part->rows.length; i++)
		join_row(&j, &part->rows.items[i], &fold->rows.items[j.rows[i]]);
	for (size_t i = 0; i < part->nodes.length; i++) {
		const struct fold_node *from = &part->nodes.items[i];
		struct fold_node *to = &fold->nodes.items[j.nodes[i]];

		to->own_ns += from->own_ns;
		to->count += from->count;
		to->longest_ns = from->longest_ns > to->longest_ns ? from->longest_ns : to->longest_ns;
	}
	join_stacks(&j);
	join_queues(&j);
	for (size_t at = 0; (pid = map_next(&part->pids, &at)); )
		map_put(&fold->pids, pid->key, pid->value);
	fold->total_ns += part->total_ns;
	fold->unknown_ns += part->unknown_ns;
	for (unsigned i = 0; i < CLASS_CLASSES; i++)
		fold->by_class[i] += part->by_class[i];
	join_links(&j);
	free(j.texts);
	free(j.nodes);
	free(j.rows);
	free(j.stacks);
}

/* ---- at the end ---- */

/* So many samples tell where a row ran; of fewer only the place where most were counts. */
#define SAMPLES_ENOUGH 8
#define SPLIT_LEAST 20 /* per cent of a row's samples for a function to get a row of its own */

struct share {
	uint32_t function;
	uint32_t samples;
};

struct shares vec(struct share);

/* A function's own samples, and those of what it calls that is too little to be told. */
static void divide(const struct fold *fold, uint32_t stack, uint32_t all, struct shares *shares)
{
	const struct fold_stack *s = &fold->stacks.items[stack];
	uint32_t own = s->count;

	for (uint32_t i = s->child; i; i = fold->stacks.items[i].next)
		if ((uint64_t)fold->stacks.items[i].count * 100 >= (uint64_t)all * SPLIT_LEAST) {
			own -= fold->stacks.items[i].count;
			divide(fold, i, all, shares);
		}
	if (!own)
		return;
	for (size_t i = 0; i < shares->length; i++)
		if (shares->items[i].function == s->function) {
			shares->items[i].samples += own;
			return;
		}
	vec_push(shares, ((struct share){ s->function, own }));
}

/* The innermost function in which half of the samples were; 0 unknown. */
static uint32_t heavy(const struct fold *fold, uint32_t stack)
{
	uint32_t all = fold->stacks.items[stack].count, at = stack, best = 1;

	while (best) {
		best = 0;
		for (uint32_t i = fold->stacks.items[at].child; i; i = fold->stacks.items[i].next)
			if (fold->stacks.items[i].count * 2 > all)
				best = i;
		if (best)
			at = best;
	}
	return fold->stacks.items[at].function;
}

/* Moves a part of a row that ran to the row of one function. */
static uint32_t move_share(struct fold *fold, uint32_t from, uint32_t function, uint64_t part, uint64_t of, bool sampled)
{
	uint32_t number = fold_row(fold, 0, fold->rows.items[from].who, function, false);
	struct fold_row *to = &fold->rows.items[number], *row = &fold->rows.items[from];

	vec_push(&fold->shares, ((struct fold_share){ row->who, row->function, function, (uint32_t)part, (uint32_t)of }));
	to->ns += row->ns * part / of;
	to->by_samples |= sampled;
	/* Of each link its share. */
	to->count += row->count;
	if (row->longest_ns * part / of > to->longest_ns)
		to->longest_ns = row->longest_ns * part / of;
	for (size_t i = 0; i < row->durations.kept.length; i++)
		take_duration(&to->durations, row->durations.kept.items[i] * part / of);
	for (size_t i = 0; i < row->doings.length; i++) {
		const struct row_doing *d = &row->doings.items[i];
		size_t k = 0;

		while (k < to->doings.length && (to->doings.items[k].what != d->what || to->doings.items[k].doing != d->doing))
			k++;
		if (k == to->doings.length)
			vec_push(&to->doings, ((struct row_doing){ .what = d->what, .doing = d->doing }));
		to->doings.items[k].ns += d->ns * part / of;
		to->doings.items[k].count += d->count;
	}
	for (size_t i = 0; i < row->vias.length; i++)
		add_via(to, &row->vias.items[i].wait, row->vias.items[i].ns * part / of);
	return number;
}

static void divide_rows(struct fold *fold)
{
	size_t count = fold->rows.length;
	struct shares shares = { 0 };

	for (size_t i = 0; i < count; i++) {
		uint32_t stack = fold->rows.items[i].stacks, all = stack ? fold->stacks.items[stack].count : 0;
		uint32_t function = stack ? heavy(fold, stack) : 0;

		if (!fold->rows.items[i].runs)
			continue;
		vec_clear(&shares);
		if (all >= SAMPLES_ENOUGH) {
			divide(fold, stack, all, &shares);
		} else {
			vec_push(&shares, ((struct share){ function && all > 1 ? function : fold->rows.items[i].function, 1 }));
			all = 1;
		}
		for (size_t k = 0, most = 0; k < shares.length; k++) {
			uint32_t to = move_share(fold, (uint32_t)i, shares.items[k].function, shares.items[k].samples, all,
						 shares.length > 1 || (function && shares.items[k].function != fold->rows.items[i].function));

			if (shares.items[k].samples > most) {
				most = shares.items[k].samples;
				fold->rows.items[i].became = to;
			}
		}
		fold->rows.items[i].ns = 0;
	}
	vec_done(&shares);
}

/* Who has a lock that it did not take in the function in which others wait for it: where samples found it. */
static void place_holders(struct fold *fold)
{
	for (size_t i = 0; i < fold->rows.length; i++) {
		struct fold_row *row = &fold->rows.items[i];
		uint32_t function;
		bool is_there = false;

		row->stood = row->function;
		if (!row->lock || !row->stacks || (row->function && row->function != row->who.thread) ||
		    fold->stacks.items[row->stacks].count < SAMPLES_ENOUGH)
			continue;
		function = heavy(fold, row->stacks);
		for (size_t k = 0; k < fold->rows.length; k++) {
			const struct fold_row *other = &fold->rows.items[k];

			is_there |= other->lock == row->lock && other->function == function && other->who.program == row->who.program &&
				    other->who.thread == row->who.thread;
		}
		if (function && !is_there) {
			row->function = function;
			row->by_samples = true;
		}
	}
}

static int by_ns(const void *a, const void *b)
{
	const struct fold_row *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	return x->function < y->function ? -1 : x->function > y->function;
}

static int by_number(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static int doing_by_ns(const void *a, const void *b)
{
	const struct row_doing *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	return x->what < y->what ? -1 : x->what > y->what;
}

static int via_by_ns(const void *a, const void *b)
{
	const struct row_via *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	return x->wait.what < y->wait.what ? -1 : x->wait.what > y->wait.what;
}

static uint64_t median(struct durations *d)
{
	if (!d->kept.length)
		return 0;
	qsort(d->kept.items, d->kept.length, sizeof(*d->kept.items), by_number);
	return d->kept.items[d->kept.length / 2];
}

static void sort_row(struct fold_row *row)
{
	row->median_ns = median(&row->durations);
	if (row->doings.length)
		qsort(row->doings.items, row->doings.length, sizeof(*row->doings.items), doing_by_ns);
	if (row->vias.length)
		qsort(row->vias.items, row->vias.length, sizeof(*row->vias.items), via_by_ns);
}

/* Where each row stands now; those that were divided where most of them is. */
static void renumber_line(struct fold *fold, const uint32_t *became, size_t count)
{
	uint32_t *numbers = mem_alloc(arena_array_bytes(sizeof(*numbers), count + 1));

	memset(numbers, 0xff, count * sizeof(*numbers));
	for (size_t i = 0; i < fold->rows.length; i++)
		numbers[fold->rows.items[i].number] = (uint32_t)i;
	for (size_t i = 0; i < count; i++)
		if (numbers[i] == UINT32_MAX)
			numbers[i] = numbers[became[i]];
	line_renumber(&fold->line, numbers);
	free(numbers);
}

void fold_finish(struct fold *fold)
{
	size_t kept = 0, count;
	uint32_t *became;

	if (fold->has_later)
		count_link(fold, fold->later.row, fold->later.end_ns - fold->later.start_ns);
	fold->has_later = false;
	divide_rows(fold);
	place_holders(fold);
	count = fold->rows.length;
	became = mem_alloc(arena_array_bytes(sizeof(*became), count + 1));
	for (size_t i = 0; i < count; i++)
		became[i] = fold->rows.items[i].became;
	for (size_t i = fold->nodes.length; i-- > 1; ) {
		struct fold_node *n = &fold->nodes.items[i];

		n->total_ns += n->own_ns;
		fold->nodes.items[n->parent].total_ns += n->total_ns;
	}
	for (size_t i = 0; i < fold->rows.length; i++) {
		struct fold_row *row = &fold->rows.items[i];

		if (row->ns) {
			sort_row(row);
			fold->rows.items[kept++] = *row;
			continue;
		}
		vec_done(&row->durations.kept);
		vec_done(&row->doings);
		vec_done(&row->vias);
	}
	fold->rows.length = kept;
	if (kept)
		qsort(fold->rows.items, kept, sizeof(*fold->rows.items), by_ns);
	renumber_line(fold, became, count);
	free(became);
	pools_finish(fold);
}
