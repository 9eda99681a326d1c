noinst_LIBRARIES += libcard.a
libcard_a_SOURCES = src/card/base64.c src/card/base64.h src/card/card.c src/card/card.h src/card/card_assets.c \
	src/card/card_export.c src/card/card_private.h src/card/charx.c src/card/charx.h src/card/chat_date.c \
	src/card/chat.h src/card/chat_file.c src/card/chat_file.h src/card/chat_floors.c src/card/import.c src/card/import.h src/card/inflate.c src/card/inflate.h \
	src/card/lore_file.c src/card/lore_file.h src/card/lore_other.c src/card/lore_other.h src/card/member.h src/card/pieces.c src/card/pieces.h src/card/png.c src/card/png.h \
	src/card/preset_file.c src/card/preset_file.h src/card/receipt.c src/card/receipt.h src/card/regex_file.c \
	src/card/regex_file.h src/card/shape.c src/card/shape.h src/card/thchat.c
EXTRA_DIST += src/card/README.md
CARD_LIBS = libcard.a $(BASE_LIBS) $(ARCHIVE_LIBS) $(Z_LIBS)

if HAVE_CMOCKA
card_tests = tests/unit/card_read.t tests/unit/card_png.t tests/unit/card_charx.t tests/unit/card_lore.t \
	tests/unit/card_preset.t tests/unit/card_regex.t tests/unit/card_chat.t tests/unit/card_thchat.t
check_PROGRAMS += $(card_tests)
tests_unit_card_read_t_SOURCES = tests/unit/card_read.c tests/unit/card_help.h
tests_unit_card_read_t_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
tests_unit_card_read_t_LDADD = $(CARD_LIBS) $(CMOCKA_LIBS)
tests_unit_card_png_t_SOURCES = tests/unit/card_png.c tests/unit/card_help.h
tests_unit_card_png_t_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
tests_unit_card_png_t_LDADD = $(CARD_LIBS) $(CMOCKA_LIBS)
tests_unit_card_charx_t_SOURCES = tests/unit/card_charx.c tests/unit/card_help.h
tests_unit_card_charx_t_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
tests_unit_card_charx_t_LDADD = $(CARD_LIBS) $(CMOCKA_LIBS)
tests_unit_card_lore_t_SOURCES = tests/unit/card_lore.c tests/unit/card_help.h
tests_unit_card_lore_t_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
tests_unit_card_lore_t_LDADD = $(CARD_LIBS) $(CMOCKA_LIBS)
tests_unit_card_preset_t_SOURCES = tests/unit/card_preset.c tests/unit/card_help.h
tests_unit_card_preset_t_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
tests_unit_card_preset_t_LDADD = $(CARD_LIBS) $(CMOCKA_LIBS)
tests_unit_card_regex_t_SOURCES = tests/unit/card_regex.c tests/unit/card_help.h
tests_unit_card_regex_t_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
tests_unit_card_regex_t_LDADD = $(CARD_LIBS) $(CMOCKA_LIBS)
tests_unit_card_chat_t_SOURCES = tests/unit/card_chat.c tests/unit/card_help.h
tests_unit_card_chat_t_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
tests_unit_card_chat_t_LDADD = $(CARD_LIBS) $(CMOCKA_LIBS)
tests_unit_card_thchat_t_SOURCES = tests/unit/card_thchat.c tests/unit/card_help.h
tests_unit_card_thchat_t_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
tests_unit_card_thchat_t_LDADD = $(CARD_LIBS) $(CMOCKA_LIBS)
endif

if FUZZERS
noinst_PROGRAMS += tests/fuzz/card_json tests/fuzz/card_png tests/fuzz/card_charx tests/fuzz/card_preset \
	tests/fuzz/card_lore tests/fuzz/card_chat tests/fuzz/card_thchat
tests_fuzz_card_json_SOURCES = tests/fuzz/card_json.c tests/fuzz/card_fuzz.h
tests_fuzz_card_json_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_CFLAGS)
tests_fuzz_card_json_LDADD = $(CARD_LIBS)
tests_fuzz_card_png_SOURCES = tests/fuzz/card_png.c tests/fuzz/card_fuzz.h
tests_fuzz_card_png_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_CFLAGS)
tests_fuzz_card_png_LDADD = $(CARD_LIBS)
tests_fuzz_card_charx_SOURCES = tests/fuzz/card_charx.c tests/fuzz/card_fuzz.h
tests_fuzz_card_charx_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_CFLAGS)
tests_fuzz_card_charx_LDADD = $(CARD_LIBS)
tests_fuzz_card_preset_SOURCES = tests/fuzz/card_preset.c tests/fuzz/card_fuzz.h
tests_fuzz_card_preset_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_CFLAGS)
tests_fuzz_card_preset_LDADD = $(CARD_LIBS)
tests_fuzz_card_lore_SOURCES = tests/fuzz/card_lore.c tests/fuzz/card_fuzz.h
tests_fuzz_card_lore_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_CFLAGS)
tests_fuzz_card_lore_LDADD = $(CARD_LIBS)
tests_fuzz_card_chat_SOURCES = tests/fuzz/card_chat.c tests/fuzz/card_fuzz.h
tests_fuzz_card_chat_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_CFLAGS)
tests_fuzz_card_chat_LDADD = $(CARD_LIBS)
tests_fuzz_card_thchat_SOURCES = tests/fuzz/card_thchat.c tests/fuzz/card_fuzz.h
tests_fuzz_card_thchat_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_CFLAGS)
tests_fuzz_card_thchat_LDADD = $(CARD_LIBS)
endif

# For tests/integration/npm_formats.t.
EXTRA_PROGRAMS += tests/tools/cardtool
tests_tools_cardtool_SOURCES = tests/tools/cardtool.c
tests_tools_cardtool_LDADD = $(CARD_LIBS)
test-tools: tests/tools/cardtool tests/vectors/run
