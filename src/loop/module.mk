noinst_LIBRARIES += libloop.a
libloop_a_SOURCES = src/loop/loop.c src/loop/loop.h
EXTRA_DIST += src/loop/README.md
LOOP_LIBS = libloop.a $(BASE_LIBS)

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/loop_loop.t
tests_unit_loop_loop_t_SOURCES = tests/unit/loop_loop.c
tests_unit_loop_loop_t_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
tests_unit_loop_loop_t_LDADD = $(LOOP_LIBS) $(CMOCKA_LIBS)
endif
