/*
 * note: an author's note as a session keeps it (st-assembly 1.11).
 */
#include "base/json_loose.h"
#include "prompt/prompt_private.h"

/* The names of one member: ours in a note, SillyTavern's in a chat's metadata. */
#define TEXT "text|prompt|content"
#define POSITION "position|place"

static enum prompt_place
place_read(struct arena *a, const struct json *v, enum prompt_place dflt)
{
	static const char *const names[] = { "after_main", "in_chat", "before_main" };
	struct str s = loose_str(a, v, STR_NULL);
	int64_t n = loose_int(v, -1);

	for (int i = 0; i < (int)COUNT(names); i++)
		if (str_is(s, names[i]) || n == i)
			return (enum prompt_place)i;
	return dflt;
}

static enum prompt_role
role_read(struct arena *a, const struct json *v, enum prompt_role dflt)
{
	static const char *const names[] = { "system", "user", "assistant" };
	struct str s = loose_str(a, v, STR_NULL);
	int64_t n = loose_int(v, -1);

	for (int i = 0; i < (int)COUNT(names); i++)
		if (str_is(s, names[i]) || n == i)
			return (enum prompt_role)i;
	return dflt;
}

static int32_t
small(const struct json *v, int32_t dflt)
{
	int64_t n = loose_int(v, dflt);

	return n < 0 || n > INT32_MAX ? dflt : (int32_t)n;
}

static struct prompt_note
note_of(struct arena *a, const struct json *o, const char *const keys[6])
{
	struct prompt_note n = prompt_note_defaults();

	n.text = loose_str(a, loose_get(o, keys[0]), STR_NULL);
	n.place = place_read(a, loose_get(o, keys[1]), n.place);
	n.depth = small(loose_get(o, keys[2]), n.depth);
	n.role = role_read(a, loose_get(o, keys[3]), n.role);
	n.interval = small(loose_get(o, keys[4]), n.interval);
	n.scan = loose_bool(loose_get(o, keys[5]), n.scan);
	return n;
}

struct prompt_note
prompt_note_read(struct arena *a, const struct json *note, const struct json *metadata)
{
	static const char *const ours[] = { TEXT, POSITION, "depth", "role", "interval", "scan" };
	static const char *const theirs[] = { "note_prompt", "note_position", "note_depth", "note_role", "note_interval", "note_scan" };
	struct prompt_note n = prompt_note_defaults();

	if (note == NULL)
		note = loose_get(metadata, "authors_note|authorsNote");
	if (json_type(note) == JSON_OBJECT)
		return note_of(a, note, ours);
	if (note == NULL && json_get(metadata, "note_prompt"))
		return note_of(a, metadata, theirs);
	n.text = loose_str(a, note, STR_NULL);
	return n;
}
