/*
 * ctl_chat: `tavernctl import chat` and `tavernctl export chat`: chats between files and the database, by the code of the routes,
 * without their limits of size. As the application role, in one account.
 */
#include "auth/auth.h"
#include "chat/chat.h"
#include "ctl.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

struct options {
	const char *names[2]; /* what stands without an option: FILE, or SESSION and FILE */
	int n;
	const char *account, *title, *character, *format;
	bool no_variables;
};

/* What stands behind "chat". */
static bool
options(struct options *o, int argc, char **argv)
{
	*o = (struct options){ .account = AUTH_DEFAULT_ACCOUNT, .format = "thchat" };
	if (argc < 3 || strcmp(argv[1], "chat") != 0)
		return false;
	for (int i = 2; i < argc; i++) {
		const char *more = i + 1 < argc ? argv[i + 1] : NULL;

		if (strcmp(argv[i], "--no-variables") == 0)
			o->no_variables = true;
		else if (strcmp(argv[i], "--account") == 0 && more)
			o->account = argv[++i];
		else if (strcmp(argv[i], "--title") == 0 && more)
			o->title = argv[++i];
		else if (strcmp(argv[i], "--character") == 0 && more)
			o->character = argv[++i];
		else if (strcmp(argv[i], "--format") == 0 && more)
			o->format = argv[++i];
		else if (strncmp(argv[i], "--", 2) != 0 && o->n < 2) /* ids may begin with "-" */
			o->names[o->n++] = argv[i];
		else
			return false;
	}
	return o->n > 0 && (strcmp(o->format, "thchat") == 0 || strcmp(o->format, "st_jsonl") == 0);
}

static void
enter(struct ctl *ctl, struct credential *as, const struct options *o)
{
	const struct db_conf conf = settings_db(ctl->set, DB_APP, 1);

	*as = (struct credential){ .kind = CRED_ACCOUNT_ID, .value = o->account };
	ctl->ctx->db = db_create(&conf, DB_APP);
	ctl->ctx->cred = as;
}

/* ---- import ---- */

struct source {
	struct ctx *c;
	const char *path;
	int fd;
};

static int64_t
fetch(void *arg, int64_t at, char *to)
{
	const struct source *f = arg;
	ssize_t n = pread(f->fd, to, PIECES_ROOM, (off_t)at);

	if (n <= 0)
		fail(f->c, ERR_INTERNAL, "file_unreadable", "%s: %s", f->path, n < 0 ? strerror(errno) : "became shorter");
	return n;
}

static int
import_file(struct ctl *ctl, const struct options *o, struct chat_import *w)
{
	struct source f = { ctl->ctx, o->names[0], open(o->names[0], O_RDONLY | O_CLOEXEC) };
	struct stat st;
	int rc = -1;

	if (f.fd < 0 || fstat(f.fd, &st) < 0)
		fail(ctl->ctx, ERR_INVALID, "file_unreadable", "%s: %s", f.path, strerror(errno));
	else if (!S_ISREG(st.st_mode))
		fail(ctl->ctx, ERR_INVALID, "file_unreadable", "%s: no regular file", f.path);
	else {
		w->text = (struct pieces){ .size = st.st_size, .fetch = fetch, .arg = &f };
		rc = chat_import(ctl->ctx, w);
	}
	if (f.fd >= 0)
		close(f.fd);
	return rc;
}

static int
run_import(struct ctl *ctl, int argc, char **argv)
{
	struct credential as;
	struct options o;
	struct chat_import w = { .model = ctl->set->llm_model };
	int rc;

	if (!options(&o, argc, argv) || o.n != 1)
		return ctl_usage(&ctl_import);
	w.title = o.title ? str_c(o.title) : STR_NULL;
	w.character_id = o.character ? str_c(o.character) : STR_NULL;
	enter(ctl, &as, &o);
	rc = import_file(ctl, &o, &w);
	if (rc == 0)
		printf("%.*s\n", STR_ARG(w.result));
	db_destroy(&ctl->ctx->db);
	return rc < 0 ? ctl_failed(ctl) : 0;
}

/* ---- export ---- */

struct sink {
	struct ctx *c;
	const char *path;
	FILE *file;
};

/* Nothing is made before the session was found. */
static int
begin(void *arg, const char *file_name, const char *type)
{
	struct sink *f = arg;

	(void)file_name;
	(void)type;
	f->file = f->path ? fopen(f->path, "wxe") : stdout;
	return f->file ? 0 : fail(f->c, ERR_INVALID, "file_not_written", "%s: %s", f->path, strerror(errno));
}

static int
put(void *arg, struct str bytes)
{
	struct sink *f = arg;

	if (fwrite(bytes.p, 1, bytes.n, f->file) == bytes.n)
		return 0;
	return fail(f->c, ERR_INTERNAL, "file_not_written", "%s: %s", f->path ? f->path : "standard output", strerror(errno));
}

static int
run_export(struct ctl *ctl, int argc, char **argv)
{
	struct credential as;
	struct options o;
	struct sink f = { .c = ctl->ctx };
	struct chat_export w = { .begin = begin, .write = put, .arg = &f };
	int rc;

	if (!options(&o, argc, argv))
		return ctl_usage(&ctl_export);
	f.path = o.names[1];
	w.session_id = str_c(o.names[0]);
	w.format = strcmp(o.format, "st_jsonl") == 0 ? CHAT_JSONL : CHAT_THCHAT;
	w.variables = !o.no_variables;
	enter(ctl, &as, &o);
	rc = chat_export(ctl->ctx, &w);
	if (f.file && (f.path ? fclose(f.file) : fflush(f.file)) != 0 && rc == 0)
		rc = fail(ctl->ctx, ERR_INTERNAL, "file_not_written", "%s: %s", f.path ? f.path : "standard output", strerror(errno));
	if (rc < 0 && f.file && f.path)
		unlink(f.path); /* half a chat is none */
	db_destroy(&ctl->ctx->db);
	return rc < 0 ? ctl_failed(ctl) : 0;
}

const struct ctl_command ctl_import = { "import", "chat FILE [--account ID] [--title TEXT] [--character ID]",
	"import a .thchat or SillyTavern .jsonl file of any size; prints the new session", run_import };
const struct ctl_command ctl_export = { "export", "chat SESSION [FILE] [--format thchat|st_jsonl] [--no-variables] [--account ID]",
	"write a session as a file that is not there yet, or to the standard output", run_export };
