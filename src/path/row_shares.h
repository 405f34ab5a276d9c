/* How much of what is done at a place of a script is a row's of the fold: where the place alone does not tell, samples do. */
#ifndef PATH_ROW_SHARES_H
#define PATH_ROW_SHARES_H

#include "path/script.h"

struct own_samples {
	double all, told, on_stack; /* told: the fold gave them to the function; on_stack: it was running then */
};

struct asked_lock {
	uint32_t lock;
	struct role_name who;
	struct own_samples samples;
};

struct locking_role {
	struct role_name who;
	double share;
};

/* The caller fills in what is before `asked`. */
struct row_shares {
	struct naming *naming;
	const struct script *script;
	const struct fold *fold;
	const struct holds *holds;
	struct vec(struct asked_lock) asked; /* samples of roles, by the lock that they had */
	struct vec(struct locking_role) locking;
};

/* Another row, or another function, is asked about from here on. */
void row_shares_forget(struct row_shares *shares);
void row_shares_done(struct row_shares *shares);
/* True when who changes the row changes what that role does in its function, too. */
bool row_shares_changes(const struct fold_row *row, struct role_name who);
/* The part of the place's work; `sigmas` more or less where samples tell. */
double row_share(struct row_shares *shares, const struct op_place *place, const struct fold_row *row, double sigmas);
/* The same of work without the row's lock: it is done in the row's function all the same. */
double row_share_outside(struct row_shares *shares, const struct op_place *place, const struct fold_row *row, double sigmas);
/* What part of a role's work it is to take locks and to give them back: it spins for them, calls the kernel, wakes others. */
double row_share_locking(struct row_shares *shares, struct role_name who);

#endif
