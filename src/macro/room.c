/*
 * room: how many variables, and how many bytes of values, the layers that writes go to hold already: a write
 * that the turn could not store is refused while it is evaluated, not when the turn commits.
 */
#include "macro/macro_private.h"

#include "base/limits.h"

/* Bytes of a value as it is stored: JSON. */
static size_t
value_bytes(struct arena *a, const struct macro_value *v)
{
	struct sb sb;

	if (!v->text.p)
		return json_text(a, v->json).n;
	if (v->text.n > LIM_VARIABLE_BYTES)
		return v->text.n;
	sb = sb_new(a);
	sb_add_json(&sb, v->text);
	return sb.n;
}

static size_t
json_bytes(struct arena *a, const struct json *j)
{
	return value_bytes(a, &(struct macro_value){ .json = j });
}

static const struct json *
layer_of(const struct macro_run *r, enum macro_view view)
{
	const struct macro_vars *v = &r->env->vars;

	return v->layer ? v->layer(v->ctx, view == MACRO_GLOBAL ? MACRO_SCOPE_GLOBAL : MACRO_SCOPE_BRANCH) : NULL;
}

static void
count_layer(struct macro_run *r, const struct json *layer, struct room *room)
{
	struct json_iter it = { 0 };
	struct str key;
	struct json *v;

	while (json_next(layer, &it, &key, &v)) {
		room->names++;
		room->bytes += json_bytes(r->a, v);
	}
	room->known = true;
}

/* What the layer holds under this name. */
static void
count_name(struct macro_run *r, const struct json *layer, struct var *x)
{
	struct json *v;

	x->counted = true;
	x->held = layer && var_member(layer, x->key, &v);
	if (x->held)
		x->bytes = json_bytes(r->a, v);
}

bool
room_take(struct macro_run *r, enum macro_view view, struct var *x, const struct macro_value *v)
{
	struct room *room = &r->room[view == MACRO_GLOBAL];
	const struct json *layer = layer_of(r, view);
	size_t bytes = v ? value_bytes(r->a, v) : 0;

	if (!room->known)
		count_layer(r, layer, room);
	if (!x->counted)
		count_name(r, layer, x);
	if (v && !x->held && room->names >= LIM_VARIABLES)
		return false;
	if (bytes > x->bytes && room->bytes - x->bytes + bytes > LIM_VARIABLE_BYTES)
		return false;
	room->names = room->names - x->held + (v != NULL);
	room->bytes = room->bytes - x->bytes + bytes;
	x->held = v != NULL;
	x->bytes = bytes;
	return true;
}
