# TAV_COMPILER_FLAGS: warnings, language safety, hardening and the instrumentation switches.
# Every flag is tried with the compiler at hand, so an older or another compiler builds too.
# Sets WARN_CFLAGS, SAFE_CFLAGS, HARDEN_CFLAGS, TAV_LDFLAGS, FUZZ_CFLAGS and the conditional FUZZERS.

# TAV_TRY_FLAGS(VARIABLE, FLAGS): appends to VARIABLE each of FLAGS (a shell list) that compiles and
# links without a warning. All at once first: only a compiler that lacks one is asked for each.
# The flags pass through the shell, not through m4: they may hold commas.
AC_DEFUN([TAV_TRY_FLAGS], [
  tav_flags=`echo $2`
  TAV_TRY([$tav_flags], [$1="$$1 $tav_flags"], [
    for tav_flag in $tav_flags; do
      TAV_TRY([$tav_flag], [$1="$$1 $tav_flag"], [])
    done])
])

# TAV_TRY(FLAGS, IF-YES, IF-NO)
AC_DEFUN([TAV_TRY], [
  AC_MSG_CHECKING([whether $CC accepts $1])
  tav_save_CFLAGS="$CFLAGS"
  CFLAGS="$CFLAGS $tav_std $tav_probe -Werror $1"
  AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <stdio.h>]], [[puts("x");]])], [tav_ok=yes], [tav_ok=no])
  CFLAGS="$tav_save_CFLAGS"
  AC_MSG_RESULT([$tav_ok])
  AS_IF([test $tav_ok = yes], [$2], [$3])
])

AC_DEFUN([TAV_COMPILER_FLAGS], [
  WARN_CFLAGS= SAFE_CFLAGS= HARDEN_CFLAGS= TAV_LDFLAGS= FUZZ_CFLAGS=
  tav_std=-std=c11 tav_probe=

  TAV_TRY_FLAGS([WARN_CFLAGS], [-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion dnl
    -Wstrict-prototypes -Wmissing-prototypes -Wold-style-definition -Wpointer-arith dnl
    -Wwrite-strings -Wcast-qual -Wformat=2 -Wvla -Wundef -Wnull-dereference dnl
    -Wimplicit-fallthrough -Wdouble-promotion -Wno-missing-field-initializers -Wswitch-enum -Wmissing-format-attribute])
  TAV_TRY_FLAGS([WARN_CFLAGS], [-Wduplicated-cond -Wduplicated-branches -Wlogical-op]) # gcc only
  AS_IF([test "$enable_werror" = yes], [WARN_CFLAGS="$WARN_CFLAGS -Werror"])

  TAV_TRY_FLAGS([SAFE_CFLAGS], [-fno-strict-aliasing -fwrapv -fno-delete-null-pointer-checks])
  SAFE_CFLAGS="$tav_std$SAFE_CFLAGS -ffile-prefix-map=\$(srcdir)/=./ -pthread"

  # Instrumented builds are for tests: they carry no hardening, which would hide or disturb what they find.
  AS_CASE([$enable_sanitizers], [yes], [tav_sanitize=address,undefined], [no|''], [tav_sanitize=],
    [tav_sanitize=$enable_sanitizers])
  AS_IF([test -n "$tav_sanitize"], [
    tav_instrument="-fsanitize=$tav_sanitize -fno-sanitize-recover=all -fno-omit-frame-pointer"
    AC_MSG_CHECKING([whether $CC accepts $tav_instrument])
    tav_save_CFLAGS="$CFLAGS"; CFLAGS="$CFLAGS $tav_instrument"
    AC_LINK_IFELSE([AC_LANG_PROGRAM()], [AC_MSG_RESULT([yes])],
      [AC_MSG_RESULT([no]); AC_MSG_ERROR([$CC has no -fsanitize=$tav_sanitize])])
    CFLAGS="$tav_save_CFLAGS"
    SAFE_CFLAGS="$SAFE_CFLAGS $tav_instrument"
    enable_hardening=no])
  AS_IF([test "$enable_fuzzers" = yes], [
    AC_MSG_CHECKING([whether $CC has libFuzzer])
    tav_save_CFLAGS="$CFLAGS"; CFLAGS="$CFLAGS -fsanitize=fuzzer"
    AC_LINK_IFELSE([AC_LANG_SOURCE([[#include <stddef.h>
      #include <stdint.h>
      int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n); int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n) { return p == 0 && n; }]])],
      [AC_MSG_RESULT([yes])], [AC_MSG_RESULT([no]); AC_MSG_ERROR([--enable-fuzzers needs CC=clang and its run-time library])])
    CFLAGS="$tav_save_CFLAGS"
    SAFE_CFLAGS="$SAFE_CFLAGS -fsanitize=fuzzer-no-link"
    FUZZ_CFLAGS="-fsanitize=fuzzer"
    enable_hardening=no])
  AS_IF([test "$enable_coverage" = yes], [
    SAFE_CFLAGS="$SAFE_CFLAGS --coverage -O0"
    enable_hardening=no])

  AS_IF([test "$enable_hardening" != no], [
    TAV_TRY_FLAGS([HARDEN_CFLAGS], [-fstack-protector-strong -fstack-clash-protection dnl
      -fcf-protection=full -ftrivial-auto-var-init=zero -fstrict-flex-arrays=3 -fPIE])
    # 3 counts dynamic object sizes; 2 is what older compilers have. Neither works without -O.
    tav_probe=-U_FORTIFY_SOURCE tav_fortify=
    TAV_TRY_FLAGS([tav_fortify], [-D_FORTIFY_SOURCE=3])
    AS_IF([test -z "$tav_fortify"], [TAV_TRY_FLAGS([tav_fortify], [-D_FORTIFY_SOURCE=2])])
    AS_IF([test -n "$tav_fortify"], [HARDEN_CFLAGS="$HARDEN_CFLAGS $tav_probe$tav_fortify"])
    tav_probe=-fPIE
    TAV_TRY_FLAGS([TAV_LDFLAGS], [-pie -Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack -Wl,-z,defs])])
  TAV_TRY_FLAGS([TAV_LDFLAGS], [-Wl,--as-needed])

  AC_SUBST([WARN_CFLAGS]) AC_SUBST([SAFE_CFLAGS]) AC_SUBST([HARDEN_CFLAGS])
  AC_SUBST([TAV_LDFLAGS]) AC_SUBST([FUZZ_CFLAGS])
  AM_CONDITIONAL([FUZZERS], [test "$enable_fuzzers" = yes])
])
