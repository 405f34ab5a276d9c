/* What is kept between the questions of a session. Private to the diagnosis. */
#ifndef DIAGNOSE_DIAGNOSER_H
#define DIAGNOSE_DIAGNOSER_H

#include "diagnose/busy.h"
#include "diagnose/hangs.h"
#include "symbols/address_names.h"

struct diagnoser {
	const struct scene *scene;
	struct names *names;
	struct ends ends;
	struct side side;
	struct busies *busies;
	struct address_names *addresses;
	struct hangs_found hangs_found;
	struct arena arena;
};

#endif
