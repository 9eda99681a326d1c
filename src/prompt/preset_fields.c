/*
 * preset_fields: what a preset says that this server does not do, for the traces: known settings
 * without a counterpart here, where they ask for something; and members that mean nothing to us.
 */
#include "base/json_loose.h"
#include "prompt/prompt_private.h"

/* Read by preset.c, choice.c, arrange_read.c, or names of the file itself. */
static const char *const run[] = { "name", "prompts", "prompt_order", "extensions", "openai_max_context", "openai_max_tokens", "temperature", "top_p",
	"top_k", "top_a", "min_p", "repetition_penalty", "frequency_penalty", "presence_penalty", "seed", "stream_openai", "new_chat_prompt",
	"new_group_chat_prompt", "new_example_chat_prompt", "continue_nudge_prompt", "group_nudge_prompt", "impersonation_prompt", "wi_format",
	"scenario_format", "personality_format", "assistant_prefill", "assistant_impersonation", "send_if_empty", "names_behavior", "names_in_completion",
	"continue_prefill", "continue_postfix", "squash_system_messages", "use_sysprompt", "claude_use_sysprompt", "custom_prompt_post_processing",
	"chat_completion_source", "conditional_dialect", "choiceBlocks", "choice_blocks", "defaultChoices", "default_choices", "node_toggles", "sysprompt",
	"context", "post_history", "main_prompt", "nsfw_prompt", "jailbreak_prompt" };

/* What SillyTavern would do and we do not, and the value that asks for nothing (beside absent, false, 0 and ""). */
static const struct {
	const char *name, *nothing;
} unsupported[] = {
	{ "n", "1" },
	{ "reasoning_effort", "auto" },
	{ "verbosity", "auto" },
	{ "show_thoughts", "true" },
	{ "function_calling", NULL },
	{ "enable_web_search", NULL },
	{ "request_images", NULL },
	{ "image_inlining", NULL },
	{ "media_inlining", NULL },
	{ "video_inlining", NULL },
	{ "audio_inlining", NULL },
	{ "bias_preset_selected", "Default (none)" },
	{ "wrap_in_quotes", NULL },
	{ "exclude_assistant", NULL },
	{ "human_sysprompt_message", NULL },
	{ "enhance_definitions", NULL },
	{ "nsfw_toggle", "true" },
	{ "nsfw_first", NULL },
	{ "nsfw_avoidance_prompt", NULL },
};

static bool
is_run(struct str name)
{
	for (size_t i = 0; i < COUNT(run); i++)
		if (str_is(name, run[i]))
			return true;
	return false;
}

/* Does a setting ask for something? */
static bool
asks(struct arena *a, const struct json *v, const char *nothing)
{
	struct str s = loose_str(a, v, STR(""));

	return s.n > 0 && !str_is(s, "false") && !str_is(s, "0") && !(nothing && str_is(s, nothing));
}

void
preset_fields(struct arena *a, struct prompt_preset *p)
{
	struct json_iter it = { 0 };
	struct json *v;
	struct str name;

	while (json_next(p->doc, &it, &name, &v)) {
		size_t i = 0;

		if (is_run(name))
			continue;
		while (i < COUNT(unsupported) && !str_is(name, unsupported[i].name))
			i++;
		if (i == COUNT(unsupported))
			vec_push(a, &p->ignored.v, arena_str(a, name));
		else if (asks(a, v, unsupported[i].nothing))
			vec_push(a, &p->unsupported.v, arena_str(a, name));
	}
}
