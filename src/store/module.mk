noinst_LIBRARIES += libstore.a
libstore_a_SOURCES = src/store/asset.c src/store/asset.h src/store/branch.c src/store/branch.h
STORE_LIBS = libstore.a $(DB_LIBS)
