/*
 * ctl_assemble: `tavernctl assemble`: a preset, cards, books, regex sets and a chat as files in, the
 * exact messages and the reasons for them out. Needs no server and no database.
 */
#include "ctl_scene.h"
#include "lore/report.h"

#include <stdio.h>

/* ---- as JSON ---- */

static void
message_json(struct json *list, const struct prompt_out *m)
{
	struct json *o = json_push_object(list);

	json_set_c(o, "role", m->role);
	if (m->name.n > 0)
		json_set_str(o, "name", m->name);
	json_set_str(o, "content", m->content);
	json_set_int(o, "tokens", m->tokens);
	json_set_c(o, "source", m->source);
}

static void
print_json(const struct scene *s, const struct prompt *p)
{
	struct json *o = json_object(s->a), *list = json_set_array(o, "messages"), *macro;
	struct str text;

	for (size_t i = 0; i < p->nmessages; i++)
		message_json(list, &p->messages[i]);
	if (p->prefill.n > 0)
		json_set_str(o, "prefill", p->prefill);
	json_set_int(o, "tokens", p->tokens);
	json_set_int(o, "budget", p->budget);
	json_set_c(o, "tokenizer", s->tokens.name);
	json_set(o, "sections", p->sections);
	json_set(o, "lore", p->lore ? lore_report(s->a, p->lore) : NULL);
	json_set(o, "files", s->files);
	json_set(o, "trace", p->trace);
	macro = macro_result_json(s->a, p->macros, s->in.phase);
	if (macro)
		json_set(p->trace, "macro", macro);
	text = json_text_pretty(s->a, o);
	printf("%.*s\n", STR_ARG(text));
}

/* ---- as text ---- */

static void
print_messages(const struct prompt *p)
{
	for (size_t i = 0; i < p->nmessages; i++) {
		const struct prompt_out *m = &p->messages[i];

		printf("--- %s%s%.*s (%s, %d tokens)\n%.*s\n\n", m->role, m->name.n ? " " : "", STR_ARG(m->name), m->source, m->tokens,
		    STR_ARG(m->content));
	}
	if (p->prefill.n > 0)
		printf("--- the reply begins with\n%.*s\n\n", STR_ARG(p->prefill));
}

static void
print_sections(const struct prompt *p)
{
	printf("tokens  section\n");
	for (size_t i = 0; i < json_len(p->sections); i++) {
		const struct json *o = json_at(p->sections, i);
		struct str id = json_get_str(o, "identifier"), reason = json_get_str(o, "reason");

		printf("%6lld  %.*s", (long long)json_get_int(o, "tokens", 0), STR_ARG(id));
		if (str_is(reason, "in_chat"))
			printf(" (stands in the chat)");
		else if (reason.n)
			printf(" (not sent: %.*s)", STR_ARG(reason));
		printf("\n");
	}
	printf("%6lld  in all, of %lld\n", (long long)p->tokens, (long long)p->budget);
}

static void
print_lore(struct arena *a, const struct lore_result *r)
{
	printf("\n%zu of %zu entries of world info are on\n", r->nactive, r->nverdicts);
	for (size_t i = 0; i < r->nactive; i++) {
		const struct lore_active *e = &r->active[i];
		struct str why = lore_verdict_text(a, &r->verdicts[e->candidate]);

		printf("%6zu  %s %lld%s%.*s: %.*s\n", e->tokens, lore_position_name(e->entry->position), (long long)e->entry->uid,
		    e->entry->comment.n ? " " : "", STR_ARG(e->entry->comment), STR_ARG(why));
	}
}

/* What the macros of the files would be told. */
static void
print_macro_warnings(const struct scene *s, const struct prompt *p)
{
	const struct json *list = json_get(macro_result_json(s->a, p->macros, s->in.phase), "warnings");

	for (size_t i = 0; i < json_len(list); i++) {
		const struct json *o = json_at(list, i);
		struct str code = json_get_str(o, "code"), message = json_get_str(o, "message"), name = json_get_str(o, "macro_name");

		fprintf(stderr, "macro %.*s: %.*s (%.*s)\n", STR_ARG(name), STR_ARG(message), STR_ARG(code));
	}
}

static void
print_text(const struct scene *s, const struct prompt *p)
{
	print_messages(p);
	print_sections(p);
	if (p->lore)
		print_lore(s->a, p->lore);
	fflush(stdout);
	scene_warnings(s);
	print_macro_warnings(s, p);
}

/* What is typed is said as the page does it; a greeting alone is swiped without a model. */
static int
typed_settle(struct scene *s)
{
	const struct prompt_card *card = s->in.ncards == 1 ? s->cards[0] : NULL;
	int64_t next = s->greeting;

	if (prompt_greeting_swipes(s->in.type, card, 1, !s->has_chat, &next)) {
		fprintf(stderr, "tavernctl: a swipe of the greeting alone shows greeting %lld: no model is asked\n", (long long)next);
		return -1;
	}
	if (prompt_says(s->in.type, s->in.preset, s->message))
		return 0;
	if (s->message.n > 0)
		fprintf(stderr, "what is typed stays unsaid in a turn of type %s\n", prompt_type_name(s->in.type));
	s->message = STR_NULL;
	return 0;
}

static int
assemble(struct ctl *ctl, int argc, char **argv)
{
	static const struct option options[] = { SCENE_OPTIONS, { "text", no_argument, NULL, 'T' }, { NULL, 0, NULL, 0 } };
	struct scene *s = arena_new(ctl->a, struct scene);
	struct prompt *p;
	bool as_text = false;
	int opt;

	scene_begin(s, ctl);
	optind = 0; /* the options of tavernctl itself ended at the command: begin anew */
	while ((opt = getopt_long(argc, argv, SCENE_LETTERS "T", options, NULL)) != -1)
		if (opt == 'T')
			as_text = true;
		else if (scene_option(s, opt, optarg) < 0)
			return ctl_usage(&ctl_assemble);
	if (optind == argc)
		return ctl_usage(&ctl_assemble);
	for (int i = optind; i < argc; i++)
		if (scene_file(s, argv[i]) < 0)
			return 1;
	if (typed_settle(s) < 0)
		return 1;
	scene_settle(s);
	s->in.value_warnings = !as_text; /* of every name without a value: for programs */
	prompt_assemble(s->a, &s->in, &p);
	if (p->error) {
		fprintf(stderr, "tavernctl: %s (%s); --context N makes room\n",
		    p->error_text ? p->error_text : "the prompt cannot be built", p->error);
		return 1;
	}
	if (as_text)
		print_text(s, p);
	else
		print_json(s, p);
	return 0;
}

const struct ctl_command ctl_assemble = { "assemble", SCENE_USAGE " [--text] FILE...",
	"the messages that a preset, cards, books, regex sets and a chat make, and why (--text: to read)", assemble };
