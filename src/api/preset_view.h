/* preset_view: what the files of presets share. */
#ifndef API_PRESET_VIEW_H
#define API_PRESET_VIEW_H

#include "base/json.h"

/* character_id of the track that runs; 100001 if the preset has none. */
int64_t preset_default_track(const struct json *doc);
/* Whether that member of a prompt has a field of its own in the API. */
bool preset_entry_knows(struct str member);

#endif
