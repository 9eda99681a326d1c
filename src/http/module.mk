noinst_LIBRARIES += libhttp.a
libhttp_a_SOURCES = \
	src/http/envelope.c src/http/envelope.h src/http/events.c src/http/exchange.h src/http/fcgi_in.c src/http/fcgi_in.h \
	src/http/fcgi_out.c src/http/fcgi_out.h src/http/openapi.c src/http/reply.c src/http/request.c \
	src/http/request.h src/http/route.h src/http/router.c src/http/router.h \
	src/http/serve.c src/http/server.c src/http/server.h src/http/sse.c src/http/sse.h \
	src/http/upload.c
EXTRA_DIST += src/http/README.md
HTTP_LIBS = libhttp.a $(STREAM_LIBS) $(FCGI_LIBS)

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/http_fcgi_out.t tests/unit/http_openapi.t tests/unit/http_router.t \
	tests/unit/http_server.t tests/unit/http_sse.t
tests_unit_http_fcgi_out_t_SOURCES = tests/unit/http_fcgi_out.c
tests_unit_http_fcgi_out_t_LDADD = $(HTTP_LIBS) $(CMOCKA_LIBS)
tests_unit_http_openapi_t_SOURCES = tests/unit/http_openapi.c
tests_unit_http_openapi_t_LDADD = $(HTTP_LIBS) $(CMOCKA_LIBS)
tests_unit_http_router_t_SOURCES = tests/unit/http_router.c
tests_unit_http_router_t_LDADD = $(HTTP_LIBS) $(CMOCKA_LIBS)
tests_unit_http_server_t_SOURCES = tests/unit/http_server.c
tests_unit_http_server_t_LDADD = $(HTTP_LIBS) $(CMOCKA_LIBS)
tests_unit_http_sse_t_SOURCES = tests/unit/http_sse.c
tests_unit_http_sse_t_LDADD = $(HTTP_LIBS) $(CMOCKA_LIBS)
endif

if FUZZERS
noinst_PROGRAMS += tests/fuzz/http_fcgi tests/fuzz/http_router
tests_fuzz_http_fcgi_SOURCES = tests/fuzz/http_fcgi.c
tests_fuzz_http_fcgi_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_CFLAGS)
tests_fuzz_http_fcgi_LDADD = $(HTTP_LIBS)
tests_fuzz_http_router_SOURCES = tests/fuzz/http_router.c
tests_fuzz_http_router_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_CFLAGS)
tests_fuzz_http_router_LDADD = $(HTTP_LIBS)
endif
