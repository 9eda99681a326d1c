noinst_LIBRARIES += libbase.a
libbase_a_SOURCES = \
	src/base/arena.c src/base/arena.h src/base/conf.c src/base/conf.h src/base/ctx.h src/base/digest.c src/base/digest.h \
	src/base/err.c src/base/err.h src/base/field.c src/base/field.h src/base/field_private.h \
	src/base/field_schema.c src/base/file.c src/base/file.h src/base/id.c src/base/id.h \
	src/base/json.c src/base/json.h \
	src/base/json_get.c src/base/json_loose.c src/base/json_loose.h src/base/json_raw.c src/base/json_text.c \
	src/base/limits.h src/base/log.c src/base/log.h src/base/map.c src/base/map.h \
	src/base/metric.c src/base/metric.h \
	src/base/rng.c src/base/rng.h src/base/sb.c src/base/sb.h src/base/stack.c src/base/stack.h src/base/str.c src/base/str.h \
	src/base/trace.c src/base/trace.h src/base/tm.c src/base/tm.h src/base/tm_private.h src/base/tm_zone.c \
	src/base/utf8.c src/base/utf8.h src/base/utf8_case.c \
	src/base/vec.c src/base/vec.h

if HAVE_CMOCKA
check_PROGRAMS += \
	tests/unit/base_json.t tests/unit/base_mem.t tests/unit/base_text.t tests/unit/base_tm.t \
	tests/unit/base_metric.t tests/unit/base_misc.t tests/unit/base_conf.t tests/unit/base_field.t
tests_unit_base_json_t_SOURCES = tests/unit/base_json.c
tests_unit_base_json_t_LDADD = $(BASE_LIBS) $(CMOCKA_LIBS)
tests_unit_base_mem_t_SOURCES = tests/unit/base_mem.c
tests_unit_base_mem_t_LDADD = $(BASE_LIBS) $(CMOCKA_LIBS)
tests_unit_base_text_t_SOURCES = tests/unit/base_text.c
tests_unit_base_text_t_LDADD = $(BASE_LIBS) $(CMOCKA_LIBS)
tests_unit_base_tm_t_SOURCES = tests/unit/base_tm.c
tests_unit_base_tm_t_LDADD = $(BASE_LIBS) $(CMOCKA_LIBS)
tests_unit_base_metric_t_SOURCES = tests/unit/base_metric.c
tests_unit_base_metric_t_LDADD = $(BASE_LIBS) $(CMOCKA_LIBS)
tests_unit_base_misc_t_SOURCES = tests/unit/base_misc.c
tests_unit_base_misc_t_LDADD = $(BASE_LIBS) $(CMOCKA_LIBS)
tests_unit_base_conf_t_SOURCES = tests/unit/base_conf.c
tests_unit_base_conf_t_LDADD = $(BASE_LIBS) $(CMOCKA_LIBS)
tests_unit_base_field_t_SOURCES = tests/unit/base_field.c
tests_unit_base_field_t_LDADD = $(BASE_LIBS) $(CMOCKA_LIBS)
endif

if FUZZERS
noinst_PROGRAMS += tests/fuzz/json
tests_fuzz_json_SOURCES = tests/fuzz/json.c
tests_fuzz_json_LDADD = $(BASE_LIBS)
tests_fuzz_json_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_CFLAGS)
endif
