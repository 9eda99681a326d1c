/*
 * dialect: the tables of dialects and providers.
 */
#include "llm/dialect.h"

/* clang-format off */
static const struct dialect dialects[] = {
	{ .name = "chat_completions", .path = "/chat/completions", .key_header = "Authorization: Bearer ", .think_tags = true,
	  .build = chat_build, .delta = chat_delta, .final = chat_final, .is_mark = chat_is_mark },
	{ .name = "responses", .path = "/responses", .key_header = "Authorization: Bearer ",
	  .build = responses_build, .delta = responses_delta, .final = responses_final, .is_mark = chat_is_mark },
	{ .name = "anthropic", .path_of = anthropic_path, .key_header = "x-api-key: ", .header = "anthropic-version: 2023-06-01", .system_apart = true,
	  .build = anthropic_build, .delta = anthropic_delta, .final = anthropic_final, .is_mark = chat_is_mark },
	{ .name = "google", .path_of = google_path, .key_header = "x-goog-api-key: ", .system_apart = true,
	  .build = google_build, .delta = google_delta, .final = google_final, .is_mark = chat_is_mark },
};

static const struct provider providers[] = {
	{ .name = "echo" },
	{ .name = "openai-compatible", .dialect = "chat_completions" },
	{ .name = "openai", .dialect = "responses", .base = "https://api.openai.com/v1" },
	{ .name = "deepseek", .dialect = "chat_completions", .base = "https://api.deepseek.com" },
	{ .name = "xai", .dialect = "chat_completions", .base = "https://api.x.ai/v1" },
	{ .name = "anthropic", .dialect = "anthropic", .base = "https://api.anthropic.com" },
	{ .name = "google", .dialect = "google", .base = "https://generativelanguage.googleapis.com" },
};
/* clang-format on */

const struct dialect *
dialect_find(const char *name)
{
	for (size_t i = 0; name && i < sizeof dialects / sizeof *dialects; i++)
		if (strcmp(dialects[i].name, name) == 0)
			return &dialects[i];
	return NULL;
}

const struct provider *
provider_find(const char *name)
{
	for (size_t i = 0; name && i < sizeof providers / sizeof *providers; i++)
		if (strcmp(providers[i].name, name) == 0)
			return &providers[i];
	return NULL;
}

static const struct dialect *
dialect_of(const struct llm_request *q)
{
	const struct provider *p = provider_find(q->provider);

	return dialect_find(q->dialect ? q->dialect : p ? p->dialect : NULL);
}

bool
llm_system_apart(const struct llm_request *q)
{
	const struct dialect *d = dialect_of(q);

	return d && d->system_apart;
}

struct json *
llm_body(struct arena *a, const struct llm_request *q, struct llm_warnings *warnings)
{
	const struct dialect *d = dialect_of(q);
	struct llm_caps caps = caps_find(str_c(q->model), q->caps);

	return (d ? d : &dialects[0])
	    ->build(a, q, &caps, warnings); /* echo shows what a server would have been sent */
}
