/*
 * errors: what an error of PostgreSQL means to a client. Two tables: by SQLSTATE (prefixes, the
 * first that fits) and by the name of the violated constraint. Whoever adds a unique or foreign
 * key that a client can run into adds its row here.
 */
#include "db_private.h"

struct state_row {
	const char *state; /* SQLSTATE or its beginning */
	enum unit_state unit;
	enum err_kind kind;
	const char *code, *message;
};

/* clang-format off */
static const struct state_row state_rows[] = {
	{ "40001", UNIT_RETRY,  ERR_UNAVAILABLE, "database_busy",        "too many writers at once, try again" },
	{ "40P01", UNIT_RETRY,  ERR_UNAVAILABLE, "database_busy",        "too many writers at once, try again" },
	{ "55P03", UNIT_FAILED, ERR_UNAVAILABLE, "database_busy",        "another request holds what this one needs, try again" },
	{ "57014", UNIT_FAILED, ERR_UNAVAILABLE, "database_timeout",     "the database took too long, try again" },
	{ "53",    UNIT_FAILED, ERR_UNAVAILABLE, "database_busy",        "the database is out of resources, try again" },
	{ "08",    UNIT_STALE,  ERR_UNAVAILABLE, "database_unavailable", "database is not available, try again" },
	{ "57P0",  UNIT_STALE,  ERR_UNAVAILABLE, "database_unavailable", "database is not available, try again" },
	{ "25006", UNIT_STALE,  ERR_UNAVAILABLE, "database_unavailable", "database is read-only just now, try again" },
	/* The statement is not there or its plan is outdated: another connection prepares it anew. */
	{ "26000", UNIT_STALE,  ERR_INTERNAL,    "internal_error",       "internal error" },
	{ "0A000", UNIT_STALE,  ERR_INTERNAL,    "internal_error",       "internal error" },
	{ "23505", UNIT_FAILED, ERR_CONFLICT,    "conflict",             "such an entry exists already" },
	{ "23503", UNIT_FAILED, ERR_CONFLICT,    "conflict",             "what is referred to does not exist, or is still referred to" },
	{ "22",    UNIT_FAILED, ERR_INVALID,     "invalid_value",        "a value cannot be stored" },
	{ "54",    UNIT_FAILED, ERR_INVALID,     "invalid_value",        "a value is too big to be stored" },
	{ "",      UNIT_FAILED, ERR_INTERNAL,    "internal_error",       "internal error" },
};

struct constraint_row {
	const char *constraint;
	enum err_kind kind;
	const char *code, *message;
};

static const struct constraint_row constraint_rows[] = {
	{ "account_id_key", ERR_CONFLICT, "account_exists", "an account with this id exists already" },
	{ "run_one_per_branch", ERR_CONFLICT, "generation_conflict", "a generation is already in progress on this branch" },
	{ "job_one_per_scope", ERR_CONFLICT, "job_scope_busy", "another job of this scope runs" },
	{ "idempotency_pkey", ERR_CONFLICT, "idempotency_key_taken", "another request uses this Idempotency-Key just now" },
	{ "asset_user_name_key", ERR_CONFLICT, "user_conflict", "a user with this name exists already" },
	{ NULL, ERR_NONE, NULL, NULL },
};
/* clang-format on */

static const struct state_row *
state_find(const char *state)
{
	const struct state_row *row = state_rows;

	while (strncmp(state, row->state, strlen(row->state)) != 0)
		row++;
	return row;
}

static const struct constraint_row *
constraint_find(const char *name)
{
	for (const struct constraint_row *row = constraint_rows; row->constraint != NULL; row++)
		if (strcmp(row->constraint, name) == 0)
			return row;
	return NULL;
}

/*
 * Records the error of an answer. connection_text: libpq's own words, for an answer without a
 * SQLSTATE, which means that the connection is gone. Values never reach the log: DETAIL is not
 * taken, and of class 22, whose messages quote the value, not even the message.
 */
enum unit_state
error_record(struct ctx *c, const struct rows *rs, const char *connection_text)
{
	const char *state = PQresultErrorField(rs->res, PG_DIAG_SQLSTATE);
	const char *constraint = PQresultErrorField(rs->res, PG_DIAG_CONSTRAINT_NAME);
	const char *text = PQresultErrorField(rs->res, PG_DIAG_MESSAGE_PRIMARY);
	const struct state_row *row = state_find(state ? state : "08006");
	const struct constraint_row *named = constraint ? constraint_find(constraint) : NULL;

	if (state == NULL)
		text = connection_text;
	else if (strncmp(state, "22", 2) == 0)
		text = "";
	if (named != NULL)
		fail(c, named->kind, named->code, "%s", named->message);
	else
		fail(c, row->kind, row->code, "%s", row->message);
	if (row->kind == ERR_UNAVAILABLE && c->err.kind == ERR_UNAVAILABLE && c->err.retry_after == 0)
		c->err.retry_after = 1;
	fail_log(c, "database: %s: %s %s%s%s", rs->what, state ? state : "-", text ? text : "",
	    constraint ? ", constraint " : "", constraint ? constraint : "");
	return row->unit;
}
