#include "api/assets.h"

#include "card/card.h"

int
asset_answer(struct request *r, const struct asset_route *k, struct str id, struct sb *out)
{
	int rc;

	sb_truncate(out, 0);
	rc = resource_get(r->ctx, k->res, id, out);
	return rc == 0 ? rest_not_found(r, k->res) : rc < 0 ? -1 : 0;
}

struct str
asset_picture(struct arena *a, struct str stored, const char *mime)
{
	struct import_file file = { .bytes = stored, .fallback_name = STR("card") };
	struct import_error err;
	struct card card;

	if (mime == NULL || strcmp(mime, ASSET_ARCHIVE) != 0)
		return stored;
	return card_read(a, &file, &card, &err) < 0 ? STR_NULL : card.picture;
}

int
asset_status(struct request *r, const struct asset_route *k, struct str id, struct str status, int64_t expected, int64_t *revision_out)
{
	const struct asset_kind_row *kind = &asset_kinds[k->asset];
	struct rows *rs = db_query(r->ctx, STMT_asset_set_status, P_C(kind->name), P_STR(id), P_STR(status),
	    str_is(status, "deleted") ? P_INT(r->ctx->now) : P_NULL, P_INT(r->ctx->now), expected >= 0 ? P_INT(expected) : P_NULL);
	int rc = rows_next(rs);

	if (rc <= 0)
		return rc;
	if (row_null(rs, 1)) {
		fail(r->ctx, ERR_CONFLICT, kind->conflict, "%s has been modified by another operation; read it again", kind->label);
		return fail_details(r->ctx, arena_printf(r->ctx->a, "{\"revision\":%lld}", (long long)row_int(rs, 0)));
	}
	if (revision_out)
		*revision_out = row_int(rs, 1);
	return 1;
}

struct batch {
	struct str status;
	struct str told; /* the status that the answer names; absent = they are deleted */
	struct sb ids, out;
};

static int
batch_work(struct request *r, void *arg)
{
	const struct asset_route *k = r->route->arg;
	struct batch *b = arg;
	struct rows *rs = db_query(r->ctx, STMT_asset_batch_status, P_C(asset_kinds[k->asset].name), P_STR(sb_str(&b->ids)), P_STR(b->status),
	    str_is(b->status, "deleted") ? P_INT(r->ctx->now) : P_NULL, P_INT(r->ctx->now));

	return rest_batch_print(rs, b->told, false, &b->out);
}

static int
batch_run(struct request *r, struct str status, struct str told)
{
	struct batch b = { .status = status, .told = told, .ids = sb_new(r->ctx->a), .out = sb_new(r->ctx->a) };

	rest_ids_array(&b.ids, json_get(r->in, "ids"));
	return rest_tx(r, DB_WRITE, batch_work, &b) < 0 ? -1 : reply_data(r, sb_str(&b.out));
}

int
asset_batch_delete(struct request *r)
{
	return batch_run(r, STR("deleted"), STR_NULL);
}

int
asset_batch_status(struct request *r)
{
	struct str status = json_get_str(r->in, "status");

	return batch_run(r, status, status);
}
