/*
 * relay: streams and runs that another worker of this host has. Sends connections there, adopts those that come, passes
 * cancels on. Nothing here knows what a turn is.
 */
#ifndef API_RELAY_H
#define API_RELAY_H

#include "api/app.h"

void relay_start(struct app *app); /* after the server; without its socket a worker still serves, but nobody finds its streams */
void relay_stop(struct app *app);  /* loop thread */

#endif
