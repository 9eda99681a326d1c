/* metric: see metric.h. */
#include "metric.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define SUFFIX ".metrics"
#define MAGIC 0x7461766d65743031u /* and the shape of a cell: another version's file is not read */

struct row {
	const char *name, *labels, *help;
	bool gauge;
};

/* clang-format off */
static const struct row rows[METRIC__COUNT] = {
	[METRIC_REQUESTS_2XX] = { "requests", "status=\"2xx\"", "HTTP requests answered." },
	[METRIC_REQUESTS_3XX] = { "requests", "status=\"3xx\"" },
	[METRIC_REQUESTS_4XX] = { "requests", "status=\"4xx\"" },
	[METRIC_REQUESTS_5XX] = { "requests", "status=\"5xx\"" },
	[METRIC_REQUESTS_ACTIVE] = { "requests_active", NULL, "HTTP requests in the hands of a thread.", true },
	[METRIC_TURNS_COMPLETED] = { "turns", "state=\"completed\"", "Turns that have ended." },
	[METRIC_TURNS_FAILED] = { "turns", "state=\"failed\"" },
	[METRIC_TURNS_CANCELLED] = { "turns", "state=\"cancelled\"" },
	[METRIC_TURNS_ACTIVE] = { "turns_active", NULL, "Turns whose model is being asked.", true },
	[METRIC_TURNS_SWEPT] = { "turns_swept", NULL, "Turns that the sweeper failed because their worker was gone." },
	[METRIC_TOKENS_PROMPT] = { "tokens", "kind=\"prompt\"", "Tokens of committed turns, as the model server counts." },
	[METRIC_TOKENS_COMPLETION] = { "tokens", "kind=\"completion\"" },
	[METRIC_MODEL_OK] = { "model_calls", "result=\"ok\"", "Calls of model servers that have ended." },
	[METRIC_MODEL_ERROR] = { "model_calls", "result=\"error\"" },
	[METRIC_MODEL_RETRY] = { "model_retries", NULL, "Model calls made again after a failure." },
	[METRIC_STREAM_READERS] = { "stream_readers", NULL, "Connections that read an event stream.", true },
	[METRIC_STREAM_RESUMED] = { "streams_resumed", NULL, "Readers that came back to a running or finished turn." },
	[METRIC_DB_UNITS] = { "db_units", NULL, "Units of database work that succeeded." },
	[METRIC_DB_REPEATED] = { "db_units_repeated", NULL, "Units run again after a serialization failure or a lost connection." },
	[METRIC_DB_FAILED] = { "db_units_failed", NULL, "Units that ended with an error, refusals included." },
	[METRIC_DB_CONNECTS] = { "db_connects", NULL, "Connections made to the database." },
	[METRIC_DB_BUSY] = { "db_connections_busy", NULL, "Connections at work.", true },
	[METRIC_EVENTS_SENT] = { "events_sent", NULL, "Events sent to subscribers." },
	[METRIC_EVENT_CLIENTS] = { "event_clients", NULL, "Subscribers connected to tavern-eventd.", true },
	[METRIC_JOBS_DONE] = { "job_tries", "result=\"done\"", "Tries of background jobs that have ended." },
	[METRIC_JOBS_FAILED] = { "job_tries", "result=\"failed\"" },
	[METRIC_JOBS_DEAD] = { "jobs_dead", NULL, "Jobs that are not tried again." },
};

static const struct row times[METRIC_TIME__COUNT] = {
	[METRIC_TIME_REQUEST] = { "request", NULL, "From reading a request to its answer; of a stream to the end of the turn." },
	[METRIC_TIME_TURN] = { "turn", NULL, "From a turn's request to its commit." },
	[METRIC_TIME_FIRST_TOKEN] = { "first_token", NULL, "From a turn's request to the model's first text." },
	[METRIC_TIME_CHUNK_GAP] = { "chunk_gap", NULL, "Between pieces of text that a model server sends." },
	[METRIC_TIME_TURN_WAIT] = { "turn_wait", NULL, "Waiting while other turns of the process are prepared." },
	[METRIC_TIME_GATHER] = { "turn_gather", NULL, "Reading what a turn needs from the database." },
	[METRIC_TIME_ASSEMBLY] = { "turn_assembly", NULL, "Assembling a prompt." },
	[METRIC_TIME_LORE] = { "turn_lore", NULL, "Scanning lore, within an assembly." },
	[METRIC_TIME_REGEX] = { "turn_regex", NULL, "Running regex scripts, within an assembly." },
	[METRIC_TIME_OPEN] = { "turn_open", NULL, "Recording a turn before its model call." },
	[METRIC_TIME_MODEL] = { "turn_model", NULL, "The model call of a turn, with its retries." },
	[METRIC_TIME_COMMIT] = { "turn_commit", NULL, "Committing a turn." },
	[METRIC_TIME_DB] = { "db_unit", NULL, "Units of database work, without the wait for a connection." },
	[METRIC_TIME_DB_WAIT] = { "db_wait", NULL, "Waiting for a connection of the pool." },
	[METRIC_TIME_EVENT_LAG] = { "event_lag", NULL, "From the writing of an event to its sending." },
	[METRIC_TIME_JOB] = { "job", NULL, "Runs of background jobs." },
};
/* clang-format on */

/* Upper bounds in microseconds and as OpenMetrics spells them; what is longer counts in the last bucket. */
static const struct {
	int64_t us;
	const char *le;
} buckets[] = { { 100, "0.0001" }, { 250, "0.00025" }, { 500, "0.0005" }, { 1000, "0.001" }, { 2500, "0.0025" }, { 5000, "0.005" }, { 10000, "0.01" },
	{ 25000, "0.025" }, { 50000, "0.05" }, { 100000, "0.1" }, { 250000, "0.25" }, { 500000, "0.5" }, { 1000000, "1.0" }, { 2500000, "2.5" },
	{ 5000000, "5.0" }, { 10000000, "10.0" }, { 30000000, "30.0" }, { 60000000, "60.0" }, { 300000000, "300.0" } };
#define BUCKETS (sizeof(buckets) / sizeof(buckets[0]))

struct cell {
	_Atomic uint32_t taken;
	_Atomic int64_t n[METRIC__COUNT];
	struct {
		_Atomic int64_t in[BUCKETS + 1], us;
	} t[METRIC_TIME__COUNT];
} __attribute__((aligned(64)));

struct file {
	uint64_t magic;
	uint32_t cell_bytes, cells;
	struct cell cell[];
};

static struct cell nobody; /* of a process that has joined nothing */
static struct cell *own = &nobody;
static struct file *mapped;

void
metric_add(enum metric m, int64_t n)
{
	atomic_fetch_add_explicit(&own->n[m], n, memory_order_relaxed);
}

void
metric_time(enum metric_time m, int64_t us)
{
	size_t b = 0;

	while (b < BUCKETS && us > buckets[b].us)
		b++;
	atomic_fetch_add_explicit(&own->t[m].in[b], 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&own->t[m].us, us, memory_order_relaxed);
}

/* A file of that size, put in the place of an older one when it is whole. -1 with errno. */
static int
file_make(const char *path, size_t size, uint32_t cells)
{
	const struct file head = { .magic = MAGIC, .cell_bytes = sizeof(struct cell), .cells = cells };
	char tmp[4096];
	int fd;

	if (snprintf(tmp, sizeof(tmp), "%s.new", path) >= (int)sizeof(tmp)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	fd = open(tmp, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -1;
	if (ftruncate(fd, (off_t)size) == 0 && pwrite(fd, &head, sizeof(head), 0) == (ssize_t)sizeof(head) && rename(tmp, path) == 0)
		return fd;
	close(fd);
	unlink(tmp);
	return -1;
}

int
metrics_create(const char *dir, const char *program, unsigned processes)
{
	size_t size = sizeof(struct file) + (processes + 1) * sizeof(struct cell);
	char path[4096];
	int fd = -1, kept = 0;
	void *p;

	if (snprintf(path, sizeof(path), "%s/%s" SUFFIX, dir, program) < (int)sizeof(path))
		fd = file_make(path, size, processes + 1);
	kept = errno;
	p = fd >= 0 ? mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)
		    : mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (fd >= 0)
		close(fd);
	if (p == MAP_FAILED)
		return -1;
	mapped = p;
	mapped->cells = processes + 1;
	atomic_store(&mapped->cell[0].taken, 1);
	own = &mapped->cell[0];
	errno = kept;
	return fd >= 0 ? 0 : -1;
}

unsigned
metrics_reserve(void)
{
	for (unsigned i = 1; mapped != NULL && i < mapped->cells; i++)
		if (atomic_exchange(&mapped->cell[i].taken, 1) == 0)
			return i;
	return 0;
}

void
metrics_join(unsigned cell)
{
	if (mapped != NULL && cell < mapped->cells)
		own = &mapped->cell[cell];
}

/* Counters and times are added up; a gauge of somebody who is gone is nothing. */
static void
cell_add(struct cell *to, const struct cell *from, bool gauges)
{
	for (size_t i = 0; i < METRIC__COUNT; i++)
		if (gauges || !rows[i].gauge)
			atomic_fetch_add(&to->n[i], atomic_load(&from->n[i]));
	for (size_t i = 0; i < METRIC_TIME__COUNT; i++) {
		for (size_t b = 0; b <= BUCKETS; b++)
			atomic_fetch_add(&to->t[i].in[b], atomic_load(&from->t[i].in[b]));
		atomic_fetch_add(&to->t[i].us, atomic_load(&from->t[i].us));
	}
}

void
metrics_retire(unsigned cell)
{
	if (mapped == NULL || cell == 0 || cell >= mapped->cells)
		return;
	cell_add(&mapped->cell[0], &mapped->cell[cell], false);
	memset(&mapped->cell[cell], 0, sizeof(struct cell));
}

static void
file_add(struct cell *sum, const struct file *f, size_t size)
{
	if (size < sizeof(*f) || f->magic != MAGIC || f->cell_bytes != sizeof(struct cell) || (size - sizeof(*f)) / sizeof(struct cell) < f->cells)
		return;
	for (uint32_t i = 0; i < f->cells; i++)
		if (atomic_load(&f->cell[i].taken))
			cell_add(sum, &f->cell[i], true);
}

static void
path_add(struct cell *sum, int dir, const char *name)
{
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	struct stat st;
	void *p;

	if (fd < 0)
		return;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0) {
		p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
		if (p != MAP_FAILED) {
			file_add(sum, p, (size_t)st.st_size);
			munmap(p, (size_t)st.st_size);
		}
	}
	close(fd);
}

/* False: the directory holds nothing that could be read. */
static bool
directory_add(struct cell *sum, const char *dir)
{
	DIR *d = dir ? opendir(dir) : NULL;
	bool any = false;

	if (d == NULL)
		return false;
	for (struct dirent *e; (e = readdir(d)) != NULL;) {
		size_t n = strlen(e->d_name);

		if (n <= strlen(SUFFIX) || strcmp(e->d_name + n - strlen(SUFFIX), SUFFIX) != 0)
			continue;
		path_add(sum, dirfd(d), e->d_name);
		any = true;
	}
	closedir(d);
	return any;
}

/* The lines that begin a family; of a counter the older format names the samples, OpenMetrics the family. */
static void
family_print(struct sb *out, const struct row *r, const char *type, bool open)
{
	bool timed = strcmp(type, "histogram") == 0;
	const char *suffix = timed ? "_seconds" : "", *total = !open && strcmp(type, "counter") == 0 ? "_total" : "";

	sb_addf(out, "# TYPE tavernd_%s%s%s %s\n", r->name, suffix, total, type);
	if (open && timed)
		sb_addf(out, "# UNIT tavernd_%s_seconds seconds\n", r->name);
	sb_addf(out, "# HELP tavernd_%s%s%s %s\n", r->name, suffix, total, r->help);
}

static void
sample_print(struct sb *out, const char *name, const char *suffix, const char *labels, int64_t value)
{
	sb_addf(out, "tavernd_%s%s%s%s%s %" PRId64 "\n", name, suffix, labels ? "{" : "", labels ? labels : "", labels ? "}" : "", value);
}

static void
time_print(struct sb *out, size_t i, const struct cell *sum, bool open)
{
	const char *name = times[i].name;
	int64_t n = 0, us = atomic_load(&sum->t[i].us);

	family_print(out, &times[i], "histogram", open);
	for (size_t b = 0; b <= BUCKETS; b++) {
		n += atomic_load(&sum->t[i].in[b]);
		sb_addf(out, "tavernd_%s_seconds_bucket{le=\"%s\"} %" PRId64 "\n", name, b < BUCKETS ? buckets[b].le : "+Inf", n);
	}
	sb_addf(out, "tavernd_%s_seconds_sum %" PRId64 ".%06" PRId64 "\ntavernd_%s_seconds_count %" PRId64 "\n", name, us / 1000000, us % 1000000, name, n);
}

void
metrics_print(struct sb *out, const char *dir, const struct metric_sample *samples, size_t n, bool open)
{
	struct cell sum = { 0 };
	const char *family = "";

	if (!directory_add(&sum, dir) && mapped)
		for (uint32_t i = 0; i < mapped->cells; i++)
			cell_add(&sum, &mapped->cell[i], true);
	for (size_t i = 0; i < METRIC__COUNT; i++) {
		if (strcmp(family, rows[i].name) != 0)
			family_print(out, &rows[i], rows[i].gauge ? "gauge" : "counter", open);
		family = rows[i].name;
		sample_print(out, rows[i].name, rows[i].gauge ? "" : "_total", rows[i].labels, atomic_load(&sum.n[i]));
	}
	for (size_t i = 0; i < METRIC_TIME__COUNT; i++)
		time_print(out, i, &sum, open);
	for (size_t i = 0; i < n; i++) {
		const struct row r = { samples[i].name, samples[i].labels, samples[i].help, true };

		if (strcmp(family, r.name) != 0)
			family_print(out, &r, "gauge", open);
		family = samples[i].name;
		sample_print(out, r.name, "", r.labels, samples[i].value);
	}
	if (open)
		sb_adds(out, "# EOF\n");
}
