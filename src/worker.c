/*
 * worker: see worker.h. Must not know routes, databases or models.
 *
 * Signals: SIGUSR1 = another generation has taken over (drain, parked connections linger), SIGTERM =
 * stop (drain at once), also sent by the kernel when the master dies.
 */
#include "worker.h"

#include "base/log.h"

#include <signal.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define LINGER_MS 6000     /* above the web server's keepalive_timeout of 5 s */
#define STOP_LINGER_MS 100 /* on a stop nobody uses parked connections again */
#define CANCEL_MS 5000     /* what a cancelled turn has to record that */
#define END_MS 1000        /* for the threads to end */
#define THREAD_STACK (256 << 10)

static void
drained(void *arg)
{
	struct worker *w = arg;

	loop_stop(w->loop);
}

static void
cancel(void *arg)
{
	app_cancel(arg);
}

static void
drain(struct worker *w, int64_t linger_ms)
{
	int64_t bound = w->settings->drain_timeout;

	if (!w->draining) {
		log_info("worker.drain", "worker=%s", w->name);
		loop_timer(w->loop, bound, cancel, w);
	}
	w->draining = true;
	server_drain(w->server, linger_ms, bound + CANCEL_MS, drained, w);
}

static void
signalled(void *arg, uint32_t events)
{
	struct worker *w = arg;
	struct signalfd_siginfo si;

	(void)events;
	while (read(w->signal_fd, &si, sizeof(si)) == (ssize_t)sizeof(si))
		drain(w, si.ssi_signo == SIGUSR1 ? LINGER_MS : STOP_LINGER_MS);
}

/* All signals that concern us are read on the loop; every thread inherits the mask. */
static int
watch_signals(struct worker *w)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGUSR1);
	signal(SIGHUP, SIG_IGN); /* to the group, by a terminal: the master's business */
	signal(SIGINT, SIG_IGN);
	if (pthread_sigmask(SIG_SETMASK, &set, NULL) != 0)
		return -1;
	w->signal_fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	return w->signal_fd < 0 ? -1 : loop_watch(w->loop, w->signal_fd, EPOLLIN, signalled, w);
}

static void
server_settings(struct worker *w)
{
	const struct settings *set = w->settings;

	w->server_conf = (struct server_conf){
		.listen_fd = w->listen_fd,
		.threads_max = (int)set->worker_threads_max,
		.threads_reserved = (int)set->worker_threads_reserved,
		.streams_max = (int)set->worker_streams_max,
		.cors_origins = set->cors_origins,
		.thread_stack = THREAD_STACK,
	};
}

static void
tell_master(void *arg)
{
	struct worker *w = arg;
	ssize_t n = write(w->ready_fd, "1", 1);

	(void)n; /* the master is gone: its signal is on the way */
	close(w->ready_fd);
	w->ready_fd = -1;
}

/* See worker.h. */
int
worker_main(struct worker *w)
{
	pid_t master = w->master;

	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != master)
		return 1; /* it died before that */
	w->loop = loop_create();
	server_settings(w);
	if (watch_signals(w) < 0 || app_start(w) < 0)
		return 1;
	server_start(w->server);
	loop_post(w->loop, tell_master, w); /* when the loop turns */
	log_info("worker.started", "worker=%s pid=%d", w->name, (int)getpid());
	loop_run(w->loop);
	log_info("worker.ended", "worker=%s pid=%d", w->name, (int)getpid());
	if (!server_destroy(w->server, END_MS))
		_exit(0); /* a handler that would not end: nothing may be freed under it */
	loop_flush(w->loop);
	app_stop(w);
	loop_flush(w->loop);
	stream_end_all();
	close(w->signal_fd);
	loop_destroy(&w->loop);
	return 0;
}
