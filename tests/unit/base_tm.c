/* tm: the calendar, zones against the C library's reading of the same files, names, bad files. */
#include "base/sb.h"
#include "base/tm_private.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

static struct arena *a;

static int
setup(void **state)
{
	(void)state;
	a = arena_create("test", 0);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	arena_destroy(&a);
	return 0;
}

static void
test_iso(void **state)
{
	(void)state;
	assert_string_equal(tm_iso(a, 0), "1970-01-01T00:00:00.000Z");
	assert_string_equal(tm_iso(a, -1), "1969-12-31T23:59:59.999Z");
	assert_string_equal(tm_iso(a, 951782400123), "2000-02-29T00:00:00.123Z");
	assert_string_equal(tm_iso(a, 253402300799999), "9999-12-31T23:59:59.999Z");
	assert_string_equal(tm_iso(a, 253402300800000), "+010000-01-01T00:00:00.000Z");
	assert_string_equal(tm_iso(a, -62167219200001), "-000001-12-31T23:59:59.999Z");
	assert_string_equal(tm_iso(a, -62167219200000), "0000-01-01T00:00:00.000Z");
}

static void
test_calendar_is_a_bijection(void **state)
{
	struct tm_civil last = { 0 };

	(void)state;
	for (int64_t day = -800000; day <= 800000; day++) {
		struct tm_civil c = tm_civil(tm_zone_utc(), day * 86400000);

		if (days_from_civil(c.year, c.month, c.day) != day)
			fail_msg("day %lld", (long long)day);
		if (day > -800000 && c.yearday != (c.year == last.year ? last.yearday + 1 : 1))
			fail_msg("yearday of day %lld", (long long)day);
		if (day > -800000 && c.weekday != (last.weekday + 1) % 7)
			fail_msg("weekday of day %lld", (long long)day);
		last = c;
	}
}

static void
test_carry(void **state)
{
	(void)state;
	assert_int_equal(days_from_civil(2023, 13, 1), days_from_civil(2024, 1, 1));
	assert_int_equal(days_from_civil(2024, 0, 1), days_from_civil(2023, 12, 1));
	assert_int_equal(days_from_civil(2024, -11, 1), days_from_civil(2023, 1, 1));
	assert_int_equal(days_from_civil(2024, 2, 30), days_from_civil(2024, 3, 1));
}

static void
check_against_libc(const char *name, int64_t s)
{
	struct tm_zone *z = tm_zone_load(a, str_c(name));
	struct tm_civil c;
	time_t t = (time_t)s;
	struct tm tm;

	if (!z)
		fail_msg("no zone %s", name);
	c = tm_civil(z, s * 1000 + 7);
	localtime_r(&t, &tm);
	if (c.year != tm.tm_year + 1900 || c.month != tm.tm_mon + 1 || c.day != tm.tm_mday ||
	    c.hour != tm.tm_hour || c.minute != tm.tm_min || c.second != tm.tm_sec ||
	    c.weekday != tm.tm_wday || c.yearday != tm.tm_yday + 1 || c.ms != 7 ||
	    c.offset != tm.tm_gmtoff / 60 || strcmp(c.abbrev, tm.tm_zone) != 0)
		fail_msg("%s at %lld: %d-%d-%d %d:%d:%d %s, expected %d-%d-%d %d:%d:%d %s", name,
		    (long long)s, c.year, c.month, c.day, c.hour, c.minute, c.second, c.abbrev,
		    tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec,
		    tm.tm_zone);
}

static void
test_zones_agree_with_libc(void **state)
{
	static const char *const names[] = { "Europe/Berlin", "America/New_York", "Asia/Kolkata",
		"Asia/Shanghai", "Australia/Lord_Howe", "America/Sao_Paulo", "Pacific/Apia",
		"Africa/Casablanca", "Europe/Dublin", "Etc/GMT+5", "America/Argentina/Buenos_Aires",
		"America/Port-au-Prince", "Asia/Gaza", "Antarctica/Troll" };

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct arena_mark m = arena_mark(a);

		setenv("TZ", names[i], 1);
		tzset();
		/* 1900 to 2110 in steps of no round length, past the last transition of the files (2037). */
		for (int64_t s = -2208988800; s < 4417977600; s += 13500017) {
			check_against_libc(names[i], s);
			arena_rewind(a, m);
		}
	}
}

static void
test_around_rule_transitions(void **state)
{
	static const char *const names[] = { "Europe/Berlin", "Australia/Sydney", "America/New_York" };

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct arena_mark m = arena_mark(a);

		setenv("TZ", names[i], 1);
		tzset();
		for (int64_t s = 2366841600; s < 2366841600 + 366 * 86400; s += 1800) { /* 2045 */
			check_against_libc(names[i], s - 1);
			check_against_libc(names[i], s);
			arena_rewind(a, m);
		}
	}
}

static void
test_offset_names(void **state)
{
	static const struct {
		const char *name;
		int offset;
		const char *abbrev;
	} rows[] = { { "+02:00", 120, "+02:00" }, { "-0530", -330, "-05:30" }, { "+14", 840, "+14:00" },
		{ "-00:00", 0, "-00:00" }, { "+23:59", 1439, "+23:59" }, { "UTC", 0, "UTC" },
		{ "Z", 0, "UTC" } };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct tm_zone *z = tm_zone_load(a, str_c(rows[i].name));

		assert_non_null(z);
		assert_int_equal(tm_civil(z, 0).offset, rows[i].offset);
		assert_string_equal(tm_civil(z, 0).abbrev, rows[i].abbrev);
	}
}

static void
test_bad_names(void **state)
{
	static const struct str names[] = { { "", 0 }, { NULL, 0 }, { "Europe/Berlin\0x", 15 } };
	static const char *const more[] = { "/etc/passwd", "../zoneinfo/UTC", "Europe/../Europe/Berlin",
		"Europe//Berlin", "Europe/", "Europe", "Nowhere/City", "zone.tab", "tzdata.zi", "leapseconds",
		"right/Europe/Berlin", "+", "+1", "+24:00", "+12:60", "+1:000", "+123", "+02:0", "+02:000",
		"++2", "Europe/Berlin ",
		"EuropeEuropeEuropeEuropeEuropeEuropeEuropeEuropeEuropeEuropeEuropeEurope" };

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_null(tm_zone_load(a, names[i]));
	for (size_t i = 0; i < sizeof(more) / sizeof(more[0]); i++)
		if (tm_zone_load(a, str_c(more[i])))
			fail_msg("%s accepted", more[i]);
}

static void
test_from_civil_inverts_civil(void **state)
{
	struct tm_zone *z = tm_zone_load(a, STR("Europe/Berlin"));

	(void)state;
	for (int64_t ms = 0; ms < 4102444800000; ms += 3333333333) {
		struct tm_civil c = tm_civil(z, ms);

		assert_int_equal(tm_from_civil(z, &c), ms);
	}
}

static void
test_gap_and_overlap(void **state)
{
	struct tm_zone *z = tm_zone_load(a, STR("Europe/Berlin"));
	struct tm_civil gap = { .year = 2026, .month = 3, .day = 29, .hour = 2, .minute = 30 };
	struct tm_civil twice = { .year = 2026, .month = 10, .day = 25, .hour = 2, .minute = 30 };
	struct tm_civil after = { .year = 2026, .month = 3, .day = 29, .hour = 3 };

	(void)state;
	assert_string_equal(tm_iso(a, tm_from_civil(z, &gap)), "2026-03-29T01:30:00.000Z");
	assert_string_equal(tm_iso(a, tm_from_civil(z, &twice)), "2026-10-25T00:30:00.000Z");
	assert_string_equal(tm_iso(a, tm_from_civil(z, &after)), "2026-03-29T01:00:00.000Z");
}

static void
put_be(struct sb *s, uint64_t v, int bytes)
{
	while (bytes--)
		sb_addc(s, (char)(v >> (8 * bytes) & 0xff));
}

static void
put_header(struct sb *s, uint32_t leap, uint32_t time, uint32_t type, uint32_t chars)
{
	sb_adds(s, "TZif2");
	for (int i = 0; i < 15 + 8; i++) /* reserved, and two counts we do not use */
		sb_addc(s, '\0');
	put_be(s, leap, 4);
	put_be(s, time, 4);
	put_be(s, type, 4);
	put_be(s, chars, 4);
}

/* A zone file with one transition at 1000 from AAA (+1 h) to BBB (+2 h) and the given footer. */
static struct str
make_file(const char *footer, int last_type)
{
	struct sb s = sb_new(a);

	put_header(&s, 0, 0, 0, 0);
	put_header(&s, 0, 1, 2, 8);
	put_be(&s, 1000, 8);
	sb_addc(&s, (char)last_type);
	put_be(&s, 3600, 4);
	put_be(&s, 0, 2);
	put_be(&s, 7200, 4);
	put_be(&s, 4, 2);
	sb_add(&s, (struct str){ "AAA\0BBB", 8 });
	sb_addf(&s, "\n%s\n", footer);
	return sb_str(&s);
}

static void
test_file_by_hand(void **state)
{
	struct tm_zone *z = tm_zone_read(a, make_file("", 1));

	(void)state;
	assert_non_null(z);
	assert_string_equal(tm_civil(z, 999999).abbrev, "AAA");
	assert_string_equal(tm_civil(z, 1000000).abbrev, "BBB");
	assert_string_equal(tm_civil(z, INT64_C(4000000000000)).abbrev, "BBB");
}

static void
test_footers(void **state)
{
	static const struct {
		const char *footer;
		const char *iso; /* of the moment looked at; NULL = bad footer */
		int64_t ms;
		const char *abbrev;
	} rows[] = {
		{ "XYZ-3", "", 2000000, "XYZ" },
		{ "<+0330>-3:30", "", 2000000, "+0330" },
		{ "STD0DST,J60,J300", "", 5097599000, "STD" },    /* 1970-03-01 01:59:59 */
		{ "STD0DST,J60,J300", "", 5104800000, "DST" },    /* 02:00 */
		{ "STD0DST,J60/0,J300", "", 68256000000, "DST" }, /* 1972-03-01: J60 ignores the leap day */
		{ "STD0DST,J60/0,J300", "", 68255999000, "STD" },
		{ "STD0DST,59/0,300", "", 68169600000, "DST" }, /* 1972-02-29: day 59 counts it */
		{ "STD0DST,59/0,300", "", 68169599000, "STD" },
		{ "STD0DST-2,M10.1.0,M3.5.0/-1", "", 2000000, "DST" }, /* southern */
		{ "XY-3", NULL, 0, NULL },
		{ "XYZ", NULL, 0, NULL },
		{ "XYZ-3DST", NULL, 0, NULL },
		{ "XYZ-3DST,M3.5.0", NULL, 0, NULL },
		{ "XYZ-3DST,M13.5.0,M10.5.0", NULL, 0, NULL },
		{ "XYZ-3DST,M3.6.0,M10.5.0", NULL, 0, NULL },
		{ "XYZ-3DST,M3.5.7,M10.5.0", NULL, 0, NULL },
		{ "XYZ-3DST,J0,J10", NULL, 0, NULL },
		{ "XYZ-3DST,J1,J366", NULL, 0, NULL },
		{ "XYZ-3DST,M3.5.0,M10.5.0x", NULL, 0, NULL },
		{ "<XYZ-3", NULL, 0, NULL },
		{ "XYZ-168", NULL, 0, NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct tm_zone *z = tm_zone_read(a, make_file(rows[i].footer, 1));

		if ((z != NULL) != (rows[i].iso != NULL))
			fail_msg("%s", rows[i].footer);
		if (z && strcmp(tm_civil(z, rows[i].ms).abbrev, rows[i].abbrev) != 0)
			fail_msg("%s at %lld: %s", rows[i].footer, (long long)rows[i].ms,
			    tm_civil(z, rows[i].ms).abbrev);
	}
}

static void
test_broken_files(void **state)
{
	struct str good = make_file("XYZ-3", 1);
	struct sb s = sb_new(a);

	(void)state;
	for (size_t n = 0; n < good.n; n++) {
		/* A copy of its own size, so that ASan sees a step too far. */
		struct str cut = { arena_copy(a, good.p, n), n };

		if (tm_zone_read(a, cut))
			fail_msg("%zu of %zu bytes accepted", n, good.n);
	}
	assert_null(tm_zone_read(a, make_file("", 2)));
	put_header(&s, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff);
	sb_add(&s, good);
	assert_null(tm_zone_read(a, sb_str(&s)));
	sb_truncate(&s, 0);
	put_header(&s, 0, 0, 0, 0);
	put_header(&s, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff);
	sb_add(&s, good);
	assert_null(tm_zone_read(a, sb_str(&s)));
}

static void
test_clocks(void **state)
{
	int64_t us = tm_mono_us(), ms = tm_mono();

	(void)state;
	assert_true(tm_now() > INT64_C(1600000000000));
	assert_true(us / 1000 <= ms);
	assert_true(tm_mono_us() >= us);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_iso),
		cmocka_unit_test(test_calendar_is_a_bijection),
		cmocka_unit_test(test_carry),
		cmocka_unit_test(test_zones_agree_with_libc),
		cmocka_unit_test(test_around_rule_transitions),
		cmocka_unit_test(test_offset_names),
		cmocka_unit_test(test_bad_names),
		cmocka_unit_test(test_from_civil_inverts_civil),
		cmocka_unit_test(test_gap_and_overlap),
		cmocka_unit_test(test_file_by_hand),
		cmocka_unit_test(test_footers),
		cmocka_unit_test(test_broken_files),
		cmocka_unit_test(test_clocks),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
