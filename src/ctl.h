/*
 * ctl: what the subcommands of tavernctl share. A subcommand is a function and a row of the table in
 * tavernctl.c.
 */
#ifndef CTL_H
#define CTL_H

#include "base/ctx.h"
#include "settings.h"

struct ctl {
	struct arena *a;             /* the process's */
	const struct settings *set;
	struct ctx *ctx;             /* with the process's arena; no database yet */
};

struct ctl_command {
	const char *name;
	const char *args;            /* as shown in the usage text */
	const char *help;
	int (*fn)(struct ctl *ctl, int argc, char **argv); /* argv[0] is the command's name; the exit status */
};

/* Says what is wrong with the arguments of a command. Returns 2. */
int ctl_usage(const struct ctl_command *cmd);
/* Prints the recorded error of ctl->ctx. Returns 1. */
int ctl_failed(const struct ctl *ctl);

extern const struct ctl_command ctl_account;
extern const struct ctl_command ctl_assemble;
extern const struct ctl_command ctl_export;
extern const struct ctl_command ctl_import;
extern const struct ctl_command ctl_lore;
extern const struct ctl_command ctl_macro;
extern const struct ctl_command ctl_migrate;
extern const struct ctl_command ctl_replay;

#endif
