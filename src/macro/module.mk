noinst_LIBRARIES += libmacro.a
libmacro_a_SOURCES = \
	src/macro/builtin_chance.c src/macro/builtin_names.c src/macro/builtin_text.c src/macro/builtin_time.c \
	src/macro/builtin_vars.c src/macro/catalogue.c src/macro/catalogue.h src/macro/cond_eval.c \
	src/macro/cond_marinara.c src/macro/cond_parse.c src/macro/cond_private.h src/macro/decide.h src/macro/decide_plan.c src/macro/decide_reach.c \
	src/macro/decide_read.c src/macro/decide_turn.c src/macro/dialect_marinara.c src/macro/eval.c src/macro/eval_block.c src/macro/eval_piece.c src/macro/eval_private.h src/macro/js.c \
	src/macro/lint.c src/macro/macro.c src/macro/macro.h src/macro/macro_private.h src/macro/pair.c src/macro/parse.c src/macro/parse_args.c src/macro/parse_private.h \
	src/macro/prep.c src/macro/result.c src/macro/room.c src/macro/scan.c src/macro/time_format.c src/macro/time_format.h \
	src/macro/tomori.c src/macro/tomori.h src/macro/tomori_audit.c src/macro/tomori_expand.c \
	src/macro/tomori_private.h src/macro/values.c src/macro/values.h src/macro/vars.c

MACRO_LIBS = libmacro.a $(BASE_LIBS)

EXTRA_PROGRAMS += bench/macro
bench_macro_SOURCES = bench/macro.c
bench_macro_LDADD = $(MACRO_LIBS)

if FUZZERS
noinst_PROGRAMS += \
	tests/fuzz/macro_marinara tests/fuzz/macro_sillytavern tests/fuzz/macro_tavernheadless tests/fuzz/macro_tomoribot
tests_fuzz_macro_marinara_SOURCES = tests/fuzz/macro_marinara.c tests/fuzz/macro_fuzz.h
tests_fuzz_macro_marinara_LDADD = $(MACRO_LIBS)
tests_fuzz_macro_marinara_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_CFLAGS)
tests_fuzz_macro_sillytavern_SOURCES = tests/fuzz/macro_sillytavern.c tests/fuzz/macro_fuzz.h
tests_fuzz_macro_sillytavern_LDADD = $(MACRO_LIBS)
tests_fuzz_macro_sillytavern_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_CFLAGS)
tests_fuzz_macro_tavernheadless_SOURCES = tests/fuzz/macro_tavernheadless.c tests/fuzz/macro_fuzz.h
tests_fuzz_macro_tavernheadless_LDADD = $(MACRO_LIBS)
tests_fuzz_macro_tavernheadless_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_CFLAGS)
tests_fuzz_macro_tomoribot_SOURCES = tests/fuzz/macro_tomoribot.c tests/fuzz/macro_fuzz.h
tests_fuzz_macro_tomoribot_LDADD = $(MACRO_LIBS)
tests_fuzz_macro_tomoribot_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_CFLAGS)
endif

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/macro_dialects.t tests/unit/macro_docs.t tests/unit/macro_engine.t tests/unit/macro_limits.t \
	tests/unit/macro_sillytavern.t
tests_unit_macro_dialects_t_SOURCES = tests/unit/macro_dialects.c tests/unit/macro_scene.h
tests_unit_macro_dialects_t_LDADD = $(MACRO_LIBS) $(CMOCKA_LIBS)
tests_unit_macro_docs_t_SOURCES = tests/unit/macro_docs.c tests/unit/macro_scene.h
tests_unit_macro_docs_t_LDADD = $(MACRO_LIBS) $(CMOCKA_LIBS)
tests_unit_macro_engine_t_SOURCES = tests/unit/macro_engine.c tests/unit/macro_scene.h
tests_unit_macro_engine_t_LDADD = $(MACRO_LIBS) $(CMOCKA_LIBS)
tests_unit_macro_limits_t_SOURCES = tests/unit/macro_limits.c tests/unit/macro_scene.h
tests_unit_macro_limits_t_LDADD = $(MACRO_LIBS) $(CMOCKA_LIBS)
tests_unit_macro_sillytavern_t_SOURCES = tests/unit/macro_sillytavern.c tests/unit/macro_scene.h
tests_unit_macro_sillytavern_t_LDADD = $(MACRO_LIBS) $(CMOCKA_LIBS)
endif
