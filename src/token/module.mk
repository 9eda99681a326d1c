# The ranks are unpacked here, made into look-up tables, and become part of the archive (token.c, .incbin).
token_ranks = src/token/o200k_base.ranks src/token/cl100k_base.ranks
token_tables = src/token/o200k_base.tables src/token/cl100k_base.tables
CLEANFILES += $(token_ranks) $(token_tables)
EXTRA_DIST += data/o200k_base.ranks.gz data/cl100k_base.ranks.gz scripts/token-data.mjs
SUFFIXES += .ranks .tables

noinst_PROGRAMS += src/token/mktables
src_token_mktables_SOURCES = src/token/mktables.c src/token/bpe.h
src_token_mktables_LDADD = $(BASE_LIBS)

src/token/o200k_base.ranks: data/o200k_base.ranks.gz
	$(AM_V_GEN)$(MKDIR_P) src/token && gzip -dc $(srcdir)/data/o200k_base.ranks.gz >$@.tmp && mv $@.tmp $@
src/token/cl100k_base.ranks: data/cl100k_base.ranks.gz
	$(AM_V_GEN)$(MKDIR_P) src/token && gzip -dc $(srcdir)/data/cl100k_base.ranks.gz >$@.tmp && mv $@.tmp $@
.ranks.tables:
	$(AM_V_GEN)src/token/mktables$(EXEEXT) <$< >$@.tmp && mv $@.tmp $@
$(token_tables): src/token/mktables$(EXEEXT)

noinst_LIBRARIES += libtoken.a
libtoken_a_SOURCES = src/token/bpe.c src/token/model.c src/token/split.c src/token/token.c \
	src/token/bpe.h src/token/classes.inc src/token/split.h src/token/token.h
libtoken_a_CPPFLAGS = $(AM_CPPFLAGS) -DTOKEN_TABLES_DIR='"$(abs_top_builddir)/src/token"'
src/token/libtoken_a-token.$(OBJEXT): $(token_tables)

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
