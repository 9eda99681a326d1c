/*
 * stmt: the registry of statements, built from the files of sql/queries by scripts/stmt.awk.
 */
#include "db_private.h"

const char *const stmt_name[] = {
#define STMT(name, guarded, sql) #name,
#include "db/stmt.def"
#undef STMT
};

const char *const stmt_sql[] = {
#define STMT(name, guarded, sql) sql,
#include "db/stmt.def"
#undef STMT
};

const bool stmt_guarded[] = {
#define STMT(name, guarded, sql) guarded,
#include "db/stmt.def"
#undef STMT
};

_Static_assert(sizeof(stmt_name) / sizeof(*stmt_name) == STMT__COUNT, "one name per statement");

const char *
db_stmt_name(enum stmt_id id)
{
	return stmt_name[id];
}

const char *
db_stmt_sql(enum stmt_id id)
{
	return stmt_sql[id];
}
