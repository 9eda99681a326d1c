noinst_LIBRARIES += libllm.a
libllm_a_SOURCES = \
	src/llm/addr.c src/llm/addr.h src/llm/answer.c src/llm/answer.h src/llm/anthropic_build.c src/llm/anthropic_read.c src/llm/build.c src/llm/build.h src/llm/call.c src/llm/call.h src/llm/caps.c src/llm/caps.h src/llm/chat_build.c src/llm/chat_read.c \
	src/llm/clean.c src/llm/clean.h src/llm/dialect.c src/llm/dialect.h src/llm/echo.c src/llm/google_build.c src/llm/google_read.c src/llm/llm.h src/llm/target.c src/llm/target.h src/llm/transfer.c \
	src/llm/resolve.c src/llm/resolve.h src/llm/responses_build.c src/llm/responses_read.c src/llm/sse_in.c src/llm/sse_in.h src/llm/think.c src/llm/think.h src/llm/upstream_error.c src/llm/upstream_error.h
# The rows of models' capabilities as C strings, one JSON object a line.
src/llm/caps_rows.inc: $(top_srcdir)/src/llm/caps.jsonl
	@$(MKDIR_P) src/llm
	$(AM_V_GEN)LC_ALL=C $(AWK) '{ gsub(/\\/, "\\\\"); gsub(/"/, "\\\""); print "\"" $$0 "\"," }' $(top_srcdir)/src/llm/caps.jsonl > $@.tmp && mv $@.tmp $@
src/llm/caps.$(OBJEXT): src/llm/caps_rows.inc
BUILT_SOURCES += src/llm/caps_rows.inc
CLEANFILES += src/llm/caps_rows.inc
EXTRA_DIST += src/llm/caps.jsonl src/llm/README.md
LLM_LIBS = libllm.a $(LOOP_LIBS) $(CURL_LIBS)

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/llm_answer.t tests/unit/llm_call.t tests/unit/llm_mock.t tests/unit/llm_sse.t tests/unit/llm_target.t tests/unit/llm_think.t
tests_unit_llm_call_t_SOURCES = tests/unit/llm_call.c
tests_unit_llm_call_t_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
tests_unit_llm_call_t_LDADD = $(LLM_LIBS) $(CMOCKA_LIBS)
tests_unit_llm_mock_t_SOURCES = tests/unit/llm_mock.c
tests_unit_llm_mock_t_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
tests_unit_llm_mock_t_LDADD = $(LLM_LIBS) $(CMOCKA_LIBS)
tests/unit/llm_mock.log: tests/tools/mockllm$(EXEEXT)
tests_unit_llm_target_t_SOURCES = tests/unit/llm_target.c
tests_unit_llm_target_t_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
tests_unit_llm_target_t_LDADD = $(LLM_LIBS) $(CMOCKA_LIBS)
tests_unit_llm_answer_t_SOURCES = tests/unit/llm_answer.c
tests_unit_llm_answer_t_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
tests_unit_llm_answer_t_LDADD = $(LLM_LIBS) $(CMOCKA_LIBS)
tests_unit_llm_sse_t_SOURCES = tests/unit/llm_sse.c
tests_unit_llm_sse_t_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
tests_unit_llm_sse_t_LDADD = $(LLM_LIBS) $(CMOCKA_LIBS)
tests_unit_llm_think_t_SOURCES = tests/unit/llm_think.c
tests_unit_llm_think_t_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
tests_unit_llm_think_t_LDADD = $(LLM_LIBS) $(CMOCKA_LIBS)
endif

if FUZZERS
noinst_PROGRAMS += tests/fuzz/llm_answer
tests_fuzz_llm_answer_SOURCES = tests/fuzz/llm_answer.c
tests_fuzz_llm_answer_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_CFLAGS)
tests_fuzz_llm_answer_LDADD = $(LLM_LIBS)
endif
