/* The answer as JSON, documented in docs/json.md. */
#include "diagnose/answer.h"

void answer_actor_json(struct json *json, const struct actor *a)
{
	json_text(json, "kind", actor_kind_name(a->kind));
	json_u64(json, "pid", a->pid);
	json_u64(json, "tid", a->tid);
	json_u64(json, "ppid", a->ppid);
	json_text(json, "comm", a->comm ? a->comm : "");
	if (a->program)
		json_text(json, "program", a->program);
}

static void put_deeds(struct json *json, const char *key, const struct deed *deeds, size_t count)
{
	json_array(json, key);
	for (size_t i = 0; i < count; i++) {
		json_object(json, NULL);
		answer_actor_json(json, &deeds[i].actor);
		json_text(json, "what", deeds[i].words);
		json_u64(json, "time_ns", deeds[i].time);
		json_u64(json, "event", deeds[i].event);
		json_u64(json, "confidence", deeds[i].confidence);
		json_end(json);
	}
	json_end(json);
}

static void put_chain(struct json *json, const struct diagnosis *g)
{
	json_array(json, "chain");
	for (size_t i = 0; i < g->chain_count; i++) {
		const struct chain_link *link = &g->chain[i];

		json_object(json, NULL);
		answer_actor_json(json, &link->actor);
		json_text(json, "state", link->state);
		json_u64(json, "start_ns", link->start_ns);
		json_u64(json, "end_ns", link->end_ns);
		json_text(json, "object", link->actor.object);
		json_text(json, "why", link->why);
		json_array(json, "frames");
		for (unsigned f = 0; link->frames[f]; f++)
			json_text(json, NULL, link->frames[f]);
		json_end(json);
		json_array(json, "evidence");
		for (unsigned e = 0; link->evidence[e]; e++)
			json_u64(json, NULL, link->evidence[e]);
		json_end(json);
		json_end(json);
	}
	json_end(json);
}

static void put_path(struct json *json, const struct diagnosis *g)
{
	json_array(json, "path");
	for (size_t i = 0; i < g->path_count; i++) {
		json_object(json, NULL);
		answer_actor_json(json, &g->path[i].actor);
		json_text(json, "state", g->path[i].words);
		json_text(json, "link", g->path[i].link);
		json_u64(json, "charged_ns", g->path[i].ns);
		json_u64(json, "event", g->path[i].event);
		json_u64(json, "confidence", g->path[i].confidence);
		answer_callbacks_json(json, &g->path[i]);
		json_end(json);
	}
	json_end(json);
}

static void put_plan(struct json *json, const struct diagnosis *g)
{
	json_array(json, "plan");
	for (size_t i = 0; i < g->plan_count; i++) {
		json_object(json, NULL);
		json_text(json, "option", g->plan[i].option);
		json_text(json, "value", g->plan[i].value);
		json_text(json, "why", g->plan[i].why);
		json_end(json);
	}
	json_end(json);
}

static void put_keepers(struct json *json, const struct diagnosis *g)
{
	json_array(json, "processor_had_by");
	for (size_t i = 0; i < g->keeper_count; i++) {
		json_object(json, NULL);
		answer_actor_json(json, &g->keepers[i]);
		json_u64(json, "ns", g->keepers_ns[i]);
		json_end(json);
	}
	json_end(json);
	if (!g->idle_ns)
		return;
	json_u64(json, "queued_on", g->queue_cpu);
	json_u64(json, "idle_processor", g->idle_cpu);
	json_u64(json, "idle_ns", g->idle_ns);
}

static void put_parties(struct json *json, const struct diagnosis *g)
{
	if (g->verdict == VERDICT_NONE) {
		json_null(json, "victim");
		json_null(json, "culprit");
		return;
	}
	json_object(json, "victim");
	answer_actor_json(json, &g->victim);
	json_end(json);
	json_object(json, "culprit");
	answer_actor_json(json, &g->culprit);
	json_text(json, "function", g->culprit.function);
	json_text(json, "module", g->culprit.module);
	json_text(json, "file", g->culprit.file);
	json_u64(json, "line", g->culprit.line);
	json_u64(json, "share", g->culprit.share);
	json_text(json, "object", g->culprit.object);
	json_bool(json, "internal", g->culprit.internal);
	json_bool(json, "waits_for_user", g->person);
	json_u64(json, "confidence", g->confidence);
	if (g->keeper_count)
		put_keepers(json, g);
	json_end(json);
}

void answer_json(struct json *json, const struct diagnosis *g)
{
	uint64_t shown = 0;

	for (size_t i = 0; i < g->chain_count; i++)
		shown += answer_link_shown(g, &g->chain[i]);
	json_text(json, "verdict", verdict_name(g->verdict));
	json_object(json, "window");
	json_u64(json, "start_ns", g->start_ns);
	json_u64(json, "end_ns", g->end_ns);
	json_end(json);
	json_u64(json, "since_ns", g->since_ns);
	if (g->perhaps_since_ns)
		json_u64(json, "perhaps_since_ns", g->perhaps_since_ns);
	if (g->began_ns)
		json_u64(json, "began_ns", g->began_ns);
	if (g->ended_ns)
		json_u64(json, "ended_ns", g->ended_ns);
	json_text(json, "rests_on", g->rests_on);
	put_parties(json, g);
	put_deeds(json, "trigger", g->triggers, g->trigger_count);
	json_array(json, "circle");
	for (size_t i = 0; i < g->circle_count; i++) {
		json_object(json, NULL);
		answer_actor_json(json, &g->circle[i]);
		json_end(json);
	}
	json_end(json);
	put_chain(json, g);
	put_path(json, g);
	json_object(json, "ledger");
	json_u64(json, "explained_ns", g->explained_ns);
	json_u64(json, "unknown_ns", g->unknown_ns);
	json_u64(json, "lost_ns", g->lost_ns);
	json_end(json);
	put_deeds(json, "alternatives", g->alternatives, g->alternative_count);
	answer_contrast_json(json, "baseline", g->contrast);
	put_plan(json, g);
	if (g->step)
		json_text(json, "step", g->step);
	json_u64(json, "questions", g->questions);
	json_u64(json, "segments", shown);
	json_text(json, "text", g->text);
}
