/*
 * transfer: chats in and out as jobs: what the API queues (transfer_queue) and what tavern-jobd runs.
 */
#ifndef JOB_TRANSFER_H
#define JOB_TRANSFER_H

#include "job/job.h"

#define TRANSFER_IMPORT "import_chat"
#define TRANSFER_EXPORT "export_chat"

struct transfer {
	const char *kind;
	struct str args;  /* JSON: format, title, character_id, requested_session_id, include_variables … */
	struct str input; /* the file of an import */
	const char *id;   /* out */
};

/* Inside db_tx DB_WRITE; wake the runner afterwards. */
int transfer_queue(struct ctx *c, struct transfer *t);

/* The functions of the kinds. */
int transfer_import(struct job *j);
int transfer_export(struct job *j);

#endif
