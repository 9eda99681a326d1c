/*
 * regex_file: SillyTavern regex scripts as files: one object, an array, or a preset-like
 * object holding `regex_scripts`. Normalises types and old placements; compiles nothing.
 */
#ifndef CARD_REGEX_FILE_H
#define CARD_REGEX_FILE_H

#include "receipt.h"

/* compat_report of the import answer (wire names in the comments' order of the reference). */
struct regex_counts {
	int stored, prompt_executable, persist_executable, display_only, retained_non_executable,
	    reserved_world_info, unsupported_runtime, prompt_only, run_on_edit, reasoning, slash_command;
};

struct regex_file {
	struct str name; /* scriptName of a single script, else the fallback; absent if neither */
	struct str raw;
	struct json *scripts; /* array; unknown fields of a script stay in it */
	struct regex_counts counts;
	bool single; /* the file was one object: exported so again */
	struct receipt receipt;
};

/*
 * 0, or -1 with *err; nothing of *out is to be used then. The second form reads a document already
 * parsed, `text` is its source, and *out starts zeroed.
 */
int regex_file_read(
    struct arena *a, const struct import_file *file, struct regex_file *out, struct import_error *err);
int regex_file_read_json(struct arena *a, const struct json *doc, struct str text, struct str fallback_name,
    struct regex_file *out, struct import_error *err);
/* An array of scripts (or one, or null) from inside another file; NULL if there is none. */
struct json *regex_normalise(
    struct arena *a, const struct json *scripts, const char *path, struct receipt *r);
struct regex_counts regex_count(const struct json *scripts);
struct json *regex_counts_json(struct arena *a, const struct regex_counts *c);
struct json *regex_export(struct arena *a, const struct json *scripts, bool single);

#endif
