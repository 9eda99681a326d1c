/*
 * libFuzzer: the tomoribot dialect: its passes over two nodes, frozen ranges inside the text, and the import
 * audit.
 */
#include "macro_fuzz.h"

static void
passes(const uint8_t *data, size_t size)
{
	struct arena *a = fuzz_arena();
	struct str text = { (const char *)data + 1, size - 1 };
	struct macro_tomori_node n[2];
	struct macro_tomori_audit audit;
	struct fuzz_scene scene;
	struct macro_tomori *t;

	fuzz_scene_init(a, &scene, (data[0] & ~7u) | MACRO_ASSEMBLE);
	t = macro_tomori_new(macro_run_new(a, &scene.env));
	macro_tomori_collect(t, str_sub(text, 0, text.n / 2), &n[0]);
	macro_tomori_collect(t, str_sub(text, text.n / 2, text.n), &n[1]);
	for (int i = 0; i < 2; i++) {
		macro_tomori_expand(t, &n[i]);
		macro_tomori_emit(t, &n[i]);
		for (size_t k = 0; k < n[i].frozen.n; k++)
			fuzz_need(
			    n[i].frozen.v[k].s <= n[i].frozen.v[k].e && n[i].frozen.v[k].e <= n[i].text.n);
	}
	macro_tomori_audit(a, text, &audit);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_dialect(data, size, MACRO_TOMORIBOT);
	if (size)
		passes(data, size);
	return 0;
}
