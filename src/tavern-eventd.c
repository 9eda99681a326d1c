/*
 * tavern-eventd: tells those who listen what happens: WebSocket /ws and server-sent events /events, behind the web server.
 * SIGTERM, SIGINT: everybody is told to go, then it ends. SIGHUP: if the configuration is good, everybody is told to
 * come back, and the program starts anew in the same process with the same socket.
 */
#include "config.h"

#include "base/log.h"
#include "base/metric.h"
#include "event/eventd.h"
#include "listen.h"
#include "llm/llm.h"
#include "settings.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define GOODBYE_MS 2000
#define CONNECTIONS 3
#define FIRST_FD 3 /* of inherited sockets */

extern char **environ;

struct daemon {
	struct arena *arena;
	struct settings set;
	struct command command;
	char **argv;
	struct loop *loop;
	struct llm *llm; /* only to fetch keys */
	struct db *db, *db_sys;
	struct eventd *eventd;
	const char *path; /* of our socket; NULL = inherited */
	int listen_fd, signal_fd, lock_fd;
	bool again;
};

static void
stop(void *arg)
{
	struct daemon *d = arg;

	loop_stop(d->loop);
}

static void
reload(struct daemon *d)
{
	struct arena *a = arena_create("reload", 0);
	struct settings set;

	d->again = settings_take(a, &set, &d->command) == 0;
	arena_destroy(&a);
	if (d->again)
		eventd_drain(d->eventd, WS_RESTART, GOODBYE_MS, stop, d);
	else
		log_error("event.reload", "the configuration is faulty; the old one stays");
}

static void
signalled(void *arg, uint32_t events)
{
	struct daemon *d = arg;
	struct signalfd_siginfo si;

	(void)events;
	while (read(d->signal_fd, &si, sizeof(si)) == (ssize_t)sizeof(si)) {
		if (si.ssi_signo == SIGHUP && !d->again) {
			reload(d);
		} else if (si.ssi_signo != SIGHUP) {
			d->again = false;
			eventd_drain(d->eventd, WS_AWAY, GOODBYE_MS, stop, d);
		}
	}
}

static int
watch_signals(struct daemon *d)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	if (pthread_sigmask(SIG_SETMASK, &set, NULL) != 0)
		return -1;
	d->signal_fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	return d->signal_fd < 0 ? -1 : loop_watch(d->loop, d->signal_fd, EPOLLIN, signalled, d);
}

/* A listener is a descriptor. */
static void
raise_limits(void)
{
	struct rlimit rl;

	if (getrlimit(RLIMIT_NOFILE, &rl) == 0) {
		rl.rlim_cur = rl.rlim_max;
		setrlimit(RLIMIT_NOFILE, &rl);
	}
	mallopt(M_ARENA_MAX, 2);
	mallopt(M_TRIM_THRESHOLD, 256 << 10);
}

static int
open_socket(struct daemon *d)
{
	const char *why = NULL;
	int first;

	if (listen_inherited(&first) == 1) {
		d->listen_fd = first;
		return 0;
	}
	d->lock_fd = listen_lock(d->arena, d->set.listen_dir, "tavern-eventd", &why);
	if (d->lock_fd >= 0) {
		d->path = arena_printf(d->arena, "%s/eventd.sock", d->set.listen_dir);
		d->listen_fd = listen_open(d->arena, d->path, &why);
	}
	if (d->lock_fd >= 0 && d->listen_fd >= 0)
		return 0;
	log_error("event.listen", "%s", why);
	return -1;
}

/* The key set of jwt_jwks_url: the operator named it, so it may lie in a private network. */
static int
fetch_keys(void *llm, struct ctx *c, const char *url, size_t max, struct str *out)
{
	return llm_fetch(llm, c, &(struct llm_source){ .url = url, .own = true }, max, out);
}

static struct auth *
auth_make(struct daemon *d)
{
	struct auth_conf conf = settings_auth(&d->set);
	struct llm_conf llm = { .connect_ms = (int)d->set.llm_connect_timeout, .total_ms = (int)d->set.llm_connect_timeout, .ca_file = d->set.llm_ca_file };
	const char *why = NULL;
	struct auth *auth;

	if (conf.jwt_jwks_url) {
		d->llm = llm_create(d->loop, &llm);
		conf.fetch = fetch_keys;
		conf.fetch_arg = d->llm;
	}
	auth = auth_create(d->arena, &conf, &why);
	if (auth == NULL)
		log_error("auth.refused", "reason=\"%s\"", why);
	return auth;
}

static int
start(struct daemon *d)
{
	struct db_conf app = settings_db(&d->set, DB_APP, CONNECTIONS), sys = settings_db(&d->set, DB_SYS, CONNECTIONS);
	struct eventd_conf conf = { .dir = d->set.listen_dir, .cors_origins = d->set.cors_origins, .clients_max = (int)d->set.events_max };
	char host[64] = "localhost";

	raise_limits();
	d->loop = loop_create();
	metrics_create(d->set.listen_dir, "tavern-eventd", 0); /* else its numbers are not shown, as the master says of its own */
	if (open_socket(d) < 0 || watch_signals(d) < 0)
		return -1;
	gethostname(host, sizeof(host) - 1);
	d->db = conf.db = db_create(&app, DB_APP);
	d->db_sys = conf.db_sys = db_create(&sys, DB_SYS);
	conf.listen_fd = d->listen_fd;
	conf.auth = auth_make(d);
	conf.peer = peer_asker(d->arena, d->set.listen_dir, arena_printf(d->arena, "%s/eventd", host));
	d->eventd = conf.auth ? eventd_create(d->arena, d->loop, &conf) : NULL;
	return d->eventd ? 0 : -1;
}

/* The same process with the same socket, as a supervisor would start it. */
static void
start_again(struct daemon *d)
{
	char pid[24];

	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	if (d->listen_fd != FIRST_FD)
		dup2(d->listen_fd, FIRST_FD);
	else
		fcntl(FIRST_FD, F_SETFD, 0);
	if (d->lock_fd >= 0)
		fcntl(d->lock_fd, F_SETFD, 0); /* goes on being ours */
	setenv("LISTEN_PID", pid, 1);
	setenv("LISTEN_FDS", "1", 1);
	execvp(d->argv[0], d->argv);
	log_error("event.reload", "error=\"%s\"", strerror(errno));
}

/* To a supervisor that wants to know whether the loop turns. */
static void
alive(void *arg)
{
	struct daemon *d = arg;

	notify("WATCHDOG=1");
	loop_timer(d->loop, notify_watchdog_ms(), alive, d);
}

static int
run(struct daemon *d)
{
	if (start(d) < 0)
		return 1;
	if (notify_watchdog_ms() > 0)
		alive(d);
	notify("READY=1\nSTATUS=serving");
	log_info("event.ready", "pid=%d", (int)getpid());
	loop_run(d->loop);
	eventd_destroy(d->eventd);
	if (d->llm)
		llm_destroy(&d->llm);
	loop_flush(d->loop);
	db_destroy(&d->db);
	db_destroy(&d->db_sys);
	if (d->again)
		start_again(d);
	if (d->path)
		unlink(d->path);
	close(d->signal_fd);
	loop_destroy(&d->loop);
	log_info("event.ended", "pid=%d", (int)getpid());
	return d->again ? 1 : 0;
}

int
main(int argc, char **argv)
{
	static struct daemon d = { .listen_fd = -1, .lock_fd = -1 };
	int rc;

	d.arena = arena_create("eventd", 0);
	d.argv = argv;
	if ((rc = command_read(d.arena, "tavern-eventd", argc, argv, &d.command)) >= 0)
		return rc;
	log_setup("tavern-eventd", LOG_INFO_);
	if (settings_take(d.arena, &d.set, &d.command) < 0)
		return 2;
	if (d.command.check) {
		puts("tavern-eventd: configuration is fine");
		return 0;
	}
	log_setup("tavern-eventd", (enum log_level)d.set.log_level);
	rc = run(&d);
	arena_destroy(&d.arena);
	return rc;
}
