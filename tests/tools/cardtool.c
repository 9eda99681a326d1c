/*
 * cardtool: `cardtool v2|v3|png|charx` reads a card of any kind from stdin
 * and writes it in that form to stdout: src/card for tests in other languages.
 */
#include "base/sb.h"
#include "card/card.h"

#include <stdio.h>

static struct str
slurp(struct arena *a, FILE *f)
{
	struct sb s = sb_new(a);
	char buf[1 << 14];
	size_t n;

	while (f && (n = fread(buf, 1, sizeof(buf), f)) > 0)
		sb_add(&s, (struct str){ buf, n });
	return sb_str(&s);
}

static int
write_form(
    struct arena *a, const char *form, const struct card *c, struct str bytes, struct import_error *err)
{
	struct str out;
	int rc = 0;

	if (strcmp(form, "png") == 0)
		rc = card_export_png(a, c->doc, c->picture, &out, err);
	else if (strcmp(form, "charx") == 0)
		rc = card_export_charx(
		    a, c->doc, c->container == CARD_CHARX ? bytes : STR_NULL, c->picture, &out, err);
	else
		out = json_text(
		    a, card_export_json(a, c->doc, strcmp(form, "v3") == 0 ? CARD_SPEC_V3 : CARD_SPEC_V2));
	return rc < 0 || fwrite(out.p, 1, out.n, stdout) != out.n ? -1 : 0;
}

int
main(int argc, char **argv)
{
	struct arena *a = arena_create("cardtool", 0);
	struct import_file f = { .bytes = slurp(a, stdin) };
	struct import_error err = { 0 };
	struct card c;
	int rc;

	if (argc != 2) {
		fputs("usage: cardtool v2|v3|png|charx <card >card\n", stderr);
		return 2;
	}
	rc = card_read(a, &f, &c, &err);
	if (rc == 0)
		rc = write_form(a, argv[1], &c, f.bytes, &err);
	if (rc < 0 && err.code)
		fprintf(stderr, "%s: %s\n", err.code, err.message);
	arena_destroy(&a);
	return rc < 0;
}
