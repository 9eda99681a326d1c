/* envelope: see envelope.h. */
#include "envelope.h"

/* The one place that maps kinds of failure to statuses. */
static const struct {
	int status;
	const char *code; /* if the failure has none */
} kinds[ERR__COUNT] = {
	[ERR_NONE] = { 500, "internal_error" },
	[ERR_INVALID] = { 400, "invalid_request" },
	[ERR_UNAUTHENTICATED] = { 401, "auth_required" },
	[ERR_FORBIDDEN] = { 403, "forbidden" },
	[ERR_NOT_FOUND] = { 404, "not_found" },
	[ERR_METHOD] = { 405, "method_not_allowed" },
	[ERR_CONFLICT] = { 409, "conflict" },
	[ERR_GONE] = { 410, "gone" },
	[ERR_TOO_LARGE] = { 413, "payload_too_large" },
	[ERR_MEDIA_TYPE] = { 415, "unsupported_media_type" },
	[ERR_RATE] = { 429, "rate_limited" },
	[ERR_CANCELLED] = { 499, "generation_cancelled" },
	[ERR_INTERNAL] = { 500, "internal_error" },
	[ERR_UPSTREAM] = { 502, "upstream_error" },
	[ERR_UNAVAILABLE] = { 503, "unavailable" },
	[ERR_TIMEOUT] = { 504, "timeout" },
};

static const struct {
	int status;
	const char *text;
} reasons[] = {
	{ 200, "OK" },
	{ 201, "Created" },
	{ 202, "Accepted" },
	{ 204, "No Content" },
	{ 206, "Partial Content" },
	{ 301, "Moved Permanently" },
	{ 302, "Found" },
	{ 304, "Not Modified" },
	{ 307, "Temporary Redirect" },
	{ 308, "Permanent Redirect" },
	{ 400, "Bad Request" },
	{ 401, "Unauthorized" },
	{ 403, "Forbidden" },
	{ 404, "Not Found" },
	{ 405, "Method Not Allowed" },
	{ 409, "Conflict" },
	{ 410, "Gone" },
	{ 413, "Payload Too Large" },
	{ 415, "Unsupported Media Type" },
	{ 426, "Upgrade Required" },
	{ 429, "Too Many Requests" },
	{ 431, "Request Header Fields Too Large" },
	{ 499, "Client Closed Request" },
	{ 500, "Internal Server Error" },
	{ 502, "Bad Gateway" },
	{ 503, "Service Unavailable" },
	{ 504, "Gateway Timeout" },
};

/* See envelope.h. */
const char *
error_code(const struct err *e)
{
	return e->code != NULL ? e->code : kinds[e->kind].code;
}

/* The HTTP status of a kind of failure. */
int
error_status(enum err_kind k)
{
	return kinds[k].status;
}

/* See envelope.h. */
const char *
status_reason(int status)
{
	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
		if (reasons[i].status == status)
			return reasons[i].text;
	return "Status";
}

/* See envelope.h. */
struct str
error_envelope(struct arena *a, const struct err *e)
{
	struct sb s = sb_new(a);

	sb_adds(&s, "{\"error\":{\"code\":");
	sb_add_json(&s, str_c(error_code(e)));
	sb_adds(&s, ",\"message\":");
	sb_add_json(&s, str_c(e->msg != NULL ? e->msg : "Internal server error"));
	if (e->details != NULL) {
		sb_adds(&s, ",\"details\":");
		sb_adds(&s, e->details);
	} else if (e->fields.n > 0) {
		sb_adds(&s, ",\"details\":[");
		for (size_t i = 0; i < e->fields.n; i++) {
			sb_adds(&s, i > 0 ? ",{\"path\":" : "{\"path\":");
			sb_add_json(&s, str_c(e->fields.v[i].path != NULL ? e->fields.v[i].path : ""));
			sb_adds(&s, ",\"message\":");
			sb_add_json(&s, str_c(e->fields.v[i].message));
			sb_adds(&s, ",\"code\":");
			sb_add_json(&s, str_c(e->fields.v[i].code));
			sb_addc(&s, '}');
		}
		sb_addc(&s, ']');
	}
	sb_adds(&s, "}}");
	return sb_str(&s);
}
