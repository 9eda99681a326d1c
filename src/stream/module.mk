noinst_LIBRARIES += libstream.a
libstream_a_SOURCES = src/stream/stream.c src/stream/stream.h
EXTRA_DIST += src/stream/README.md
STREAM_LIBS = libstream.a $(LOOP_LIBS)

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/stream_stream.t
tests_unit_stream_stream_t_SOURCES = tests/unit/stream_stream.c
tests_unit_stream_stream_t_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
tests_unit_stream_stream_t_LDADD = $(STREAM_LIBS) $(CMOCKA_LIBS)
endif
