/*
 * pg: what tests of the database share. A program that calls pg_main runs itself again under
 * tests/lib/with_pg.sh, so it can be started like any other test.
 */
#ifndef TESTS_LIB_PG_H
#define TESTS_LIB_PG_H

#include "base/sb.h"
#include "db/db.h"

#include <sys/types.h>

void pg_main(char **argv);                              /* first in main; returns when a server is there */
void pg_sql(const char *sql);                           /* as the superuser; aborts on an error */
const char *pg_value(struct arena *a, const char *sql); /* first column of the first row, "" if none */
struct db *pg_pool(enum db_role role, int connections);
struct db *pg_pool_conf(enum db_role role, struct db_conf conf); /* conninfo is filled in */
const char *pg_login(struct arena *a, const char *user);         /* connection string */
void pg_migrate(void);                                           /* the real schema, all of it */
pid_t pg_pid(void);                                              /* of the server */
const char *pg_file(struct arena *a, const char *name);          /* text of a file below srcdir */

/* Compares with the file `name` below srcdir; with UPDATE_GOLDEN in the environment writes it. */
void pg_golden(const char *name, const char *text);

/* A ctx of its own arena that enters as this account. */
struct ctx *pg_ctx(struct db *db, const char *account);
void pg_ctx_free(struct ctx **c);

#endif
