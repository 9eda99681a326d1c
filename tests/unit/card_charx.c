/* charx: archives good and hostile: prefixes, paths, lying sizes, bombs, nested ones; writing them. */
#include "card_help.h"

#include "card/charx.h"

#define ZLIB_CONST
#include <zlib.h>

/* A zip written by hand, so that it can lie. */
struct file {
	const char *name;
	struct str data;
	uint32_t claimed; /* unpacked size in the headers, 0 = the truth */
	bool stored;
};

static void
le(struct sb *s, uint64_t v, int bytes)
{
	for (int i = 0; i < bytes; i++)
		sb_addc(s, (char)(v >> (8 * i)));
}

static struct str
raw_deflated(struct str data)
{
	z_stream z = { 0 };
	uLong max;
	char *out;

	assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY), Z_OK);
	max = deflateBound(&z, (uLong)data.n);
	out = arena_alloc(a, max);
	z.next_in = (const Bytef *)data.p;
	z.avail_in = (uInt)data.n;
	z.next_out = (Bytef *)out;
	z.avail_out = (uInt)max;
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	max = z.total_out;
	deflateEnd(&z);
	return (struct str){ out, max };
}

/* The part that local and central headers share. */
static void
header(struct sb *s, const struct file *f, struct str packed)
{
	le(s, 20, 2);
	le(s, 0x800, 2); /* names are UTF-8 */
	le(s, f->stored ? 0 : 8, 2);
	le(s, 0, 4);
	le(s, (uint32_t)crc32(crc32(0, NULL, 0), (const Bytef *)f->data.p, (uInt)f->data.n), 4);
	le(s, (uint32_t)packed.n, 4);
	le(s, f->claimed ? f->claimed : (uint32_t)f->data.n, 4);
	le(s, (uint32_t)strlen(f->name), 2);
	le(s, 0, 2);
}

static struct str
zip(const struct file *files, size_t n)
{
	struct sb s = sb_new(a), dir = sb_new(a);
	uint32_t at;

	for (size_t i = 0; i < n; i++) {
		struct str packed = files[i].stored ? files[i].data : raw_deflated(files[i].data);

		at = (uint32_t)s.n;
		sb_adds(&s, "PK\x03\x04");
		header(&s, &files[i], packed);
		sb_adds(&s, files[i].name);
		sb_add(&s, packed);
		sb_adds(&dir, "PK\x01\x02");
		le(&dir, 20, 2);
		header(&dir, &files[i], packed);
		le(&dir, 0, 2 + 2 + 2);
		le(&dir, 0, 4);
		le(&dir, at, 4);
		sb_adds(&dir, files[i].name);
	}
	at = (uint32_t)s.n;
	sb_add(&s, sb_str(&dir));
	sb_adds(&s, "PK\x05\x06");
	le(&s, 0, 4);
	le(&s, (uint32_t)n, 2);
	le(&s, (uint32_t)n, 2);
	le(&s, (uint32_t)dir.n, 4);
	le(&s, at, 4);
	le(&s, 0, 2);
	return sb_str(&s);
}

static struct str
prefixed(struct str prefix, struct str rest)
{
	struct sb s = sb_new(a);

	sb_add(&s, prefix);
	sb_add(&s, rest);
	return sb_str(&s);
}

#define CARD(assets) STR(V3("\"name\":\"Z\",\"assets\":[" assets "]"))
#define ICON(uri) "{\"type\":\"icon\",\"name\":\"main\",\"ext\":\"png\",\"uri\":\"" uri "\"}"

static void
test_picture(void **state)
{
	const struct file files[] = {
		{ "card.json",
		    CARD("{\"type\":\"icon\",\"name\":\"x\",\"uri\":\"embeded://a/x.png\"}," ICON(
			"embedded://a/./名.png") ",{\"type\":\"emotion\",\"uri\":\"__asset:gone\"}") },
		{ "a/x.png", STR("GIF89a"), .stored = true }, { "a/名.png", png_blank() }
	};
	struct card c = card_ok(zip(files, 3));
	struct str bytes, z = zip(files, 3);

	(void)state;
	assert_int_equal(c.container, CARD_CHARX);
	assert_string_equal(c.picture_type, "image/png");
	assert_true(str_eq(c.picture, png_blank()));
	assert_int_equal(c.assets.n, 2);
	same_str(c.assets.v[1].path, "a/名.png");
	assert_int_equal(c.assets_named, 3);
	assert_true(receipt_has(&c.receipt, "asset_missing"));
	assert_int_equal(card_asset_read(a, z, STR("a/x.png"), &bytes, NULL), 0);
	same_str(bytes, "GIF89a");
	assert_int_equal(card_asset_read(a, z, STR("a/y.png"), &bytes, NULL), -1);
}

static void
test_prefix(void **state)
{
	const struct file files[] = { { "card.json", CARD("") } };
	struct str jpeg = STR("\xff\xd8\xff\xe0 picture \xff\xd9"), program = STR("MZ\x90 program");
	struct card c = card_ok(prefixed(jpeg, zip(files, 1)));

	(void)state;
	same_str(c.name, "Z");
	assert_string_equal(c.picture_type, "image/jpeg");
	assert_int_equal(c.picture.n, jpeg.n);
	c = card_ok(prefixed(program, zip(files, 1)));
	assert_null(c.picture.p);
	assert_false(charx_is(STR("{\"x\":\"PK\x03\x04\"}")));
}

/* Without its directory at the end an archive is read from the front. */
static void
test_cut_directory(void **state)
{
	const struct file files[] = { { "card.json", CARD("") }, { "a.png", png_blank() } };
	struct str whole = zip(files, 2), cut = str_sub(whole, 0, whole.n - 30);

	(void)state;
	same_str(card_ok(cut).name, "Z");
	for (size_t n = 4; n < whole.n; n++) { /* anything but a crash */
		struct import_file f = { .bytes = { arena_copy(a, whole.p, n), n } };
		struct import_error err = { 0 };
		struct card c;

		if (card_read(a, &f, &c, &err) < 0)
			assert_non_null(err.code);
	}
}

static void
test_paths(void **state)
{
	static const char *const bad[] = { "/etc/passwd", "../x", "a/../../x", "a/..", "..", "C:/x", "\\x",
		"a\\..\\..\\x", "", "./.", "a\xff" };

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_null(charx_path(a, str_c(bad[i])).p);
	assert_null(charx_path(a, times("x", LIM_ARCHIVE_NAME + 1)).p);
	same_str(charx_path(a, STR("./a//b\\c/./d..png")), "a/b/c/d..png");
}

static void
test_climbing(void **state)
{
	const struct file files[] = { { "card.json", CARD(ICON("embeded://../../etc/passwd")) },
		{ "../../etc/passwd", STR("root") }, { "/abs", STR("x") },
		{ "deep/inner.zip", zip(&(struct file){ "card.json", STR("{}") }, 1) } };
	struct card c = card_ok(zip(files, 4));
	struct str out;
	struct charx x;
	struct receipt r = { .a = a };

	(void)state;
	assert_int_equal(c.assets.n, 0);
	assert_null(c.picture.p);
	assert_true(receipt_has(&c.receipt, "unsafe_name"));
	assert_true(receipt_has(&c.receipt, "unsafe_asset"));
	assert_true(receipt_has(&c.receipt, "nested_archive"));
	/* exports hold no climbing name either */
	assert_int_equal(card_export_charx(a, c.doc, zip(files, 4), STR_NULL, &out, NULL), 0);
	assert_int_equal(charx_open(a, out, &x, &r, NULL), 0);
	assert_int_equal(x.entries.n, 1);
	same_str(x.entries.v[0].path, "deep/inner.zip");
	assert_false(receipt_has(&r, "unsafe_name"));
}

static void
test_refused(void **state)
{
	const struct file other[] = { { "other.json", STR("{}") } },
			  no_spec[] = { { "card.json", STR("{\"name\":\"A\"}") } },
			  no_json[] = { { "card.json", STR("PK\x03\x04") } };

	(void)state;
	card_bad(zip(other, 1), "no_card_json");
	card_bad(zip(no_spec, 1), "missing_spec");
	card_bad(zip(no_json, 1), "invalid_json");
	card_bad(STR("PK\x03\x04 nothing"), "not_an_archive");
}

/* A card.json that unpacks to more than may be: caught while it unpacks, whatever the headers say. */
static void
test_bombs(void **state)
{
	struct str blanks = times("                                ", (LIM_CARD_JSON >> 5) + 1000);
	const struct file honest[] = { { "card.json", blanks } },
			  lying[] = { { "card.json", blanks, .claimed = 100 } },
			  big[] = { { "card.json", CARD("") },
				  { "a", STR("x"), .claimed = LIM_ARCHIVE_BYTES - 10 },
				  { "b", STR("x"), .claimed = 1000 } };
	struct import_file f = { .bytes = zip(lying, 1) };
	struct import_error err = { 0 };
	struct card c;

	(void)state;
	assert_true(card_bad(zip(honest, 1), "too_large").too_large);
	assert_true(zip(lying, 1).n < 100000);
	assert_int_equal(card_read(a, &f, &c, &err), -1);
	assert_true(card_bad(zip(big, 3), "archive_too_large").too_large);
}

static void
test_picture_bomb(void **state)
{
	struct str blanks = times("                                ", (LIM_PICTURE >> 5) + 1000);
	const struct file files[] = { { "card.json", CARD(ICON("embeded://i.png")) }, { "i.png", blanks } };
	struct card c = card_ok(zip(files, 2));

	(void)state;
	assert_null(c.picture.p);
	assert_true(receipt_has(&c.receipt, "picture_unusable"));
}

static void
test_many_entries(void **state)
{
	struct file *files = arena_array(a, struct file, LIM_ARCHIVE_ENTRIES + 1);

	(void)state;
	for (size_t i = 0; i <= LIM_ARCHIVE_ENTRIES; i++)
		files[i] = (struct file){ i == 0 ? "card.json" : arena_printf(a, "f%zu", i),
			i == 0 ? CARD("") : STR("x"), 0, true };
	same_str(card_ok(zip(files, LIM_ARCHIVE_ENTRIES)).name, "Z");
	card_bad(zip(files, LIM_ARCHIVE_ENTRIES + 1), "archive_entries");
}

/* Out, in and out again: the other files stay as they were, the bytes repeat. */
static void
test_write(void **state)
{
	const struct file files[] = { { "z/first.bin", times("abc", 1000) },
		{ "card.json", CARD(ICON("embeded://i/名.png")) }, { "i/名.png", png_blank() } };
	struct card c = card_ok(zip(files, 3)), again;
	struct str out, twice, bytes;
	struct charx x;

	(void)state;
	json_set_str(c.data, "description", STR("edited"));
	assert_int_equal(card_export_charx(a, c.doc, zip(files, 3), STR_NULL, &out, NULL), 0);
	again = card_ok(out);
	same_str(again.description, "edited");
	assert_true(str_eq(again.picture, png_blank()));
	assert_int_equal(charx_open(a, out, &x, NULL, NULL), 0);
	assert_int_equal(x.entries.n, 2);
	same_str(x.entries.v[0].path, "z/first.bin");
	assert_int_equal(card_asset_read(a, out, STR("z/first.bin"), &bytes, NULL), 0);
	assert_true(str_eq(bytes, files[0].data));
	assert_int_equal(card_export_charx(a, again.doc, out, STR_NULL, &twice, NULL), 0);
	assert_true(str_eq(out, twice));
}

static void
test_write_new(void **state)
{
	struct card c = card_ok(STR(V2("\"name\":\"A\""))), again;
	struct str out, twice;

	(void)state;
	assert_int_equal(card_export_charx(a, c.doc, STR_NULL, png_blank(), &out, NULL), 0);
	again = card_ok(out);
	assert_true(str_eq(again.picture, png_blank()));
	same_str(again.assets.v[0].path, "assets/icon/images/main.png");
	assert_int_equal(card_export_charx(a, again.doc, STR_NULL, again.picture, &twice, NULL), 0);
	assert_true(str_eq(out, twice));
	assert_int_equal(card_export_charx(a, c.doc, STR_NULL, STR_NULL, &out, NULL), 0);
	assert_null(card_ok(out).picture.p);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_picture),
		cmocka_unit_test(test_prefix),
		cmocka_unit_test(test_cut_directory),
		cmocka_unit_test(test_paths),
		cmocka_unit_test(test_climbing),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_bombs),
		cmocka_unit_test(test_picture_bomb),
		cmocka_unit_test(test_many_entries),
		cmocka_unit_test(test_write),
		cmocka_unit_test(test_write_new),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
