noinst_LIBRARIES += libapi.a
libapi_a_SOURCES = \
	src/api/accounts.c \
	src/api/app.c \
	src/api/app.h \
	src/api/assets.c \
	src/api/assets.h \
	src/api/branches.c \
	src/api/characters.c \
	src/api/documents.c \
	src/api/documents.h \
	src/api/entries.c \
	src/api/entries.h \
	src/api/explain.c \
	src/api/excerpt.c \
	src/api/excerpt.h \
	src/api/exports.c \
	src/api/floors.c \
	src/api/imports.c \
	src/api/macros.c \
	src/api/messages.c \
	src/api/metrics.c \
	src/api/page_compare.c \
	src/api/pages.c \
	src/api/preset_entries.c \
	src/api/preset_nodes.c \
	src/api/preset_view.h \
	src/api/presets.c \
	src/api/prompt_runtime.c \
	src/api/regex_profiles.c \
	src/api/relay.c \
	src/api/relay.h \
	src/api/rest.c \
	src/api/rest.h \
	src/api/runs.c \
	src/api/search.c \
	src/api/search.h \
	src/api/sessions.c \
	src/api/sessions.h \
	src/api/streams.c \
	src/api/streams.h \
	src/api/system.c \
	src/api/tables.c \
	src/api/transfers.c \
	src/api/tables.h \
	src/api/timeline.c \
	src/api/turns.c \
	src/api/users.c \
	src/api/variable_log.c \
	src/api/variables.c \
	src/api/wire.h \
	src/api/wire_capabilities.c \
	src/api/wire_pages.c \
	src/api/wire_prompt.c \
	src/api/wire_prompt_runtime.c \
	src/api/wire_settings.c \
	src/api/wire_turn.c \
	src/api/worldbook_entries.c \
	src/api/worldbook_simulate.c \
	src/api/worldbooks.c

# The server: everything, in link order (highest layer first).
sbin_PROGRAMS += tavernd
tavernd_SOURCES = src/tavernd.c
tavernd_LDADD = libdaemon.a libapi.a libjob.a libchat.a libturn.a libevent.a libprompt.a libcard.a liblore.a libregex.a libmacro.a libtoken.a libauth.a \
	libllm.a libhttp.a libpeer.a libstream.a libloop.a libstore.a libdb.a $(BASE_LIBS) $(FCGI_LIBS) $(CURL_LIBS) $(PCRE2_LIBS) \
	$(ARCHIVE_LIBS) $(Z_LIBS) $(PQ_LIBS)

# Every setting with its default and meaning, as the server itself knows them.
conf_DATA += tavernd.conf.sample
tavernd.conf.sample: tavernd$(EXEEXT)
	$(AM_V_GEN)./tavernd$(EXEEXT) -p >$@.tmp && mv $@.tmp $@

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/api_excerpt.t
tests_unit_api_excerpt_t_SOURCES = tests/unit/api_excerpt.c
tests_unit_api_excerpt_t_LDADD = libapi.a $(BASE_LIBS) $(CMOCKA_LIBS)
endif
