noinst_LIBRARIES += libprompt.a
libprompt_a_SOURCES = \
	src/prompt/arrange.c src/prompt/arrange.h src/prompt/arrange_read.c \
	src/prompt/assemble.c src/prompt/budget.c src/prompt/card.c src/prompt/choice.c src/prompt/compat.c src/prompt/decision.c src/prompt/deliver.c \
	src/prompt/example.c src/prompt/explain.c src/prompt/history.c src/prompt/inject.c src/prompt/input.c src/prompt/layout.c \
	src/prompt/marker.c src/prompt/native.c src/prompt/note.c src/prompt/order.c src/prompt/plain.c src/prompt/policy.c src/prompt/preset.c src/prompt/preset_fields.c src/prompt/preview.c src/prompt/prompt.h src/prompt/prompt_private.h \
	src/prompt/rearrange.c src/prompt/reply.c src/prompt/runtime_policy.c src/prompt/runtime_policy.h src/prompt/step.c src/prompt/text.c src/prompt/trace.c src/prompt/trace_chat.c src/prompt/trace_lore.c src/prompt/world.c
PROMPT_LIBS = libprompt.a liblore.a $(MACRO_LIBS) libregex.a $(PCRE2_LIBS) $(BASE_LIBS)
EXTRA_DIST += src/prompt/README.md tests/vectors/assembly.json tests/vectors/st-real.json tests/vectors/rearrange.json
EXTRA_PROGRAMS += bench/assemble
bench_assemble_SOURCES = bench/assemble.c
bench_assemble_LDADD = $(PROMPT_LIBS)

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/prompt_assemble.t tests/unit/prompt_owner.t tests/unit/prompt_page.t tests/unit/prompt_policy.t
tests_unit_prompt_owner_t_SOURCES = tests/unit/prompt_owner.c
tests_unit_prompt_owner_t_LDADD = $(PROMPT_LIBS) $(CMOCKA_LIBS)
tests_unit_prompt_page_t_SOURCES = tests/unit/prompt_page.c
tests_unit_prompt_page_t_LDADD = $(PROMPT_LIBS) $(CMOCKA_LIBS)
tests_unit_prompt_policy_t_SOURCES = tests/unit/prompt_policy.c
tests_unit_prompt_policy_t_LDADD = $(PROMPT_LIBS) $(CMOCKA_LIBS)
tests_unit_prompt_assemble_t_SOURCES = tests/unit/prompt_assemble.c
tests_unit_prompt_assemble_t_LDADD = $(PROMPT_LIBS) $(CMOCKA_LIBS)
endif

if FUZZERS
noinst_PROGRAMS += tests/fuzz/prompt
tests_fuzz_prompt_SOURCES = tests/fuzz/prompt.c
tests_fuzz_prompt_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_CFLAGS)
tests_fuzz_prompt_LDADD = $(PROMPT_LIBS)
endif
