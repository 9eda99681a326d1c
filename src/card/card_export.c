/*
 * card_export: the normalised document back as V2 or V3, in a picture or an archive.
 */
#include "base64.h"
#include "card_private.h"
#include "png.h"

/*
 * Members that V3 requires and V2 does not know: V3 gets them with their empty value, V2 loses
 * them if a V3 document has nothing else there.
 */
static void
fit_required(struct json *o, const char *key, enum json_type type, enum card_spec spec, bool was_v3)
{
	const struct json *v = json_get(o, key);
	bool empty = type == JSON_ARRAY ? json_len(v) == 0 : !json_bool(v, false);

	if (spec == CARD_SPEC_V2 && was_v3 && empty)
		json_del(o, key);
	else if (spec == CARD_SPEC_V3 && v == NULL && type == JSON_ARRAY)
		json_set_array(o, key);
	else if (spec == CARD_SPEC_V3 && v == NULL)
		json_set_bool(o, key, false);
}

struct json *
card_export_json(struct arena *a, const struct json *doc, enum card_spec spec)
{
	struct json *out = json_object(a), *data = json_copy(a, json_get(doc, "data")), *v;
	struct str version = json_get_str(doc, "spec_version"), key;
	const struct json *entries = json_get(json_get(data, "character_book"), "entries");
	struct json_iter it = { 0 };
	bool is_v3 = str_is(json_get_str(doc, "spec"), "chara_card_v3");
	bool newer = spec == CARD_SPEC_V3 && str_starts(version, STR("3."));

	json_set_c(out, "spec", spec == CARD_SPEC_V3 ? "chara_card_v3" : "chara_card_v2");
	json_set_str(out, "spec_version", newer ? version : spec == CARD_SPEC_V3 ? STR("3.0") : STR("2.0"));
	fit_required(data, "group_only_greetings", JSON_ARRAY, spec, is_v3);
	for (size_t i = 0; json_type(entries) == JSON_ARRAY && i < json_len(entries); i++)
		fit_required(json_at(entries, i), "use_regex", JSON_BOOL, spec, is_v3);
	json_set(out, "data", data);
	while (json_next(doc, &it, &key, &v))
		if (!str_is(key, "spec") && !str_is(key, "spec_version") && !str_is(key, "data"))
			json_set_s(out, key, v);
	return out;
}

static struct str
chunk_text(struct arena *a, const struct json *doc, enum card_spec spec)
{
	return base64_encode(a, json_text(a, card_export_json(a, doc, spec)));
}

int
card_export_png(
    struct arena *a, const struct json *doc, struct str picture, struct str *out, struct import_error *err)
{
	const struct png_new_text texts[] = { { "chara", chunk_text(a, doc, CARD_SPEC_V2) },
		{ "ccv3", chunk_text(a, doc, CARD_SPEC_V3) } };

	return png_rewrite(a, png_is(picture) ? picture : png_blank(), texts, 2, out, err);
}

/* Adds the picture's asset to a card that names no icon in the archive. */
static void
name_icon(struct json *card, const char *path, const char *ext)
{
	struct json *data = json_get(card, "data"), *list = json_get(data, "assets"), *icon;

	if (json_type(list) != JSON_ARRAY)
		list = json_set_array(data, "assets");
	for (size_t i = 0; i < json_len(list); i++)
		if (str_is(json_get_str(json_at(list, i), "type"), "icon") &&
		    str_is(json_get_str(json_at(list, i), "name"), "main")) {
			json_set_c(json_at(list, i), "uri", path);
			json_set_c(json_at(list, i), "ext", ext);
			return;
		}
	icon = json_push_object(list);
	json_set_c(icon, "type", "icon");
	json_set_c(icon, "uri", path);
	json_set_c(icon, "name", "main");
	json_set_c(icon, "ext", ext);
}

int
card_export_charx(struct arena *a, const struct json *doc, struct str original, struct str picture,
    struct str *out, struct import_error *err)
{
	static const char *const exts[] = { "png", "jpeg", "gif", "webp", "avif" };
	struct json *card = card_export_json(a, doc, CARD_SPEC_V3);
	const char *type = card_picture_type(picture);
	struct charx_new new = { .original = original };

	for (size_t i = 0; original.n == 0 && type && i < sizeof(exts) / sizeof(exts[0]); i++)
		if (strcmp(type + strlen("image/"), exts[i]) == 0) {
			new.icon = picture;
			new.icon_path = arena_printf(a, "assets/icon/images/main.%s", exts[i]);
			name_icon(card, arena_printf(a, "embeded://%s", new.icon_path), exts[i]);
		}
	new.card_json = json_text_pretty(a, card);
	return charx_write(a, &new, out, err);
}
