# The outbox and who is told of it. Workers use outbox and wake; the rest is tavern-eventd's.
noinst_LIBRARIES += libevent.a
libevent_a_SOURCES = \
	src/event/client.c \
	src/event/eventd.c \
	src/event/eventd.h \
	src/event/eventd_private.h \
	src/event/head.c \
	src/event/head.h \
	src/event/hub.c \
	src/event/jobs.c \
	src/event/live.c \
	src/event/outbox.c \
	src/event/outbox.h \
	src/event/tell.c \
	src/event/tell.h \
	src/event/wake.c \
	src/event/wake.h \
	src/event/ws.c \
	src/event/ws.h
EXTRA_DIST += src/event/README.md

sbin_PROGRAMS += tavern-eventd
tavern_eventd_SOURCES = src/tavern-eventd.c
tavern_eventd_LDADD = libdaemon.a libevent.a libauth.a libllm.a libpeer.a libhttp.a libstream.a libloop.a libtoken.a $(DB_LIBS) $(CURL_LIBS) $(FCGI_LIBS)

EVENT_LIBS = libevent.a libpeer.a libhttp.a libstream.a libloop.a libauth.a $(DB_LIBS)

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/event_tell.t tests/unit/event_wire.t
tests_unit_event_tell_t_SOURCES = tests/unit/event_tell.c
tests_unit_event_tell_t_LDADD = $(EVENT_LIBS) $(CMOCKA_LIBS)
tests_unit_event_wire_t_SOURCES = tests/unit/event_wire.c
tests_unit_event_wire_t_LDADD = $(EVENT_LIBS) $(CMOCKA_LIBS)
endif

if FUZZERS
noinst_PROGRAMS += tests/fuzz/event_wire
tests_fuzz_event_wire_SOURCES = tests/fuzz/event_wire.c
tests_fuzz_event_wire_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_CFLAGS)
tests_fuzz_event_wire_LDADD = $(EVENT_LIBS)
endif
