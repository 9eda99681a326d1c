#include "api/relay.h"

#include "peer/peer.h"
#include "stream/stream.h"
#include "turn/turn.h"

/* Loop thread: a connection that another worker was asked for becomes a reader here. */
static bool
adopt(void *arg, const struct peer_reader *r, int fd)
{
	struct app *app = arg;
	struct stream *s = stream_find(r->run_no);

	if (s == NULL)
		return false;
	server_adopt(app->server,
	    &(struct server_adopted){ .fd = fd, .request_id = r->request_id, .keep = r->keep, .observer = r->observer, .from = { r->event, r->text, r->reasoning } },
	    s);
	stream_release(s);
	return true;
}

static bool
cancel(void *arg, int64_t run_no)
{
	struct app *app = arg;

	return turns_cancel(app->turns, run_no, "cancelled by request");
}

void
relay_start(struct app *app)
{
	const struct peer_handlers h = { .arg = app, .attach = adopt, .cancel = cancel };
	const char *why = NULL;

	if (app->server == NULL)
		return;
	app->peer = peer_create(app->arena, app->loop, app->set->listen_dir, app->worker, &h, &why);
	if (app->peer == NULL) {
		log_warn("relay.not_started", "reason=\"%s\"", why);
		app->peer = peer_asker(app->arena, app->set->listen_dir, app->worker);
	}
}

void
relay_stop(struct app *app)
{
	peer_destroy(app->peer);
}
