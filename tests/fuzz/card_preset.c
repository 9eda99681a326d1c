/* Presets, and the same bytes as regex scripts. */
#include "card/preset_file.h"
#include "card/regex_file.h"
#include "card_fuzz.h"

static void
preset(struct arena *a, const struct import_file *f)
{
	struct import_error err = { 0 };
	struct preset_file p, again;
	struct import_file out = { 0 };

	if (preset_file_read(a, f, &p, &err) < 0) {
		promise_refusal(&err);
		return;
	}
	promise(p.track != NULL, "a track is chosen");
	promise_receipt(a, &p.receipt);
	out.bytes = json_text(a, preset_export(a, p.doc));
	if (preset_file_read(a, &out, &again, &err) < 0)
		promise(
		    strcmp(err.code, "not_a_preset") == 0, "an export is read, unless nothing is left in it");
	else
		promise(same_text(a, preset_export(a, again.doc), preset_export(a, p.doc)),
		    "preset export is a fixed point");
}

static void
scripts(struct arena *a, const struct import_file *f)
{
	struct import_error err = { 0 };
	struct regex_file r;

	if (regex_file_read(a, f, &r, &err) < 0)
		promise_refusal(&err);
	else
		promise(same_text(a, regex_normalise(a, r.scripts, "", NULL), r.scripts),
		    "scripts are normal after one pass");
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena *a = arena_create("fuzz", 0);
	struct import_file f = { .bytes = { (const char *)data, size } };

	preset(a, &f);
	scripts(a, &f);
	arena_destroy(&a);
	return 0;
}
