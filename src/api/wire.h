/*
 * wire: field tables of bodies and answers on the wire, where they are bigger than the file that
 * routes them. A table is the contract: it validates, and /openapi.json prints it.
 */
#ifndef API_WIRE_H
#define API_WIRE_H

#include "base/field.h"

extern const struct field wire_turn_body[], wire_turn_answer[];
extern const struct field wire_dry_body[], wire_dry_answer[];
extern const struct field wire_run_answer[], wire_result_answer[], wire_active_answer[];
extern const struct field wire_staged_answer[], wire_promotions_answer[];
extern const struct field wire_timeline_query[], wire_timeline_answer[];

#endif
