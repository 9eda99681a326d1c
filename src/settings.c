/* settings: see settings.h. */
#include "settings.h"

#include "config.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

#define JWT_SECRET_MIN 32 /* bytes: the length of what HS256 makes */
#define AT(member) offsetof(struct settings, member)

static const char *const auth_modes[] = { "off", "api_key", "jwt", NULL };
static const char *const account_modes[] = { "single", "multi", NULL };
static const char *const on_disconnect[] = { "auto", "abort", "continue", NULL };
static const char *const log_levels[] = { "debug", "info", "warn", "error", NULL };

// clang-format off
const struct conf_row settings_rows[] = {
	{ "listen_dir", CONF_STR, AT(listen_dir), "/run/tavernd", 0, 0, NULL, "directory of the workers' sockets, w0.sock and on" },
	{ "workers", CONF_INT, AT(workers), "0", 0, 256, NULL, "worker processes; 0 = one for each core" },
	{ "worker_threads_max", CONF_INT, AT(worker_threads_max), "288", 2, 20000, NULL, "request threads of a worker, started on demand" },
	{ "worker_threads_reserved", CONF_INT, AT(worker_threads_reserved), "8", 1, 1000, NULL, "of these only for requests that wait for no model" },
	{ "worker_streams_max", CONF_INT, AT(worker_streams_max), "256", 1, 20000, NULL, "generations of a worker at once; above: 503" },
	{ "account_streams_max", CONF_INT, AT(account_streams_max), "0", 0, 100000, NULL, "generations of an account at once, 0 = no limit; above: 429" },
	{ "drain_timeout", CONF_MS, AT(drain_timeout), "120s", 0, 86400000, NULL, "how long a reload or stop waits for running generations" },
	{ "cors_origins", CONF_LIST, AT(cors_origins), "http://localhost:5173, http://127.0.0.1:5173", 0, 0, NULL, "origins whose pages may call the API; * = any" },
	{ "metrics_allow", CONF_LIST, AT(metrics_allow), NULL, 0, 0, NULL, "addresses that may read /metrics besides those of this host" },
	{ "log_level", CONF_ENUM, AT(log_level), "info", 0, 0, log_levels, "least level that is logged" },

	{ "database", CONF_STR, AT(database), "dbname=tavern user=tavern_app", 0, 0, NULL, "libpq connection string of the application role" },
	{ "database_password", CONF_SECRET, AT(database_password), NULL, 0, 0, NULL, "its password" },
	{ "database_sys", CONF_STR, AT(database_sys), "dbname=tavern user=tavern_sys", 0, 0, NULL, "connection string of the system role (leases, jobs, events)" },
	{ "database_sys_password", CONF_SECRET, AT(database_sys_password), NULL, 0, 0, NULL, "its password" },
	{ "database_owner", CONF_STR, AT(database_owner), NULL, 0, 0, NULL, "connection string of the owner, for tavernctl migrate only" },
	{ "database_owner_password", CONF_SECRET, AT(database_owner_password), NULL, 0, 0, NULL, "its password" },
	{ "db_connections", CONF_INT, AT(db_connections), "6", 1, 200, NULL, "connections of a worker to the database" },
	{ "db_checkout_timeout", CONF_MS, AT(db_checkout_timeout), "5s", 10, 60000, NULL, "wait for a free connection; above: 503" },
	{ "db_statement_timeout", CONF_MS, AT(db_statement_timeout), "30s", 100, 3600000, NULL, "longest statement" },
	{ "db_lock_timeout", CONF_MS, AT(db_lock_timeout), "10s", 10, 3600000, NULL, "longest wait for a lock" },
	{ "db_prepare", CONF_BOOL, AT(db_prepare), "true", 0, 0, NULL, "prepared statements; off behind a transaction pooler" },

	{ "auth_mode", CONF_ENUM, AT(auth_mode), "off", 0, 0, auth_modes, "how callers prove who they are" },
	{ "account_mode", CONF_ENUM, AT(account_mode), "single", 0, 0, account_modes, "one account for all, or many" },
	{ "auth_off_allow_remote", CONF_BOOL, AT(auth_off_allow_remote), "false", 0, 0, NULL, "with auth_mode off: also serve requests that did not arrive on a loopback address" },
	{ "api_keys", CONF_SECRET, AT(api_keys), NULL, 0, 0, NULL, "keys that are valid beside those in the database: KEY or KEY:ACCOUNT, comma separated" },
	{ "admin_keys", CONF_SECRET, AT(admin_keys), NULL, 0, 0, NULL, "keys with the administrator's rights, comma separated" },
	{ "api_key_pepper", CONF_SECRET, AT(api_key_pepper), NULL, 0, 0, NULL, "secret under which keys are hashed in the database" },
	{ "jwt_secret", CONF_SECRET, AT(jwt_secret), NULL, 0, 0, NULL, "HS256 secret, at least 32 bytes" },
	{ "jwt_public_key_file", CONF_STR, AT(jwt_public_key_file), NULL, 0, 0, NULL, "PEM file of an RS256 or ES256 key" },
	{ "jwt_jwks_file", CONF_STR, AT(jwt_jwks_file), NULL, 0, 0, NULL, "file with a JWK set" },
	{ "jwt_jwks_url", CONF_STR, AT(jwt_jwks_url), NULL, 0, 0, NULL, "URL of a JWK set" },
	{ "jwt_issuer", CONF_STR, AT(jwt_issuer), NULL, 0, 0, NULL, "required `iss`" },
	{ "jwt_audience", CONF_STR, AT(jwt_audience), NULL, 0, 0, NULL, "required `aud`" },
	{ "jwt_account_claim", CONF_STR, AT(jwt_account_claim), "account_id", 0, 0, NULL, "claim that names the account in account_mode multi" },
	{ "jwt_leeway", CONF_MS, AT(jwt_leeway), "30s", 0, 300000, NULL, "tolerated difference of clocks" },

	{ "llm_provider", CONF_STR, AT(llm_provider), "echo", 0, 0, NULL, "echo, openai-compatible, openai, anthropic, google, deepseek or xai" },
	{ "llm_base_url", CONF_STR, AT(llm_base_url), NULL, 0, 0, NULL, "such as https://api.example.com/v1; openai, anthropic, google, deepseek and xai have one of their own" },
	{ "llm_api_key", CONF_SECRET, AT(llm_api_key), NULL, 0, 0, NULL, "key for the model server" },
	{ "llm_model", CONF_STR, AT(llm_model), NULL, 0, 0, NULL, "model name" },
	{ "llm_timeout", CONF_MS, AT(llm_timeout), "540s", 1000, 3600000, NULL, "longest generation; below the web server's 600 s" },
	{ "llm_connect_timeout", CONF_MS, AT(llm_connect_timeout), "10s", 100, 600000, NULL, "connecting to the model server" },
	{ "llm_first_byte_timeout", CONF_MS, AT(llm_first_byte_timeout), "300s", 1000, 3600000, NULL, "until the reply begins" },
	{ "llm_idle_timeout", CONF_MS, AT(llm_idle_timeout), "120s", 1000, 3600000, NULL, "longest silence inside a reply" },
	{ "llm_max_retries", CONF_INT, AT(llm_max_retries), "2", 0, 10, NULL, "further tries after a failure that may pass, before the reply begins" },
	{ "llm_ca_file", CONF_STR, AT(llm_ca_file), NULL, 0, 0, NULL, "certificate authorities for model servers (PEM) instead of the system's" },
	{ "allow_private_base_url", CONF_BOOL, AT(allow_private_base_url), "false", 0, 0, NULL, "model servers may have private or loopback addresses" },
	{ "llm_allow_hosts", CONF_LIST, AT(llm_allow_hosts), NULL, 0, 0, NULL, "host or host:port allowed although private" },
	{ "context_tokens", CONF_INT, AT(context_tokens), "32768", 256, 10000000, NULL, "context size where neither model nor preset says" },
	{ "reply_tokens", CONF_INT, AT(reply_tokens), "1000", 1, 1000000, NULL, "reply size where neither request nor preset says" },

	{ "secrets_master_key", CONF_SECRET, AT(secrets_master_key), NULL, 0, 0, NULL, "key under which stored secrets are sealed" },
	{ "on_disconnect", CONF_ENUM, AT(on_disconnect), "auto", 0, 0, on_disconnect, "when the last reader of a generation leaves: abort, continue, or auto = continue if it was asked for with an Idempotency-Key" },
	{ "stream_linger", CONF_MS, AT(stream_linger), "30s", 0, 600000, NULL, "how long a finished stream waits for late readers" },
	{ "turn_wait", CONF_MS, AT(turn_wait), "20s", 10, 600000, NULL, "wait of a turn until those before it in its worker are under way; above: 503" },
	{ "run_lease", CONF_MS, AT(run_lease), "15s", 3000, 600000, NULL, "after so long without a sign of life a generation counts as failed" },
	{ "asset_cache_bytes", CONF_BYTES, AT(asset_cache_bytes), "32m", 0, 1 << 30, NULL, "compiled presets, books and scripts that a worker keeps" },

	{ "job_workers", CONF_INT, AT(job_workers), "2", 1, 64, NULL, "jobs that a tavern-jobd runs at once" },
	{ "job_keep_hours", CONF_INT, AT(job_keep_hours), "168", 0, 1000000, NULL, "finished jobs are listed for so long; 0 = for ever" },
	{ "event_keep_hours", CONF_INT, AT(event_keep_hours), "72", 0, 1000000, NULL, "events can be replayed for so long; 0 = for ever" },
	{ "chat_inline_bytes", CONF_BYTES, AT(chat_inline_bytes), "8m", 1024, 1 << 26, NULL, "largest chat file that is imported within a request; larger ones are jobs" },
	{ "chat_inline_floors", CONF_INT, AT(chat_inline_floors), "2000", 1, 1000000, NULL, "longest chat that is exported within a request; longer ones are jobs" },
	{ "chat_file_keep", CONF_MS, AT(chat_file_keep), "24h", 1000, 2592000000, NULL, "how long the file of an export job can be fetched" },
	{ "events_max", CONF_INT, AT(events_max), "20000", 1, 1000000, NULL, "listeners of tavern-eventd at once; above: 503" },
	{ .key = NULL },
};
// clang-format on

/* A mode without anything that could prove who calls would refuse everybody. */
static const char *
auth_fault(const struct settings *s)
{
	bool pepper = s->api_key_pepper || s->secrets_master_key;

	if (s->auth_mode == AUTH_MODE_API_KEY && !s->api_keys && !s->admin_keys && !pepper)
		return "settings: auth_mode = api_key needs api_keys, or api_key_pepper for stored keys";
	if (s->auth_mode == AUTH_MODE_JWT && !s->jwt_secret && !s->jwt_public_key_file && !s->jwt_jwks_file &&
	    !s->jwt_jwks_url)
		return "settings: auth_mode = jwt needs jwt_secret, jwt_public_key_file, jwt_jwks_file or "
		       "jwt_jwks_url";
	if (s->auth_mode == AUTH_MODE_JWT && s->jwt_secret && strlen(s->jwt_secret) < JWT_SECRET_MIN)
		return "settings: jwt_secret must have at least 32 bytes";
	return NULL;
}

/* See settings.h. */
int
settings_load(struct arena *a, struct settings *out, const char *path, char **env, const char *const *args,
    struct conf_error *err)
{
	const char *why;

	*out = (struct settings){ 0 };
	if (conf_load(a, settings_rows, out, path, SETTINGS_ENV, env, args, err) < 0)
		return -1;
	if (out->worker_threads_reserved >= out->worker_threads_max)
		vec_push(
		    a, &err->lines, "settings: worker_threads_reserved must be below worker_threads_max");
	why = auth_fault(out);
	if (why != NULL)
		vec_push(a, &err->lines, why);
	return err->lines.n > 0 ? -1 : 0;
}

struct db_conf
settings_db(const struct settings *s, enum db_role role, int connections)
{
	return (struct db_conf){ .conninfo = role == DB_SYS ? s->database_sys : s->database,
		.password = role == DB_SYS ? s->database_sys_password : s->database_password,
		.connections = connections,
		.checkout_ms = (int)s->db_checkout_timeout,
		.statement_ms = (int)s->db_statement_timeout,
		.lock_ms = (int)s->db_lock_timeout,
		.prepare = s->db_prepare };
}

struct auth_conf
settings_auth(const struct settings *s)
{
	return (struct auth_conf){ .kind = (enum auth_kind)s->auth_mode,
		.multi = s->account_mode == ACCOUNT_MODE_MULTI,
		.off_allow_remote = s->auth_off_allow_remote,
		.api_keys = s->api_keys,
		.admin_keys = s->admin_keys,
		.pepper = s->api_key_pepper ? s->api_key_pepper : s->secrets_master_key,
		.jwt_secret = s->jwt_secret,
		.jwt_public_key_file = s->jwt_public_key_file,
		.jwt_jwks_file = s->jwt_jwks_file,
		.jwt_jwks_url = s->jwt_jwks_url,
		.jwt_issuer = s->jwt_issuer,
		.jwt_audience = s->jwt_audience,
		.jwt_account_claim = s->jwt_account_claim,
		.jwt_leeway = s->jwt_leeway };
}

int
settings_take(struct arena *a, struct settings *out, const struct command *from)
{
	struct conf_error err = { 0 };

	if (settings_load(a, out, from->path, environ, from->args, &err) == 0)
		return 0;
	for (size_t i = 0; i < err.lines.n; i++)
		fprintf(stderr, "%s: %s\n", from->program, err.lines.v[i]);
	return -1;
}

static int
usage(const char *program)
{
	fprintf(stderr,
	    "usage: %s [-t | -p | -V] [-c FILE] [-o KEY=VALUE]...\n"
	    "  -c FILE       configuration file, the same for all daemons\n"
	    "  -o KEY=VALUE  setting that wins over file and environment\n"
	    "  -t            check the configuration, print faults, exit\n"
	    "  -p            print a configuration file with all settings explained, exit\n"
	    "  -V            print the version, exit\n",
	    program);
	return 2;
}

int
command_read(struct arena *a, const char *program, int argc, char **argv, struct command *out)
{
	VEC(const char *) args = { 0 };
	int opt;

	*out = (struct command){ .program = program };
	while ((opt = getopt(argc, argv, "c:o:tpV")) != -1) {
		switch (opt) {
		case 'c':
			out->path = optarg;
			break;
		case 'o':
			vec_push(a, &args, optarg);
			break;
		case 't':
			out->check = true;
			break;
		case 'p':
			conf_print_sample(settings_rows, SETTINGS_ENV);
			return 0;
		case 'V':
			puts(PACKAGE_STRING);
			return 0;
		default:
			return usage(program);
		}
	}
	if (optind < argc)
		return usage(program);
	vec_push(a, &args, NULL);
	out->args = args.v;
	return -1;
}
