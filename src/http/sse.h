/*
 * sse: server-sent events as text. Pure.
 * Every event has an id: the cursor behind it, "event.text.reasoning", behind the label of its stream: "LABEL.event.text.reasoning".
 * The last event of a stream with a label has the id "LABEL.end".
 */
#ifndef HTTP_SSE_H
#define HTTP_SSE_H

#include "base/sb.h"
#include "stream/stream.h"

/* Appends one event: text becomes `chunk` {"chunk":…}, reasoning `reasoning` {"chunk":…}. */
void sse_add_item(struct sb *out, const struct stream_item *it);
void sse_add_ping(struct sb *out); /* a comment line, which readers skip */
/* Reads an id back; false (out untouched) if it is none that we print. */
bool sse_parse_id(struct str id, struct stream_pos *out);
/* Reads an id of the stream with this label back, or a bare position; the end is STREAM_AT_END. False: of another stream. */
bool sse_parse_id_of(struct str label, struct str id, struct stream_pos *out);

#endif
