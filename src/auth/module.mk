noinst_LIBRARIES += libauth.a
libauth_a_SOURCES = src/auth/auth.c src/auth/auth.h
