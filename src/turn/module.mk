noinst_LIBRARIES += libturn.a
libturn_a_SOURCES = \
	src/turn/again.c \
	src/turn/assemble.c \
	src/turn/asset_cache.c \
	src/turn/asset_cache.h \
	src/turn/commit.c \
	src/turn/explain.c \
	src/turn/explain.h \
	src/turn/follow.c \
	src/turn/follow.h \
	src/turn/fork.c \
	src/turn/fork.h \
	src/turn/gather.c \
	src/turn/greeting.c \
	src/turn/greeting.h \
	src/turn/history.c \
	src/turn/inspect.c \
	src/turn/key.c \
	src/turn/key.h \
	src/turn/look.c \
	src/turn/look.h \
	src/turn/persist.c \
	src/turn/record.c \
	src/turn/replay.c \
	src/turn/replay.h \
	src/turn/report.c \
	src/turn/run.c \
	src/turn/run.h \
	src/turn/scope.c \
	src/turn/simulate.c \
	src/turn/simulate.h \
	src/turn/tag_filter.c \
	src/turn/tag_filter.h \
	src/turn/timing.c \
	src/turn/turn.c \
	src/turn/turn.h \
	src/turn/turn_private.h \
	src/turn/writes.c

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/turn_decisions.t tests/unit/turn_follow.t tests/unit/turn_tag_filter.t tests/unit/turn_asset_cache.t
tests_unit_turn_decisions_t_SOURCES = tests/unit/turn_decisions.c $(PG_TEST)
tests_unit_turn_decisions_t_LDADD = libturn.a libevent.a libprompt.a libcard.a liblore.a libregex.a libmacro.a libtoken.a libstore.a libllm.a libstream.a \
	libloop.a $(DB_LIBS) $(CURL_LIBS) $(PCRE2_LIBS) $(ARCHIVE_LIBS) $(Z_LIBS) $(CMOCKA_LIBS)
tests_unit_turn_follow_t_SOURCES = tests/unit/turn_follow.c $(PG_TEST)
tests_unit_turn_follow_t_LDADD = $(tests_unit_turn_decisions_t_LDADD)
tests_unit_turn_tag_filter_t_SOURCES = tests/unit/turn_tag_filter.c
tests_unit_turn_tag_filter_t_LDADD = libturn.a $(BASE_LIBS) $(CMOCKA_LIBS)
tests_unit_turn_asset_cache_t_SOURCES = tests/unit/turn_asset_cache.c
tests_unit_turn_asset_cache_t_LDADD = libturn.a $(BASE_LIBS) $(CMOCKA_LIBS)
endif
