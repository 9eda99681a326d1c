/*
 * libFuzzer: the macro engine in the sillytavern dialect.
 */
#include "macro_fuzz.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_dialect(data, size, MACRO_SILLYTAVERN);
	return 0;
}
