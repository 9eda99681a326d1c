/*
 * transfer: see transfer.h. One job of an account runs at a time: who queues a hundred exports does not keep
 * others waiting.
 */
#include "job/transfer.h"

#include "base/id.h"
#include "base/limits.h"
#include "base/tm.h"
#include "chat/chat.h"
#include "job/kinds.h"
#include "settings.h"
#include "store/words.h"

#include <stdio.h>

#define ID_TAIL 12
#define ATTEMPTS 5

_Static_assert(JOB_PIECE <= PIECES_ROOM, "a fetch gives a piece");

int
transfer_queue(struct ctx *c, struct transfer *t)
{
	struct id id = id_new(c->now);
	struct job_new n = { .kind = t->kind, .scope = "transfer", .args = t->args, .attempts = ATTEMPTS };
	int64_t no;

	n.id = t->id = arena_printf(c->a, "chat-transfer-job:%s:%s", t->kind, id.s + ID_LEN - ID_TAIL);
	if (job_enqueue(c, &n, &no) < 0)
		return -1;
	return t->input.n > 0 ? job_file_write(c, no, JOB_INPUT, 0, t->input) : 0;
}

static int
step(void *arg, const char *phase, int64_t done, int64_t total)
{
	return job_progress(arg, phase, done, total);
}

/* ---- import ---- */

struct input {
	struct job *j;
	int64_t at; /* of the piece that is wanted */
	struct str piece;
};

static int
input_size_tx(struct ctx *c, void *arg)
{
	struct chat_import *w = arg;
	const struct job *j = w->arg;
	struct rows *rs = db_query(c, STMT_job_file_size, P_INT(j->no), P_C("input"));

	if (rows_next(rs) <= 0)
		return -1;
	w->text.size = row_int(rs, 0);
	return w->text.size > 0
		   ? 0
		   : fail(c, ERR_GONE, "artifact_expired", "the file of the import is no longer kept");
}

static int
input_tx(struct ctx *c, void *arg)
{
	struct input *in = arg;
	int rc = job_file_read(c, in->j->no, JOB_INPUT, in->at, &in->piece);

	return rc > 0   ? 0
	       : rc < 0 ? -1
			: fail(c, ERR_GONE, "artifact_expired", "the file of the import is no longer kept");
}

static int64_t
input_fetch(void *arg, int64_t at, char *to)
{
	struct input *in = arg;
	struct ctx *c = in->j->c;
	struct arena_mark m = arena_mark(c->a);

	in->at = at - at % JOB_PIECE;
	if (db_tx(c, DB_READ, input_tx, in) < 0)
		return -1;
	in->piece = str_sub(in->piece, (size_t)(at - in->at), in->piece.n);
	memcpy(to, in->piece.p, in->piece.n);
	arena_rewind(c->a, m);
	return (int64_t)in->piece.n;
}

static int
import_last(struct ctx *c, void *arg, struct str result)
{
	(void)c;
	return job_done(arg, result, 0);
}

/* The job is done; its thread goes on for the sake of those who search next. What fails here the next round
 * makes good. */
static void
fill_words(struct job *j)
{
	int rc = WORDS_MORE;

	while (rc == WORDS_MORE && !(j->stopping && j->stopping(j->stopping_arg)))
		rc = words_fill(j->c, 1, tm_now() + 1000);
	err_clear(j->c);
}

int
transfer_import(struct job *j)
{
	const struct job_env *env = j->env;
	struct input in = { .j = j };
	struct chat_import w = { .text = { .fetch = input_fetch, .arg = &in },
		.title = json_get_str(j->args, "title"),
		.character_id = json_get_str(j->args, "character_id"),
		.model = env->set->llm_model,
		.step = step,
		.last = import_last,
		.arg = j };

	if (job_progress(j, "parsing", 0, 0) < 0 || db_tx(j->c, DB_READ, input_size_tx, &w) < 0)
		return -1;
	if (chat_import(j->c, &w) < 0)
		return -1;
	fill_words(j);
	return 0;
}

/* ---- export ---- */

struct output {
	struct job *j;
	struct chat_export w;
	char *piece; /* JOB_PIECE bytes, filled so far: */
	size_t fill;
	int64_t at; /* of the piece */
	struct str send;
	char name[LIM_NAME * 4 + 16]; /* the export's own lives in memory that it gives back */
};

static int
drop_tx(struct ctx *c, void *arg)
{
	const struct output *o = arg;

	return db_exec(c, STMT_job_file_drop, P_INT(o->j->no), P_C("output")) < 0 ? -1 : 0;
}

static int
piece_tx(struct ctx *c, void *arg)
{
	const struct output *o = arg;

	return job_file_write(c, o->j->no, JOB_OUTPUT, o->at, o->send);
}

static int
piece_out(struct output *o)
{
	struct ctx *c = o->j->c;

	if (o->fill == 0)
		return 0;
	o->send = (struct str){ o->piece, o->fill };
	if (db_tx(c, DB_WRITE, piece_tx, o) < 0)
		return -1;
	o->at += (int64_t)o->fill;
	o->fill = 0;
	return o->at > (int64_t)LIM_EXPORT_FILE
		   ? fail(c, ERR_TOO_LARGE, "chat_too_large", "the file would be larger than %u MiB",
			 LIM_EXPORT_FILE >> 20)
		   : 0;
}

static int
begin(void *arg, const char *file_name, const char *type)
{
	struct output *o = arg;

	(void)type;
	snprintf(o->name, sizeof(o->name), "%s", file_name);
	return 0;
}

static int
take(void *arg, struct str bytes)
{
	struct output *o = arg;

	while (bytes.n > 0) {
		size_t n = bytes.n < JOB_PIECE - o->fill ? bytes.n : JOB_PIECE - o->fill;

		memcpy(o->piece + o->fill, bytes.p, n);
		o->fill += n;
		bytes = str_sub(bytes, n, bytes.n);
		if (o->fill == JOB_PIECE && piece_out(o) < 0)
			return -1;
	}
	return 0;
}

static int
export_step(void *arg, const char *phase, int64_t done, int64_t total)
{
	const struct output *o = arg;

	return job_progress(o->j, phase, done, total);
}

static int
export_done_tx(struct ctx *c, void *arg)
{
	struct output *o = arg;
	const struct job_env *env = o->j->env;
	struct sb s = sb_new(c->a);

	sb_addf(&s, "{\"byteLength\":%lld,\"format\":\"%s\",\"fileName\":", (long long)o->at,
	    o->w.format == CHAT_THCHAT ? "thchat" : "st_jsonl");
	sb_add_json(&s, str_c(o->name));
	sb_addc(&s, '}');
	return job_done(o->j, sb_str(&s), c->now + env->set->chat_file_keep);
}

int
transfer_export(struct job *j)
{
	struct output *o = arena_new(j->c->a, struct output);

	o->j = j;
	o->w = (struct chat_export){ .session_id = json_get_str(j->args, "requested_session_id"),
		.variables = json_get_bool(j->args, "include_variables", true),
		.format = str_is(json_get_str(j->args, "format"), "st_jsonl") ? CHAT_JSONL : CHAT_THCHAT,
		.begin = begin,
		.write = take,
		.step = export_step,
		.arg = o };
	o->piece = arena_alloc_raw(j->c->a, JOB_PIECE);
	if (job_progress(j, "snapshotting", 0, 0) < 0 || db_tx(j->c, DB_WRITE, drop_tx, o) < 0)
		return -1;
	if (chat_export(j->c, &o->w) < 0 || piece_out(o) < 0)
		return -1;
	return db_tx(j->c, DB_WRITE, export_done_tx, o);
}
