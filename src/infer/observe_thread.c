/* See observe_thread.h. */
#include "infer/observe_thread.h"

/* More than this is not held back for one system call: a call that goes on for
 * very long is told by its parts instead. */
#define HELD_MAX 512

static uint64_t not_before(const struct observed *observed, uint64_t time)
{
	return time < observed->latency.last ? observed->latency.last : time;
}

static uint32_t depth_of(const struct latency_rules *rules, uint32_t site)
{
	return rules->contexts->sites.items[site].depth;
}

/* The site of a sight, 0 when its stack cannot be placed. */
static uint32_t site_of(struct observed *observed, const struct latency_rules *rules, const struct sight *sight,
			uint32_t call)
{
	if (!sight->user && !observed->kernel_thread)
		return 0;
	return contexts_site(rules->contexts, observed->program, sight->user, call, sight->kernel);
}

static void account_off(struct observed *observed, uint64_t time)
{
	uint64_t since = observed->off_since, woken = observed->woken_at;

	if (!since || time < since)
		return;
	if (!observed->waits)
		woken = since;
	if (!woken || woken > time)
		woken = time;
	observed->latency.off_ns += woken - since;
	observed->latency.queued_ns += time - woken;
}

/* `same`: depth down to which the calls are the last stack's. */
static void apply(struct observed *observed, const struct latency_rules *rules, const struct sight *sight, uint32_t call,
		  uint32_t same)
{
	uint64_t time = not_before(observed, sight->time);
	uint32_t site;

	switch ((enum sight_kind)sight->kind) {
	case SIGHT_woken:
		if (observed->off_since && !observed->woken_at)
			observed->woken_at = time;
		return;
	case SIGHT_in:
		if (!observed->off_since) {
			/* It was off the processor already when it was first looked at. */
			if (!observed->latency.last)
				return;
			observed->off_since = observed->latency.last;
			observed->waits = true;
			observed->off_site = 0;
		}
		account_off(observed, time);
		observed->off_since = 0;
		if (observed->off_site)
			latency_see(&observed->latency, rules, time, observed->off_site,
				    depth_of(rules, observed->off_site), UINT32_MAX, 0);
		return;
	case SIGHT_stack:
	case SIGHT_out:
	case SIGHT_off:
		break;
	}
	site = site_of(observed, rules, sight, call);
	if (site) {
		observed->stacks++;
		observed->cut += rules->contexts->sites.items[site].cut;
		latency_see(&observed->latency, rules, time, site, same, UINT32_MAX, sight->sampled_ns);
	} else {
		observed->missing++;
	}
	if (sight->kind != SIGHT_stack) {
		observed->off_since = time;
		observed->woken_at = 0;
		observed->waits = sight->kind == SIGHT_out;
		observed->off_site = site;
	}
}

void observed_flush(struct observed *observed, const struct latency_rules *rules)
{
	for (size_t i = observed->held_done; i < observed->held.length; i++)
		apply(observed, rules, &observed->held.items[i], observed->held.items[i].call, 0);
	observed->held.length = observed->held_done = 0;
}

void observed_sight(struct observed *observed, const struct latency_rules *rules, const struct sight *sight, bool hold)
{
	/* Its wake-up and its return to the processor belong to what is held. */
	if (hold || ((sight->kind == SIGHT_woken || sight->kind == SIGHT_in) && observed->held.length)) {
		if (observed->held.length >= HELD_MAX)
			observed_flush(observed, rules);
		vec_push(&observed->held, *sight);
		return;
	}
	if (observed->held.length)
		observed_flush(observed, rules);
	apply(observed, rules, sight, sight->call, 0);
}

/* Is the last stack this one, or one above it? A cut stack may have been passed over. */
static bool stands_on(const struct observed *observed, const struct latency_rules *rules, uint32_t site)
{
	uint32_t at = observed->latency.site;

	while (at && depth_of(rules, at) > depth_of(rules, site))
		at = rules->contexts->sites.items[at].parent;
	return at == site;
}

/* The call that ends now, in which the thread was seen from the held sight `at` on
 * already. `exact`: it began when it is seen first. */
static void end_call(struct observed *observed, const struct latency_rules *rules, struct sight entry, bool exact, size_t at,
		     uint64_t end)
{
	uint32_t site, depth;
	uint16_t call = entry.call;

	for (size_t i = 0; i < at; i++)
		apply(observed, rules, &observed->held.items[i], observed->held.items[i].call, 0);
	for (size_t i = at; !entry.user && i < observed->held.length; i++)
		entry.user = observed->held.items[i].user;
	site = site_of(observed, rules, &entry, call);
	if (!site) {
		observed->missing++;
		observed->held_done = at;
		observed_flush(observed, rules);
		return;
	}
	depth = depth_of(rules, site);
	observed->stacks++;
	observed->cut += rules->contexts->sites.items[site].cut;
	latency_see(&observed->latency, rules, not_before(observed, entry.time), site, 0, exact ? depth - 1 : UINT32_MAX, 0);
	for (; at < observed->held.length; at++) {
		struct sight inner = observed->held.items[at];

		if (!inner.user)
			inner.user = entry.user;
		apply(observed, rules, &inner, call, depth);
	}
	observed->held.length = observed->held_done = 0;
	if (stands_on(observed, rules, site))
		latency_return(&observed->latency, rules, not_before(observed, end), depth - 1);
}

void observed_call(struct observed *observed, const struct latency_rules *rules, uint64_t begin, uint64_t end,
		   uint16_t call, uint32_t user)
{
	const struct sight entry = { .time = begin, .user = user, .call = call, .kind = SIGHT_stack };
	size_t at = 0;

	while (at < observed->held.length && observed->held.items[at].time < begin)
		at++;
	end_call(observed, rules, entry, begin >= observed->latency.last, at, end);
}

/* Whether the sight may have been in the call. Its stack is the call's all through it. */
static bool may_be_in(const struct sight *sight, uint16_t call, uint32_t user)
{
	if (sight->kind == SIGHT_woken || sight->kind == SIGHT_in)
		return true;
	return (sight->call == call || sight->call == CONTEXT_NO_CALL) && (!sight->user || !user || sight->user == user);
}

void observed_call_end(struct observed *observed, const struct latency_rules *rules, uint64_t end, uint16_t call, uint32_t user)
{
	struct sight entry = { .time = end, .user = user, .call = call, .kind = SIGHT_stack };
	size_t at = observed->held.length;

	while (at && may_be_in(&observed->held.items[at - 1], call, user))
		at--;
	/* what begins with a return to the processor belongs to what went before */
	while (at < observed->held.length && (observed->held.items[at].kind == SIGHT_woken || observed->held.items[at].kind == SIGHT_in))
		at++;
	if (at < observed->held.length)
		entry.time = observed->held.items[at].time;
	if (call == CONTEXT_NO_CALL)
		observed_sight(observed, rules, &entry, false);
	else
		end_call(observed, rules, entry, false, at, end);
}

void observed_cut(struct observed *observed, uint64_t time)
{
	if (observed->off_since && observed->off_since < time) {
		account_off(observed, time);
		observed->off_since = time;
		if (observed->woken_at)
			observed->woken_at = time;
	}
	latency_cut(&observed->latency, time);
}

void observed_close(struct observed *observed, const struct latency_rules *rules, uint64_t time, bool ended)
{
	const struct sight in = { .time = time, .kind = SIGHT_in };

	observed_flush(observed, rules);
	if (observed->off_since && !ended)
		apply(observed, rules, &in, CONTEXT_NO_CALL, 0);
	latency_close(&observed->latency, rules, not_before(observed, time), ended);
	observed->off_since = observed->woken_at = 0;
	observed->off_site = 0;
}

void observed_done(struct observed *observed)
{
	latency_done(&observed->latency);
	vec_done(&observed->held);
}
