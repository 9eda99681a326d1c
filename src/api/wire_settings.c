/*
 * wire_settings: what an account says for all its sessions, and a session for itself (decisions 46, 52).
 */
#include "api/wire.h"
#include "base/tm.h"

static bool
zone_known(struct str v)
{
	struct arena *a = arena_create("zone", 0);
	bool known = tm_zone_load(a, v) != NULL;

	arena_destroy(&a);
	return known;
}

/* clang-format off */
static const char *const message_macros[] = { "off", "read", "full", NULL };
static const char *const note_places[] = { "after_main", "in_chat", "before_main", NULL };
static const char *const note_roles[] = { "system", "user", "assistant", NULL };

const char *const wire_on_disconnect[] = { "abort", "continue", NULL };
const char *const wire_lore_strategies[] = { "evenly", "character_first", "global_first", NULL };
static const struct field lore[] = {
	WIRE_LORE_FIELDS,
	FIELD_END
};

static const char *const promotions[] = { "none", "branch", "chat", NULL };

#define OF_BOTH \
	{ "variable_promotion", FT_ENUM, .choices = promotions, .doc = "how far values of a page go when its floor is committed: to the floor (none), on to the branch, on to the chat" }, \
	{ "timezone", FT_STRING, .min = 1, .max = 64, .check = zone_known, .doc = "IANA name or offset; the host's is never used, UTC if nobody says" }, \
	{ "time_awareness", FT_BOOL, .doc = "false: macros of date and time are empty" }, \
	{ "message_macros", FT_ENUM, .choices = message_macros, .doc = "macros in messages: kept as text, read, or with writes in the user's own" }, \
	{ "lore", FT_OBJECT, .fields = lore, .doc = "how world info is scanned; each member over the account's" }, \
	{ "keep_request", FT_BOOL, .doc = "true: the request that goes to the model is kept with its turn; explain and replay give it" }

const struct field wire_account_settings[] = {
	OF_BOTH,
	FIELD_END
};
static const struct field authors_note[] = {
	{ "text", FT_STRING, FF_REQUIRED },
	{ "position", FT_ENUM, .choices = note_places, .doc = "absent = in_chat" },
	{ "depth", FT_INT, .bounded = true, .max = 10000, .doc = "messages behind it, in_chat; absent = 4" },
	{ "role", FT_ENUM, .choices = note_roles, .doc = "absent = system" },
	{ "interval", FT_INT, .bounded = true, .max = 10000, .doc = "every so many user messages; 0 = never; absent = 1" },
	{ "scan", FT_BOOL, .doc = "world info looks into it" },
	FIELD_END
};
const struct field wire_session_settings[] = {
	OF_BOTH,
	{ "authors_note", FT_OBJECT, .fields = authors_note },
	{ "on_disconnect", FT_ENUM, .choices = wire_on_disconnect, .doc = "when the last reader of a turn leaves; a request's own wins, absent = the server's" },
	{ "summary", FT_STRING, .doc = "of the story so far: {{summary}}; every mode but compat_strict sends it" },
	FIELD_END
};
/* clang-format on */
