/* Chunks as they come, checksums wrong or right; and the rewriting of whatever was accepted. */
#include "card_fuzz.h"

#include "card/png.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena *a = arena_create("fuzz", 0);
	struct sb s = sb_new(a);
	struct import_file f;
	struct import_error err = { 0 };
	struct card c;
	struct str out, twice;
	struct card again;

	sb_add(&s, STR("\x89PNG\r\n\x1a\n"));
	sb_add(&s, (struct str){ (const char *)data, size });
	f = (struct import_file){ .bytes = sb_str(&s) };
	if (card_read(a, &f, &c, &err) < 0) {
		promise_refusal(&err);
	} else {
		promise(card_export_png(a, c.doc, c.picture, &out, &err) == 0,
		    "a picture that was read can be written");
		f.bytes = out;
		promise(card_read(a, &f, &again, &err) == 0, "what was written can be read");
		promise(card_export_png(a, again.doc, again.picture, &twice, &err) == 0 && str_eq(out, twice),
		    "PNG export is a fixed point");
	}
	arena_destroy(&a);
	return 0;
}
