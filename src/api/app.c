#include "config.h"

#include "api/app.h"

#include "api/relay.h"
#include "api/rest.h"
#include "api/tables.h"
#include "base/limits.h"
#include "event/wake.h"
#include "base/log.h"
#include "token/token.h"
#include "turn/turn.h"
#include "worker.h"

#include <errno.h>
#include <malloc.h>

/* The application's part of a worker's life (worker.h). */

static struct db *
pool(struct app *app, enum db_role role)
{
	struct db_conf conf = settings_db(app->set, role, role == DB_SYS ? 2 : (int)app->set->db_connections);

	return db_create(&conf, role);
}

static struct llm *
model_client(struct app *app)
{
	const struct settings *s = app->set;
	struct llm_conf conf = { .connect_ms = (int)s->llm_connect_timeout,
		.first_byte_ms = (int)s->llm_first_byte_timeout,
		.idle_ms = (int)s->llm_idle_timeout,
		.total_ms = (int)s->llm_timeout,
		.allow_private = s->allow_private_base_url,
		.allow_hosts = s->llm_allow_hosts,
		.ca_file = s->llm_ca_file,
		.reply_max = LIM_REPLY };

	return llm_create(app->loop, &conf);
}

static struct turns *
turn_runner(struct app *app)
{
	const struct settings *s = app->set;
	struct turns_conf conf = { .loop = app->loop,
		.db = app->db,
		.db_sys = app->db_sys,
		.llm = app->llm,
		.waker = waker_create(app->arena, s->listen_dir),
		.worker = app->worker,
		.provider = s->llm_provider,
		.base_url = s->llm_base_url,
		.api_key = s->llm_api_key,
		.model = s->llm_model ? s->llm_model : "echo",
		.context_tokens = s->context_tokens,
		.reply_tokens = s->reply_tokens,
		.retries = (int)s->llm_max_retries,
		.total_ms = s->llm_timeout,
		.account_streams_max = (int)s->account_streams_max,
		.on_disconnect = s->on_disconnect,
		.linger_ms = (int)s->stream_linger,
		.cache_bytes = (size_t)s->asset_cache_bytes,
		.lease_ms = (int)s->run_lease,
		.preparing_max = s->db_connections > 2 ? (int)s->db_connections - 2 : 1, /* commits and short requests find one free */
		.preparing_wait_ms = (int)s->turn_wait };

	return turns_create(app->arena, &conf);
}

/* The key set of jwt_jwks_url: the operator named it, so it may lie in a private network. */
static int
fetch_keys(void *llm, struct ctx *c, const char *url, size_t max, struct str *out)
{
	return llm_fetch(llm, c, &(struct llm_source){ .url = url, .own = true }, max, out);
}

static struct auth *
auth_of_settings(struct app *app)
{
	const char *why = NULL;
	struct auth_conf conf = settings_auth(app->set);
	struct auth *auth;

	conf.fetch = fetch_keys;
	conf.fetch_arg = app->llm;
	auth = auth_create(app->arena, &conf, &why);
	if (auth == NULL)
		log_error("auth.refused", "reason=\"%s\"", why);
	return auth;
}

static int
app_enter(struct request *r)
{
	if (db_enter(r->ctx) < 0)
		return -1;
	if (r->route->auth == AUTH_ADMIN && r->ctx->who.role != ROLE_ADMIN)
		return fail(r->ctx, ERR_FORBIDDEN, "account_forbidden", "only an admin account may do this");
	return 0;
}

/* A request is let in: who it is decides the database when it enters; here the credentials are read. */
static int
app_authenticate(struct request *r)
{
	struct app *app = app_of(r);
	struct auth_input in = { .api_key = req_header(r, "x-api-key"),
		.authorization = req_header(r, "authorization"),
		.remote_addr = r->remote_addr,
		.server_addr = r->server_addr };

	r->ctx->db = app->db;
	if (auth_credential(app->auth, r->ctx, &in) < 0)
		return -1;
	/* The role stands in the account's row: routes for administrators enter before anything else happens. */
	return r->route->auth == AUTH_ADMIN ? app_enter(r) : 0;
}

/* The tables with what rows of resources do not say themselves: the query parameters of their lists. */
static struct route_table *
tables_complete(struct arena *a)
{
	struct route_table *tables = arena_array(a, struct route_table, api_tables_n);

	for (size_t t = 0; t < api_tables_n; t++) {
		size_t n = 0;
		struct route *rows;

		while (api_tables[t].rows[n].path)
			n++;
		rows = arena_copy(a, api_tables[t].rows, (n + 1) * sizeof(*rows));
		for (size_t i = 0; i < n; i++)
			if ((rows[i].fn == rest_list || (rows[i].answer_kind == ANSWER_LIST && rows[i].arg && !rows[i].query)) &&
			    !((const struct resource *)rows[i].arg)->list_plain)
				rows[i].query = resource_query_fields(a, rows[i].arg);
		tables[t].rows = rows;
	}
	return tables;
}

static bool
startup_check(struct app *app)
{
	struct ctx c = { .a = app->arena, .db = app->db, .now = tm_now() };

	if (db_startup_check(&c) == 0)
		return true;
	if (c.err.kind == ERR_UNAVAILABLE) {
		log_warn("database.unavailable", "reason=\"%s\"", c.err.log ? c.err.log : "");
		return true; /* it recovers by itself; requests answer 503 until then */
	}
	log_error("database.refused", "code=%s reason=\"%s\"", c.err.code, c.err.msg);
	return false;
}

/* The worker cannot serve: what was opened is closed. */
static int
refused(struct app *app)
{
	if (app->llm)
		llm_destroy(&app->llm);
	db_destroy(&app->db_sys);
	db_destroy(&app->db);
	return -1;
}

/* What all workers share, made before the first fork. */
static struct {
	struct arena *a;
	struct router *router;
	struct str openapi;
} prepared;

int
app_prepare(void)
{
	struct arena *scratch = arena_create("openapi", 0);
	const char *why = NULL;

	prepared.a = arena_create("prepared", 0);
	prepared.router = router_create(prepared.a, tables_complete(prepared.a), api_tables_n, &why);
	if (prepared.router)
		prepared.openapi = arena_str(prepared.a, openapi_document(scratch, prepared.router, PACKAGE_VERSION));
	else
		log_error("routes.refused", "reason=\"%s\"", why);
	arena_destroy(&scratch);
	token_warm();
	malloc_trim(0); /* the document's nodes were many times its text */
	return prepared.router ? 0 : -1;
}

int
app_start(struct worker *w)
{
	struct app *app = arena_new(w->arena, struct app);
	struct server_app hooks = { .state = app, .authenticate = app_authenticate, .enter = app_enter };

	w->app = app;
	app->arena = w->arena;
	app->set = w->settings;
	app->loop = w->loop;
	app->worker = w->name;
	app->router = prepared.router;
	app->openapi = prepared.openapi;
	app->db = pool(app, DB_APP);
	app->db_sys = pool(app, DB_SYS);
	if (!startup_check(app))
		return refused(app);
	app->llm = model_client(app);
	app->auth = auth_of_settings(app);
	if (app->auth == NULL)
		return refused(app);
	app->turns = turn_runner(app);
	if (turns_start(app->turns) < 0) {
		log_error("persister.not_started", "reason=\"%s\"", strerror(errno));
		return refused(app);
	}
	w->server_conf.version = PACKAGE_VERSION;
	w->server = server_create(w->arena, w->loop, app->router, &w->server_conf, &hooks);
	app->server = w->server;
	relay_start(app);
	return w->server ? 0 : -1;
}

void
app_cancel(struct worker *w)
{
	struct app *app = w->app;

	turns_cancel_all(app->turns, "the server is stopping");
}

void
app_stop(struct worker *w)
{
	struct app *app = w->app;

	relay_stop(app);
	turns_stop(app->turns);
	llm_destroy(&app->llm);
	db_destroy(&app->db_sys);
	db_destroy(&app->db);
}
