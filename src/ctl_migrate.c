/*
 * ctl_migrate: `tavernctl migrate`. Logs in as database_owner says, which is a member of tavern_owner.
 */
#include "ctl.h"
#include "db/migrate.h"

#include <stdio.h>

static void
say(void *arg, const char *line)
{
	(void)arg;
	puts(line);
	fflush(stdout);
}

static int
run(struct ctl *ctl, int argc, char **argv)
{
	const struct db_conf conf = { .conninfo = ctl->set->database_owner,
		.password = ctl->set->database_owner_password };
	struct migrate_options o = { .list = migrations, .mode = MIGRATE_APPLY, .say = say };

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--dry-run") == 0)
			o.mode = MIGRATE_DRY_RUN;
		else if (strcmp(argv[i], "--status") == 0)
			o.mode = MIGRATE_STATUS;
		else
			return ctl_usage(&ctl_migrate);
	}
	if (conf.conninfo == NULL) {
		fail(ctl->ctx, ERR_INVALID, "setting_missing",
		    "set database_owner to a connection string of a member of tavern_owner (sql/roles.sql)");
		return ctl_failed(ctl);
	}
	return migrate_run(ctl->ctx, &conf, &o) < 0 ? ctl_failed(ctl) : 0;
}

const struct ctl_command ctl_migrate = { "migrate", "[--dry-run | --status]",
	"brings the schema up to date; tries it and rolls back; says what is applied", run };
