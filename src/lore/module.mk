noinst_LIBRARIES += liblore.a
liblore_a_SOURCES = \
	src/lore/book.c src/lore/book_file.c src/lore/book_file.h src/lore/group.c src/lore/keys.c src/lore/keys.h \
	src/lore/lore.h src/lore/lore_private.h src/lore/output.c src/lore/run.c src/lore/run.h \
	src/lore/scan.c src/lore/scan.h src/lore/set.c src/lore/timed.c src/lore/timed.h
LORE_LIBS = liblore.a $(REGEX_LIBS)
EXTRA_DIST += src/lore/README.md tests/vectors/worldbook.json
