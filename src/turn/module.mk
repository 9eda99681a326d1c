noinst_LIBRARIES += libturn.a
libturn_a_SOURCES = \
	src/turn/assemble.c src/turn/asset_cache.c src/turn/asset_cache.h src/turn/commit.c src/turn/gather.c \
	src/turn/greeting.c src/turn/greeting.h src/turn/persist.c src/turn/tag_filter.c src/turn/tag_filter.h \
	src/turn/turn.c src/turn/turn.h src/turn/turn_private.h
