/* Card JSON of every form, with embedded books and scripts. */
#include "card_fuzz.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena *a = arena_create("fuzz", 0);
	struct import_file f = { .bytes = { (const char *)data, size } };
	struct import_error err = { 0 };
	struct card c;

	if (card_read(a, &f, &c, &err) == 0)
		promise_card(a, &c);
	else
		promise_refusal(&err);
	arena_destroy(&a);
	return 0;
}
