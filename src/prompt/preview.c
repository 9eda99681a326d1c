/*
 * preview: one text of an author as it would read now, with the story as it stands and without a
 * prompt around it. Nothing is stored: writes stay in the overlay of the run.
 */
#include "prompt/prompt_private.h"

void
prompt_preview(struct arena *a, const struct prompt_input *in, struct str text, enum macro_dialect d, struct prompt_preview *out)
{
	struct prompt_input *own = arena_copy(a, in, sizeof(*in));
	struct build *b;

	own->type = PROMPT_QUIET; /* nobody says anything new: the last message is not the one that is being stored */
	own->run_kind = "dry_run";
	b = build_new(a, own);
	input_history(b);
	b->taken = b->ntold;
	out->text = text_eval(b, text_compile(a, text, d));
	out->macros = macro_run_result(b->run);
	out->normalization = trace_normalization(b);
	out->sources = trace_sources(b);
	out->visibility = trace_visibility(b);
}
