/* sse: see sse.h. */
#include "sse.h"

#define SSE_END "end"

static const char *const names[] = { [STREAM_TEXT] = "chunk", [STREAM_REASONING] = "reasoning" };

/* One data line, as JSON has no raw line breaks; should a text have some (of either kind), a line for each.
 */
static void
add_data(struct sb *out, struct str data)
{
	struct str rest, line;
	bool first = true;

	while (str_next(&data, '\n', &rest)) {
		while (str_next(&rest, '\r', &line)) {
			sb_adds(out, first ? "" : "\ndata: ");
			sb_add(out, line);
			first = false;
		}
	}
}

/* See sse.h. */
void
sse_add_item(struct sb *out, const struct stream_item *it)
{
	sb_addf(out, "event: %s\nid: %s%s", it->kind == STREAM_EVENT ? it->name : names[it->kind],
	    it->label != NULL ? it->label : "", it->label != NULL ? "." : "");
	if (it->last && it->label != NULL)
		sb_adds(out, SSE_END "\ndata: ");
	else
		sb_addf(out, "%u.%u.%u\ndata: ", it->after.event, it->after.text, it->after.reasoning);
	if (it->kind != STREAM_EVENT) {
		sb_adds(out, "{\"chunk\":");
		sb_add_json(out, it->data);
		sb_adds(out, "}\n\n");
		return;
	}
	add_data(out, it->data);
	sb_adds(out, "\n\n");
}

/* See sse.h. */
void
sse_add_ping(struct sb *out)
{
	sb_adds(out, ": ping\n\n");
}

/* See sse.h. */
bool
sse_parse_id(struct str id, struct stream_pos *out)
{
	uint32_t v[3];
	struct str part;
	int64_t n;

	for (int i = 0; i < 3; i++) {
		if (!str_next(&id, '.', &part) || part.n == 0 || part.p[0] == '-' || (part.n > 1 && part.p[0] == '0') ||
		    !str_int(part, &n) || n > UINT32_MAX)
			return false;
		v[i] = (uint32_t)n;
	}
	if (id.p != NULL)
		return false;
	*out = (struct stream_pos){ v[0], v[1], v[2] };
	return true;
}

/* See sse.h. */
bool
sse_parse_id_of(struct str label, struct str id, struct stream_pos *out)
{
	if (sse_parse_id(id, out))
		return true;
	if (label.n == 0 || !str_starts(id, label) || id.n == label.n || id.p[label.n] != '.')
		return false;
	id = str_sub(id, label.n + 1, id.n);
	if (!str_is(id, SSE_END))
		return sse_parse_id(id, out);
	*out = STREAM_AT_END;
	return true;
}
