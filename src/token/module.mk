# The ranks are unpacked here and become part of the archive (token.c, .incbin).
token_ranks = src/token/o200k_base.ranks src/token/cl100k_base.ranks
BUILT_SOURCES += $(token_ranks)
CLEANFILES += $(token_ranks)
EXTRA_DIST += data/o200k_base.ranks.gz data/cl100k_base.ranks.gz scripts/token-data.mjs

src/token/o200k_base.ranks: data/o200k_base.ranks.gz
	$(AM_V_GEN)$(MKDIR_P) src/token && gzip -dc $(srcdir)/data/o200k_base.ranks.gz >$@.tmp && mv $@.tmp $@
src/token/cl100k_base.ranks: data/cl100k_base.ranks.gz
	$(AM_V_GEN)$(MKDIR_P) src/token && gzip -dc $(srcdir)/data/cl100k_base.ranks.gz >$@.tmp && mv $@.tmp $@

noinst_LIBRARIES += libtoken.a
libtoken_a_SOURCES = src/token/bpe.c src/token/model.c src/token/split.c src/token/token.c \
	src/token/bpe.h src/token/classes.inc src/token/split.h src/token/token.h
libtoken_a_CPPFLAGS = $(AM_CPPFLAGS) -DTOKEN_RANKS_DIR='"$(abs_top_builddir)/src/token"'
src/token/libtoken_a-token.$(OBJEXT): $(token_ranks)

TOKEN_LIBS = libtoken.a $(BASE_LIBS)
EXTRA_DIST += src/token/README.md scripts/token-vectors.mjs tests/vectors/tokens.json

EXTRA_PROGRAMS += bench/token
bench_token_SOURCES = bench/token.c
bench_token_LDADD = $(TOKEN_LIBS)

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/token_bpe.t
tests_unit_token_bpe_t_SOURCES = tests/unit/token_bpe.c
tests_unit_token_bpe_t_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
tests_unit_token_bpe_t_LDADD = $(TOKEN_LIBS) $(CMOCKA_LIBS)
endif

if FUZZERS
noinst_PROGRAMS += tests/fuzz/token_split
tests_fuzz_token_split_SOURCES = tests/fuzz/token_split.c
tests_fuzz_token_split_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_CFLAGS)
tests_fuzz_token_split_LDADD = $(TOKEN_LIBS) $(PCRE2_LIBS)
endif
