noinst_LIBRARIES += libstore.a
libstore_a_SOURCES = src/store/asset.c src/store/asset.h src/store/branch.c src/store/branch.h src/store/variable.c src/store/variable.h src/store/words.c src/store/words.h
STORE_LIBS = libstore.a $(DB_LIBS)

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/store_branch.t
tests_unit_store_branch_t_SOURCES = tests/unit/store_branch.c
tests_unit_store_branch_t_LDADD = libstore.a $(BASE_LIBS) $(CMOCKA_LIBS)
endif
