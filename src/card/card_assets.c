/*
 * card_assets: which files of a CHARX the card names, and which is its picture.
 */
#include "base/limits.h"
#include "card_private.h"

/* Path in the archive that a URI names; absent if it names none. */
static struct str
embedded_path(struct str uri)
{
	static const char *const schemes[] = { "embeded://", "embedded://", "__asset:" };

	for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++)
		if (str_starts(uri, str_c(schemes[i])))
			return str_sub(uri, strlen(schemes[i]), uri.n);
	return STR_NULL;
}

static bool
in_archive(const struct charx *x, struct str path)
{
	for (size_t i = 0; i < x->entries.n; i++)
		if (str_eq(x->entries.v[i].path, path))
			return true;
	return false;
}

static void
take_asset(struct arena *a, const struct charx *x, const struct json *j, const char *at, struct card *card)
{
	struct card_asset asset = { .type = json_get_str(j, "type"),
		.name = json_get_str(j, "name"),
		.ext = json_get_str(j, "ext"),
		.uri = json_get_str(j, "uri") };
	struct str path = embedded_path(asset.uri);

	if (path.p == NULL) /* elsewhere on the net, inline, or the default picture: kept as it is */
		return;
	asset.path = charx_path(a, path);
	if (asset.path.p == NULL)
		receipt_add(&card->receipt, RECEIPT_REFUSED, "unsafe_asset", at,
		    "the path leaves the archive: the asset is not used");
	else if (!in_archive(x, asset.path))
		receipt_add(&card->receipt, RECEIPT_WARNING, "asset_missing", at,
		    "the archive has no file %.*s", STR_ARG(asset.path));
	else
		vec_push(a, &card->assets, asset);
}

static void
take_picture(struct arena *a, const struct charx *x, struct card *card)
{
	const struct card_asset *icon = NULL;
	struct import_error fault = { 0 };
	struct str bytes;

	for (size_t i = 0; i < card->assets.n; i++) {
		const struct card_asset *it = &card->assets.v[i];

		if (!str_is(it->type, "icon"))
			continue;
		if (icon == NULL || (str_is(it->name, "main") && !str_is(icon->name, "main")))
			icon = it;
	}
	if (icon && charx_file(a, x->zip, icon->path, LIM_PICTURE, &bytes, &fault) == 0 &&
	    card_picture_type(bytes))
		card->picture = bytes;
	else if (icon)
		receipt_add(&card->receipt, RECEIPT_REFUSED, "picture_unusable", arena_strdup(a, icon->path),
		    "%s", fault.message ? fault.message : "no picture of a known type");
	if (card->picture.p == NULL && x->prefix.n > 0 && x->prefix.n <= LIM_PICTURE &&
	    card_picture_type(x->prefix))
		card->picture = x->prefix; /* archives that also are a picture */
	if (card->picture.p)
		card->picture_type = card_picture_type(card->picture);
}

void
card_take_assets(struct arena *a, const struct charx *x, struct card *card)
{
	const struct json *list = json_get(card->data, "assets");

	for (size_t i = 0; i < json_len(list) && i < LIM_ARCHIVE_ENTRIES; i++)
		take_asset(a, x, json_at(list, i), arena_printf(a, "/data/assets/%zu", i), card);
	take_picture(a, x, card);
}

int
card_asset_read(
    struct arena *a, struct str archive, struct str path, struct str *out, struct import_error *err)
{
	return charx_file(a, archive, path, LIM_PICTURE, out, err);
}
