# The runner of the files of expected values. A kind adds its file here and what it links to vectors_libs,
# highest layer first (the archives must stand in link order). Built on demand: `make tests/vectors/run`.
EXTRA_PROGRAMS += tests/vectors/run
tests_vectors_run_SOURCES = tests/vectors/run.c \
	tests/vectors/assembly.c \
	tests/vectors/cards.c tests/vectors/conditionals.c \
	tests/vectors/fixture.c tests/vectors/fixture.h \
	tests/vectors/macros.c tests/vectors/macros_assemble.c tests/vectors/macros_assemble.h \
	tests/vectors/names.c tests/vectors/names.h \
	tests/vectors/providers.c \
	tests/vectors/rearrange.c tests/vectors/regex.c \
	tests/vectors/st_real.c \
	tests/vectors/tokens.c tests/vectors/tomori.c \
	tests/vectors/tomori_scene.c tests/vectors/tomori_scene.h \
	tests/vectors/worldbook.c
vectors_libs = libllm.a libprompt.a liblore.a libmacro.a libregex.a libcard.a libtoken.a
tests_vectors_run_LDADD = $(vectors_libs) $(PCRE2_LIBS) $(BASE_LIBS) $(ARCHIVE_LIBS) $(Z_LIBS)
EXTRA_DIST += tests/vectors/vectors.h tests/vectors/kinds.def
