noinst_LIBRARIES += libmacro.a
libmacro_a_SOURCES = \
	src/macro/builtin_chance.c src/macro/builtin_names.c src/macro/builtin_text.c src/macro/builtin_time.c \
	src/macro/builtin_vars.c src/macro/catalogue.c src/macro/catalogue.h src/macro/cond_eval.c \
	src/macro/cond_parse.c src/macro/decide.h src/macro/decide_plan.c src/macro/decide_reach.c \
	src/macro/decide_read.c src/macro/decide_turn.c src/macro/dialect_marinara.c src/macro/eval.c src/macro/js.c \
	src/macro/macro.c src/macro/macro.h src/macro/macro_private.h src/macro/pair.c src/macro/parse.c \
	src/macro/prep.c src/macro/result.c src/macro/scan.c src/macro/time_format.c src/macro/time_format.h \
	src/macro/tomori.c src/macro/tomori.h src/macro/tomori_audit.c src/macro/tomori_expand.c \
	src/macro/tomori_private.h src/macro/values.c src/macro/values.h src/macro/vars.c

MACRO_LIBS = libmacro.a $(BASE_LIBS)

EXTRA_PROGRAMS += bench/macro
bench_macro_SOURCES = bench/macro.c
bench_macro_LDADD = $(MACRO_LIBS)
