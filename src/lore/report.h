/*
 * report: what a scan found, for people: verdicts as sentences and the whole as JSON. Knows nothing that is
 * not in the result.
 */
#ifndef LORE_REPORT_H
#define LORE_REPORT_H

#include "base/json.h"
#include "lore/lore.h"

/* As the wire spells them: "before", "an_top", "at_depth" …; "system" …; "persona_description" …. */
const char *lore_position_name(enum lore_position p);
const char *lore_role_name(enum lore_role r);
const char *lore_source_name(enum lore_source s);

/* Why an entry is in, or why not, as a sentence without a full stop. Lives in `a`. */
struct str lore_verdict_text(struct arena *a, const struct lore_verdict *v);

/*
 * {"budget":{"tokens","used","overflowed"},"passes","activated","entries":[…],"unanswered":[…]}; entries in the
 * order in which the scan looks at them: {"uid","book","comment","activated","verdict","reason","key",
 * "secondary_key","place":{"kind","index"|"source"|"pass"}|null,"pass","recursion_level"[,"roll"][,"score"],
 * "insertion":{"position"[,"depth","role"][,"outlet_name"],"order"}[,"tokens","activation_index","text"]}.
 */
struct json *lore_report(struct arena *a, const struct lore_result *r);

#endif
