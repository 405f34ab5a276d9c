/* See tree_picture.h. Both forms walk one merged tree of what is to be shown. */
#include "infer/tree_picture.h"

#include <stdlib.h>
#include <string.h>

#include "infer/svg.h"

#define ROW 20
#define COLUMN 150
#define SHORT_COLUMN 24
#define LEFT 20
#define MAX_SHOWN 4000
#define MAX_DEPTH 400
#define LABEL_COLUMNS 22

struct shown {
	const char *name, *module;
	uint64_t here_ns, base_ns;   /* inclusive; the base scaled to the same work */
	uint64_t count;
	uint32_t parent;             /* index of shown, UINT32_MAX none */
	uint32_t depth;
	uint32_t children;
	bool passes;                 /* all its time is its only child's: a dot without a name */
	double x, y;
};

struct picture {
	const struct report *report;
	struct vec(struct shown) nodes;
	uint64_t least_ns, most_ns;
	uint32_t left_out;
	double next_y;
};

struct choice {
	uint32_t here, base;         /* nodes; 0 none */
	uint64_t here_ns, base_ns;
};

static int by_time(const void *a, const void *b)
{
	const struct choice *x = a, *y = b;
	uint64_t p = x->here_ns > x->base_ns ? x->here_ns : x->base_ns, q = y->here_ns > y->base_ns ? y->here_ns : y->base_ns;

	return p != q ? (p < q ? 1 : -1) : x->here != y->here ? (x->here < y->here ? -1 : 1) : x->base < y->base ? -1 : 1;
}

static uint64_t total(const struct report *report, const struct profile *profile, uint32_t node, double factor)
{
	return node ? (uint64_t)((double)rank_total(&profile->tree.costs.items[node], report->time) * factor) : 0;
}

static size_t choose(const struct picture *picture, uint32_t here, uint32_t base, double factor, struct choice **ret_list)
{
	const struct report *report = picture->report;
	const struct comparison *c = report->comparison;
	const struct profile *profile = report->profile;
	struct vec(struct choice) list = { 0 };

	for (uint32_t child = here ? profile->tree.costs.items[here].first_child : 0; child;
	     child = profile->tree.costs.items[child].next_sibling) {
		struct choice choice = { .here = child, .here_ns = total(report, profile, child, 1) };

		if (c && c->base_node[child]) {
			choice.base = c->base_node[child];
			choice.base_ns = total(report, c->base, choice.base, c->factor[child]);
		}
		vec_push(&list, choice);
	}
	for (uint32_t child = base ? c->base->tree.costs.items[base].first_child : 0; child;
	     child = c->base->tree.costs.items[child].next_sibling) {
		const struct node *node = &c->base->contexts.nodes.items[child];
		struct choice choice = { .base = child, .base_ns = total(report, c->base, child, factor) };

		if (!here || !contexts_child(&profile->contexts, here, node->function))
			vec_push(&list, choice);
	}
	if (list.length)
		qsort(list.items, list.length, sizeof(*list.items), by_time);
	*ret_list = list.items;
	return list.length;
}

static void gather(struct picture *picture, uint32_t here, uint32_t base, double factor, uint32_t parent, uint32_t depth)
{
	const struct report *report = picture->report;
	struct choice *list;
	size_t count = choose(picture, here, base, factor, &list), shown = 0;
	uint32_t self;
	double first = picture->next_y;

	for (size_t i = 0; i < count; i++) {
		const struct choice *choice = &list[i];
		const struct profile *of = choice->here ? report->profile : report->comparison->base;
		uint32_t node = choice->here ? choice->here : choice->base;
		const struct function *f = profile_function(of, node);
		struct shown added = {
			.name = f->name, .module = report_module(f), .here_ns = choice->here_ns, .base_ns = choice->base_ns,
			.count = choice->here ? of->tree.costs.items[node].count : 0, .parent = parent, .depth = depth,
		};

		if ((choice->here_ns < picture->least_ns && choice->base_ns < picture->least_ns) ||
		    picture->nodes.length >= MAX_SHOWN || depth >= MAX_DEPTH) {
			picture->left_out++;
			continue;
		}
		self = picture->nodes.length;
		vec_push(&picture->nodes, added);
		shown++;
		gather(picture, choice->here, choice->base,
		       choice->here && report->comparison ? report->comparison->factor[choice->here] : factor, self,
		       depth + 1);
	}
	free(list);
	if (!shown)
		picture->next_y += ROW;
	if (parent != UINT32_MAX)
		picture->nodes.items[parent].y = (first + picture->next_y - ROW) / 2;
}

static void picture_make(struct picture *picture, const struct report *report, double least)
{
	const struct profile *profile = report->profile;

	*picture = (struct picture){ .report = report, .next_y = 70 };
	for (size_t i = 0; i < profile->contexts.programs.length; i++) {
		uint64_t ns = rank_total(&profile->tree.costs.items[profile->contexts.programs.items[i].node], report->time);

		if (ns > picture->most_ns)
			picture->most_ns = ns;
	}
	picture->least_ns = (uint64_t)((double)picture->most_ns * least);
	if (!picture->least_ns)
		picture->least_ns = 1;
	for (size_t i = 0; i < profile->contexts.programs.length; i++) {
		const struct program *program = &profile->contexts.programs.items[i];
		uint32_t base = report->comparison ? report->comparison->base_node[program->node] : 0;
		struct shown added = {
			.name = path_file_name(program->path), .module = "", .parent = UINT32_MAX,
			.here_ns = total(report, profile, program->node, 1),
			.count = profile->tree.costs.items[program->node].count,
		};
		uint32_t self = picture->nodes.length;
		double factor = report->comparison ? report->comparison->factor[program->node] : 1;

		if (base)
			added.base_ns = total(report, report->comparison->base, base, factor);
		if (added.here_ns < picture->least_ns && added.base_ns < picture->least_ns)
			continue;
		vec_push(&picture->nodes, added);
		gather(picture, program->node, base, factor, self, 1);
	}
}

/* 0.5 to 12 points. */
static double thickness(const struct picture *picture, uint64_t ns)
{
	return picture->most_ns ? .5 + 11.5 * (double)ns / (double)picture->most_ns : .5;
}

/* Nearly all of the one is in the other. */
static bool is_most(uint64_t part, uint64_t whole)
{
	return part >= whole - whole / 50;
}

/* Columns: what only leads on takes little room. */
static double place_columns(struct picture *picture)
{
	struct shown *nodes = picture->nodes.items;
	double widest = 0;

	for (size_t i = 0; i < picture->nodes.length; i++)
		if (nodes[i].parent != UINT32_MAX)
			nodes[nodes[i].parent].children++;
	for (size_t i = 0; i < picture->nodes.length; i++) {
		struct shown *n = &nodes[i], *p = n->parent == UINT32_MAX ? NULL : &nodes[n->parent];

		if (p)
			p->passes = p->parent != UINT32_MAX && p->children == 1 && is_most(n->here_ns, p->here_ns) &&
				    is_most(n->base_ns, p->base_ns);
		n->x = !p ? LEFT : p->x + (p->passes ? SHORT_COLUMN : COLUMN);
		if (n->x > widest)
			widest = n->x;
	}
	return widest;
}

static void edge(struct buf *buf, double x0, double y0, double x1, double y1, double width, const char *colour)
{
	buf_printf(buf,
		   "<path d=\"M%.1f %.1f C%.1f %.1f %.1f %.1f %.1f %.1f\" fill=\"none\" stroke=\"%s\" stroke-width=\"%.1f\" "
		   "opacity=\"0.8\"/>\n",
		   x0, y0, (x0 + x1) / 2, y0, (x0 + x1) / 2, y1, x1, y1, colour, width);
}

void tree_picture_svg(struct buf *buf, const struct report *report, const char *title, double least)
{
	struct picture picture;
	struct arena arena;

	arena_init(&arena);
	picture_make(&picture, report, least);
	svg_begin(buf, place_columns(&picture) + COLUMN, picture.next_y + 30);
	buf_text(buf, "<text x=\"10\" y=\"22\" font-size=\"15\">");
	svg_text(buf, title);
	buf_printf(buf, "</text>\n<text x=\"10\" y=\"42\" fill=\"#555\">%sas thick as it took long, a dot without a name only "
		   "calls the next; %u contexts that took little are left out</text>\n",
		   report->comparison ? "red: this run, blue: the base, scaled to the same work; " : "", picture.left_out);
	for (size_t i = 0; i < picture.nodes.length; i++) {
		const struct shown *n = &picture.nodes.items[i];
		const struct shown *p = n->parent == UINT32_MAX ? NULL : &picture.nodes.items[n->parent];

		if (p && n->here_ns)
			edge(buf, p->x + 6, p->y, n->x - 6, n->y, thickness(&picture, n->here_ns), "#d33");
		if (p && n->base_ns)
			edge(buf, p->x + 6, p->y + 3, n->x - 6, n->y + 3, thickness(&picture, n->base_ns), "#36c");
	}
	for (size_t i = 0; i < picture.nodes.length; i++) {
		const struct shown *n = &picture.nodes.items[i];

		buf_text(buf, "<g><title>");
		svg_text(buf, n->name);
		buf_text(buf, " ");
		svg_text(buf, n->module);
		buf_text(buf, ": ");
		report_duration(buf, (int64_t)n->here_ns);
		if (report->comparison) {
			buf_text(buf, ", base ");
			report_duration(buf, (int64_t)n->base_ns);
		}
		buf_printf(buf, "</title><circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" fill=\"%s\" stroke=\"#333\"/>", n->x, n->y,
			   !n->here_ns ? "#36c" : !n->base_ns && report->comparison ? "#d33" : "#fff");
		if (!n->passes) {
			buf_printf(buf, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" font-size=\"10\">",
				   n->parent == UINT32_MAX ? n->x - 6 : n->x, n->y - 7, n->parent == UINT32_MAX ? "start" : "middle");
			svg_text(buf, report_brief(&arena, n->name, LABEL_COLUMNS));
			buf_text(buf, "</text>");
		}
		buf_text(buf, "</g>\n");
	}
	svg_end(buf);
	vec_done(&picture.nodes);
	arena_done(&arena);
}

static void put_text(struct buf *buf, const char *text)
{
	buf_escaped(buf, text, strlen(text), NULL);
}

static void column(struct buf *buf, uint64_t ns)
{
	struct buf text;

	buf_init(&text);
	if (ns)
		report_duration(&text, (int64_t)ns);
	else
		buf_char(&text, '-');
	buf_printf(buf, "%12s", buf_str(&text));
	buf_done(&text);
}

void tree_picture_text(struct buf *buf, const struct report *report, double least)
{
	struct picture picture;
	struct arena arena;

	arena_init(&arena);
	picture_make(&picture, report, least);
	buf_printf(buf, report->comparison ? "%12s%12s  context\n" : "%12s%10s  context\n",
		   report->comparison ? "base" : "total", report->comparison ? "this run" : "calls");
	for (size_t i = 0; i < picture.nodes.length; i++) {
		const struct shown *n = &picture.nodes.items[i];

		if (report->comparison)
			column(buf, n->base_ns);
		column(buf, n->here_ns);
		if (!report->comparison)
			buf_printf(buf, "%10llu", (unsigned long long)n->count);
		buf_printf(buf, "  %*s", (int)(n->depth * 2 < 120 ? n->depth * 2 : 120), "");
		put_text(buf, report_brief(&arena, n->name, 0));
		if (n->module[0]) {
			buf_text(buf, "  ");
			put_text(buf, n->module);
		}
		buf_char(buf, '\n');
	}
	if (picture.left_out)
		buf_printf(buf, "%u contexts that took less than %.1f %% are left out\n", picture.left_out, least * 100);
	vec_done(&picture.nodes);
	arena_done(&arena);
}

void tree_picture_json(struct json *json, const char *key, const struct report *report, double least)
{
	struct picture picture;

	picture_make(&picture, report, least);
	json_object(json, key);
	json_u64(json, "left_out", picture.left_out);
	json_array(json, "parent");
	for (size_t i = 0; i < picture.nodes.length; i++)
		json_i64(json, NULL, picture.nodes.items[i].parent == UINT32_MAX ? -1 : (int64_t)picture.nodes.items[i].parent);
	json_end(json);
	json_array(json, "function");
	for (size_t i = 0; i < picture.nodes.length; i++)
		json_text(json, NULL, picture.nodes.items[i].name);
	json_end(json);
	json_array(json, "module");
	for (size_t i = 0; i < picture.nodes.length; i++)
		json_text(json, NULL, picture.nodes.items[i].module);
	json_end(json);
	json_array(json, "here_ns");
	for (size_t i = 0; i < picture.nodes.length; i++)
		json_u64(json, NULL, picture.nodes.items[i].here_ns);
	json_end(json);
	json_array(json, "base_ns");
	for (size_t i = 0; i < picture.nodes.length; i++)
		json_u64(json, NULL, picture.nodes.items[i].base_ns);
	json_end(json);
	json_array(json, "count");
	for (size_t i = 0; i < picture.nodes.length; i++)
		json_u64(json, NULL, picture.nodes.items[i].count);
	json_end(json);
	json_end(json);
	vec_done(&picture.nodes);
}
