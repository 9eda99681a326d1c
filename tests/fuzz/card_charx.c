/* Archives: the parser is libarchive's, the walk, the limits and the rewriting are ours. */
#include "card_fuzz.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena *a = arena_create("fuzz", 0);
	struct import_file f = { .bytes = { (const char *)data, size } };
	struct import_error err = { 0 };
	struct card c, again;
	struct str out;

	if (card_read(a, &f, &c, &err) < 0)
		promise_refusal(&err);
	else if (card_export_charx(a, c.doc, f.bytes, STR_NULL, &out, &err) < 0)
		promise_refusal(&err); /* an entry that is not the card may be damaged */
	else {
		f.bytes = out;
		promise(card_read(a, &f, &again, &err) == 0, "what was written can be read");
		promise(str_eq(again.name, c.name), "the name survives");
	}
	arena_destroy(&a);
	return 0;
}
