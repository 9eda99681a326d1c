noinst_LIBRARIES += liblore.a
liblore_a_SOURCES = \
	src/lore/book.c src/lore/book_file.c src/lore/book_file.h src/lore/group.c src/lore/keys.c src/lore/keys.h src/lore/lower.c \
	src/lore/lore.h src/lore/lore_private.h src/lore/output.c src/lore/report.c src/lore/report.h src/lore/run.c src/lore/run.h \
	src/lore/scan.c src/lore/scan.h src/lore/set.c src/lore/timed.c src/lore/timed.h
LORE_LIBS = liblore.a $(REGEX_LIBS)
EXTRA_DIST += src/lore/README.md tests/vectors/worldbook.json

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/lore_keys.t tests/unit/lore_scan.t
tests_unit_lore_keys_t_SOURCES = tests/unit/lore_keys.c
tests_unit_lore_keys_t_LDADD = $(LORE_LIBS) $(CMOCKA_LIBS)
tests_unit_lore_scan_t_SOURCES = tests/unit/lore_scan.c
tests_unit_lore_scan_t_LDADD = $(LORE_LIBS) $(CMOCKA_LIBS)
endif

if FUZZERS
noinst_PROGRAMS += tests/fuzz/lore
tests_fuzz_lore_SOURCES = tests/fuzz/lore.c
tests_fuzz_lore_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_CFLAGS)
tests_fuzz_lore_LDADD = $(LORE_LIBS)
endif

EXTRA_PROGRAMS += bench/lore
bench_lore_SOURCES = bench/lore.c
bench_lore_LDADD = $(LORE_LIBS)
