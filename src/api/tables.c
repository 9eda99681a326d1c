#include "api/tables.h"

#include "api/app.h"

const struct route_table api_tables[] = {
#define X(name) { api_##name##_routes },
	API_TABLES(X)
#undef X
};
const size_t api_tables_n = sizeof(api_tables) / sizeof(*api_tables);
