/*
 * bench db: CPU of client and backend per unit of work, on a private server with 1000 sessions: enter only,
 * one row, a list of 20 with its total. usage: db [UNITS]
 */
#include "../tests/lib/pg.h"

#include "db/resource.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* clang-format off */
static const struct field fields[] = {
	{ "id", FT_STRING }, { "title", FT_STRING }, { "status", FT_STRING }, { "character_sync_policy", FT_STRING },
	{ "character_id", FT_STRING }, { "character_version_id", FT_STRING }, { "character_name", FT_STRING },
	{ "character_greeting", FT_BOOL }, { "user_id", FT_STRING }, { "user_name", FT_STRING }, { "preset_id", FT_STRING },
	{ "preset_version_id", FT_STRING }, { "regex_profile_id", FT_STRING }, { "worldbook_profile_id", FT_STRING },
	{ "deep_binding", FT_BOOL }, { "model_provider", FT_STRING }, { "model_name", FT_STRING }, { "model_params", FT_ANY },
	{ "prompt_mode", FT_STRING }, { "metadata", FT_ANY }, { "created_at", FT_TIME }, { "updated_at", FT_TIME },
	FIELD_END
};
/* clang-format on */
static const struct sort_key sorts[] = { { "created_at", "t.created_at" }, { NULL } };
static const struct resource sessions = {
	.name = "session", .table = "session", .fields = fields, .sorts = sorts, .soft_delete = true
};

static double
cpu_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* User and system time of another process; its unit is a clock tick. */
static double
process_us(const char *pid)
{
	char path[64], line[1024], *p;
	unsigned long user = 0, system = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%s/stat", pid);
	f = fopen(path, "r");
	if (f == NULL || fgets(line, sizeof(line), f) == NULL)
		abort();
	fclose(f);
	p = strrchr(line, ')');
	if (p == NULL ||
	    sscanf(p + 2, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &system) != 2)
		abort();
	return (double)(user + system) * 1e6 / (double)sysconf(_SC_CLK_TCK);
}

static int
list(struct ctx *c, void *arg)
{
	struct list_query q = { .limit = 20, .sort = sorts };
	struct sb out = sb_new(c->a);
	int64_t total;

	(void)arg;
	return resource_list(c, &sessions, &q, &out, &total) < 0 || total != 1000 ? -1 : 0;
}

static int
get(struct ctx *c, void *arg)
{
	struct sb out = sb_new(c->a);

	(void)arg;
	return resource_get(c, &sessions, STR("session-500"), &out) == 1 ? 0 : -1;
}

static int
backend_pid(struct ctx *c, void *arg)
{
	struct rows *rs = db_send_text(c, "SELECT pg_backend_pid()", NULL, 0);

	if (rows_next(rs) != 1)
		return -1;
	snprintf(arg, 16, "%.*s", STR_ARG(row_str(rs, 0)));
	return 0;
}

static void
measure(struct db *db, const char *what, int (*fn)(struct ctx *, void *), int units)
{
	struct arena *a = arena_create("bench", 0);
	struct credential cred = { CRED_ACCOUNT_ID, "alice" };
	struct ctx c = { .a = a, .db = db, .cred = &cred };
	char pid[16] = "";
	double own, other;

	if (db_tx(&c, DB_READ, backend_pid, pid) < 0)
		abort();
	own = cpu_us();
	other = process_us(pid);
	for (int i = 0; i < units; i++) {
		arena_reset(a);
		c = (struct ctx){ .a = a, .db = db, .cred = &cred };
		if (db_tx(&c, DB_READ, fn, NULL) < 0)
			abort();
	}
	own = (cpu_us() - own) / units;
	other = (process_us(pid) - other) / units;
	printf(
	    "%-24s client %6.1f us   backend %6.1f us   together %6.1f us\n", what, own, other, own + other);
	arena_destroy(&a);
}

int
main(int argc, char **argv)
{
	int units = argc > 1 ? atoi(argv[1]) : 20000;
	struct db *db;

	pg_main(argv);
	pg_migrate();
	pg_sql("INSERT INTO account (id, name, created_at, updated_at) VALUES ('alice', 'A', 1, 1);"
	       "INSERT INTO session (account_no, id, title, model_params, metadata, character_sync_policy, "
	       "character_name,"
	       " created_at, updated_at) SELECT 1, 'session-' || n, 'A session with a title ' || n, "
	       "'{\"temperature\":0.7}',"
	       " '{\"tags\":[\"one\",\"two\"]}', 'pin', 'Aria', n, n FROM generate_series(1, 1000) n");
	pg_sql("VACUUM ANALYZE session");
	db = pg_pool(DB_APP, 1);
	for (int round = 0; round < 3; round++) {
		measure(db, "enter", NULL, units);
		measure(db, "enter + one row", get, units);
		measure(db, "enter + list of 20", list, units);
	}
	db_destroy(&db);
	return 0;
}
