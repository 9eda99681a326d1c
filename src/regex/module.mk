noinst_LIBRARIES += libregex.a
libregex_a_SOURCES = \
	src/regex/js.h src/regex/js_escape.c src/regex/js_need.c src/regex/js_parse.c src/regex/js_parse.h \
	src/regex/js_property.c src/regex/js_set.c src/regex/js_write.c \
	src/regex/cache.c src/regex/cache.h src/regex/memo.c src/regex/memo.h src/regex/regex.c src/regex/regex.h \
	src/regex/replace.c src/regex/replace.h src/regex/script.c src/regex/script.h \
	src/regex/script_file.c src/regex/script_file.h
REGEX_LIBS = libregex.a $(PCRE2_LIBS) $(BASE_LIBS)
EXTRA_DIST += src/regex/README.md tests/vectors/regex.json

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/regex_js.t tests/unit/regex_script.t
tests_unit_regex_js_t_SOURCES = tests/unit/regex_js.c
tests_unit_regex_js_t_LDADD = $(REGEX_LIBS) $(CMOCKA_LIBS)
tests_unit_regex_script_t_SOURCES = tests/unit/regex_script.c
tests_unit_regex_script_t_LDADD = $(REGEX_LIBS) $(CMOCKA_LIBS)
endif

if FUZZERS
noinst_PROGRAMS += tests/fuzz/regex
tests_fuzz_regex_SOURCES = tests/fuzz/regex.c
tests_fuzz_regex_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_CFLAGS)
tests_fuzz_regex_LDADD = $(REGEX_LIBS)
endif

EXTRA_PROGRAMS += bench/regex
bench_regex_SOURCES = bench/regex.c
bench_regex_LDADD = $(REGEX_LIBS)
