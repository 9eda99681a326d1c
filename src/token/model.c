/*
 * model: which encoding a model's name means. OpenAI's models have their own; every other
 * model gets o200k_base, today's usual vocabulary size, and the choice says that it is an estimate.
 */
#include "token.h"

enum model_kind { MODEL_OWN, MODEL_OTHER };

/* Longer prefixes of one family stand before shorter ones; the first that fits decides. */
static const struct model_row {
	const char *prefix;
	enum token_encoding encoding;
	enum model_kind kind;
} models[] = {
	/* clang-format off */
	{ "gpt-4o",                 TOKEN_O200K,  MODEL_OWN },
	{ "gpt-4.1",                TOKEN_O200K,  MODEL_OWN },
	{ "gpt-4.5",                TOKEN_O200K,  MODEL_OWN },
	{ "gpt-5",                  TOKEN_O200K,  MODEL_OWN },
	{ "gpt-oss",                TOKEN_O200K,  MODEL_OWN },
	{ "gpt-audio",              TOKEN_O200K,  MODEL_OWN },
	{ "gpt-realtime",           TOKEN_O200K,  MODEL_OWN },
	{ "chatgpt-4o",             TOKEN_O200K,  MODEL_OWN },
	{ "codex-mini",             TOKEN_O200K,  MODEL_OWN },
	{ "computer-use",           TOKEN_O200K,  MODEL_OWN },
	{ "o1",                     TOKEN_O200K,  MODEL_OWN },
	{ "o3",                     TOKEN_O200K,  MODEL_OWN },
	{ "o4",                     TOKEN_O200K,  MODEL_OWN },
	{ "gpt-4",                  TOKEN_CL100K, MODEL_OWN },
	{ "gpt-3.5",                TOKEN_CL100K, MODEL_OWN },
	{ "gpt-35",                 TOKEN_CL100K, MODEL_OWN },
	{ "text-embedding-ada-002", TOKEN_CL100K, MODEL_OWN },
	{ "text-embedding-3",       TOKEN_CL100K, MODEL_OWN },
	{ "claude",                 TOKEN_O200K,  MODEL_OTHER },
	{ "gemini",                 TOKEN_O200K,  MODEL_OTHER },
	{ "gemma",                  TOKEN_O200K,  MODEL_OTHER },
	{ "deepseek",               TOKEN_O200K,  MODEL_OTHER },
	{ "qwen",                   TOKEN_O200K,  MODEL_OTHER },
	{ "qwq",                    TOKEN_O200K,  MODEL_OTHER },
	{ "llama",                  TOKEN_O200K,  MODEL_OTHER },
	{ "meta-llama",             TOKEN_O200K,  MODEL_OTHER },
	{ "mistral",                TOKEN_O200K,  MODEL_OTHER },
	{ "mixtral",                TOKEN_O200K,  MODEL_OTHER },
	{ "magistral",              TOKEN_O200K,  MODEL_OTHER },
	{ "ministral",              TOKEN_O200K,  MODEL_OTHER },
	{ "codestral",              TOKEN_O200K,  MODEL_OTHER },
	{ "grok",                   TOKEN_O200K,  MODEL_OTHER },
	{ "glm",                    TOKEN_O200K,  MODEL_OTHER },
	{ "kimi",                   TOKEN_O200K,  MODEL_OTHER },
	{ "moonshot",               TOKEN_O200K,  MODEL_OTHER },
	{ "minimax",                TOKEN_O200K,  MODEL_OTHER },
	{ "command",                TOKEN_O200K,  MODEL_OTHER },
	{ "yi-",                    TOKEN_O200K,  MODEL_OTHER },
	{ "phi",                    TOKEN_O200K,  MODEL_OTHER },
	/* clang-format on */
};

/* Prefix without regard to ASCII case, at a word's end or before a digit, sign or letter alike. */
static bool
has_prefix(struct str s, const char *prefix)
{
	size_t n = strlen(prefix);

	return s.n >= n && str_ieq(str_sub(s, 0, n), str_c(prefix));
}

/* "o1" must not mean "o1x…"; longer family names may go on. */
static bool
row_fits(const struct model_row *row, struct str model)
{
	size_t n = strlen(row->prefix);

	if (!has_prefix(model, row->prefix))
		return false;
	return n > 2 || model.n == n || model.p[n] == '-' || model.p[n] == '.' || model.p[n] == ':';
}

struct token_choice
token_for_model(struct str model)
{
	struct token_choice c = { .encoding = TOKEN_O200K, .fallback = "model_unknown" };
	size_t at;

	if (has_prefix(model, "ft:"))
		model = str_sub(model, 3, model.n);
	while ((at = str_chr(model, '/', 0)) != STR_NPOS)
		model = str_sub(model, at + 1, model.n);
	for (size_t i = 0; i < sizeof(models) / sizeof(models[0]); i++)
		if (row_fits(&models[i], model)) {
			c.encoding = models[i].encoding;
			c.fallback = models[i].kind == MODEL_OWN ? NULL : "model_other_tokenizer";
			break;
		}
	c.name = token_encoding_name(c.encoding);
	return c;
}
