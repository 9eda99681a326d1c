/*
 * script_file: regex scripts from the JSON of SillyTavern's files, whatever their age: null,
 * numbers as texts, old placements. Bad members take their defaults, rows that are no objects are
 * left out; the receipts of an import are made elsewhere (card/regex_file.h).
 */
#ifndef REGEX_SCRIPT_FILE_H
#define REGEX_SCRIPT_FILE_H

#include "base/json.h"
#include "regex/script.h"

/* An array of scripts, one script, or NULL. Texts are borrowed from `scripts`; the list is in `a`. */
size_t regex_scripts_read(
    struct arena *a, const struct json *scripts, enum regex_source source, const struct regex_script **out);

#endif
