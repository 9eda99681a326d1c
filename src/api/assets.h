/*
 * assets: what users and characters share: one document per version, a status, a revision that
 * guards writes.
 */
#ifndef API_ASSETS_H
#define API_ASSETS_H

#include "api/rest.h"
#include "base/limits.h"
#include "base/sb.h"
#include "base/utf8.h"
#include "store/asset.h"

/* SQL of the head's document over the asset `t`: these kinds have no entries. */
#define ASSET_DOC \
	"(SELECT d.body FROM asset_version v JOIN document d ON d.account_no = acct() AND d.no = v.body_no " \
	"WHERE v.account_no = acct() AND v.no = t.head_no)"

struct asset_route {
	enum asset_kind asset;
	const struct resource *res;
};

struct asset_write {
	struct str name;
	struct asset_content content;
	struct asset asset;
	struct sb out;
};

#define ASSET_ARCHIVE "application/zip" /* stored type of a card that came as a CHARX */

/* The picture of a stored file: itself, or the icon of an archive; absent if it has none. */
struct str asset_picture(struct arena *a, struct str stored, const char *mime);
/* All inside db_tx. The asset as its resource prints it; 0 or -1. */
int asset_answer(struct request *r, const struct asset_route *k, struct str id, struct sb *out);
/*
 * Sets the status ("deleted" marks it deleted, "active" also restores); revision -1 = no check.
 * 1 with the new revision, 0 not found, -1 (stale: ERR_CONFLICT).
 */
int asset_status(struct request *r, const struct asset_route *k, struct str id, struct str status, int64_t expected, int64_t *revision_out);

/* Handlers; route.arg is the asset_route. */
int asset_batch_delete(struct request *r);
int asset_batch_status(struct request *r);

#endif
