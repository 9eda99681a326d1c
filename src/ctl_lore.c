/*
 * ctl_lore: `tavernctl lore`: what a text or a chat switches on in world books, and why not the rest.
 * Needs no server and no database.
 */
#include "ctl_scene.h"
#include "lore/report.h"

#include <stdio.h>

enum { OPT_TEXT = 256, OPT_CHAT };

static bool
one_book(const struct lore_result *r)
{
	for (size_t i = 1; i < r->nverdicts; i++)
		if (r->verdicts[i].book != r->verdicts[0].book)
			return false;
	return true;
}

static const char *
where(struct arena *a, const struct lore_entry *e)
{
	if (e->position == LORE_DEPTH)
		return arena_printf(a, "%s %d %s", lore_position_name(e->position), e->depth, lore_role_name(e->role));
	if (e->position == LORE_OUTLET)
		return arena_printf(a, "%s %.*s", lore_position_name(e->position), STR_ARG(e->outlet));
	return lore_position_name(e->position);
}

static void
print_row(struct arena *a, const struct lore_result *r, const struct lore_verdict *v, const struct lore_active *on)
{
	const struct lore_entry *e = lore_book_entry(v->book, v->entry);
	struct str why = lore_verdict_text(a, v), book = lore_book_name(v->book);

	printf("%-3s  %5lld  %-20s  %6g  ", on ? "on" : "off", (long long)e->uid, where(a, e), e->order);
	if (on)
		printf("%6zu  ", on->tokens);
	else
		printf("%6s  ", "-");
	if (!one_book(r))
		printf("[%.*s] ", STR_ARG(book));
	printf("%.*s%s%.*s\n", STR_ARG(e->comment), e->comment.n ? ": " : "", STR_ARG(why));
}

/* The entries that are on, in the order in which they came up, then the others as the scan looks at them. */
static void
print_table(const struct scene *s, const struct lore_result *r)
{
	printf("     %5s  %-20s  %6s  %6s  why\n", "uid", "where", "order", "tokens");
	for (size_t i = 0; i < r->nactive; i++)
		print_row(s->a, r, &r->verdicts[r->active[i].candidate], &r->active[i]);
	for (size_t i = 0; i < r->nverdicts; i++)
		if (!lore_why_is_on(r->verdicts[i].why))
			print_row(s->a, r, &r->verdicts[i], NULL);
	printf("\n%zu of %zu on, %lld of %lld tokens%s, %d pass%s, seed %llu\n", r->nactive, r->nverdicts, (long long)r->tokens,
	    (long long)r->budget, r->overflowed ? " (more did not fit)" : "", r->passes, r->passes == 1 ? "" : "es",
	    (unsigned long long)s->in.seed);
	fflush(stdout);
	scene_warnings(s);
}

static void
print_json(const struct scene *s, const struct lore_result *r)
{
	struct json *o = lore_report(s->a, r);
	struct str text;

	json_set_int(o, "seed", (int64_t)s->in.seed);
	json_set_int(o, "messages", (int64_t)s->in.nhistory);
	json_set(o, "files", s->files);
	text = json_text_pretty(s->a, o);
	printf("%.*s\n", STR_ARG(text));
}

static int
option(struct scene *s, int opt, const char *arg, bool *as_json)
{
	switch (opt) {
	case OPT_TEXT:
		s->message = str_c(arg);
		return 0;
	case OPT_CHAT:
		return scene_file(s, arg) < 0 ? 1 : 0;
	case 'j':
		*as_json = true;
		return 0;
	default:
		return scene_option(s, opt, arg) < 0 ? 2 : 0;
	}
}

static int
lore(struct ctl *ctl, int argc, char **argv)
{
	static const struct option options[] = { SCENE_OPTIONS, { "text", required_argument, NULL, OPT_TEXT },
		{ "chat", required_argument, NULL, OPT_CHAT }, { "json", no_argument, NULL, 'j' }, { NULL, 0, NULL, 0 } };
	struct scene *s = arena_new(ctl->a, struct scene);
	struct prompt *p;
	bool as_json = false;
	int opt, rc;

	scene_begin(s, ctl);
	optind = 0; /* the options of tavernctl itself ended at the command: begin anew */
	while ((opt = getopt_long(argc, argv, SCENE_LETTERS "j", options, NULL)) != -1) {
		rc = option(s, opt, optarg, &as_json);
		if (rc != 0)
			return rc == 2 ? ctl_usage(&ctl_lore) : rc;
	}
	if (optind == argc)
		return ctl_usage(&ctl_lore);
	for (int i = optind; i < argc; i++)
		if (scene_file(s, argv[i]) < 0)
			return 1;
	if (!s->message.p && !s->has_chat)
		return ctl_usage(&ctl_lore);
	/* Without a chat nobody is known to speak. */
	s->in.lore_settings.include_names = s->has_chat || s->in.ncards > 0;
	scene_settle(s);
	prompt_assemble(s->a, &s->in, &p);
	if (p->lore == NULL) {
		fputs("tavernctl: no world book among the files, and no card with one\n", stderr);
		return 1;
	}
	if (as_json)
		print_json(s, p->lore);
	else
		print_table(s, p->lore);
	return 0;
}

const struct ctl_command ctl_lore = { "lore", SCENE_USAGE " --text TEXT | --chat FILE [--json] BOOK...",
	"what a text or a chat switches on in world books (and those of cards), and why not the rest", lore };
