/* World books of every shape. */
#include "card/lore_file.h"
#include "card_fuzz.h"

static struct json *
normal(struct arena *a, const struct json *doc)
{
	return lore_normalise(a, doc, "", NULL);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena *a = arena_create("fuzz", 0);
	struct import_file f = { .bytes = { (const char *)data, size } };
	struct import_error err = { 0 };
	struct lore_file b;

	if (lore_file_read(a, &f, &b, &err) < 0) {
		promise_refusal(&err);
	} else {
		struct json *book = lore_export_card_book(a, b.doc), *back = normal(a, book);

		promise_receipt(a, &b.receipt);
		promise(same_text(a, normal(a, lore_export_st(a, b.doc)), b.doc), "the document is normal");
		promise(
		    json_equal(lore_export_card_book(a, back), book), "card book export is a fixed point");
	}
	arena_destroy(&a);
	return 0;
}
