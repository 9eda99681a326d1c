noinst_LIBRARIES += libprompt.a
libprompt_a_SOURCES = \
	src/prompt/arrange.c src/prompt/arrange.h src/prompt/arrange_read.c \
	src/prompt/assemble.c src/prompt/budget.c src/prompt/card.c src/prompt/compat.c src/prompt/deliver.c \
	src/prompt/example.c src/prompt/history.c src/prompt/inject.c src/prompt/input.c src/prompt/layout.c \
	src/prompt/marker.c src/prompt/native.c src/prompt/order.c src/prompt/plain.c src/prompt/policy.c src/prompt/preset.c src/prompt/prompt.h src/prompt/prompt_private.h \
	src/prompt/rearrange.c src/prompt/text.c src/prompt/trace.c src/prompt/trace_chat.c src/prompt/trace_lore.c src/prompt/world.c
PROMPT_LIBS = libprompt.a liblore.a $(MACRO_LIBS) libregex.a $(PCRE2_LIBS) $(BASE_LIBS)
EXTRA_DIST += src/prompt/README.md tests/vectors/assembly.json tests/vectors/st-real.json tests/vectors/rearrange.json
