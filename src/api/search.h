/*
 * search: messages by their words, for api/messages.
 */
#ifndef API_SEARCH_H
#define API_SEARCH_H

#include "http/request.h"

/* Answers a list of messages that asks for words (query parameter q; route.arg is the resource). */
int search_messages(struct request *r);

#endif
