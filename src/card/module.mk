noinst_LIBRARIES += libcard.a
libcard_a_SOURCES = src/card/base64.c src/card/base64.h src/card/card.c src/card/card.h src/card/card_assets.c \
	src/card/card_export.c src/card/card_private.h src/card/charx.c src/card/charx.h src/card/chat_date.c \
	src/card/chat_file.c src/card/chat_file.h src/card/import.c src/card/import.h src/card/inflate.c src/card/inflate.h \
	src/card/lore_file.c src/card/lore_file.h src/card/lore_other.c src/card/lore_other.h src/card/png.c src/card/png.h \
	src/card/preset_file.c src/card/preset_file.h src/card/receipt.c src/card/receipt.h src/card/regex_file.c \
	src/card/regex_file.h src/card/shape.c src/card/shape.h
EXTRA_DIST += src/card/README.md
CARD_LIBS = libcard.a $(BASE_LIBS) $(ARCHIVE_LIBS) $(Z_LIBS)
