/*
 * token: byte pair encodings of OpenAI's models, o200k_base and cl100k_base: ids equal to the
 * reference tokenizer's, counting fast enough to do it at every write. Text is data: marks such
 * as <|endoftext|> are ordinary characters. Knows no messages and no models beyond their names.
 *
 * The tables are part of the program, made when it is built: processes share their pages, and a page that no text needs
 * costs nothing.
 */
#ifndef TOKEN_TOKEN_H
#define TOKEN_TOKEN_H

#include "base/arena.h"

enum token_encoding { TOKEN_O200K, TOKEN_CL100K, TOKEN__COUNT };

const char *token_encoding_name(enum token_encoding e);              /* "o200k_base" */
bool token_encoding_find(struct str name, enum token_encoding *out); /* by that name */

struct token_choice {
	enum token_encoding encoding;
	const char *name;     /* of the encoding */
	const char *fallback; /* NULL: the model's own. Else why not, for the trace: "model_unknown",
				 "model_other_tokenizer" */
};
/* Encoding for a model's name (vendor prefixes such as "openai/" and date suffixes allowed). Never fails. */
struct token_choice token_for_model(struct str model);

void token_warm(void); /* makes the small tables of the splitter now: before a fork, so that workers share them */

/* Tokens of a text. Linear time whatever the text; thread-safe. Bad UTF-8 counts byte by byte. */
size_t token_count(enum token_encoding e, struct str text);
/* The ids themselves; returns their number, *ids_out in the arena. */
size_t token_encode(struct arena *a, enum token_encoding e, struct str text, uint32_t **ids_out);
/* Bytes of a token; STR_NULL for an unknown id. */
struct str token_bytes(enum token_encoding e, uint32_t id);

#endif
