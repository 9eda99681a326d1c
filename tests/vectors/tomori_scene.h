/* tomori_scene: clock, names, tools and chance of a case in TomoriBot's dialect. */
#ifndef TESTS_TOMORI_SCENE_H
#define TESTS_TOMORI_SCENE_H

#include "macro/tomori.h"
#include "vectors.h"

struct tomori_scene {
	struct macro_env env;
	struct macro_member member;
	const struct json *tools, *random;
	size_t next;
	struct ctx *c;
};

void tomori_scene(struct ctx *c, struct tomori_scene *s, const struct json *input);

#endif
