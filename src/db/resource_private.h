/*
 * resource_private: between resource.c (the verbs) and resource_sql.c (their texts).
 */
#ifndef DB_RESOURCE_PRIVATE_H
#define DB_RESOURCE_PRIVATE_H

#include "base/vec.h"
#include "resource.h"

/* Parameters of a text under construction. */
struct params {
	struct arena *a;
	VEC(struct param) list;
};
int params_add(struct params *p, struct param v);                /* its number, from 1 */
int params_add_json(struct params *p, const struct json *value); /* a scalar of a validated query */

/* An object whose members are columns of the row itself. */
bool field_nested(const struct field *f);
bool field_shown(const struct field *f, bool list);
bool field_stored(const struct field *f, enum field_mode mode);
const char *field_column(const struct field *f);
/* Is this a column of the table, as far as its fields and its guard tell? */
bool resource_has(const struct resource *r, const char *column);

/* Each appends the text of one verb of a resource, and to `p` what it takes (see resource_sql.c). */
void sql_columns(struct sb *s, const struct field *fields, bool list);
void sql_list(struct sb *s, struct params *p, const struct resource *r, const struct list_query *q);
void sql_count(struct sb *s, struct params *p, const struct resource *r, const struct list_query *q);
void sql_get(struct sb *s, const struct resource *r);
void sql_create(struct sb *s, const struct resource *r);
void sql_patch(struct sb *s, const struct resource *r, const struct json *in, bool guarded);
void sql_delete(struct sb *s, const struct resource *r, const char *which);
void sql_batch_delete(struct sb *s, const struct resource *r);

#endif
