/*
 * tavernctl: the operator's program. Reads the daemons' configuration and runs one command of the table.
 */
#include "config.h"

#include "base/tm.h"
#include "ctl.h"

#include <getopt.h>
#include <stdio.h>
#include <unistd.h>

static const struct ctl_command *const commands[] = {
	&ctl_account,
	&ctl_assemble,
	&ctl_export,
	&ctl_import,
	&ctl_lore,
	&ctl_macro,
	&ctl_migrate,
	&ctl_replay,
};
#define COMMANDS (sizeof(commands) / sizeof(*commands))

int
ctl_usage(const struct ctl_command *cmd)
{
	fprintf(stderr, "usage: tavernctl %s %s\n", cmd->name, cmd->args);
	return 2;
}

int
ctl_failed(const struct ctl *ctl)
{
	const char *msg = ctl->ctx->err.msg;

	/* Messages of the server end with a line break, ours do not. */
	fprintf(stderr, "tavernctl: %s%s", msg, str_ends(str_c(msg), STR("\n")) ? "" : "\n");
	return 1;
}

static int
usage(void)
{
	fputs("usage: tavernctl [-c FILE] [-o KEY=VALUE]... COMMAND [ARG]...\n"
	      "  -c FILE       configuration file of tavernd\n"
	      "  -o KEY=VALUE  setting that wins over file and environment\n"
	      "  -V            print the version, exit\n"
	      "commands:\n",
	    stderr);
	for (size_t i = 0; i < COMMANDS; i++)
		fprintf(
		    stderr, "  %s %s\n      %s\n", commands[i]->name, commands[i]->args, commands[i]->help);
	return 2;
}

static int
run(struct arena *a, const char *path, const char *const *settings, int argc, char **argv)
{
	struct ctx ctx = { .a = a, .now = tm_now(), .rid = "ctl" };
	struct settings set;
	struct ctl ctl = { a, &set, &ctx };

	if (argc == 0)
		return usage();
	if (settings_take(a, &set, &(struct command){ .program = "tavernctl", .path = path, .args = settings }) < 0)
		return 2;
	for (size_t i = 0; i < COMMANDS; i++)
		if (strcmp(commands[i]->name, argv[0]) == 0)
			return commands[i]->fn(&ctl, argc, argv);
	fprintf(stderr, "tavernctl: no command \"%s\"\n", argv[0]);
	return usage();
}

int
main(int argc, char **argv)
{
	struct arena *a = arena_create("tavernctl", 0);
	VEC(const char *) settings = { 0 };
	const char *path = NULL;
	int opt, rc = -1;

	while (rc < 0 && (opt = getopt(argc, argv, "+c:o:V")) != -1) {
		switch (opt) {
		case 'c':
			path = optarg;
			break;
		case 'o':
			vec_push(a, &settings, optarg);
			break;
		case 'V':
			puts(PACKAGE_STRING);
			rc = 0;
			break;
		default:
			rc = usage();
		}
	}
	vec_push(a, &settings, NULL);
	if (rc < 0)
		rc = run(a, path, settings.v, argc - optind, argv + optind);
	arena_destroy(&a);
	return rc;
}
