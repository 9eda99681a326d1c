/*
 * upload: a file that a request carries: its whole body, or the part `file` of a form
 * (multipart/form-data, RFC 7578). Parts are slices of the body; nothing is copied or decoded.
 */
#include "base/utf8.h"
#include "request.h"

#define PARTS_MAX 64
#define BOUNDARY_MAX 70 /* RFC 2046 */

struct part {
	struct str name, file_name, media_type, bytes;
	bool has_file_name;
};

/*
 * Next `; name=value` of a header value; the value without quotes. `rest` starts behind the first
 * word. False at the end or where it is no list of parameters.
 */
static bool
parameter_next(struct arena *a, struct str *rest, struct str *name, struct str *value)
{
	struct str s = str_trim(*rest);
	struct sb out = sb_new(a);
	size_t eq, i;

	if (s.n == 0 || s.p[0] != ';' || (eq = str_chr(s, '=', 0)) == STR_NPOS)
		return false;
	*name = str_trim(str_sub(s, 1, eq));
	s = str_trim(str_sub(s, eq + 1, s.n));
	if (s.n == 0 || s.p[0] != '"') {
		i = str_chr(s, ';', 0);
		*value = str_trim(str_sub(s, 0, i));
		*rest = str_sub(s, i, s.n);
		return true;
	}
	/* Browsers send backslashes of a file name as they are; only an escaped quote is an escape. */
	for (i = 1; i < s.n && s.p[i] != '"'; i++) {
		if (s.p[i] == '\\' && i + 1 < s.n && s.p[i + 1] == '"')
			i++;
		sb_addc(&out, s.p[i]);
	}
	*value = sb_str(&out);
	*rest = str_sub(s, i + 1, s.n);
	return i < s.n;
}

static struct str
boundary_of(struct arena *a, struct str type)
{
	struct str rest = str_sub(type, str_chr(type, ';', 0), type.n), name, value;

	while (parameter_next(a, &rest, &name, &value))
		if (str_ieq(name, STR("boundary")) && value.n > 0 && value.n <= BOUNDARY_MAX)
			return value;
	return STR_NULL;
}

static void
part_headers(struct arena *a, struct str head, struct part *p)
{
	struct str line, name, value, rest;

	while (str_next(&head, '\n', &line)) {
		size_t colon = str_chr(line, ':', 0);
		struct str key = str_trim(str_sub(line, 0, colon));

		value = str_trim(str_sub(line, colon + 1, line.n));
		if (colon == STR_NPOS)
			continue;
		if (str_ieq(key, STR("content-type")))
			p->media_type = value;
		if (!str_ieq(key, STR("content-disposition")))
			continue;
		rest = str_sub(value, str_chr(value, ';', 0), value.n);
		while (parameter_next(a, &rest, &name, &value))
			if (str_ieq(name, STR("name"))) {
				p->name = utf8_clean(a, value);
			} else if (str_ieq(name, STR("filename"))) {
				p->file_name = utf8_clean(a, value);
				p->has_file_name = true;
			}
	}
}

/* 1 a part, 0 the end, -1 broken. `pos` starts at 0; `delimiter` is "\r\n--BOUNDARY". */
static int
part_next(struct arena *a, struct str body, struct str delimiter, size_t *pos, struct part *out)
{
	size_t at = *pos, head, end;

	if (at == 0) {
		/* The first delimiter may stand at the very beginning, without its line break. */
		at = str_starts(body, str_sub(delimiter, 2, delimiter.n)) ? delimiter.n - 2 : str_find(body, delimiter, 0);
		if (at == STR_NPOS)
			return -1;
		at += str_starts(body, str_sub(delimiter, 2, delimiter.n)) ? 0 : delimiter.n;
	}
	if (str_starts(str_sub(body, at, body.n), STR("--")))
		return 0;
	head = str_find(body, STR("\r\n"), at);
	end = head == STR_NPOS ? STR_NPOS : str_find(body, STR("\r\n\r\n"), head);
	if (end == STR_NPOS)
		return -1;
	*out = (struct part){ .name = STR("") };
	part_headers(a, str_sub(body, head + 2, end), out);
	*pos = str_find(body, delimiter, end + 2);
	if (*pos == STR_NPOS)
		return -1;
	out->bytes = str_sub(body, end + 4, *pos);
	*pos += delimiter.n;
	return 1;
}

static int
take_form(struct request *r, struct upload *out)
{
	struct arena *a = r->ctx->a;
	struct str boundary = boundary_of(a, r->content_type), delimiter;
	struct part p;
	size_t pos = 0;
	int rc;

	if (!boundary.p)
		return fail(r->ctx, ERR_INVALID, "invalid_multipart", "content type multipart/form-data names no boundary");
	delimiter = str_c(arena_printf(a, "\r\n--%.*s", STR_ARG(boundary)));
	for (int n = 0; (rc = part_next(a, r->body, delimiter, &pos, &p)) > 0; n++) {
		if (n == PARTS_MAX)
			return fail(r->ctx, ERR_INVALID, "invalid_multipart", "the form has more than %d parts", PARTS_MAX);
		if (str_is(p.name, "file") && !out->bytes.p) {
			out->bytes = p.bytes;
			out->file_name = p.has_file_name ? p.file_name : STR_NULL;
			out->media_type = p.media_type;
		} else if (!p.has_file_name)
			json_set_str(out->fields, arena_strdup(a, p.name), utf8_clean(a, p.bytes));
	}
	if (rc < 0)
		return fail(r->ctx, ERR_INVALID, "invalid_multipart", "the form is broken or ends too early");
	return out->bytes.p ? 0 : fail(r->ctx, ERR_INVALID, "invalid_multipart", "the form has no part named \"file\"");
}

/* See request.h. */
int
req_upload(struct request *r, struct upload *out)
{
	struct str type = str_trim(str_sub(r->content_type, 0, str_chr(r->content_type, ';', 0)));

	*out = (struct upload){ .fields = json_object(r->ctx->a), .media_type = r->content_type };
	if (str_ieq(type, STR("multipart/form-data")))
		return take_form(r, out);
	out->bytes = r->body;
	return 0;
}
