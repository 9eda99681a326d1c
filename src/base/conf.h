/*
 * conf: table-driven settings. A row says key, type, range, default and help; the value goes
 * to a member of the program's settings struct. Sources, later wins: default, file
 * (`key = value`, # comments), environment (PREFIX_KEY in upper case), command line.
 * A key ending in `_file` of a secret reads the value from that file.
 */
#ifndef BASE_CONF_H
#define BASE_CONF_H

#include "vec.h"

enum conf_type { CONF_STR, CONF_INT, CONF_BOOL, CONF_ENUM, CONF_SECRET, CONF_LIST /* comma separated */, CONF_MS /* "30s", "500ms", "10m" */, CONF_BYTES /* "64m" */ };

struct conf_row {
	const char *key;
	enum conf_type type;
	size_t offset;               /* STR/SECRET: const char *; INT/MS/BYTES: int64_t; BOOL: bool; ENUM: int; LIST: const char ** (NULL-terminated) */
	const char *dflt;            /* as text; NULL = unset */
	int64_t min, max;            /* INT, MS, BYTES; 0,0 = any */
	const char *const *choices;  /* ENUM, NULL-terminated; value = index */
	const char *help;
};

struct conf_error {
	VEC(const char *) lines;     /* every fault found, "file:line: …" */
};

/* Fills *settings. 0, or -1 with all faults in *err. `path` NULL = no file; `env` = environ; args "key=value". */
int conf_load(struct arena *a, const struct conf_row *rows, void *settings, const char *path,
    const char *prefix, char **env, const char *const *args, struct conf_error *err);
/* The table as a documented sample file, and the current values (secrets masked). */
void conf_print_sample(const struct conf_row *rows, const char *prefix);
void conf_print_values(const struct conf_row *rows, const void *settings);

#endif
