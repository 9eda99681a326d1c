/*
 * dialect: the tables of dialects and providers.
 */
#include "llm/dialect.h"

/* clang-format off */
static const struct dialect dialects[] = {
	{ .name = "chat_completions", .path = "/chat/completions", .key_header = "Authorization: Bearer ",
	  .build = chat_build, .delta = chat_delta, .final = chat_final, .is_mark = chat_is_mark },
};

static const struct provider providers[] = {
	{ .name = "echo" },
	{ .name = "openai-compatible", .dialect = "chat_completions" },
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

struct json *
llm_body(struct arena *a, const struct llm_request *q, struct llm_warnings *warnings)
{
	const struct provider *p = provider_find(q->provider);
	const struct dialect *d = dialect_find(q->dialect ? q->dialect : p ? p->dialect : NULL);
	struct llm_caps caps = caps_find(str_c(q->model), q->caps);

	return (d ? d : &dialects[0])
	    ->build(a, q, &caps, warnings); /* echo shows what a server would have been sent */
}
