/*
 * look: what a turn would be, without being one: dry run, inspection, and the preview of one text.
 * Nothing is written, whatever the texts say.
 */
#ifndef TURN_LOOK_H
#define TURN_LOOK_H

#include "prompt/runtime_policy.h"
#include "turn/turn.h"

/*
 * Each: 0 and the wire's answer appended to `answer`, or -1 with the error recorded: ERR_NOT_FOUND session, branch or floor,
 * ERR_CONFLICT branch_exists | floor_not_committed, ERR_INVALID what does not fit the model.
 */
int turn_dry_run(struct turns *p, struct ctx *c, const struct turn_request *q, struct sb *answer);
int turn_inspect(struct turns *p, struct ctx *c, const struct turn_request *q, struct sb *answer);

/* One text. Members of q->body that are read: the policy's, input, preset_choices; message is not used. */
struct look_text {
	struct str text;
	struct str dialect;           /* absent = the mode's */
};
int turn_preview(struct turns *p, struct ctx *c, const struct turn_request *q, const struct look_text *what, struct sb *answer);

/* ---- parts that the other routes of the prompt runtime print too ---- */

struct look_scope {
	struct str session_id, target, source_floor, history_branch;
	bool exists;                  /* the target branch */
	const char *history_mode;     /* NULL = existing_branch */
};
struct json *look_scope_json(struct arena *a, const struct look_scope *s);
struct json *look_mode_json(struct arena *a, enum prompt_mode mode);
struct json *look_source_map(struct arena *a, const struct policy_resolved *p, const struct look_scope *s);
struct json *look_limitations(struct arena *a, bool of_preview);
struct json *look_no_injection(struct arena *a); /* memory_injection while there are no memories */
/* A bound asset that is not there: named, never fatal. what: "preset" …; member: of the session. */
void look_asset_missing(struct json *diagnostics, const char *what, const char *member);

/*
 * The session's prompt as mode rearrange lays it out, whatever its mode: {session_id, branch_id, preset_id,
 * preset_version_id, arranged, nodes, remainder_tags, flush, warnings, items}. Writes nothing.
 */
int turn_layout(struct turns *p, struct ctx *c, const struct turn_request *q, struct sb *answer);

#endif
