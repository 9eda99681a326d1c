noinst_LIBRARIES += libpeer.a
libpeer_a_SOURCES = src/peer/peer.c src/peer/peer.h
EXTRA_DIST += src/peer/README.md
PEER_LIBS = libpeer.a $(LOOP_LIBS)

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/peer_peer.t
tests_unit_peer_peer_t_SOURCES = tests/unit/peer_peer.c
tests_unit_peer_peer_t_LDADD = $(PEER_LIBS) $(CMOCKA_LIBS)
endif
