/*
 * card: character cards from JSON, PNG and CHARX into one normalised document, and back.
 *
 * The document is what the store keeps beside the raw file: V2/V3 shape
 * {"spec","spec_version","data":{…}} with every known field of `data` present in its right
 * type, and all unknown fields, at the root, in `data` and below, exactly where they were.
 * Knows nothing of prompts: texts are byte-exact, never trimmed or expanded.
 */
#ifndef CARD_CARD_H
#define CARD_CARD_H

#include "receipt.h"

enum card_format { CARD_V1, CARD_V2, CARD_V3, CARD_PYGMALION };
enum card_container { CARD_JSON, CARD_PNG, CARD_CHARX };

/* A file named by data.assets that came inside the container. */
struct card_asset {
	struct str type, name, ext, uri; /* as the card says */
	struct str path;                 /* normalised, relative, no ".."; "assets/icon/images/main.png" */
	struct str bytes;                /* slices of inflated data in the arena */
	const char *media_type; /* by signature, from a fixed safe list; else application/octet-stream */
};

struct card {
	enum card_format format;
	enum card_container container;
	const char *via;   /* where the text was: "json", "tEXt:ccv3", "iTXt:chara", "card.json", … */
	struct str raw;    /* the card's JSON text as it came (after the door's rule): keep */
	struct json *doc;  /* normalised document, see above */
	struct json *data; /* doc.data */

	/* Derived columns; slices of doc. Text members are "" if the card has none, `nickname` absent. */
	struct str name, nickname, description, personality, scenario, first_mes, mes_example;
	struct str creator_notes, system_prompt, post_history_instructions, creator, character_version;
	struct json
	    *alternate_greetings; /* array of texts, doubles and blanks kept: swipe numbers depend on it */
	struct json *group_only_greetings; /* array, or NULL if the card has none */
	struct json *tags;                 /* array of texts */
	struct json *depth_prompt;         /* {"prompt","depth","role"} or NULL */
	struct str linked_world;           /* extensions.world; absent if none */
	bool has_greeting;                 /* first_mes is not empty, or an alternate is not */

	struct json *book;    /* embedded book in SillyTavern form (lore_file.h), NULL if none */
	struct json *scripts; /* extensions.regex_scripts, normalised array (regex_file.h), NULL if none */

	struct str picture;       /* the avatar: the whole PNG, or the archive's icon; absent if none */
	const char *picture_type; /* "image/png", "image/jpeg", "image/webp", "image/gif", "image/avif"; NULL
				     if none */
	VEC(struct card_asset) assets; /* of a CHARX: those that the card names and that are in the archive */
	size_t assets_named;           /* entries of data.assets */

	struct receipt receipt;
};

/* Reads a file of any container. 0, or -1 with *err; nothing of *out is to be used then. */
int card_read(struct arena *a, const struct import_file *file, struct card *out, struct import_error *err);
/* The same for a JSON document already parsed (the `payload` of the JSON route); `text` is its source. */
int card_read_json(struct arena *a, const struct json *doc, struct str text, struct str fallback_name,
    struct card *out, struct import_error *err);

/* Bytes of an asset of a CHARX, from the archive that was kept. -1: asset_missing, archive_broken, too_large.
 */
int card_asset_read(
    struct arena *a, struct str archive, struct str path, struct str *out, struct import_error *err);

enum card_spec { CARD_SPEC_V2, CARD_SPEC_V3 };

/*
 * The card as a document of that spec: required fields present, unknown fields where they were.
 * `doc` is a normalised document, edited or not. import(export(doc)) equals doc up to spec and
 * the fields the spec requires, and is a fixed point from then on.
 */
struct json *card_export_json(struct arena *a, const struct json *doc, enum card_spec spec);
/*
 * PNG with a `chara` (V2) and a `ccv3` (V3) chunk before IEND, older ones removed, every other
 * chunk of the picture unchanged. A picture that is absent or no PNG gives a plain one-pixel
 * picture. Fails only if the picture's chunks are broken. 0 or -1.
 */
int card_export_png(
    struct arena *a, const struct json *doc, struct str picture, struct str *out, struct import_error *err);
/*
 * CHARX. `original` = the archive that was imported: its other entries go over byte for byte,
 * in their order; absent = a new archive of card.json and the picture (a PNG, JPEG or WebP) as main icon.
 */
int card_export_charx(struct arena *a, const struct json *doc, struct str original, struct str picture,
    struct str *out, struct import_error *err);

const char *card_format_name(enum card_format f); /* "v1", "v2", "v3", "pygmalion" */
/* Media type of a picture by its first bytes; NULL if it is none that a browser may be given. SVG never is.
 */
const char *card_picture_type(struct str bytes);

#endif
