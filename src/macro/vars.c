/*
 * vars: the run's view of variables: what is stored, under one overlay of staged writes (decisions 2,
 * 5, 8, 31). Keys are bytes; a key that exists is that key, otherwise dots and ['…'] make a path
 * into a JSON root, which is staged whole. No name is special.
 */
#include "macro/macro_private.h"

#include "base/limits.h"
#include "base/rng.h"

#include <math.h>

/* ---- values as text ---- */

static void
json_print(struct sb *sb, const struct json *j, int depth)
{
	struct json_iter it = { 0 };
	struct str key;
	struct json *v;
	size_t n = 0;

	switch ((int)json_type(j)) {
	case JSON_STRING:
		sb_add_json(sb, json_str(j));
		break;
	case JSON_DOUBLE:
		sb_add_double(sb, json_double(j, 0));
		break;
	case JSON_ARRAY:
		sb_addc(sb, '[');
		for (size_t i = 0; i < json_len(j) && depth < LIM_JSON_DEPTH + 8; i++) {
			if (i)
				sb_addc(sb, ',');
			json_print(sb, json_at(j, i), depth + 1);
		}
		sb_addc(sb, ']');
		break;
	case JSON_OBJECT:
		sb_addc(sb, '{');
		while (depth < LIM_JSON_DEPTH + 8 && json_next(j, &it, &key, &v)) {
			if (n++)
				sb_addc(sb, ',');
			sb_add_json(sb, key);
			sb_addc(sb, ':');
			json_print(sb, v, depth + 1);
		}
		sb_addc(sb, '}');
		break;
	default:
		sb_add(sb, json_text(sb->a, j));
		break;
	}
}

struct str
macro_value_text(struct arena *a, const struct macro_value *v)
{
	struct sb sb;

	if (v->text.p)
		return v->text;
	if (!v->json)
		return STR("");
	if (json_type(v->json) == JSON_STRING)
		return json_str(v->json).p ? json_str(v->json) : STR("");
	sb = sb_new(a);
	json_print(&sb, v->json, 0);
	return sb_str(&sb);
}

/* ---- the table ---- */

static void
grow(struct macro_run *r, struct vartab *t)
{
	struct vartab old = *t;

	t->cap = old.cap ? old.cap * 2 : 32;
	t->v = arena_array(r->a, struct var, t->cap);
	for (uint32_t i = 0; i < old.cap; i++) {
		uint32_t at = (uint32_t)old.v[i].hash & (t->cap - 1);

		if (!old.v[i].used)
			continue;
		while (t->v[at].used)
			at = (at + 1) & (t->cap - 1);
		t->v[at] = old.v[i];
	}
}

struct var *
var_find(struct macro_run *r, enum macro_view view, struct str key, uint64_t hash)
{
	struct vartab *t = &r->tab[view];
	const struct macro_vars *stored = &r->env->vars;
	struct var *v;
	uint32_t at;

	if (t->n * 2 >= t->cap)
		grow(r, t);
	at = (uint32_t)hash & (t->cap - 1);
	for (; t->v[at].used; at = (at + 1) & (t->cap - 1))
		if (t->v[at].hash == hash && str_eq(t->v[at].key, key))
			return &t->v[at];
	v = &t->v[at];
	*v = (struct var){ .key = key, .hash = hash, .used = true };
	t->n++;
	if (stored->get && stored->get(stored->ctx, view, key, &v->v)) {
		v->state = VAR_SET;
		if (!v->v.text.p && (!v->v.json || json_type(v->v.json) == JSON_STRING))
			v->v.text = v->v.json ? macro_value_text(r->a, &v->v) : STR_NULL;
	}
	return v;
}

static struct var *
find_key(struct macro_run *r, enum macro_view view, struct str key)
{
	return var_find(r, view, key, hash_bytes(hash_seed(), key.p, key.n));
}

/* ---- paths ---- */

struct path {
	VEC(struct str) seg;
};

static void
skip_blanks(struct str s, size_t *at)
{
	size_t len;

	while (*at < s.n && js_blank(s, *at, &len))
		*at += len;
}

/* ['…'] at *at. */
static bool
path_quoted(struct arena *a, struct str s, size_t *at, struct str *out)
{
	struct sb sb = sb_new(a);
	char q;

	++*at;
	skip_blanks(s, at);
	if (*at >= s.n || (s.p[*at] != '\'' && s.p[*at] != '"'))
		return false;
	q = s.p[(*at)++];
	while (*at < s.n && s.p[*at] != q) {
		if (s.p[*at] == '\\' && *at + 1 < s.n)
			++*at;
		sb_addc(&sb, s.p[(*at)++]);
	}
	if (*at >= s.n)
		return false;
	++*at;
	skip_blanks(s, at);
	if (*at >= s.n || s.p[*at] != ']')
		return false;
	++*at;
	*out = sb_str(&sb);
	return true;
}

static bool
path_ident(struct str s, size_t *at, struct str *out)
{
	size_t from = *at, len;

	while (*at < s.n && s.p[*at] != '.' && s.p[*at] != '[' && s.p[*at] != ']' && !js_blank(s, *at, &len))
		*at += len;
	*out = str_sub(s, from, *at);
	return *at > from;
}

static bool
path_parse(struct arena *a, struct str s, struct path *p)
{
	size_t at = 0;
	struct str seg;
	bool dot = true;

	for (;;) {
		if (at < s.n && s.p[at] == '[') {
			if (!path_quoted(a, s, &at, &seg))
				return false;
		} else if (!dot || !path_ident(s, &at, &seg)) {
			return false;
		}
		vec_push(a, &p->seg, seg);
		skip_blanks(s, &at);
		if (at >= s.n)
			return true;
		dot = s.p[at] == '.';
		if (dot) {
			at++;
			skip_blanks(s, &at);
			if (at >= s.n)
				return false;
		} else if (s.p[at] != '[') {
			return false;
		}
	}
}

/* ---- places ---- */

/* Where a key leads: a flat variable, or a path below a root. */
struct place {
	struct var *root;
	struct path path; /* segments after the root; none: flat */
};

static bool
place_find(struct ev *ev, enum macro_view view, struct str key, uint64_t hash, struct place *pl,
    enum macro_code *code)
{
	struct path p = { 0 };

	pl->path = p;
	pl->root = var_find(ev->r, view, key, hash);
	if (pl->root->state == VAR_SET || pl->root->touched)
		return true;
	if (str_chr(key, '.', 0) == STR_NPOS && str_chr(key, '[', 0) == STR_NPOS)
		return true;
	if (!path_parse(ev->r->a, key, &p)) {
		*code = MACRO_W_PARSE;
		return false;
	}
	pl->root = find_key(ev->r, view, p.seg.v[0]);
	p.seg.v++;
	p.seg.n--;
	pl->path = p;
	return true;
}

#define KEY_SHORT 256

bool
var_member(const struct json *o, struct str key, struct json **out)
{
	char buf[KEY_SHORT];
	struct json_iter it = { 0 };
	struct str k;

	if ((*out = json_get_s(o, key)) != NULL)
		return true;
	if (key.n < KEY_SHORT && key.n) {
		memcpy(buf, key.p, key.n);
		buf[key.n] = '\0';
		return json_has(o, buf);
	}
	while (json_next(o, &it, &k, out))
		if (str_eq(k, key))
			return true;
	return false;
}

static struct macro_value
json_value(const struct json *j)
{
	struct macro_value v = { .json = j };

	if (json_type(j) == JSON_STRING)
		v.text = json_str(j).p ? json_str(j) : STR("");
	return v;
}

/* The value at a place; false and *code if a step goes through something that is no object. */
static bool
place_value(const struct place *pl, struct macro_value *out, bool *has, enum macro_code *code)
{
	const struct json *j;

	*has = pl->root->state == VAR_SET;
	*out = *has ? pl->root->v : (struct macro_value){ .text = STR("") };
	if (!*has || !pl->path.seg.n)
		return true;
	j = pl->root->v.text.p ? NULL : pl->root->v.json;
	for (size_t i = 0; i < pl->path.seg.n; i++) {
		struct json *v;

		if (json_type(j) != JSON_OBJECT) {
			*code = MACRO_W_TYPE;
			return false;
		}
		*has = var_member(j, pl->path.seg.v[i], &v);
		if (!*has) {
			*out = (struct macro_value){ .text = STR("") };
			return true;
		}
		j = v;
	}
	*out = json_value(j);
	return true;
}

bool
var_read(struct ev *ev, enum macro_view view, struct str key, uint64_t hash, struct macro_value *out,
    bool *has_out, enum macro_code *code_out)
{
	struct place pl;

	if (hash) { /* the usual case: a literal key that exists */
		const struct var *v = var_find(ev->r, view, key, hash);

		if (v->state == VAR_SET) {
			*out = v->v;
			*has_out = true;
			return true;
		}
	} else {
		hash = hash_bytes(hash_seed(), key.p, key.n);
	}
	return place_find(ev, view, key, hash, &pl, code_out) && place_value(&pl, out, has_out, code_out);
}

/* ---- writing ---- */

static void
side_effect(struct ev *ev, const struct node *n, const char *source)
{
	eval_warn(ev, MACRO_W_SIDE_EFFECT, n, str_c(source),
	    ev->r->env->phase == MACRO_ASSEMBLE ? "the write is staged and takes effect when the turn commits"
						: "the write is shown but not stored");
}

/* Sets or deletes a variable in the overlay and records it, if the turn can store it. */
static bool
stage(struct ev *ev, const struct node *n, enum macro_view view, struct var *root,
    const struct macro_value *v, const char *source)
{
	struct macro_run *r = ev->r;
	struct macro_write w = {
		.del = v == NULL,
		.scope = view == MACRO_GLOBAL ? MACRO_SCOPE_GLOBAL : MACRO_SCOPE_BRANCH,
		.key = root->key,
		.source_macro = source,
	};

	if (!room_take(r, view, root, v)) {
		eval_warn(ev, MACRO_W_WRITES, n, str_c(source),
		    "the variables would pass what can be stored: the write does nothing");
		return false;
	}
	if (v)
		w.value = root->v = *v;
	root->state = v ? VAR_SET : VAR_ABSENT;
	root->touched = true;
	ev->writes++;
	vec_push(r->a, &r->res.writes, w);
	side_effect(ev, n, source);
	return true;
}

/* A copy of the root with the leaf set (or removed); missing parents are made. NULL and *code if a parent is
 * no object. */
static struct json *
with_leaf(struct ev *ev, const struct place *pl, const struct macro_value *leaf, bool *changed,
    enum macro_code *code)
{
	struct arena *a = ev->r->a;
	struct json *root, *at;

	*changed = true;
	if (pl->root->state != VAR_SET) {
		*changed = leaf != NULL;
		root = json_object(a);
	} else if (pl->root->v.text.p || json_type(pl->root->v.json) != JSON_OBJECT) {
		*code = MACRO_W_TYPE;
		return NULL;
	} else {
		root = json_copy(a, pl->root->v.json);
	}
	at = root;
	for (size_t i = 0; i + 1 < pl->path.seg.n; i++) {
		struct str seg = arena_str(a, pl->path.seg.v[i]);
		struct json *next = json_get_s(at, seg);

		if (!next && json_has(at, seg.p)) {
			*code = MACRO_W_TYPE;
			return NULL;
		}
		if (!next && !leaf) {
			*changed = false;
			return root;
		}
		if (!next)
			next = json_set_object(at, seg.p);
		if (json_type(next) != JSON_OBJECT) {
			*code = MACRO_W_TYPE;
			return NULL;
		}
		at = next;
	}
	if (leaf) {
		struct str seg = arena_str(a, pl->path.seg.v[pl->path.seg.n - 1]);

		if (leaf->text.p)
			json_set_str(at, seg.p, leaf->text);
		else
			json_set(at, seg.p, leaf->json);
	} else {
		const char *seg = arena_strdup(a, pl->path.seg.v[pl->path.seg.n - 1]);

		*changed = json_has(at, seg);
		json_del(at, seg);
	}
	return root;
}

/* A list with one text more; a list that is kept as text stays a text. False: the value is no list. */
static bool
pushed(struct ev *ev, const struct macro_value *cur, struct str item, struct macro_value *out)
{
	struct json *list;

	if (cur->text.p) {
		struct str t = js_trim(cur->text);
		struct json_error err;

		if (t.n < 2 || t.p[0] != '[' || t.p[t.n - 1] != ']')
			return false;
		list = json_read(ev->r->a, t, LIM_JSON_DEPTH, &err);
		if (json_type(list) != JSON_ARRAY)
			return false;
	} else if (json_type(cur->json) == JSON_ARRAY) {
		list = json_copy(ev->r->a, cur->json);
	} else {
		return false;
	}
	json_push_str(list, item);
	*out = (struct macro_value){ .json = list };
	if (cur->text.p) {
		out->text = macro_value_text(ev->r->a, &(struct macro_value){ .json = list });
		out->json = NULL;
	}
	return true;
}

static bool
is_tree(const struct macro_value *v)
{
	return !v->text.p && (json_type(v->json) == JSON_OBJECT || json_type(v->json) == JSON_ARRAY);
}

/* What addvar makes of the current value. NV_REFUSED: of the wrong kind, or a sum without a finite value. */
static enum nv
added(struct ev *ev, const struct macro_value *cur, struct str value, struct macro_value *out)
{
	struct str text;
	double a = 0, b = 0;

	if (!cur->text.p && json_type(cur->json) == JSON_OBJECT)
		return NV_REFUSED;
	if (!value.n) { /* changes nothing, but is recorded */
		*out = is_tree(cur) ? *cur : (struct macro_value){ .text = macro_value_text(ev->r->a, cur) };
		return NV_OK;
	}
	if (pushed(ev, cur, value, out))
		return NV_OK;
	text = macro_value_text(ev->r->a, cur);
	if ((js_trim(text).n == 0 || js_number(text, &a)) && js_number(value, &b)) {
		if (!isfinite(a + b))
			return NV_REFUSED;
		out->text = js_number_text(ev->r->a, a + b);
		return NV_OK;
	}
	out->text = text.n ? str_c(arena_printf(ev->r->a, "%.*s%.*s", STR_ARG(text), STR_ARG(value))) : value;
	return NV_OK;
}

static enum nv
counted(
    struct ev *ev, const struct node *n, const struct macro_value *cur, double by, struct macro_value *out)
{
	struct str text;
	double v = 0;

	if (is_tree(cur))
		return NV_REFUSED;
	text = macro_value_text(ev->r->a, cur);
	if (js_trim(text).n && !js_number(text, &v)) {
		eval_warn(ev, MACRO_W_TYPE, n, STR_NULL, "the value is no number: counting starts from 0");
		v = 0;
	}
	if (!isfinite(v + by))
		return NV_REFUSED;
	out->text = js_number_text(ev->r->a, v + by);
	return NV_OK;
}

/* The new value of a place; NV_REFUSED with *code if there is none. */
static enum nv
new_value(struct ev *ev, const struct node *n, enum var_op op, const struct macro_value *cur,
    struct str value, struct macro_value *out)
{
	*out = (struct macro_value){ .text = value };
	switch ((int)op) {
	case VAR_ADD:
		return added(ev, cur, value, out);
	case VAR_INC:
		return counted(ev, n, cur, 1, out);
	case VAR_DEC:
		return counted(ev, n, cur, -1, out);
	default:
		return NV_OK;
	}
}

static bool
over_budget(struct ev *ev, const struct node *n)
{
	if (ev->writes < ev->r->env->limits.writes)
		return false;
	if (!ev->write_warned)
		eval_warn(ev, MACRO_W_WRITES, n, STR_NULL,
		    "the text writes more often than allowed: this write and later ones do nothing");
	ev->write_warned = true;
	return true;
}

static enum nv
write_delete(struct ev *ev, const struct node *n, enum macro_view view, const struct place *pl,
    const char *source, enum macro_code *code)
{
	bool changed;
	struct json *root;

	if (!pl->path.seg.n) {
		if (!over_budget(ev, n))
			stage(ev, n, view, pl->root, NULL, source);
		return NV_OK;
	}
	root = with_leaf(ev, pl, NULL, &changed, code);
	if (!root)
		return NV_REFUSED;
	if (changed && !over_budget(ev, n))
		stage(ev, n, view, pl->root, &(struct macro_value){ .json = root }, source);
	return NV_OK;
}

enum nv
var_write(struct ev *ev, const struct node *n, enum var_op op, enum macro_view view, struct str key,
    struct str value, const char *source, struct str *out, enum macro_code *code_out)
{
	struct place pl;
	struct macro_value cur, next, root;
	bool has, changed;

	*out = STR("");
	if (ev->r->env->phase == MACRO_COMMIT) {
		eval_warn(
		    ev, MACRO_W_PHASE, n, str_c(source), "texts are not evaluated while a turn commits");
		return NV_OK;
	}
	if (!place_find(ev, view, key, hash_bytes(hash_seed(), key.p, key.n), &pl, code_out))
		return NV_REFUSED;
	if (pl.root->key.n > LIM_VARIABLE_KEY) { /* the turn could not store it */
		*code_out = MACRO_W_TYPE;
		return NV_REFUSED;
	}
	if (op == VAR_DEL)
		return write_delete(ev, n, view, &pl, source, code_out);
	*code_out = MACRO_W_TYPE;
	if (!place_value(&pl, &cur, &has, code_out))
		return NV_REFUSED;
	if (ev->writes >= ev->r->env->limits.writes) {
		over_budget(ev, n);
		return NV_OK;
	}
	if (new_value(ev, n, op, &cur, value, &next) != NV_OK)
		return NV_REFUSED;
	root = next;
	if (pl.path.seg.n) {
		root = (struct macro_value){ .json = with_leaf(ev, &pl, &next, &changed, code_out) };
		if (!root.json)
			return NV_REFUSED;
	}
	if (stage(ev, n, view, pl.root, &root, source) && (op == VAR_INC || op == VAR_DEC))
		*out = next.text;
	return NV_OK;
}

/* ---- layers ---- */

static bool
layer_get(const struct json *layer, struct str name, struct macro_value *out)
{
	struct json *v;

	if (!layer || !var_member(layer, name, &v))
		return false;
	*out = json_value(v);
	return true;
}

static bool
layers_get(void *ctx, enum macro_view view, struct str name, struct macro_value *out)
{
	const struct macro_layers *l = ctx;

	if (view == MACRO_GLOBAL)
		return layer_get(l->global, name, out);
	if (view == MACRO_ORDINARY && l->ordinary)
		return layer_get(l->ordinary, name, out);
	if (layer_get(l->page, name, out) || layer_get(l->floor, name, out) ||
	    layer_get(l->branch, name, out) || layer_get(l->chat, name, out))
		return true;
	return view == MACRO_ORDINARY && layer_get(l->global, name, out);
}

static const struct json *
layers_layer(void *ctx, enum macro_scope scope)
{
	const struct macro_layers *l = ctx;

	return scope == MACRO_SCOPE_GLOBAL ? l->global : l->branch;
}

struct macro_vars
macro_vars_layers(struct macro_layers *l)
{
	return (struct macro_vars){ .get = layers_get, .layer = layers_layer, .ctx = l };
}

void
macro_writes_apply(
    struct arena *a, const struct macro_write *w, size_t n, struct json *branch, struct json *global)
{
	for (size_t i = 0; i < n; i++) {
		struct json *layer = w[i].scope == MACRO_SCOPE_GLOBAL ? global : branch;
		const char *key = arena_strdup(a, w[i].key);

		if (w[i].del)
			json_del(layer, key);
		else if (w[i].value.text.p)
			json_set_str(layer, key, w[i].value.text);
		else
			json_set(layer, key, w[i].value.json);
	}
}
