/*
 * card: reading. Every form becomes the V2/V3 shape; tables say which old name means which
 * field (st-assembly.md 4; decisions 18, 39).
 */
#include "card.h"

#include "base/limits.h"
#include "base64.h"
#include "card_private.h"
#include "charx.h"
#include "import.h"
#include "lore_file.h"
#include "png.h"
#include "regex_file.h"
#include "shape.h"

static const struct shape_field fields[] = {
	/* clang-format off */
	{ "name",                       SHAPE_TEXT,   SHAPE_EMPTY,  0 },
	{ "description",                SHAPE_TEXT,   SHAPE_EMPTY,  0 },
	{ "personality",                SHAPE_TEXT,   SHAPE_EMPTY,  0 },
	{ "scenario",                   SHAPE_TEXT,   SHAPE_EMPTY,  0 },
	{ "first_mes",                  SHAPE_TEXT,   SHAPE_EMPTY,  0 },
	{ "mes_example",                SHAPE_TEXT,   SHAPE_EMPTY,  0 },
	{ "creator_notes",              SHAPE_TEXT,   SHAPE_EMPTY,  0 },
	{ "system_prompt",              SHAPE_TEXT,   SHAPE_EMPTY,  0 },
	{ "post_history_instructions",  SHAPE_TEXT,   SHAPE_EMPTY,  0 },
	{ "alternate_greetings",        SHAPE_TEXTS,  SHAPE_EMPTY,  0 },
	{ "tags",                       SHAPE_TAGS,   SHAPE_EMPTY,  0 },
	{ "creator",                    SHAPE_TEXT,   SHAPE_EMPTY,  0 },
	{ "character_version",          SHAPE_TEXT,   SHAPE_EMPTY,  0 },
	{ "extensions",                 SHAPE_OBJECT, SHAPE_EMPTY,  0 },
	{ "character_book",             SHAPE_OBJECT, SHAPE_ABSENT, 0 },
	{ "nickname",                   SHAPE_TEXT,   SHAPE_ABSENT, 0 },
	{ "group_only_greetings",       SHAPE_TEXTS,  SHAPE_ABSENT, 0 },
	{ "source",                     SHAPE_TEXTS,  SHAPE_ABSENT, 0 },
	{ "creation_date",              SHAPE_NUMBER, SHAPE_ABSENT, 0 },
	{ "modification_date",          SHAPE_NUMBER, SHAPE_ABSENT, 0 },
	{ "assets",                     SHAPE_LIST,   SHAPE_ABSENT, 0 },
	{ "creator_notes_multilingual", SHAPE_OBJECT, SHAPE_ABSENT, 0 },
	/* clang-format on */
};
#define FIELDS (sizeof(fields) / sizeof(fields[0]))

/* Names of fields in flat files: `at_root` is tried when `data` lacks the field. */
static const struct alias {
	const char *at_root, *field;
} aliases[] = {
	/* clang-format off */
	{ "name", "name" }, { "description", "description" }, { "personality", "personality" }, { "scenario", "scenario" },
	{ "first_mes", "first_mes" }, { "mes_example", "mes_example" }, { "creator_notes", "creator_notes" },
	{ "creatorcomment", "creator_notes" }, { "system_prompt", "system_prompt" },
	{ "post_history_instructions", "post_history_instructions" }, { "alternate_greetings", "alternate_greetings" },
	{ "tags", "tags" }, { "creator", "creator" }, { "character_version", "character_version" },
	{ "extensions", "extensions" }, { "character_book", "character_book" }, { "nickname", "nickname" },
	{ "group_only_greetings", "group_only_greetings" }, { "assets", "assets" },
	/* Pygmalion, TextGen */
	{ "char_name", "name" }, { "char_persona", "description" }, { "char_greeting", "first_mes" },
	{ "example_dialogue", "mes_example" }, { "world_scenario", "scenario" },
	/* clang-format on */
};
#define ALIASES (sizeof(aliases) / sizeof(aliases[0]))

/* Old flat files keep these beside the fields; SillyTavern reads them from extensions. */
static const char *const flat_extensions[] = { "talkativeness", "fav" };

/* What has a meaning here; other extensions are preserved only. */
static const char *const known_extensions[] = { "depth_prompt", "regex_scripts", "world", "talkativeness",
	"fav", "backstory", "appearance", NULL };

const char *
card_format_name(enum card_format f)
{
	static const char *const names[] = { "v1", "v2", "v3", "pygmalion" };

	return names[f];
}

const char *
card_picture_type(struct str b)
{
	if (png_is(b))
		return "image/png";
	if (str_starts(b, STR("\xff\xd8\xff")))
		return "image/jpeg";
	if (str_starts(b, STR("GIF87a")) || str_starts(b, STR("GIF89a")))
		return "image/gif";
	if (b.n > 12 && str_starts(b, STR("RIFF")) && str_is(str_sub(b, 8, 12), "WEBP"))
		return "image/webp";
	if (b.n > 12 && (str_is(str_sub(b, 4, 12), "ftypavif") || str_is(str_sub(b, 4, 12), "ftypavis")))
		return "image/avif";
	return NULL;
}

/* Which form a document has; refuses what is no card. */
static int
find_format(struct arena *a, const struct json *doc, enum card_format *out, struct receipt *r,
    struct import_error *err)
{
	struct str spec = json_get_str(doc, "spec");
	const struct json *data = json_get(doc, "data");
	enum import_kind kind = import_kind_of(doc);

	if (json_type(doc) != JSON_OBJECT)
		return import_fail(a, err, "not_a_card", "",
		    "no character card: expected an object, found %s", json_type_name(json_type(doc)));
	if (kind != IMPORT_CHARACTER && kind != IMPORT_UNKNOWN)
		return import_fail(a, err, "not_a_card", "", "no character card but %s: import it as that",
		    import_kind_name(kind));
	if (json_type(data) == JSON_OBJECT) {
		*out = str_is(spec, "chara_card_v3") ? CARD_V3 : CARD_V2;
		if (!str_is(spec, "chara_card_v2") && !str_is(spec, "chara_card_v3"))
			receipt_add(r, RECEIPT_WARNING, "spec_unknown", "/spec",
			    "%s spec, read as chara_card_v2", spec.p ? "unknown" : "no");
		if (kind == IMPORT_CHARACTER)
			return 0;
	} else if (json_get_str(doc, "char_name").p && !json_get_str(doc, "name").p) {
		*out = CARD_PYGMALION;
		return 0;
	} else if (json_has(doc, "name") && kind == IMPORT_CHARACTER) {
		*out = CARD_V1;
		if (str_starts(spec, STR("chara_card"))) {
			*out = str_is(spec, "chara_card_v3") ? CARD_V3 : CARD_V2;
			receipt_add(r, RECEIPT_NORMALISED, "data_missing", "/data",
			    "no data member, the fields stand at the root");
		}
		return 0;
	}
	if (kind == IMPORT_CHARACTER && str_starts(spec, STR("chara_card")))
		return import_fail(
		    a, err, "name_required", "/data/name", "the card has no name: give it one");
	return import_fail(a, err, "not_a_card", "",
	    "no character card: it has neither \"spec\" and \"data\" nor a name "
	    "with a personality, scenario or greeting");
}

/* Takes fields that `data` lacks from the root. In flat files they move, in others the root's copies stay. */
static void
take_root_fields(struct arena *a, struct json *doc, struct json *data, bool flat, struct receipt *r)
{
	for (size_t i = 0; i < ALIASES; i++) {
		const char *from = aliases[i].at_root, *to = aliases[i].field;
		const struct json *v = json_get(doc, from);

		if (v && !json_get(data, to)) {
			json_set(data, to, flat ? v : json_copy(a, v));
			if (!flat)
				receipt_add(r, RECEIPT_NORMALISED, "taken_from_root",
				    arena_printf(a, "/data/%s", to), "missing in data, taken from the root");
			else
				json_del(doc, from);
		} else if (flat && !v)
			json_del(doc, from);
	}
}

/* The document in V2/V3 shape, unknown members where they were; takes `rest` apart. */
static struct json *
shape_document(struct arena *a, const struct json *raw, enum card_format format, struct receipt *r)
{
	struct json *rest = json_copy(a, raw), *doc = json_object(a), *data = json_get(rest, "data"), *v,
		    *ext;
	struct json_iter it = { 0 };
	struct shaper s = { .a = a, .receipt = r, .path = "/data" };
	struct str key, version = json_get_str(rest, "spec_version");
	bool flat = json_type(data) != JSON_OBJECT;

	json_set_c(doc, "spec", format == CARD_V3 ? "chara_card_v3" : "chara_card_v2");
	json_set_str(
	    doc, "spec_version", format == CARD_V3 ? (version.n > 0 ? version : STR("3.0")) : STR("2.0"));
	if (flat) {
		json_del(rest, "data");
		data = json_object(a);
		s.path = "";
	}
	take_root_fields(a, rest, data, flat, r);
	shape_fix(&s, data, fields, FIELDS);
	ext = json_get(data, "extensions");
	for (size_t i = 0; flat && i < sizeof(flat_extensions) / sizeof(flat_extensions[0]); i++)
		if (json_get(rest, flat_extensions[i]) && !json_has(ext, flat_extensions[i]))
			json_set(ext, flat_extensions[i], json_get(rest, flat_extensions[i]));
	json_set(doc, "data", data);
	while (json_next(rest, &it, &key, &v))
		if (!str_is(key, "spec") && !str_is(key, "spec_version") && !str_is(key, "data"))
			json_set_s(doc, key, v);
	return doc;
}

static void
note_unknown(struct arena *a, const struct json *doc, struct receipt *r)
{
	static const char *const own[] = { "spec", "spec_version", "data", "talkativeness", "fav",
		"creatorcomment", NULL };
	struct shaper root = { .a = a, .receipt = r, .path = "" },
		      data = { .a = a, .receipt = r, .path = "/data" },
		      ext = { .a = a, .receipt = r, .path = "/data/extensions" };

	shape_unknown(&root, doc, fields, FIELDS, own);
	shape_unknown(&data, json_get(doc, "data"), fields, FIELDS, NULL);
	shape_unknown(&ext, json_get(json_get(doc, "data"), "extensions"), NULL, 0, known_extensions);
}

static struct json *
depth_prompt(struct arena *a, const struct json *ext, struct receipt *r)
{
	static const struct shape_field depth_fields[] = { { "prompt", SHAPE_TEXT, SHAPE_EMPTY, 0 },
		{ "depth", SHAPE_INT, SHAPE_VALUE, 4 }, { "role", SHAPE_TEXT, SHAPE_EMPTY, 0 } };
	struct shaper s = { .a = a, .receipt = r, .path = "/data/extensions/depth_prompt" };
	struct json *d = json_get(ext, "depth_prompt");

	if (json_type(d) != JSON_OBJECT)
		return NULL;
	d = json_copy(a, d);
	shape_fix(&s, d, depth_fields, 3);
	if (json_get_str(d, "role").n == 0)
		json_set_c(d, "role", "system");
	return d;
}

/* The columns that are derived from the finished document. */
static void
derive(struct arena *a, struct card *c)
{
	const struct json *d = c->data, *ext = json_get(d, "extensions"),
			  *scripts = json_get(ext, "regex_scripts");
	const struct {
		const char *key;
		struct str *to;
	} texts[] = { { "name", &c->name }, { "nickname", &c->nickname }, { "description", &c->description },
		{ "personality", &c->personality }, { "scenario", &c->scenario },
		{ "first_mes", &c->first_mes }, { "mes_example", &c->mes_example },
		{ "creator_notes", &c->creator_notes }, { "system_prompt", &c->system_prompt },
		{ "post_history_instructions", &c->post_history_instructions }, { "creator", &c->creator },
		{ "character_version", &c->character_version } };

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		*texts[i].to = json_get_str(d, texts[i].key);
	if (c->nickname.n == 0)
		c->nickname = STR_NULL;
	c->alternate_greetings = json_get(d, "alternate_greetings");
	c->group_only_greetings = json_get(d, "group_only_greetings");
	c->tags = json_get(d, "tags");
	c->assets_named = json_len(json_get(d, "assets"));
	c->depth_prompt = depth_prompt(a, ext, &c->receipt);
	c->linked_world = json_get_str(ext, "world");
	if (c->linked_world.n == 0)
		c->linked_world = STR_NULL;
	c->has_greeting = c->first_mes.n > 0;
	for (size_t i = 0; i < json_len(c->alternate_greetings); i++)
		c->has_greeting |= json_str(json_at(c->alternate_greetings, i)).n > 0;
	if (json_get(d, "character_book")) {
		lore_fix_card_book(a, json_get(d, "character_book"), "/data/character_book", &c->receipt);
		c->book =
		    lore_normalise(a, json_get(d, "character_book"), "/data/character_book", &c->receipt);
	}
	if (json_get(d, "character_book") && !c->book)
		receipt_add(&c->receipt, RECEIPT_REFUSED, "book_unreadable", "/data/character_book",
		    "the embedded book has no list of entries; kept for export, not used");
	if (scripts) {
		c->scripts = regex_normalise(a, scripts, "/data/extensions/regex_scripts", &c->receipt);
		if (json_len(c->scripts) == 0)
			c->scripts = NULL;
	}
}

static void
dialect_store(struct json *owner)
{
	struct json *ext = json_get(owner, "extensions");

	if (json_type(owner) != JSON_OBJECT)
		return;
	if (json_type(ext) != JSON_OBJECT)
		ext = json_set_object(owner, "extensions");
	if (!json_has(ext, "conditional_dialect"))
		json_set_c(ext, "conditional_dialect", "marinara");
}

/* The card of a Marinara export: what its conditionals are is known from the file alone, so it is kept with card and book. */
static struct json *
out_of_envelope(struct arena *a, struct json *doc, struct receipt *r)
{
	struct json *card = json_get(doc, "data"), *data = json_get(card, "data");
	struct json_error bad;

	if (json_type(data) == JSON_STRING) {
		data = json_read(a, json_str(data), LIM_JSON_DEPTH, &bad);
		if (json_type(data) == JSON_OBJECT)
			json_set(card, "data", data);
	}
	if (json_type(data) != JSON_OBJECT)
		data = card;
	dialect_store(data);
	dialect_store(json_get(data, "character_book"));
	receipt_add(r, RECEIPT_NORMALISED, "dialect_stored", "/data/extensions/conditional_dialect",
	    "an export of Marinara: its conditionals are read as marinara");
	return card;
}

/* As card_read_json, of a document that is ours to change. */
static int
take(struct arena *a, struct json *doc, struct str text, struct str fallback_name, struct card *out,
    struct import_error *err)
{
	if (out->via == NULL)
		out->via = "json";
	out->raw = text;
	out->receipt.a = a;
	if (import_marinara(doc) == IMPORT_CHARACTER)
		doc = out_of_envelope(a, doc, &out->receipt);
	if (find_format(a, doc, &out->format, &out->receipt, err) < 0)
		return -1;
	out->doc = shape_document(a, doc, out->format, &out->receipt);
	out->data = json_get(out->doc, "data");
	if (str_trim(json_get_str(out->data, "name")).n == 0) {
		if (fallback_name.n == 0)
			return import_fail(
			    a, err, "name_required", "/data/name", "the card has no name: give it one");
		json_set_str(out->data, "name", fallback_name);
		receipt_add(&out->receipt, RECEIPT_NORMALISED, "name_placeholder", "/data/name",
		    "the card has no name, it is listed under a placeholder");
	}
	note_unknown(a, out->doc, &out->receipt);
	derive(a, out);
	return 0;
}

int
card_read_json(struct arena *a, const struct json *doc, struct str text, struct str fallback_name,
    struct card *out, struct import_error *err)
{
	return take(a, json_copy(a, doc), text, fallback_name, out, err);
}

static int
read_text(struct arena *a, struct str bytes, const struct import_file *file, struct card *out,
    struct import_error *err)
{
	struct str text = shape_text(a, bytes, &out->receipt);
	struct json *doc = shape_read(a, text, out->via ? out->via : "", err);

	return doc ? take(a, doc, text, file->fallback_name, out, err) : -1;
}

/* The text of a chunk is base64 of JSON, or JSON. */
static int
read_chunk(struct arena *a, const struct png_text *t, const struct import_file *file, struct card *out,
    struct import_error *err)
{
	struct str text;

	out->via = png_text_name(a, t);
	if (png_text_read(a, t, &text, err) < 0)
		return -1;
	text = str_trim(text);
	if (str_starts(text, STR("{")))
		receipt_add(&out->receipt, RECEIPT_WARNING, "png_raw_json", out->via,
		    "the chunk holds JSON that is not base64");
	else if ((text = base64_decode(a, text)).p == NULL)
		return import_fail(a, err, "png_text_broken", out->via, "the chunk is no base64");
	if (t->bad_crc)
		receipt_add(
		    &out->receipt, RECEIPT_WARNING, "png_crc", out->via, "wrong checksum, read all the same");
	return read_text(a, text, file, out, err);
}

/* Which chunk is tried when: ccv3 before chara, tEXt, iTXt, zTXt, file order. */
static int
rank(const struct png_text *t)
{
	if (!str_ieq(t->keyword, STR("ccv3")) && !str_ieq(t->keyword, STR("chara")))
		return -1;
	return (str_ieq(t->keyword, STR("ccv3")) ? 0 : 3) + (int)t->kind;
}

static int
read_png(struct arena *a, const struct import_file *file, struct card *out, struct import_error *err)
{
	struct import_error first = { 0 }, fault = { 0 };
	struct receipt notes = { .a = a };
	struct png png;

	if (png_walk(a, file->bytes, &png, err) < 0)
		return -1;
	if (png.bad_crc)
		receipt_add(&notes, RECEIPT_WARNING, "png_bad_crc", "png",
		    "a chunk of the picture has a wrong checksum");
	if (png.no_end)
		receipt_add(&notes, RECEIPT_WARNING, "png_no_end", "png", "the picture has no end chunk");
	for (int want = 0; want < 6; want++)
		for (size_t i = 0; i < png.texts.n; i++) {
			if (rank(&png.texts.v[i]) != want)
				continue;
			*out = (struct card){ .container = CARD_PNG,
				.picture = file->bytes,
				.picture_type = "image/png",
				.receipt = { .a = a } };
			for (size_t k = 0; k < notes.items.n; k++)
				vec_push(a, &out->receipt.items, notes.items.v[k]);
			if (read_chunk(a, &png.texts.v[i], file, out, &fault) == 0)
				return 0;
			receipt_add(&notes, RECEIPT_WARNING, "png_source_skipped",
			    png_text_name(a, &png.texts.v[i]), "unreadable, another chunk was tried: %s",
			    fault.message);
			if (first.code == NULL)
				first = fault;
		}
	if (first.code == NULL)
		return import_fail(a, err, "no_metadata", "png",
		    "the picture holds no character card: no text chunk chara or ccv3; some sites and "
		    "programs remove it");
	if (err)
		*err = first;
	return -1;
}

static int
read_charx(struct arena *a, const struct import_file *file, struct card *out, struct import_error *err)
{
	struct charx x;
	struct json *doc;
	struct str text;

	*out = (struct card){ .container = CARD_CHARX, .via = "card.json", .receipt = { .a = a } };
	if (charx_open(a, file->bytes, &x, &out->receipt, err) < 0)
		return -1;
	text = shape_text(a, x.card, &out->receipt);
	doc = shape_read(a, text, "card.json", err);
	if (doc == NULL)
		return -1;
	if (json_get_str(doc, "spec").n == 0)
		return import_fail(
		    a, err, "missing_spec", "card.json", "card.json has no \"spec\": it is no CHARX card");
	if (take(a, doc, text, file->fallback_name, out, err) < 0)
		return -1;
	card_take_assets(a, &x, out);
	return 0;
}

int
card_read(struct arena *a, const struct import_file *file, struct card *out, struct import_error *err)
{
	const char *picture;

	*out = (struct card){ .receipt = { .a = a } };
	switch (import_container(file->bytes)) {
	case IMPORT_PNG:
		return read_png(a, file, out, err);
	case IMPORT_ZIP:
		return read_charx(a, file, out, err);
	case IMPORT_JSON:
		return read_text(a, file->bytes, file, out, err);
	case IMPORT_JSONL:
		return import_fail(
		    a, err, "not_a_card", "", "no character card but a chat: import it as that");
	case IMPORT_OTHER:
		break;
	}
	if (file->bytes.n == 0)
		return import_fail(a, err, "empty_file", "", "the file is empty");
	picture = card_picture_type(file->bytes);
	if (picture)
		return import_fail(a, err, "unsupported_picture", "",
		    "a picture of type %s: cards travel in PNG pictures; convert none, download the original",
		    picture);
	return import_fail(a, err, "unsupported_file", "", "neither JSON, PNG nor CHARX");
}
