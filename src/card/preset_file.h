/*
 * preset_file: SillyTavern chat-completion presets of all ages. The document is the file with
 * known fields in their right types and names, rows cleaned, connection secrets dropped and
 * unknown fields where they were. Defaults are not filled in: a preset is a delta, the
 * assembler knows what absent means.
 */
#ifndef CARD_PRESET_FILE_H
#define CARD_PRESET_FILE_H

#include "receipt.h"

struct preset_file {
	struct str name; /* the file's own name field, else the fallback; absent if neither */
	struct str raw;  /* as it came, connection secrets removed */
	struct json *doc;
	struct json
	    *scripts;      /* extensions.regex_scripts normalised, NULL if none; doc keeps them as written */
	const char *track; /* which order runs: "100001", "100000", "longest", "default" (decision 38) */
	size_t prompts;
	struct receipt receipt; /* decision 53: prompt_never_sent, row_skipped, role_unknown */
};

/*
 * 0, or -1 with *err; nothing of *out is to be used then. The second form reads a document already
 * parsed, `text` is its source, and *out starts zeroed.
 */
int preset_file_read(
    struct arena *a, const struct import_file *file, struct preset_file *out, struct import_error *err);
int preset_file_read_json(struct arena *a, const struct json *doc, struct str text, struct str fallback_name,
    struct preset_file *out, struct import_error *err);
/* The file again; fixed point of preset_file_read. */
struct json *preset_export(struct arena *a, const struct json *doc);

#endif
