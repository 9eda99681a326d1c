/*
 * libFuzzer: the macro engine in the default dialect: texts, and messages, which never write.
 */
#include "macro_fuzz.h"

/* A message: nothing is written, and its dialect has no pragma. */
static void
message(const uint8_t *data, size_t size)
{
	struct arena *a = fuzz_arena();
	struct str text = { (const char *)data + 1, size - 1 };
	size_t writes;

	fuzz_eval(a, macro_compile_message(a, text), data[0], MACRO_MESSAGE_READ, &writes);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_dialect(data, size, MACRO_AUTO);
	if (size)
		message(data, size);
	return 0;
}
