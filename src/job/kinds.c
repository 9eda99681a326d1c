#include "job/kinds.h"

#include "job/transfer.h"

/* clang-format off */
const struct job_kind job_kinds[] = {
	/* name            function          tries  lease   first wait */
	{ TRANSFER_IMPORT, transfer_import,  5,     60000,  2000 },
	{ TRANSFER_EXPORT, transfer_export,  5,     60000,  2000 },
	{ .name = NULL },
};
/* clang-format on */
