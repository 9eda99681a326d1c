/*
 * tables: the table of tables. A new file of routes adds one line here and one in tables.c.
 */
#ifndef API_TABLES_H
#define API_TABLES_H

#include "http/route.h"

#define API_TABLES(X) \
	X(system) \
	X(metrics) \
	X(accounts) \
	X(users) \
	X(characters) \
	X(presets) \
	X(preset_entries) \
	X(preset_nodes) \
	X(worldbooks) \
	X(worldbook_entries) \
	X(worldbook_simulate) \
	X(regex_profiles) \
	X(imports) \
	X(exports) \
	X(transfers) \
	X(sessions) \
	X(turns) \
	X(timeline) \
	X(runs) \
	X(streams) \
	X(prompt_runtime) \
	X(explain) \
	X(floors) \
	X(branches) \
	X(pages) \
	X(page_compare) \
	X(messages) \
	X(variables) \
	X(variable_log) \
	X(macros)

#define X(name) extern const struct route api_##name##_routes[];
API_TABLES(X)
#undef X

#endif
