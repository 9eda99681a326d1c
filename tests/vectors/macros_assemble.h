/* macros_assemble: the cases of macros.json that need a whole prompt. */
#ifndef TESTS_MACROS_ASSEMBLE_H
#define TESTS_MACROS_ASSEMBLE_H

#include "vectors.h"

int macros_assemble(struct ctx *c, const struct json *case_, struct sb *why);

#endif
