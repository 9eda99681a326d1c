/*
 * layout: from sections to messages: SillyTavern's squashing, and what a provider's prompt format
 * asks for (st-assembly 1.8, 1.9).
 */
#include "prompt/prompt_private.h"

/* ---- squashing of system messages ---- */

static bool
squashes(const struct item *it)
{
	return (it->flags & (ITEM_ALONE | ITEM_EXAMPLE)) == 0 && str_is(it->role, "system") && it->name.n == 0;
}

static struct str
glue(struct arena *a, struct str x, const char *between, struct str y)
{
	struct sb out = sb_new(a);

	sb_reserve(&out, x.n + y.n + 2);
	sb_add(&out, x);
	sb_adds(&out, between);
	sb_add(&out, y);
	return sb_str(&out);
}

/* Without empty ones; `apart` keeps those of users and the model, which stand between messages until all are squashed. */
static void
flatten(struct build *b, struct items *list, const struct items *from, bool apart)
{
	for (size_t i = 0; i < from->v.n; i++) {
		const struct item *it = &from->v.v[i];

		if (it->content.n > 0 || (apart && it->role.n > 0 && !str_is(it->role, "system")))
			vec_push(b->a, &list->v, *it);
	}
}

static void
squash(struct build *b, struct items *list)
{
	struct items out = { 0 };

	for (size_t i = 0; i < list->v.n; i++) {
		struct item *it = &list->v.v[i], *last = out.v.n ? vec_last(&out.v) : NULL;

		if (last && squashes(it) && squashes(last)) {
			last->content = glue(b->a, last->content, "\n", it->content);
			last->tokens = item_tokens(b, last);
		} else
			vec_push(b->a, &out.v, *it);
	}
	*list = (struct items){ 0 };
	flatten(b, list, &out, false);
}

/* ---- a provider's prompt format ---- */

struct format {
	bool strict, placeholders, single;
};

static bool
format_find(struct str name, struct format *out)
{
	static const struct {
		const char *name;
		struct format f;
	} table[] = {
		{ "merge", { false, false, false } },
		{ "merge_tools", { false, false, false } },
		{ "claude", { false, false, false } },
		{ "semi", { true, false, false } },
		{ "semi_tools", { true, false, false } },
		{ "strict", { true, true, false } },
		{ "strict_tools", { true, true, false } },
		{ "single", { true, false, true } },
	};

	for (size_t i = 0; i < COUNT(table); i++)
		if (str_is(name, table[i].name)) {
			*out = table[i].f;
			return true;
		}
	return false;
}

static bool
begins_with_name(struct str s, struct str name)
{
	return str_starts(s, name) && s.n >= name.n + 2 && s.p[name.n] == ':' && s.p[name.n + 1] == ' ';
}

static bool
begins_with_member(const struct build *b, struct str s)
{
	for (size_t i = 0; b->in->group && i < b->in->ncards; i++)
		if (begins_with_name(s, b->members[i].field[MF_CHAR].text))
			return true;
	return false;
}

static void
put_name(struct build *b, struct item *it, struct str name)
{
	if (name.n > 0 && !begins_with_name(it->content, name))
		it->content = glue(b->a, glue(b->a, name, ": ", STR("")), "", it->content);
}

static struct str
speaker(const struct build *b)
{
	return b->in->ncards ? b->members[b->in->speaker].field[MF_CHAR].text : STR("");
}

/* Names go into the texts, since these formats have no field for them. */
static void
names_in(struct build *b, struct items *list, bool single)
{
	for (size_t i = 0; i < list->v.n; i++) {
		struct item *it = &list->v.v[i];
		bool system = str_is(it->role, "system");

		if (system && str_is(it->name, "example_assistant") && !begins_with_member(b, it->content))
			put_name(b, it, speaker(b));
		if (system && str_is(it->name, "example_user"))
			put_name(b, it, b->user);
		if (!system && it->name.n > 0)
			put_name(b, it, it->name);
		if (single && str_is(it->role, "assistant") && !begins_with_member(b, it->content))
			put_name(b, it, speaker(b));
		if (single && str_is(it->role, "user"))
			put_name(b, it, b->user);
		if (single)
			it->role = STR("user");
		it->name = STR_NULL;
	}
}

void
layout_merge(struct build *b, struct items *list)
{
	struct items out = { 0 };

	for (size_t i = 0; i < list->v.n; i++) {
		struct item *it = &list->v.v[i], *last = out.v.n ? vec_last(&out.v) : NULL;

		if (last && str_eq(last->role, it->role) && str_eq(last->name, it->name) && it->content.n > 0)
			last->content = glue(b->a, last->content, "\n\n", it->content);
		else
			vec_push(b->a, &out.v, *it);
	}
	*list = out;
}

static struct item
placeholder(const struct build *b)
{
	return (struct item){ .role = STR("user"), .content = b->in->placeholder.p ? b->in->placeholder : STR("[Start a new chat]"),
		.source = "placeholder" };
}

static void
insert(struct build *b, struct items *list, size_t at, struct item it)
{
	vec_push(b->a, &list->v, it);
	memmove(&list->v.v[at + 1], &list->v.v[at], (list->v.n - at - 1) * sizeof(*list->v.v));
	list->v.v[at] = it;
}

static void
strict_roles(struct build *b, struct items *list, bool placeholders)
{
	bool system_first = list->v.n > 0 && str_is(list->v.v[0].role, "system");

	for (size_t i = 1; i < list->v.n; i++)
		if (str_is(list->v.v[i].role, "system"))
			list->v.v[i].role = STR("user");
	if (placeholders && system_first && (list->v.n == 1 || !str_is(list->v.v[1].role, "user")))
		insert(b, list, 1, placeholder(b));
	else if (placeholders && !system_first && list->v.n > 0 && !str_is(list->v.v[0].role, "user"))
		insert(b, list, 0, placeholder(b));
}

static void
process(struct build *b, struct items *list)
{
	struct str name = b->in->post_processing.p ? b->in->post_processing : b->preset->post_processing;
	struct format f;

	if (!format_find(name, &f))
		return;
	names_in(b, list, f.single);
	layout_merge(b, list);
	if (list->v.n == 0)
		vec_push(b->a, &list->v, placeholder(b));
	if (f.strict) {
		strict_roles(b, list, f.placeholders);
		layout_merge(b, list);
	}
	for (size_t i = 0; i < list->v.n; i++)
		list->v.v[i].tokens = item_tokens(b, &list->v.v[i]);
}

/*
 * Anthropic and Google in the compat modes (decisions 55): names go into the texts; leading system messages go to the
 * provider's system field only if the preset says so, else they are text of the first user turn.
 */
static void
vendor_roles(struct build *b, struct items *list)
{
	if (!b->in->system_apart || b->in->mode > PROMPT_COMPAT_PLUS)
		return;
	names_in(b, list, false);
	for (size_t i = 0; !b->preset->use_sysprompt && i < list->v.n && str_is(list->v.v[i].role, "system"); i++)
		list->v.v[i].role = STR("user");
}

/* ---- the renderer ---- */

static void
out_add(struct build *b, const struct item *it)
{
	struct prompt *p = b->out;

	p->messages[p->nmessages++] = (struct prompt_out){ .role = arena_strdup(b->a, it->role.n ? it->role : STR("system")),
		.content = it->content, .name = it->name, .tokens = it->tokens, .source = it->source, .message_no = it->message_no };
	p->tokens += it->tokens;
}

void
layout_render(struct build *b)
{
	bool merges = b->in->mode == PROMPT_NATIVE || (b->in->mode == PROMPT_REARRANGE && b->arranged == NULL);
	bool squashed = !merges && b->preset->squash && b->arranged == NULL;
	struct items list = { 0 };

	for (size_t i = 0; i < b->sections.n; i++)
		flatten(b, &list, &b->sections.v[i].items, squashed);
	flatten(b, &list, &b->control, squashed);
	if (merges)
		layout_merge(b, &list);
	else if (squashed)
		squash(b, &list);
	process(b, &list);
	vendor_roles(b, &list);
	policy_structure(b, &list);
	deliver(b, &list);
	b->out->messages = arena_array(b->a, struct prompt_out, list.v.n + 1);
	b->out->tokens = b->in->tokens_reserved;
	for (size_t i = 0; i < list.v.n; i++)
		out_add(b, &list.v.v[i]);
}
