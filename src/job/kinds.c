#include "job/kinds.h"

const struct job_kind job_kinds[] = {
	{ .name = NULL },
};
