/* png: where a card hides in a picture (case B05), broken pictures, writing it back. */
#include "card_help.h"

#define ZLIB_CONST
#include <zlib.h>

static struct str
v2_base64(const char *name)
{
	return base64_encode(a, str_c(arena_printf(a, V2("\"name\":\"%s\""), name)));
}

static void
be32(struct sb *s, uint32_t v)
{
	for (int shift = 24; shift >= 0; shift -= 8)
		sb_addc(s, (char)(v >> shift));
}

/* Any chunk, right checksum. */
static void
chunk(struct sb *s, const char *type, struct str data)
{
	uLong crc = crc32(crc32(0, NULL, 0), (const Bytef *)type, 4);

	be32(s, (uint32_t)data.n);
	sb_adds(s, type);
	sb_add(s, data);
	be32(s, (uint32_t)crc32(crc, (const Bytef *)data.p, (uInt)data.n));
}

static struct str
deflated(struct str text)
{
	uLongf n = compressBound((uLong)text.n);
	char *out = arena_alloc(a, n);

	assert_int_equal(compress2((Bytef *)out, &n, (const Bytef *)text.p, (uLong)text.n, 9), Z_OK);
	return (struct str){ out, n };
}

/* The blank picture with a chunk of ours before IEND. */
static struct str
picture(const char *type, struct str data)
{
	struct str blank = png_blank();
	struct sb s = sb_new(a);

	sb_add(&s, str_sub(blank, 0, blank.n - 12));
	chunk(&s, type, data);
	sb_add(&s, str_sub(blank, blank.n - 12, blank.n));
	return sb_str(&s);
}

static struct str
joined(struct str x, struct str y)
{
	struct sb s = sb_new(a);

	sb_add(&s, x);
	sb_add(&s, y);
	return sb_str(&s);
}

static void
test_places(void **state)
{
	struct str b64 = v2_base64("N");
	const struct {
		const char *type;
		struct str data;
		const char *via;
	} rows[] = {
		{ "tEXt", joined(STR("chara\0"), b64), "tEXt:chara" },
		{ "tEXt", joined(STR("ccv3\0"), b64), "tEXt:ccv3" },
		{ "tEXt", joined(STR("ChArA\0"), b64), "tEXt:chara" },
		{ "iTXt", joined(STR("chara\0\0\0\0\0"), b64), "iTXt:chara" },
		{ "iTXt", joined(STR("chara\0\1\0en\0key\0"), deflated(b64)), "iTXt:chara" },
		{ "zTXt", joined(STR("chara\0\0"), deflated(b64)), "zTXt:chara" },
		{ "tEXt", joined(STR("chara\0"), STR(V2("\"name\":\"N\""))), "tEXt:chara" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct card c = card_ok(picture(rows[i].type, rows[i].data));

		assert_string_equal(c.via, rows[i].via);
		same_str(c.name, "N");
		assert_string_equal(c.picture_type, "image/png");
		assert_true(c.picture.n > 60);
	}
}

static void
test_order_and_fallback(void **state)
{
	struct png_new_text both[] = { { "chara", v2_base64("old") }, { "ccv3", v2_base64("new") } };
	struct png_new_text broken[] = { { "ccv3", STR("bm90IGpzb24=") }, { "chara", v2_base64("good") } };
	struct str out;
	struct card c;

	(void)state;
	assert_int_equal(png_rewrite(a, png_blank(), both, 2, &out, NULL), 0);
	same_str(card_ok(out).name, "new");
	assert_int_equal(png_rewrite(a, png_blank(), broken, 2, &out, NULL), 0);
	c = card_ok(out);
	same_str(c.name, "good");
	assert_true(receipt_has(&c.receipt, "png_source_skipped"));
	broken[1].value = STR("!!");
	assert_int_equal(png_rewrite(a, png_blank(), broken, 2, &out, NULL), 0);
	card_bad(out, "invalid_json"); /* the reason of the source that counts most */
}

static void
test_base64_forms(void **state)
{
	struct str b64 = v2_base64("N");
	struct sb lines = sb_new(a);

	(void)state;
	for (size_t i = 0; i < b64.n; i++) {
		sb_addc(&lines, b64.p[i]);
		if (i % 20 == 19)
			sb_adds(&lines, "\r\n");
	}
	same_str(card_ok(png_with("chara", sb_str(&lines))).name, "N");
	while (b64.n > 0 && b64.p[b64.n - 1] == '=')
		b64.n--;
	same_str(card_ok(png_with("chara", b64)).name, "N");
	same_str(base64_decode(a, STR("_-8")), "\xff\xef");
	same_str(base64_decode(a, STR("/+8=")), "\xff\xef");
	assert_null(base64_decode(a, STR("a")).p);
	assert_null(base64_decode(a, STR("ab=c")).p);
	assert_null(base64_decode(a, STR("a\x80")).p);
}

static void
test_bad_checksums(void **state)
{
	struct str good = png_with("chara", v2_base64("N"));
	char *bytes = arena_copy(a, good.p, good.n);
	struct card c;

	(void)state;
	bytes[29] ^= 1; /* IHDR */
	c = card_ok((struct str){ bytes, good.n });
	assert_true(receipt_has(&c.receipt, "png_bad_crc"));
	assert_false(receipt_has(&c.receipt, "png_crc"));
	bytes[good.n - 13] ^= 1; /* the text chunk */
	c = card_ok((struct str){ bytes, good.n });
	assert_true(receipt_has(&c.receipt, "png_crc"));
}

/* Cut anywhere: refused with the place, or complete up to a chunk's end. Never read past the end. */
static void
test_cut(void **state)
{
	struct str good = png_with("chara", v2_base64("N"));
	size_t whole = 0;

	(void)state;
	for (size_t n = 8; n < good.n; n++) {
		struct import_file f = { .bytes = { arena_copy(a, good.p, n), n } };
		struct import_error err = { 0 };
		struct card c;

		if (card_read(a, &f, &c, &err) == 0) {
			assert_true(receipt_has(&c.receipt, "png_no_end"));
			whole++;
		} else {
			assert_true(
			    strcmp(err.code, "png_truncated") == 0 || strcmp(err.code, "no_metadata") == 0);
		}
	}
	assert_int_equal(whole, 1); /* before IEND */
}

static void
test_broken(void **state)
{
	struct sb s = sb_new(a);

	(void)state;
	card_bad(png_blank(), "no_metadata");
	card_bad(picture("tEXt", STR("chara without a NUL")), "no_metadata");
	card_bad(picture("zTXt", STR("chara\0\0not a stream")), "png_text_broken");
	card_bad(picture("iTXt", STR("chara\0\1")), "no_metadata");
	sb_add(&s, STR("\x89PNG\r\n\x1a\n\xff\xff\xff\xfftEXtchara"));
	assert_int_equal(card_bad(sb_str(&s), "png_truncated").offset, 8);
}

/* 64 MB of blanks in 64 KB. */
static void
test_bomb(void **state)
{
	struct str blanks = times("                                ", 2 << 20);

	(void)state;
	assert_true(
	    card_bad(picture("zTXt", joined(STR("chara\0\0"), deflated(blanks))), "too_large").too_large);
}

static void
test_rewrite(void **state)
{
	struct str b64 = v2_base64("old"), pic = picture("zTXt", joined(STR("CHARA\0\0"), deflated(b64))),
		   out, twice;
	struct card c, again;
	struct png png;

	(void)state;
	pic = joined(pic, STR("behind the picture"));
	c = card_ok(pic);
	json_set_str(c.data, "name", STR("new 名"));
	assert_int_equal(card_export_png(a, c.doc, c.picture, &out, NULL), 0);
	assert_int_equal(png_walk(a, out, &png, NULL), 0);
	assert_int_equal(png.texts.n, 2);
	assert_false(png.bad_crc);
	assert_string_equal(png_text_name(a, &png.texts.v[0]), "tEXt:chara");
	assert_string_equal(png_text_name(a, &png.texts.v[1]), "tEXt:ccv3");
	assert_true(str_starts(out, str_sub(png_blank(), 0, png_blank().n - 12)));
	assert_true(str_ends(out, STR("behind the picture")));
	again = card_ok(out);
	same_str(again.name, "new 名");
	assert_int_equal(again.format, CARD_V3);
	assert_int_equal(card_export_png(a, again.doc, again.picture, &twice, NULL), 0);
	assert_true(str_eq(out, twice));
}

/* A card that came without a PNG gets a plain picture. */
static void
test_blank_picture(void **state)
{
	struct card c = card_ok(STR("{\"name\":\"A\"}"));
	struct str out;

	(void)state;
	assert_int_equal(card_export_png(a, c.doc, STR_NULL, &out, NULL), 0);
	same_str(card_ok(out).name, "A");
	assert_int_equal(card_export_png(a, c.doc, STR("\xff\xd8\xff jpeg"), &out, NULL), 0);
	same_str(card_ok(out).name, "A");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_order_and_fallback),
		cmocka_unit_test(test_base64_forms),
		cmocka_unit_test(test_bad_checksums),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_broken),
		cmocka_unit_test(test_bomb),
		cmocka_unit_test(test_rewrite),
		cmocka_unit_test(test_blank_picture),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
