/*
 * field_private: how field.c (validation) and field_schema.c (printing) read a row.
 */
#ifndef BASE_FIELD_PRIVATE_H
#define BASE_FIELD_PRIVATE_H

#include "field.h"

bool field_has_min(const struct field *f); /* of a number or time */
bool field_has_max(const struct field *f);
int64_t field_max(const struct field *f);
bool field_writable(const struct field *f, enum field_mode mode); /* a body or query of this kind can set it */
bool field_required(const struct field *f, enum field_mode mode); /* must be there, or (ANSWER) always is */

#endif
