# The programs themselves and what they share: settings, master, worker.
noinst_LIBRARIES += libdaemon.a
libdaemon_a_SOURCES = src/listen.c src/listen.h src/master.c src/master.h src/settings.c src/settings.h \
	src/worker.c src/worker.h
DAEMON_LIBS = libdaemon.a $(HTTP_LIBS)

# The smallest application, for the tests of the HTTP side.
noinst_PROGRAMS += tests/tools/httpdemo
tests_tools_httpdemo_SOURCES = tests/tools/httpdemo.c
tests_tools_httpdemo_LDADD = $(DAEMON_LIBS)

bin_PROGRAMS += tavernctl
tavernctl_SOURCES = src/tavernctl.c src/ctl.h src/ctl_account.c src/ctl_assemble.c src/ctl_chat.c src/ctl_lore.c src/ctl_macro.c \
	src/ctl_migrate.c src/ctl_replay.c src/ctl_scene.c src/ctl_scene.h
tavernctl_LDADD = libchat.a libdaemon.a libturn.a libevent.a libprompt.a libcard.a liblore.a libmacro.a libregex.a libtoken.a libstore.a libllm.a libstream.a libloop.a $(AUTH_LIBS) $(CURL_LIBS) $(PCRE2_LIBS) $(ARCHIVE_LIBS) $(Z_LIBS)
script_tests += tests/unit/ctl_assemble.t tests/unit/ctl_lore.t tests/unit/ctl_macro.t
EXTRA_DIST += tests/unit/ctl_assemble.t tests/unit/ctl_lore.t tests/unit/ctl_macro.t
