noinst_LIBRARIES += libauth.a
libauth_a_SOURCES = src/auth/account.c src/auth/account.h src/auth/auth.c src/auth/auth.h src/auth/b64.c src/auth/b64.h src/auth/jwk.c src/auth/jwt.c src/auth/jwt.h \
	src/auth/keyring.c src/auth/keyring.h src/auth/secret.c src/auth/secret.h src/auth/token_cache.c src/auth/token_cache.h
EXTRA_DIST += src/auth/README.md
AUTH_LIBS = libauth.a $(DB_LIBS)

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/auth_account.t tests/unit/auth_auth.t tests/unit/auth_jwt.t tests/unit/auth_secret.t
tests_unit_auth_account_t_SOURCES = tests/unit/auth_account.c src/ctl_account.c $(PG_TEST)
tests_unit_auth_account_t_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
tests_unit_auth_account_t_LDADD = libdaemon.a $(AUTH_LIBS) $(CMOCKA_LIBS)
tests_unit_auth_auth_t_SOURCES = tests/unit/auth_auth.c tests/unit/auth_tokens.h
tests_unit_auth_auth_t_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
tests_unit_auth_auth_t_LDADD = $(AUTH_LIBS) $(CMOCKA_LIBS)
tests_unit_auth_jwt_t_SOURCES = tests/unit/auth_jwt.c tests/unit/auth_tokens.h
tests_unit_auth_jwt_t_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
tests_unit_auth_jwt_t_LDADD = $(AUTH_LIBS) $(CMOCKA_LIBS)
tests_unit_auth_secret_t_SOURCES = tests/unit/auth_secret.c
tests_unit_auth_secret_t_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
tests_unit_auth_secret_t_LDADD = $(AUTH_LIBS) $(CMOCKA_LIBS)
endif
