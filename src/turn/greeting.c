#include "turn/greeting.h"

#include "base/limits.h"
#include "base/rng.h"
#include "turn/turn_private.h"

static int
account_settings(struct ctx *c, const struct json **out)
{
	struct rows *rs = db_query0(c, STMT_account_settings);
	struct json_error err;
	int rc = rows_next(rs);

	if (rc > 0)
		*out = json_read(c->a, row_str(rs, 0), LIM_JSON_DEPTH, &err);
	return rc;
}

/* What a text of the character may say when the chat begins. */
static int
greeting_input(struct ctx *c, const struct greeting *g, const struct prompt_card **card, struct prompt_input *in)
{
	const struct json *account = NULL;
	struct macro_layers *none = arena_new(c->a, struct macro_layers);

	*card = prompt_card_compile(c->a, g->card ? g->card : json_object(c->a));
	*in = (struct prompt_input){ .mode = g->mode, .cards = card, .ncards = 1, .user_name = g->user_name, .session_id = g->session_id, .now = c->now,
		.phase = MACRO_ASSEMBLE, .vars = macro_vars_layers(none) };
	in->persona = g->user ? prompt_persona_compile(c->a, g->user) : NULL;
	if (account_settings(c, &account) < 0)
		return -1;
	turn_clock_settle(c->a, in, g->settings, account);
	rng_system(&in->seed, sizeof(in->seed));
	return 0;
}

int
greeting_expand(struct ctx *c, const struct greeting *g, struct str text, struct str *out, const struct macro_result **macros_out)
{
	const struct prompt_card *card;
	struct prompt_input in;

	if (greeting_input(c, g, &card, &in) < 0)
		return -1;
	*out = prompt_expand(c->a, &in, 0, text, macros_out);
	return 0;
}

void
greeting_writes(struct ctx *c, const struct greeting *g, const struct macro_result *m, int32_t floor_seq, struct str page_id)
{
	macro_writes_send(c, m,
	    &(struct write_place){ .session_no = g->session_no, .session_id = g->session_id, .branch_no = g->branch_no, .branch_id = STR("main"),
		.segment_no = g->segment_no, .floor_seq = floor_seq, .page_id = page_id });
}

int
greeting_write(struct turns *p, struct ctx *c, const struct greeting *g)
{
	const struct prompt_card *card;
	const struct macro_result *macros = NULL;
	struct token_choice tokens = token_for_model(str_c(p->conf.model));
	struct prompt_input in;
	struct id floor = id_new(c->now), page = id_new(c->now), message = id_new(c->now);
	struct rows *rs;
	struct str text;

	if (greeting_input(c, g, &card, &in) < 0)
		return -1;
	text = prompt_greeting(c->a, &in, 0, g->choice, &macros);
	if (text.n == 0)
		return 0;
	rs = db_query(c, STMT_greeting_insert, P_INT(g->session_no), P_INT(g->branch_no), P_INT(g->segment_no), P_C(floor.s), P_C(page.s), P_C(message.s),
	    P_STR(text), P_INT((int64_t)token_count(tokens.encoding, text)), P_INT(c->now));
	if (rows_next(rs) <= 0)
		return -1;
	greeting_writes(c, g, macros, 0, str_c(page.s));
	return 0;
}
