/*
 * plan: where the floors of a .thchat belong. Our own files say it: branches as lists of ranges over
 * segments. Others say for each floor the branch and the floor before it; then each branch gets a segment,
 * begins behind the floor that its first one names, and counts on from there. A floor that was replaced by a
 * later one of the same number becomes further pages of that one.
 */
#include "chat/chat_private.h"

#include "base/limits.h"
#include "card/import.h"

#define BRANCHES_MAX 10000

const char *
plan_key(struct arena *a, struct str branch, int64_t floor_no)
{
	return arena_printf(a, "%.*s %lld", STR_ARG(branch), (long long)floor_no);
}

struct look {
	struct arena *keep, *tmp;
	struct plan *p;
	VEC(struct plan_branch) branches;
	struct map *by_id; /* branch id -> index + 1 */
	VEC(int32_t) next; /* number of each branch's next floor */
};

static struct str
raw_text(struct arena *a, struct str o, const char *key)
{
	return json_raw_text(a, json_raw(o, key));
}

static int64_t
raw_int(struct str o, const char *key, int64_t dflt)
{
	int64_t v;

	return str_int(json_raw(o, key), &v) ? v : dflt;
}

/* A branch that is met for the first time: it begins where its first floor says. */
static size_t
begin_branch(struct look *l, struct str id, struct str parent)
{
	const struct plan_place *at = parent.p ? map_get(l->p->floors, parent) : NULL;
	struct plan_branch *b = vec_add(l->keep, &l->branches);
	const struct plan_branch *from = at ? &l->branches.v[at->branch] : NULL;
	size_t me = l->branches.n - 1;

	*b = (struct plan_branch){ .id = arena_str(l->keep, id), .forked_at = -1 };
	b->segs = arena_array(l->keep, size_t, (from ? from->n : 0) + 1);
	b->his = arena_array(l->keep, int32_t, (from ? from->n : 0) + 1);
	for (size_t i = 0; from && i < from->n; i++) {
		b->segs[b->n] = from->segs[i];
		b->his[b->n++] = from->his[i] < at->seq && i + 1 < from->n ? from->his[i] : at->seq;
		if (b->his[b->n - 1] == at->seq)
			break;
	}
	if (from) {
		b->forked_from = from->id;
		b->forked_at = at->seq;
	}
	b->segs[b->n] = me;
	b->his[b->n++] = at ? at->seq : -1;
	vec_push(l->keep, &l->next, at ? at->seq + 1 : 0);
	map_set(l->by_id, b->id, (void *)(uintptr_t)(me + 1));
	return me;
}

/* A floor that lies at `at` of the file. */
static void
note_floor(struct look *l, struct str raw, int64_t at)
{
	struct str branch = raw_text(l->tmp, raw, "branch_id"), id = raw_text(l->tmp, raw, "_original_id");
	struct plan_place *place = arena_new(l->keep, struct plan_place);
	int64_t when;
	size_t b;

	if (branch.n == 0)
		branch = STR("main");
	if (str_int(json_raw(raw, "superseded_at"), &when)) {
		const char *key = plan_key(l->tmp, branch, raw_int(raw, "floor_no", 0));
		struct plan_raws *list = map_get(l->p->replaced, str_c(key));

		if (list == NULL) {
			list = arena_new(l->keep, struct plan_raws);
			map_set(l->p->replaced, str_c(key), list);
		}
		vec_add(l->keep, &list->v);
		list->v.v[list->v.n - 1].at = at;
		list->v.v[list->v.n - 1].n = raw.n;
		place->gone = true;
	} else {
		b = (size_t)(uintptr_t)map_get(l->by_id, branch);
		b = b ? b - 1 : begin_branch(l, branch, raw_text(l->tmp, raw, "parent_floor_id_ref"));
		place->branch = b;
		place->seq = l->next.v[b]++;
		l->branches.v[b].his[l->branches.v[b].n - 1] = place->seq;
	}
	if (id.n > 0)
		map_set(l->p->floors, id, place);
}

/* The ranges that the file itself gives. */
static int
take_own(struct arena *keep, const struct thchat *t, struct plan *p, struct import_error *err)
{
	const struct json *list = json_get(t->own, "branches");
	int64_t n_segs = json_get_int(t->own, "segments", 0);

	p->own = true;
	p->n_branches = json_len(list);
	if (n_segs < 1 || n_segs > BRANCHES_MAX || p->n_branches < 1 || p->n_branches > BRANCHES_MAX)
		return import_fail(keep, err, "invalid_value", "data.tavernd.branches",
		    "between 1 and %d branches and segments", BRANCHES_MAX);
	p->n_segs = (size_t)n_segs;
	p->branches = arena_array(keep, struct plan_branch, p->n_branches);
	for (size_t i = 0; i < p->n_branches; i++) {
		const struct json *o = json_at(list, i), *segs = json_get(o, "segments"),
				  *ends = json_get(o, "ends");
		struct plan_branch *b = &p->branches[i];
		int64_t before = -1;

		*b = (struct plan_branch){ .id = arena_str(keep, json_get_str(o, "id")),
			.forked_from = arena_str(keep, json_get_str(o, "forked_from")),
			.forked_at = json_get_int(o, "forked_at", -1),
			.n = json_len(segs) };
		b->segs = arena_array(keep, size_t, b->n);
		b->his = arena_array(keep, int32_t, b->n);
		if (json_get(o, "policy"))
			b->policy = json_text(keep, json_get(o, "policy"));
		b->decisions = arena_str(keep, json_get_str(o, "decisions"));
		for (size_t k = 0; k < b->n; k++) {
			int64_t seg = json_int(json_at(segs, k), -1), hi = json_int(json_at(ends, k), -2);

			if (seg < 0 || seg >= n_segs || hi < before || hi > INT32_MAX)
				return import_fail(keep, err, "invalid_value", "data.tavernd.branches",
				    "ranges do not fit each other");
			b->segs[k] = (size_t)seg;
			b->his[k] = (int32_t)(before = hi);
		}
		if (b->n == 0 || !b->id.n)
			return import_fail(keep, err, "invalid_value", "data.tavernd.branches",
			    "a branch needs an id and a segment");
	}
	return 0;
}

/* What more than one branch sees must not be changed. */
static void
share(struct arena *keep, struct plan *p)
{
	p->upto = arena_array(keep, int32_t, p->n_segs);
	for (size_t i = 0; i < p->n_segs; i++)
		p->upto[i] = -1;
	for (size_t b = 0; b < p->n_branches; b++)
		for (size_t i = 0; i + 1 < p->branches[b].n; i++)
			if (p->branches[b].his[i] > p->upto[p->branches[b].segs[i]])
				p->upto[p->branches[b].segs[i]] = p->branches[b].his[i];
}

int
chat_plan(
    struct arena *keep, struct arena *tmp, const struct thchat *t, struct plan *out, struct import_error *err)
{
	struct look l = { .keep = keep, .tmp = tmp, .p = out, .by_id = map_create(keep) };
	struct arena_mark m = arena_mark(tmp);
	struct str raw;
	int64_t pos = 0;

	*out = (struct plan){ .floors = map_create(keep), .replaced = map_create(keep) };
	if (json_has(t->own, "branches")) {
		if (take_own(keep, t, out, err) < 0)
			return -1;
	} else {
		begin_branch(&l, STR("main"), STR_NULL);
		while (thchat_element(t->text, t->floors, &pos, &raw) > 0) {
			note_floor(&l, raw, pos - (int64_t)raw.n);
			arena_rewind(tmp, m);
			if (l.branches.n > BRANCHES_MAX)
				return import_fail(keep, err, "invalid_value", "data.floors",
				    "more than %d branches", BRANCHES_MAX);
		}
		if (t->text->failed)
			return -1;
		out->branches = l.branches.v;
		out->n_branches = out->n_segs = l.branches.n;
	}
	share(keep, out);
	return 0;
}
