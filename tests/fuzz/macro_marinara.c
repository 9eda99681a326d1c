/*
 * libFuzzer: the marinara dialect: conditions, group blocks, and the planning of decision statements over two
 * turns with the state stored between them.
 */
#include "macro_fuzz.h"

static void
plan(const uint8_t *data, size_t size)
{
	struct arena *a = fuzz_arena();
	struct str text = { (const char *)data + 1, size - 1 };
	const struct macro_template *t = macro_compile(a, text, MACRO_MARINARA);
	struct macro_statements s = { 0 };
	const struct json *stored = NULL;
	struct fuzz_scene scene;

	macro_statements_collect(a, t, &s);
	fuzz_scene_init(a, &scene, data[0]);
	for (int i = 0; i < 3; i++) {
		struct macro_decisions *d = macro_decisions_new(a, stored);
		struct macro_turn *turn =
		    macro_turn_begin(a, d, i == 1 ? STR("m1") : STR("m0"), STR("model"));

		macro_turn_plan(turn, &scene.env, &t, 1, 4);
		fuzz_need(turn->ask.v.n <= 4);
		for (size_t k = 0; k < turn->ask.v.n; k++)
			macro_turn_answer(
			    turn, k, fuzz_answer(NULL, turn->ask.v.v[k].choice, turn->ask.v.v[k].text));
		macro_turn_end(turn);
		scene.env.answer = macro_turn_lookup;
		scene.env.answer_ctx = turn;
		macro_eval(macro_run_new(a, &scene.env), &(struct macro_piece){ .tpl = t });
		stored = macro_decisions_json(a, d);
		fuzz_need(str_eq(json_text(a, stored),
		    json_text(a, macro_decisions_json(a, macro_decisions_new(a, stored)))));
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_dialect(data, size, MACRO_MARINARA);
	if (size)
		plan(data, size);
	return 0;
}
