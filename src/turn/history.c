/*
 * history: the newest floors of the story that is read, as far as the budget can hold, newest first, with the token counts that were
 * stored when the messages were written. All of it lies in the turn's work arena: nobody looks at it once the model is asked.
 */
#include "turn/turn_private.h"

#include "base/limits.h"

#define FIRST_WINDOW 40 /* floors of the first history scan, at least; doubled until the budget is full */
#define WINDOW_SLACK 4  /* floors more than filled the context last time: the new ones may be shorter */

static const struct {
	const char *name;
	enum prompt_role role;
} roles[] = { { "user", PROMPT_USER }, { "assistant", PROMPT_ASSISTANT }, { "narrator", PROMPT_NARRATOR }, { "system", PROMPT_SYSTEM } };

static enum prompt_role
role_of(struct str name)
{
	for (size_t i = 0; i < sizeof(roles) / sizeof(*roles); i++)
		if (str_is(name, roles[i].name))
			return roles[i].role;
	return PROMPT_SYSTEM;
}

static bool
listed(const struct json *list, int64_t no)
{
	for (size_t i = 0; i < json_len(list); i++)
		if (json_int(json_at(list, i), 0) == no)
			return true;
	return false;
}

/* A message of a turn that is made again, as it was before that turn stored something about it. */
static void
as_before(struct turn *t, struct prompt_message *m)
{
	const struct json *list = json_get(t->past->inputs, "before");
	struct macro_rolls *kept;

	for (size_t i = 0; i < json_len(list); i++) {
		const struct json *b = json_at(list, i);
		size_t n = (size_t)json_int(json_at(b, 3), 0);

		if (json_int(json_at(b, 0), 0) != m->no)
			continue;
		m->tokens = (int32_t)json_int(json_at(b, 1), -1);
		if (json_int(json_at(b, 2), 0) == 0)
			m->stored = STR_NULL;
		if (m->rolls == NULL || m->rolls->v.n <= n)
			continue;
		kept = arena_copy(t->c->a, m->rolls, sizeof(*kept));
		kept->v.n = n;
		m->rolls = n ? kept : NULL;
	}
}

/* Kept chance results of a message (decisions 52): [{at,text}]. */
static const struct macro_rolls *
rolls_read(struct turn *t, const struct json *j)
{
	struct macro_rolls *r = arena_new(t->c->a, struct macro_rolls);

	for (size_t i = 0; i < json_len(j); i++)
		vec_push(t->c->a, &r->v,
		    ((struct macro_roll){ (uint32_t)json_get_int(json_at(j, i), "at", 0), json_get_str(json_at(j, i), "text") }));
	return r;
}

int
turn_history_take(struct turn *t, struct turn_history *h, struct rows *rs)
{
	int rc;

	while ((rc = rows_next(rs)) > 0) {
		struct prompt_message *m;

		if (row_bool(rs, 9) || (t->past && listed(json_get(t->past->inputs, "hidden"), row_int(rs, 0)))) {
			h->ends_hidden |= h->v.n == 0;
			vec_push(t->c->a, &t->hidden, row_int(rs, 0));
			t->in.hidden++;
			continue;
		}
		m = vec_add(t->c->a, &h->v);
		*m = (struct prompt_message){ .no = row_int(rs, 0), .floor_seq = (int32_t)row_int(rs, 1), .role = role_of(row_str(rs, 2)),
			.name = row_str(rs, 3), .text = row_str(rs, 4), .stored = row_str(rs, 5), .tokens = (int32_t)row_int(rs, 6), .id = row_str(rs, 7),
			.rolls = row_null(rs, 8) ? NULL : rolls_read(t, turn_column(t, rs, 8)) };
		if (t->past)
			as_before(t, m);
		if (!h->hides || policy_sees_floor(t->policy.policy, m->floor_seq, STR_NULL))
			h->tokens += m->tokens;
	}
	return rc;
}

/* Sends the scans of floors [from, to]: *n_out answers, newest first. */
static struct rows **
history_ask(struct turn *t, int32_t from, int32_t to, size_t *n_out)
{
	struct branch_range *r = branch_window(t->c->a, &t->s.branch, from, to, n_out);
	struct rows **rs = arena_array(t->c->a, struct rows *, *n_out + 1);

	for (size_t i = 0; i < *n_out; i++)
		rs[i] = db_query(t->c, t->past ? STMT_message_range_all : STMT_message_range, P_INT(r[i].segment), P_INT(r[i].lo), P_INT(r[i].hi));
	return rs;
}

static int64_t
history_budget(const struct turn *t)
{
	int64_t context = t->in.max_context, reply = t->in.max_reply;

	if (context == 0 && t->in.preset)
		context = prompt_preset_context(t->in.preset);
	if (reply == 0 && t->in.preset)
		reply = prompt_preset_reply(t->in.preset);
	if (context == 0)
		context = t->s.context_tokens;
	return context > reply ? context - reply : context;
}

/* What users said that is not loaded, for a note that is not due every time: floors before `from`, hidden messages behind it. */
static int
users_count(struct turn *t, int32_t from)
{
	struct branch_range *r;
	size_t n;

	if (turn_note(t).interval <= 1)
		return 0;
	r = branch_window(t->c->a, &t->s.branch, 0, t->s.branch.head, &n);
	for (size_t i = 0; i < n; i++) {
		struct rows *rs = db_query(t->c, STMT_message_users_range, P_INT(r[i].segment), P_INT(r[i].lo), P_INT(r[i].hi), P_INT(from));

		if (rows_next(rs) <= 0)
			return -1;
		t->in.users_before += row_int(rs, 0);
	}
	return 0;
}

/* How many of the newest floors fill the budget, or all that there are. */
static int32_t
floors_that_fill(const struct turn *t, const struct turn_history *h, int64_t budget)
{
	int64_t tokens = 0;
	size_t i = 0;

	while (i < h->v.n && tokens <= budget)
		tokens += h->v.v[i++].tokens;
	return i ? t->s.branch.head + 1 - h->v.v[i - 1].floor_seq : 0;
}

/* How far a turn reads at once: as far as the last one of its branch needed, and no less than a scan of lore looks back. */
static int32_t
first_window(const struct turn *t)
{
	int32_t floors = t->s.history_floors + WINDOW_SLACK;

	return floors > FIRST_WINDOW ? floors : FIRST_WINDOW;
}

/* Further windows, each twice the last, until the budget is full or the story begins. */
static int
history_rest(struct turn *t, struct turn_history *h)
{
	int64_t budget = history_budget(t);
	int32_t from = h->from, width = t->s.branch.head + 1 - from;

	while (from > 0 && h->tokens <= budget) {
		int32_t to = from - 1;
		struct rows **rs;
		size_t n;

		width *= 2;
		from = to + 1 > width ? to + 1 - width : 0;
		rs = history_ask(t, from, to, &n);
		for (size_t i = 0; i < n; i++)
			if (turn_history_take(t, h, rs[i]) < 0)
				return -1;
	}
	t->in.history_cut = from > 0;
	t->s.history_floors = floors_that_fill(t, h, budget);
	return users_count(t, from);
}

/* The floors' ids, where somebody looks at them: traces, and policies that name floors. */
static int
floor_ids_take(struct turn *t, struct turn_history *h)
{
	size_t n, at = 0;
	struct branch_range *r;
	struct rows **rs;

	if (h->v.n == 0 || (!t->dry && !h->hides))
		return 0;
	r = branch_window(t->c->a, &t->s.branch, vec_last(&h->v)->floor_seq, h->v.v[0].floor_seq, &n);
	rs = arena_array(t->c->a, struct rows *, n + 1);
	for (size_t i = 0; i < n; i++)
		rs[i] = db_query(t->c, STMT_floor_ids_range, P_INT(r[i].segment), P_INT(r[i].lo), P_INT(r[i].hi));
	for (size_t i = 0; i < n; i++) { /* both newest first */
		int rc;

		while ((rc = rows_next(rs[i])) > 0) {
			while (at < h->v.n && h->v.v[at].floor_seq > row_int(rs[i], 0))
				at++;
			for (; at < h->v.n && h->v.v[at].floor_seq == row_int(rs[i], 0); at++)
				h->v.v[at].floor_id = row_str(rs[i], 1);
		}
		if (rc < 0)
			return -1;
	}
	return 0;
}

static void
asked_first(struct turn *t, struct turn_history *h)
{
	int32_t n = first_window(t), head = t->s.branch.head;

	h->from = head + 1 > n ? head + 1 - n : 0;
	h->asked = history_ask(t, h->from, head, &h->nasked);
}

void
turn_history_ask(struct turn *t, struct turn_history *h)
{
	struct arena *kept = t->c->a;

	t->c->a = t->work; /* answers lie where they were asked for */
	asked_first(t, h);
	t->c->a = kept;
}

static int
read_all(struct turn *t, struct turn_history *h)
{
	for (size_t i = 0; i < h->nasked; i++)
		if (turn_history_take(t, h, h->asked[i]) < 0)
			return -1;
	return history_rest(t, h) < 0 || floor_ids_take(t, h) < 0 ? -1 : 0;
}

int
turn_history_read(struct turn *t, struct turn_history *h)
{
	struct arena *kept = t->c->a;
	int rc;

	t->c->a = t->work;
	rc = read_all(t, h);
	t->c->a = kept;
	return rc;
}

/*
 * The last word is the model's, and it is asked to go on with it: then the request's message is not said. A hidden last word does not go
 * on. SillyTavern lets the model go on with the last visible message and adds that to the hidden one, where nobody reads it.
 */
static bool
goes_on(const struct turn *t, const struct turn_history *h)
{
	return turn_asks_to_go_on(t) && !h->ends_hidden && h->v.n > 0 && h->v.v[0].role == PROMPT_ASSISTANT && h->v.v[0].floor_seq == t->s.branch.head;
}

void
turn_history_settle(struct turn *t, struct turn_history *h)
{
	bool on = t->goes_on = goes_on(t, h);
	size_t n = h->v.n, extra = t->q.message.p && !on ? 1 : 0;
	struct prompt_message *v = arena_array(t->work, struct prompt_message, n + extra);

	t->target.again |= on;

	for (size_t i = 0; i < n; i++)
		v[i] = h->v.v[n - 1 - i];
	if (extra)
		v[n] = (struct prompt_message){ .role = PROMPT_USER, .text = t->q.message, .floor_seq = t->s.branch.head + 1, .tokens = -1, .id = str_c(t->message_id.s) };
	t->in.history = v;
	t->in.nhistory = n + extra;
	/* Messages per floor are two but for the greeting; the exact number matters only to timed lore of long chats. */
	t->in.chat_length = t->in.history_cut ? (int64_t)t->in.nhistory + 2 * (int64_t)(n ? v[0].floor_seq : 0) - 1 : (int64_t)t->in.nhistory;
}
