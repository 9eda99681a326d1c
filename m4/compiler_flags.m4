# TAV_COMPILER_FLAGS: warnings, language safety, hardening and the instrumentation switches,
# each flag probed. Sets WARN_CFLAGS, SAFE_CFLAGS, TAV_LDFLAGS, FUZZ_CFLAGS and the conditionals.
AC_DEFUN([TAV_TRY_FLAG], [
  AS_VAR_PUSHDEF([ok], [tav_cv_flag_$1])
  AC_CACHE_CHECK([whether $CC accepts $1], ok, [
    tav_save="$CFLAGS"; CFLAGS="$CFLAGS -Werror $1"
    AC_LINK_IFELSE([AC_LANG_PROGRAM()], [AS_VAR_SET(ok, yes)], [AS_VAR_SET(ok, no)])
    CFLAGS="$tav_save"])
  AS_VAR_IF(ok, yes, [$2="$$2 $1"])
  AS_VAR_POPDEF([ok])
])
AC_DEFUN([TAV_COMPILER_FLAGS], [
  WARN_CFLAGS= SAFE_CFLAGS= TAV_LDFLAGS= FUZZ_CFLAGS=
  m4_foreach_w([TAV_F], [-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion
    -Wstrict-prototypes -Wmissing-prototypes -Wold-style-definition -Wpointer-arith
    -Wwrite-strings -Wcast-qual -Wformat=2 -Wvla -Wundef -Wnull-dereference
    -Wimplicit-fallthrough -Wdouble-promotion -Wswitch-enum -Wmissing-format-attribute
    -Wduplicated-cond -Wduplicated-branches -Wlogical-op], [TAV_TRY_FLAG(TAV_F, [WARN_CFLAGS])])
  AS_IF([test "$enable_werror" = yes], [WARN_CFLAGS="$WARN_CFLAGS -Werror"])
  m4_foreach_w([TAV_F], [-fno-strict-aliasing -fwrapv -fno-delete-null-pointer-checks],
    [TAV_TRY_FLAG(TAV_F, [SAFE_CFLAGS])])
  SAFE_CFLAGS="-std=c11 $SAFE_CFLAGS -ffile-prefix-map=\$(srcdir)/=./ -pthread"
  san=$enable_sanitizers
  AS_IF([test "$san" = yes], [san=address,undefined])
  AS_IF([test -n "$san" && test "$san" != no], [
    SAFE_CFLAGS="$SAFE_CFLAGS -fsanitize=$san -fno-sanitize-recover=all -fno-omit-frame-pointer -g"
    enable_hardening=no])
  AS_IF([test "$enable_fuzzers" = yes], [FUZZ_CFLAGS="-fsanitize=fuzzer"; SAFE_CFLAGS="$SAFE_CFLAGS -fsanitize=fuzzer-no-link"; enable_hardening=no])
  AS_IF([test "$enable_coverage" = yes], [SAFE_CFLAGS="$SAFE_CFLAGS --coverage -O0"; enable_hardening=no])
  AS_IF([test "$enable_hardening" != no], [
    m4_foreach_w([TAV_F], [-fstack-protector-strong -fstack-clash-protection -fcf-protection=full
      -ftrivial-auto-var-init=zero -fPIE -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3], [TAV_TRY_FLAG(TAV_F, [SAFE_CFLAGS])])
    m4_foreach([TAV_F], [[-pie], [-Wl,-z,relro], [-Wl,-z,now], [-Wl,-z,noexecstack], [-Wl,-z,defs], [-Wl,--as-needed]],
      [TAV_TRY_FLAG(TAV_F, [TAV_LDFLAGS])])])
  AC_SUBST([WARN_CFLAGS]) AC_SUBST([SAFE_CFLAGS]) AC_SUBST([TAV_LDFLAGS]) AC_SUBST([FUZZ_CFLAGS])
  AM_CONDITIONAL([FUZZERS], [test "$enable_fuzzers" = yes])
])
