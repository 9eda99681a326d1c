/*
 * ctl_scene: what `tavernctl assemble` and `tavernctl lore` share: files of any kind and options into
 * the input of an assembly.
 */
#ifndef CTL_SCENE_H
#define CTL_SCENE_H

#include "card/import.h"
#include "ctl.h"
#include "prompt/prompt.h"
#include "token/token.h"

#include <getopt.h>

enum { SCENE_MEMBERS = 64, SCENE_BOOKS = 64, SCENE_SETS = 64 };

struct scene {
	struct arena *a;
	struct prompt_input in;
	const struct prompt_card *cards[SCENE_MEMBERS];
	struct lore_bound books[SCENE_BOOKS];
	const struct regex_set *sets[SCENE_SETS];
	size_t nsets;
	VEC(struct prompt_message) chat;
	struct macro_layers layers;
	struct token_choice tokens;
	struct str persona, message;
	int64_t greeting;
	bool has_chat;
	struct json *files;           /* [{"path","kind","receipt"}] */
};

/* Options that make the scene; further ones of a command have letters and numbers of their own. */
enum {
	SCENE_RECURSION = 512,
	SCENE_SCAN_DEPTH,
	SCENE_BUDGET,
	SCENE_MIN_ACTIVATIONS,
	SCENE_CASE,
	SCENE_WORDS
};
#define SCENE_LETTERS "m:t:u:p:M:l:z:g:s:n:C:R:"
// clang-format off
#define SCENE_OPTIONS \
	{ "mode", required_argument, NULL, 'm' }, { "type", required_argument, NULL, 't' }, { "user", required_argument, NULL, 'u' }, \
	{ "persona", required_argument, NULL, 'p' }, { "message", required_argument, NULL, 'M' }, { "model", required_argument, NULL, 'l' }, \
	{ "zone", required_argument, NULL, 'z' }, { "greeting", required_argument, NULL, 'g' }, { "seed", required_argument, NULL, 's' }, \
	{ "now", required_argument, NULL, 'n' }, { "context", required_argument, NULL, 'C' }, { "reply", required_argument, NULL, 'R' }, \
	{ "recursion", no_argument, NULL, SCENE_RECURSION }, { "scan-depth", required_argument, NULL, SCENE_SCAN_DEPTH }, \
	{ "budget", required_argument, NULL, SCENE_BUDGET }, { "min-activations", required_argument, NULL, SCENE_MIN_ACTIVATIONS }, \
	{ "case-sensitive", no_argument, NULL, SCENE_CASE }, { "whole-words", no_argument, NULL, SCENE_WORDS }
// clang-format on
#define SCENE_USAGE \
	"[--mode M] [--type T] [--user NAME] [--persona TEXT] [--message TEXT] [--model M] [--zone Z] [--greeting N] [--seed N] " \
	"[--now MS] [--context N] [--reply N] [--recursion] [--scan-depth N] [--budget N] [--min-activations N] " \
	"[--case-sensitive] [--whole-words]"

void scene_begin(struct scene *s, const struct ctl *ctl);
/* An option of SCENE_OPTIONS: 0; -1 if it is none or its value is of no use (said on standard error). */
int scene_option(struct scene *s, int opt, const char *arg);
/* Reads a file of any kind into the scene. -1: said on standard error, with place and reason. */
int scene_file(struct scene *s, const char *path);
/* All files are there: names, persona, greeting, message. */
void scene_settle(struct scene *s);
/* What an author should know of the files (refused parts, warnings), a line each on standard error. */
void scene_warnings(const struct scene *s);

#endif
