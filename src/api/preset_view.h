/* preset_view: what the files of presets share. */
#ifndef API_PRESET_VIEW_H
#define API_PRESET_VIEW_H

#include "base/json.h"
#include "card/receipt.h"
#include "http/request.h"
#include "store/asset.h"

/* character_id of the track that runs; 100001 if the preset has none. */
int64_t preset_default_track(const struct json *doc);
/* Whether that member of a prompt has a field of its own in the API. */
bool preset_entry_knows(struct str member);

/* preset_nodes.c: what will surprise in mode rearrange, for an import's receipt; the active preset follows imports and deletes. */
void preset_audit(struct arena *a, const struct json *doc, struct receipt *r);
int preset_imported(struct request *r, const struct asset *asset);
int preset_deleted(struct request *r, struct str id);

#endif
