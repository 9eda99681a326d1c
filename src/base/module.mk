noinst_LIBRARIES += libbase.a
libbase_a_SOURCES = \
	src/base/arena.c src/base/arena.h src/base/conf.c src/base/conf.h src/base/ctx.h \
	src/base/err.c src/base/err.h src/base/file.c src/base/file.h src/base/id.c src/base/id.h src/base/json.c src/base/json.h \
	src/base/json_get.c src/base/json_raw.c src/base/json_text.c \
	src/base/limits.h src/base/log.c src/base/log.h src/base/map.c src/base/map.h \
	src/base/rng.c src/base/rng.h src/base/sb.c src/base/sb.h src/base/str.c src/base/str.h \
	src/base/tm.c src/base/tm.h src/base/tm_private.h src/base/tm_zone.c \
	src/base/utf8.c src/base/utf8.h src/base/utf8_case.c \
	src/base/vec.c src/base/vec.h

if HAVE_CMOCKA
BASE_TESTS = base_json base_tm
check_PROGRAMS += $(BASE_TESTS)
base_json_SOURCES = tests/unit/base_json.c
base_json_LDADD = $(BASE_LIBS) $(CMOCKA_LIBS)
base_tm_SOURCES = tests/unit/base_tm.c
base_tm_LDADD = $(BASE_LIBS) $(CMOCKA_LIBS)
endif
