/*
 * master: see master.h.
 *
 * Signals: SIGHUP = read the configuration again and replace the workers, one generation by the next
 * on the same sockets; an old worker drains once its successor serves, so a reload that fails leaves
 * the old ones at work. SIGTERM and SIGINT = drain and end, a second one = end now.
 */
#include "master.h"

#include "config.h"

#include "base/log.h"
#include "base/metric.h"
#include "base/tm.h"
#include "listen.h"
#include "worker.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#define SLOTS_MAX 256
#define BACKOFF_FIRST 100
#define BACKOFF_MAX 5000
#define STEADY_MS 10000 /* a worker that lived so long is replaced at once */
#define KILL_MS 15000   /* after drain_timeout: the worker's own bound has failed */

struct master;

struct child {
	struct master *m;
	struct child *next;
	pid_t pid;
	int slot, generation;
	unsigned cell; /* of what it counts */
	int ready_fd; /* readable once it serves; -1 afterwards */
	bool draining;
	int64_t born;
	uint64_t kill_timer;
};

struct slot {
	struct master *m;
	int fd;
	const char *path; /* NULL: inherited */
	int64_t backoff;
	uint64_t respawn; /* timer */
};

struct master {
	struct arena *arena; /* of the program */
	struct command command;
	struct arena *settings_arena;
	struct settings settings;
	struct loop *loop;
	int signal_fd, lock_fd;
	struct slot slots[SLOTS_MAX];
	int n_slots;
	bool inherited;
	int generation;
	bool told_ready; /* of this generation */
	bool stopping;
	struct child *children;
};

extern char **environ;

static void slot_spawn(struct slot *s);

/* Reads the configuration into a new arena; the old settings stay if it is faulty. */
static int
load_settings(struct master *m)
{
	struct arena *a = arena_create("settings", 0);
	struct settings set;

	if (settings_take(a, &set, &m->command) < 0) {
		arena_destroy(&a);
		return -1;
	}
	if (m->settings_arena != NULL)
		arena_destroy(&m->settings_arena);
	m->settings_arena = a;
	m->settings = set;
	return 0;
}

static int
worker_count(const struct master *m)
{
	long n = m->settings.workers > 0 ? (long)m->settings.workers : sysconf(_SC_NPROCESSORS_ONLN);

	return n < 1 ? 1 : n > SLOTS_MAX ? SLOTS_MAX : (int)n;
}

/* Opens the sockets that are still missing for n workers. */
static int
open_slots(struct master *m, int n)
{
	const char *why;

	for (; m->n_slots < n; m->n_slots++) {
		struct slot *s = &m->slots[m->n_slots];

		*s = (struct slot){ .m = m };
		s->path = arena_printf(m->arena, "%s/w%d.sock", m->settings.listen_dir, m->n_slots);
		s->fd = listen_open(m->arena, s->path, &why);
		if (s->fd < 0) {
			log_error("master.listen", "%s", why);
			return -1;
		}
	}
	return 0;
}

static int
first_slots(struct master *m)
{
	const char *why;
	int first, n = listen_inherited(&first);

	m->inherited = n > 0;
	for (int i = 0; i < n; i++)
		m->slots[m->n_slots++] = (struct slot){ .m = m, .fd = first + i };
	if (m->inherited)
		return 0;
	m->lock_fd = listen_lock(m->arena, m->settings.listen_dir, "tavernd", &why);
	if (m->lock_fd < 0) {
		log_error("master.listen", "%s", why);
		return -1;
	}
	return open_slots(m, worker_count(m));
}

/* The child's side of a fork: nothing of the master's is left open but its own socket and pipe. */
static void
become_worker(struct slot *s, unsigned cell, int ready_fd, pid_t master)
{
	struct master *m = s->m;
	struct worker w = {
		.settings = &m->settings,
		.slot = (int)(s - m->slots),
		.generation = m->generation,
		.listen_fd = s->fd,
		.ready_fd = ready_fd,
		.master = master,
	};
	char host[64] = "localhost";
	int rc;

	metrics_join(cell);
	loop_destroy(&m->loop);
	close(m->signal_fd);
	if (m->lock_fd >= 0)
		close(m->lock_fd);
	for (int i = 0; i < m->n_slots; i++)
		if (&m->slots[i] != s)
			close(m->slots[i].fd);
	for (struct child *c = m->children; c != NULL; c = c->next)
		if (c->ready_fd >= 0)
			close(c->ready_fd);
	gethostname(host, sizeof(host) - 1);
	w.arena = arena_create("worker", 0);
	w.name = arena_printf(w.arena, "%s/%d-%d", host, w.generation, w.slot);
	rc = worker_main(&w);
	arena_destroy(&w.arena);
	exit(rc);
}

static void
respawn(void *arg)
{
	struct slot *s = arg;

	s->respawn = 0;
	if (!s->m->stopping)
		slot_spawn(s);
}

static void
respawn_later(struct slot *s)
{
	s->backoff = s->backoff == 0                ? BACKOFF_FIRST
		     : s->backoff * 2 < BACKOFF_MAX ? s->backoff * 2
						    : BACKOFF_MAX;
	if (s->respawn == 0)
		s->respawn = loop_timer(s->m->loop, s->backoff, respawn, s);
}

static void
kill_now(void *arg)
{
	struct child *c = arg;

	log_warn("worker.killed", "pid=%d after=drain_timeout", (int)c->pid);
	c->kill_timer = 0;
	kill(c->pid, SIGKILL);
}

static void
child_drain(struct child *c, int signo)
{
	if (c->draining && signo == SIGUSR1)
		return;
	kill(c->pid, signo);
	if (!c->draining)
		c->kill_timer = loop_timer(c->m->loop, c->m->settings.drain_timeout + KILL_MS, kill_now, c);
	c->draining = true;
}

/* The pipe of a child: it serves, so those it replaces may go. An end of file is left to the reaper. */
static void
child_ready(void *arg, uint32_t events)
{
	struct child *c = arg;
	struct master *m = c->m;
	char byte;
	bool serves = (events & EPOLLIN) && read(c->ready_fd, &byte, 1) == 1;

	loop_unwatch(m->loop, c->ready_fd);
	close(c->ready_fd);
	c->ready_fd = -1;
	if (!serves || m->stopping)
		return;
	for (struct child *o = m->children; o != NULL; o = o->next)
		if (o->slot == c->slot && o->generation < c->generation)
			child_drain(o, SIGUSR1);
	if (c->generation == m->generation && !m->told_ready) {
		m->told_ready = true;
		notify("READY=1\nSTATUS=serving");
		log_info("master.ready", "generation=%d workers=%d", m->generation, m->n_slots);
	}
}

static void
slot_spawn(struct slot *s)
{
	struct master *m = s->m;
	struct child *c = calloc(1, sizeof(*c));
	pid_t self = getpid();
	int fds[2];

	if (c == NULL || pipe2(fds, O_CLOEXEC) < 0) {
		log_error("master.spawn", "error=\"%s\"", strerror(errno));
		free(c);
		respawn_later(s);
		return;
	}
	c->cell = metrics_reserve();
	c->pid = fork();
	if (c->pid == 0) {
		unsigned cell = c->cell;

		close(fds[0]);
		free(c);
		become_worker(s, cell, fds[1], self);
	}
	close(fds[1]);
	if (c->pid < 0) {
		log_error("master.spawn", "error=\"%s\"", strerror(errno));
		close(fds[0]);
		metrics_retire(c->cell);
		free(c);
		respawn_later(s);
		return;
	}
	c->m = m;
	c->slot = (int)(s - m->slots);
	c->generation = m->generation;
	c->ready_fd = fds[0];
	c->born = tm_mono();
	c->next = m->children;
	m->children = c;
	loop_watch(m->loop, c->ready_fd, EPOLLIN, child_ready, c);
}

static bool
slot_served(const struct master *m, int slot)
{
	for (const struct child *c = m->children; c != NULL; c = c->next)
		if (c->slot == slot && c->generation == m->generation)
			return true;
	return false;
}

static void
child_ended(struct master *m, struct child *c, int status)
{
	struct slot *s = &m->slots[c->slot];
	int64_t lived = tm_mono() - c->born;

	if (c->ready_fd >= 0) {
		loop_unwatch(m->loop, c->ready_fd);
		close(c->ready_fd);
	}
	loop_timer_cancel(m->loop, c->kill_timer);
	metrics_retire(c->cell);
	if (!c->draining)
		log_warn("worker.died", "pid=%d slot=%d %s=%d lived_ms=%lld", (int)c->pid, c->slot,
		    WIFSIGNALED(status) ? "signal" : "status",
		    WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status), (long long)lived);
	free(c);
	if (m->stopping || slot_served(m, (int)(s - m->slots)) || (int)(s - m->slots) >= m->n_slots)
		return;
	if (lived >= STEADY_MS) {
		s->backoff = 0;
		slot_spawn(s);
	} else {
		respawn_later(s);
	}
}

static void
reap(struct master *m)
{
	pid_t pid;
	int status;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		for (struct child **at = &m->children; *at != NULL; at = &(*at)->next) {
			struct child *c = *at;

			if (c->pid == pid) {
				*at = c->next;
				child_ended(m, c, status);
				break;
			}
		}
	}
	if (m->stopping && m->children == NULL)
		loop_stop(m->loop);
}

static void
stop(struct master *m)
{
	if (m->stopping) {
		for (struct child *c = m->children; c != NULL; c = c->next)
			kill(c->pid, SIGKILL);
		return;
	}
	m->stopping = true;
	notify("STOPPING=1");
	log_info("master.stop", "workers=%d", m->n_slots);
	for (struct child *c = m->children; c != NULL; c = c->next)
		child_drain(c, SIGTERM);
	if (m->children == NULL)
		loop_stop(m->loop);
}

static void
reload(struct master *m)
{
	char text[96];

	snprintf(text, sizeof(text), "RELOADING=1\nMONOTONIC_USEC=%lld", (long long)tm_mono_us());
	notify(text);
	if (load_settings(m) < 0 || (!m->inherited && open_slots(m, worker_count(m)) < 0)) {
		log_error("master.reload", "faulty configuration, the old one stays");
		notify("READY=1\nSTATUS=serving, last reload failed: faulty configuration");
		return;
	}
	log_setup("tavernd", (enum log_level)m->settings.log_level);
	m->generation++;
	m->told_ready = false;
	log_info("master.reload", "generation=%d", m->generation);
	for (int i = 0; i < m->n_slots; i++) {
		m->slots[i].backoff = 0;
		if (m->slots[i].respawn == 0) /* else it comes with the new generation */
			slot_spawn(&m->slots[i]);
	}
}

static void
signalled(void *arg, uint32_t events)
{
	struct master *m = arg;
	struct signalfd_siginfo si;

	(void)events;
	while (read(m->signal_fd, &si, sizeof(si)) == (ssize_t)sizeof(si)) {
		if (si.ssi_signo == SIGCHLD)
			reap(m);
		else if (si.ssi_signo == SIGHUP && !m->stopping)
			reload(m);
		else if (si.ssi_signo == SIGTERM || si.ssi_signo == SIGINT)
			stop(m);
	}
}

static int
watch_signals(struct master *m)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	signal(SIGPIPE, SIG_IGN);
	if (sigprocmask(SIG_SETMASK, &set, NULL) < 0)
		return -1;
	m->signal_fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	return m->signal_fd < 0 ? -1 : loop_watch(m->loop, m->signal_fd, EPOLLIN, signalled, m);
}

static void
watchdog(void *arg)
{
	struct master *m = arg;

	notify("WATCHDOG=1");
	loop_timer(m->loop, notify_watchdog_ms(), watchdog, m);
}

static void
raise_limits(void)
{
	struct rlimit r;

	if (getrlimit(RLIMIT_NOFILE, &r) == 0) {
		r.rlim_cur = r.rlim_max;
		setrlimit(RLIMIT_NOFILE, &r);
	}
	/* malloc: thousands of threads must not have an arena each; what one request gave back the next one takes, instead of asking
	 * the kernel for fresh pages. */
	mallopt(M_ARENA_MAX, 2);
	mallopt(M_MMAP_THRESHOLD, 1 << 20);
	mallopt(M_TRIM_THRESHOLD, 4 << 20);
	mallopt(M_TOP_PAD, 256 << 10);
}

static int
run(struct master *m)
{
	raise_limits();
	m->loop = loop_create();
	if (first_slots(m) < 0)
		return 1;
	if (metrics_create(m->settings.listen_dir, "tavernd", 2 * SLOTS_MAX) < 0)
		log_warn("metrics.apart", "error=\"%s\" meaning=\"only this program's numbers are shown\"", strerror(errno));
	if (watch_signals(m) < 0) {
		log_error("master.signals", "error=\"%s\"", strerror(errno));
		return 1;
	}
	if (notify_watchdog_ms() > 0)
		watchdog(m);
	if (app_prepare() < 0)
		return 1;
	log_info("master.started", "pid=%d workers=%d", (int)getpid(), m->n_slots);
	for (int i = 0; i < m->n_slots; i++)
		slot_spawn(&m->slots[i]);
	loop_run(m->loop);
	for (int i = 0; i < m->n_slots; i++)
		if (m->slots[i].path != NULL)
			unlink(m->slots[i].path);
	log_info("master.ended", "pid=%d", (int)getpid());
	loop_destroy(&m->loop);
	return 0;
}

/* See master.h. */
int
master_main(int argc, char **argv)
{
	static struct master m = { .lock_fd = -1, .generation = 1 };
	int rc;

	m.arena = arena_create("master", 0);
	if ((rc = command_read(m.arena, "tavernd", argc, argv, &m.command)) >= 0)
		return rc;
	log_setup("tavernd", LOG_INFO_);
	if (load_settings(&m) < 0)
		return 2;
	if (m.command.check) {
		puts("tavernd: configuration is fine");
		return 0;
	}
	log_setup("tavernd", (enum log_level)m.settings.log_level);
	rc = run(&m);
	arena_destroy(&m.settings_arena);
	arena_destroy(&m.arena);
	return rc;
}
