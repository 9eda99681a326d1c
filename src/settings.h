/*
 * settings: every setting of the daemons: the struct they fill and the rows that describe it. The
 * file is `key = value`, the environment TAVERND_KEY, the command line -o key=value. A new
 * setting is a member here and a row in settings.c.
 */
#ifndef SETTINGS_H
#define SETTINGS_H

#include "auth/auth.h"
#include "base/conf.h"
#include "db/db.h"

enum auth_mode { AUTH_MODE_OFF, AUTH_MODE_API_KEY, AUTH_MODE_JWT };
enum account_mode { ACCOUNT_MODE_SINGLE, ACCOUNT_MODE_MULTI };

struct settings {
	/* Processes. */
	const char *listen_dir; /* of the workers' sockets w0.sock … */
	int64_t workers;        /* 0 = one for each core */
	int64_t worker_threads_max, worker_threads_reserved, worker_streams_max;
	int64_t account_streams_max;
	int64_t drain_timeout; /* ms */
	const char **cors_origins;
	int log_level; /* enum log_level */

	/* Database: libpq connection strings, one for each role; passwords apart. */
	const char *database, *database_sys, *database_owner;
	const char *database_password, *database_sys_password, *database_owner_password;
	int64_t db_connections;
	int64_t db_checkout_timeout, db_statement_timeout, db_lock_timeout; /* ms */
	bool db_prepare;

	/* Who may. */
	int auth_mode;        /* enum auth_mode */
	int account_mode;     /* enum account_mode */
	const char *api_keys; /* key or key:account, comma separated */
	const char *admin_keys;
	const char *api_key_pepper;
	bool auth_off_allow_remote;
	const char *jwt_secret;          /* HS256 */
	const char *jwt_public_key_file; /* PEM for RS256 or ES256 */
	const char *jwt_jwks_file, *jwt_jwks_url;
	const char *jwt_issuer, *jwt_audience;
	const char *jwt_account_claim;
	int64_t jwt_leeway; /* ms */

	/* The model, where a session has no profile of its own. */
	const char *llm_provider, *llm_base_url, *llm_api_key, *llm_model;
	int64_t llm_timeout, llm_connect_timeout, llm_first_byte_timeout, llm_idle_timeout; /* ms */
	int64_t llm_max_retries;
	const char *llm_ca_file;
	bool allow_private_base_url;
	const char **llm_allow_hosts;
	int64_t context_tokens, reply_tokens;

	const char **metrics_allow;
	const char *secrets_master_key;
	int on_disconnect;         /* enum turn_policy */
	int64_t stream_linger;     /* ms that a finished stream waits for late readers */
	int64_t turn_wait;         /* ms until a turn is refused because others of its worker begin */
	int64_t run_lease;         /* ms until a run whose worker is gone counts as failed */
	int64_t asset_cache_bytes; /* compiled presets, books and scripts of a worker */

	/* tavern-jobd and what it runs. */
	int64_t job_workers;
	int64_t job_keep_hours, event_keep_hours; /* 0 = for ever */
	int64_t chat_inline_bytes, chat_inline_floors, chat_file_keep; /* ms */
	int64_t events_max;        /* listeners of tavern-eventd */
};

extern const struct conf_row settings_rows[]; /* ends with .key NULL */
#define SETTINGS_ENV "TAVERND"

/* As conf_load, and the checks that concern several settings. */
int settings_load(struct arena *a, struct settings *out, const char *path, char **env,
    const char *const *args, struct conf_error *err);

/* What the settings say to others. */
struct db_conf settings_db(const struct settings *s, enum db_role role, int connections);
struct auth_conf settings_auth(const struct settings *s); /* without the means to fetch */

/* ---- programs ---- */

/* What the command line of a daemon says. */
struct command {
	const char *program;
	const char *path;          /* -c; NULL = none */
	const char *const *args;   /* each -o KEY=VALUE, then NULL */
	bool check;                /* -t: only the configuration is looked at */
};
/* Reads it; -1: the program goes on, else all is said and this is its exit status. */
int command_read(struct arena *a, const char *program, int argc, char **argv, struct command *out);
/* Settings of a command, from the environment too; faults are said on stderr, a line each behind the program's name. -1: there are some. */
int settings_take(struct arena *a, struct settings *out, const struct command *from);

#endif
