/* What the fuzz targets of src/card share: an arena per input, and the fixed point of exports. */
#ifndef TESTS_CARD_FUZZ_H
#define TESTS_CARD_FUZZ_H

#include "base/sb.h"
#include "card/card.h"

#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Dies with a word if a promise does not hold. */
static inline void
promise(bool kept, const char *what)
{
	if (kept)
		return;
	fprintf(stderr, "broken: %s\n", what);
	abort();
}

/* A refusal says what and where. */
static inline void
promise_refusal(const struct import_error *err)
{
	promise(err->code && err->path && err->message, "an error has code, path and message");
}

static inline void
promise_receipt(struct arena *a, const struct receipt *r)
{
	struct json_error bad;

	promise(
	    json_read(a, json_text(a, receipt_json(a, r)), 128, &bad) != NULL, "a receipt prints as JSON");
}

static inline bool
same_text(struct arena *a, const struct json *x, const struct json *y)
{
	return str_eq(json_text(a, x), json_text(a, y));
}

/* Export, import, export: the same text, in both specs. */
static inline void
promise_card(struct arena *a, const struct card *c)
{
	static const enum card_spec specs[] = { CARD_SPEC_V2, CARD_SPEC_V3 };

	promise(c->name.n > 0, "a card has a name");
	promise_receipt(a, &c->receipt);
	for (size_t i = 0; i < 2; i++) {
		struct json *out = card_export_json(a, c->doc, specs[i]);
		struct import_file f = { .bytes = json_text(a, out) };
		struct import_error err = { 0 };
		struct card again;

		if (card_read(a, &f, &again, &err) < 0) {
			fprintf(stderr, "%s: %s\n%s\n", err.code, err.message, f.bytes.p);
			abort();
		}
		promise(same_text(a, card_export_json(a, again.doc, specs[i]), out),
		    "card export is a fixed point");
	}
}

#endif
