/*
 * explain: what is kept of a turn's reasons, and how it is read. The text is made of what prompt_explain prints and of
 * the turn's own part; docs/explain.md says what its words mean. Routes and looks read the same text, so that a look
 * says what the explanation of the turn that it predicts will say.
 */
#ifndef TURN_EXPLAIN_H
#define TURN_EXPLAIN_H

#include "base/json.h"
#include "turn/turn.h"

#define EXPLAIN_VERSION 1

/*
 * A kept text under the names of the wire: {section_stats, governance, trim_reasons, excluded_sources, rows, entries, chat, budget, lore,
 * macros, messages, diagnostics}. NULL if it cannot be read. Lives in `a`.
 */
struct json *explain_read(struct arena *a, struct str text);
/* Who said each member of the turn's policy; of a kept text. */
struct json *explain_sources(struct arena *a, struct str text);
/* `memory` of the wire: the summary that was sent, by its hash. */
struct json *explain_memory(struct arena *a, struct str text, struct str page_id, struct str branch_id);

#endif
