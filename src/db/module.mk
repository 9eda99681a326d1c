noinst_LIBRARIES += libdb.a
libdb_a_SOURCES = \
	src/db/db.h src/db/db_private.h src/db/errors.c src/db/migrate.c src/db/migrate.h src/db/pipeline.c src/db/pool.c \
	src/db/resource.c src/db/resource.h src/db/resource_print.c src/db/resource_private.h \
	src/db/resource_sql.c src/db/rows.c src/db/startup.c src/db/stmt.c src/db/tx.c
DB_LIBS = libdb.a $(BASE_LIBS) $(PQ_LIBS)

# Statements: one header fragment of all query files. The list is a wildcard of make, so a new
# file needs no edit here.
STMT_FILES = $(sort $(wildcard $(top_srcdir)/sql/queries/*.sql))
EXTRA_DIST += scripts/stmt.awk sql/queries
BUILT_SOURCES += src/db/stmt.def
CLEANFILES += src/db/stmt.def
src/db/stmt.def: $(STMT_FILES) $(top_srcdir)/scripts/stmt.awk
	$(AM_V_GEN)$(MKDIR_P) src/db && LC_ALL=C $(AWK) -f $(top_srcdir)/scripts/stmt.awk $(STMT_FILES) >$@.tmp && mv $@.tmp $@

MIGRATION_FILES = $(sort $(wildcard $(top_srcdir)/sql/migrations/*.sql))
EXTRA_DIST += scripts/migrations.awk sql/migrations sql/roles.sql
BUILT_SOURCES += src/db/migrations.def
CLEANFILES += src/db/migrations.def
src/db/migrations.def: $(MIGRATION_FILES) $(top_srcdir)/scripts/migrations.awk
	$(AM_V_GEN)$(MKDIR_P) src/db && LC_ALL=C $(AWK) -f $(top_srcdir)/scripts/migrations.awk $(MIGRATION_FILES) >$@.tmp && mv $@.tmp $@

# Tests of the layer start a PostgreSQL of their own (tests/lib/with_pg.sh), a copy of a cluster that the first one leaves here.
clean-pg:
	rm -rf tests/pg.template*
CLEAN_HOOKS += clean-pg
.PHONY: clean-pg
EXTRA_DIST += tests/lib/with_pg.sh tests/golden/db tests/golden/schema.sql
if HAVE_CMOCKA
PG_TEST = tests/lib/pg.c tests/lib/pg.h
check_PROGRAMS += tests/unit/db_migrate.t tests/unit/db_resource.t tests/unit/db_schema.t tests/unit/db_tx.t
tests_unit_db_migrate_t_SOURCES = tests/unit/db_migrate.c $(PG_TEST)
tests_unit_db_migrate_t_LDADD = $(DB_LIBS) $(CMOCKA_LIBS)
tests_unit_db_schema_t_SOURCES = tests/unit/db_schema.c $(PG_TEST)
tests_unit_db_schema_t_LDADD = $(DB_LIBS) $(CMOCKA_LIBS)
tests_unit_db_resource_t_SOURCES = tests/unit/db_resource.c $(PG_TEST)
tests_unit_db_resource_t_LDADD = $(DB_LIBS) $(CMOCKA_LIBS)
tests_unit_db_tx_t_SOURCES = tests/unit/db_tx.c $(PG_TEST)
tests_unit_db_tx_t_LDADD = $(DB_LIBS) $(CMOCKA_LIBS)

script_tests += tests/lint/awk.t
EXTRA_DIST += tests/lint/awk.t
EXTRA_PROGRAMS += bench/db
bench_db_SOURCES = bench/db.c $(PG_TEST)
bench_db_LDADD = $(DB_LIBS) $(CMOCKA_LIBS)
endif
