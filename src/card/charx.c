/*
 * charx: see charx.h. libarchive reads and writes; the limits are ours, counted on what comes
 * out and not on what the archive says.
 */
#include "charx.h"

#include "base/limits.h"
#include "base/sb.h"
#include "base/utf8.h"

#include <archive.h>
#include <archive_entry.h>
#include <locale.h>

#define LOCAL_HEADER STR("PK\x03\x04")

/* libarchive turns names into the thread's character set: that must be UTF-8, whatever the process was
 * started with. */
struct scope {
	locale_t mine, old;
};

static struct scope
scope_enter(void)
{
	struct scope s = { .mine = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0) };

	s.old = s.mine ? uselocale(s.mine) : (locale_t)0;
	return s;
}

static void
scope_leave(struct scope s)
{
	if (s.mine == (locale_t)0)
		return;
	uselocale(s.old);
	freelocale(s.mine);
}

static void
free_read(void *ar)
{
	archive_read_free(ar);
}

static void
free_write(void *ar)
{
	archive_write_free(ar);
}

bool
charx_is(struct str bytes)
{
	if (str_starts(bytes, LOCAL_HEADER))
		return true;
	/* Behind a prefix only if that prefix is binary: a JSON text may well say PK. */
	if (bytes.n < 4 || bytes.p[0] == '{' || bytes.p[0] == '[' || str_starts(bytes, STR("\x89PNG")))
		return false;
	return str_find(bytes, LOCAL_HEADER, 0) != STR_NPOS && !utf8_valid(str_sub(bytes, 0, 4096));
}

struct str
charx_path(struct arena *a, struct str name)
{
	struct sb s = sb_new(a);
	size_t at = 0;

	if (name.n == 0 || name.n > LIM_ARCHIVE_NAME || name.p[0] == '/' || name.p[0] == '\\' ||
	    !utf8_valid(name) || str_chr(name, '\0', 0) != STR_NPOS || (name.n > 1 && name.p[1] == ':'))
		return STR_NULL;
	while (at < name.n) {
		size_t end = at;
		struct str part;

		while (end < name.n && name.p[end] != '/' && name.p[end] != '\\')
			end++;
		part = str_sub(name, at, end);
		at = end + 1;
		if (part.n == 0 || str_is(part, "."))
			continue;
		if (str_is(part, ".."))
			return STR_NULL;
		if (s.n > 0)
			sb_addc(&s, '/');
		sb_add(&s, part);
	}
	return s.n > 0 ? sb_str(&s) : STR_NULL;
}

static struct archive *
open_zip(struct arena *a, struct str zip, enum charx_way way)
{
	struct archive *ar = archive_read_new();

	if (ar == NULL)
		return NULL;
	arena_defer(a, free_read, ar);
	if ((way == CHARX_DIRECTORY ? archive_read_support_format_zip_seekable(ar)
				    : archive_read_support_format_zip_streamable(ar)) != ARCHIVE_OK ||
	    archive_read_open_memory(ar, zip.p, zip.n) != ARCHIVE_OK)
		return NULL;
	return ar;
}

/* 1 with the next entry, 0 at the end, -1 if the archive is damaged. */
static int
next_entry(struct archive *ar, struct archive_entry **e)
{
	int rc = archive_read_next_header(ar, e);

	if (rc == ARCHIVE_EOF)
		return 0;
	return rc == ARCHIVE_OK || rc == ARCHIVE_WARN ? 1 : -1;
}

static struct str
entry_name(struct archive_entry *e)
{
	const char *name = archive_entry_pathname_utf8(e);

	return str_c(name ? name : archive_entry_pathname(e));
}

/* What is in the entry at hand, at most `max` bytes. */
static int
read_data(struct arena *a, struct archive *ar, const char *path, size_t max, struct str *out,
    struct import_error *err)
{
	struct sb s = sb_new_max(a, max);
	char piece[32768];
	la_ssize_t n;

	while ((n = archive_read_data(ar, piece, sizeof(piece))) > 0) {
		sb_add(&s, (struct str){ piece, (size_t)n });
		if (s.over) {
			import_fail(
			    a, err, "too_large", path, "%s unpacks to more than %zu bytes", path, max);
			if (err)
				err->too_large = true;
			return -1;
		}
	}
	if (n < 0)
		return import_fail(a, err, "archive_broken", path, "%s cannot be unpacked: %s", path,
		    archive_error_string(ar) ? archive_error_string(ar) : "damaged");
	*out = sb_str(&s);
	return 0;
}

/* The listing of an archive while it is made. */
struct listing {
	struct charx *x;
	struct receipt *receipt;
	size_t count;
	int64_t total;
	bool has_card;
};

static bool
is_archive_name(struct str path)
{
	static const char *const suffixes[] = { ".zip", ".charx", ".7z", ".rar", ".tar", ".gz", ".xz",
		".bz2" };

	for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
		size_t n = strlen(suffixes[i]);

		if (path.n > n && str_ieq(str_sub(path, path.n - n, path.n), str_c(suffixes[i])))
			return true;
	}
	return false;
}

static int
too_big(struct arena *a, struct import_error *err, const char *code, const char *what, int64_t limit)
{
	import_fail(a, err, code, "", "the archive %s more than %lld", what, (long long)limit);
	if (err)
		err->too_large = true;
	return -1;
}

static int
list_entry(
    struct arena *a, struct listing *l, struct archive *ar, struct archive_entry *e, struct import_error *err)
{
	struct str name = entry_name(e), path;
	int64_t size = archive_entry_size_is_set(e) ? archive_entry_size(e) : -1;

	if (++l->count > LIM_ARCHIVE_ENTRIES)
		return too_big(a, err, "archive_entries", "holds entries,", LIM_ARCHIVE_ENTRIES);
	if (archive_entry_filetype(e) == AE_IFDIR)
		return 0;
	l->total += size > 0 ? size : 0;
	if (l->total > LIM_ARCHIVE_BYTES)
		return too_big(a, err, "archive_too_large", "unpacks to bytes,", LIM_ARCHIVE_BYTES);
	path = charx_path(a, name);
	if (archive_entry_filetype(e) != AE_IFREG || path.p == NULL) {
		receipt_add(l->receipt, RECEIPT_REFUSED, "unsafe_name",
		    arena_printf(a, "%.*s", STR_ARG(str_sub(name, 0, 200))),
		    "no plain file below the archive's root; left out, also from exports");
		return 0;
	}
	if (str_is(path, "card.json")) {
		if (l->has_card)
			return 0;
		l->has_card = true;
		return read_data(a, ar, "card.json", LIM_CARD_JSON, &l->x->card, err);
	}
	if (is_archive_name(path))
		receipt_add(l->receipt, RECEIPT_UNSUPPORTED, "nested_archive", arena_strdup(a, path),
		    "an archive inside the archive is kept and not opened");
	vec_push(a, &l->x->entries, ((struct charx_entry){ .path = path, .size = size }));
	return 0;
}

static int
list_all(struct arena *a, struct listing *l, enum charx_way way, struct import_error *err)
{
	struct archive *ar = open_zip(a, l->x->zip, way);
	struct archive_entry *e;
	int rc;

	if (ar == NULL)
		return import_fail(a, err, "not_an_archive", "", "the file is no zip archive");
	while ((rc = next_entry(ar, &e)) > 0)
		if (list_entry(a, l, ar, e, err) < 0)
			return -1;
	if (rc < 0)
		return import_fail(a, err, "archive_broken", "", "the archive is damaged: %s",
		    archive_error_string(ar) ? archive_error_string(ar) : "no reason given");
	if (!l->has_card)
		return import_fail(a, err, "no_card_json", "",
		    "the archive has no card.json at its root: it is no CHARX card");
	return 0;
}

static int
open_either(struct arena *a, struct str bytes, struct charx *out, struct receipt *r, struct import_error *err)
{
	size_t at = str_find(bytes, LOCAL_HEADER, 0);
	int rc = -1;

	if (at == STR_NPOS)
		return import_fail(a, err, "not_an_archive", "", "the file is no zip archive");
	for (enum charx_way way = CHARX_DIRECTORY; way < CHARX_WAYS; way++) {
		struct receipt notes = { .a = a };
		struct listing l = { .x = out, .receipt = &notes };
		struct import_error fault = { 0 };

		*out = (struct charx){
			.way = way, .zip = str_sub(bytes, at, bytes.n), .prefix = str_sub(bytes, 0, at)
		};
		rc = list_all(a, &l, way, &fault);
		if (rc == 0 || way == CHARX_DIRECTORY) {
			if (err)
				*err = fault;
			for (size_t i = 0; rc == 0 && r && i < notes.items.n; i++)
				vec_push(r->a, &r->items, notes.items.v[i]);
		}
		/* The other way helps only where the directory at the end is missing or wrong. */
		if (rc == 0 || fault.too_large || strcmp(fault.code, "no_card_json") == 0)
			break;
	}
	return rc;
}

int
charx_open(struct arena *a, struct str bytes, struct charx *out, struct receipt *r, struct import_error *err)
{
	struct scope s = scope_enter();
	int rc = open_either(a, bytes, out, r, err);

	scope_leave(s);
	return rc;
}

static int
find_file(struct arena *a, struct archive *ar, struct str path, size_t max, struct str *out,
    struct import_error *err)
{
	struct archive_entry *e;
	const char *name = arena_strdup(a, path);

	while (next_entry(ar, &e) > 0)
		if (archive_entry_filetype(e) == AE_IFREG && str_eq(charx_path(a, entry_name(e)), path))
			return read_data(a, ar, name, max, out, err);
	return import_fail(a, err, "asset_missing", name, "the archive has no file %s", name);
}

int
charx_file(
    struct arena *a, struct str zip, struct str path, size_t max, struct str *out, struct import_error *err)
{
	size_t at = str_find(zip, LOCAL_HEADER, 0);
	struct scope s = scope_enter();
	int rc = -1;

	zip = at == STR_NPOS ? zip : str_sub(zip, at, zip.n);
	for (enum charx_way way = CHARX_DIRECTORY; way < CHARX_WAYS && rc < 0; way++) {
		struct archive *ar = open_zip(a, zip, way);

		rc = ar ? find_file(a, ar, path, max, out, err)
			: import_fail(a, err, "not_an_archive", "", "the file is no zip archive");
		if (rc < 0 && err && err->too_large)
			break;
	}
	scope_leave(s);
	return rc;
}

/* libarchive hands the new archive over piece by piece. */
static la_ssize_t
write_piece(struct archive *ar, void *arg, const void *p, size_t n)
{
	(void)ar;
	sb_add(arg, (struct str){ p, n });
	return (la_ssize_t)n;
}

static int
put_file(struct archive *to, const char *path, struct str bytes)
{
	struct archive_entry *e = archive_entry_new();
	bool ok = e != NULL;

	if (ok) {
		archive_entry_set_pathname_utf8(e, path);
		archive_entry_set_filetype(e, AE_IFREG);
		archive_entry_set_perm(e, 0644);
		archive_entry_set_mtime(
		    e, 315532800, 0); /* 1980, the zip's own zero: equal cards, equal bytes */
		archive_entry_set_size(e, (la_int64_t)bytes.n);
		ok = archive_write_header(to, e) == ARCHIVE_OK &&
		     archive_write_data(to, bytes.p, bytes.n) == (la_ssize_t)bytes.n;
		archive_entry_free(e);
	}
	return ok ? 0 : -1;
}

/* One archive going over into another. */
struct copying {
	struct archive *from, *to;
	const char *skip; /* a path that the caller writes itself, or NULL */
	size_t left;      /* bytes that may still be unpacked */
};

/* Copies the entry at hand, if it is a file that goes over. */
static int
copy_entry(struct arena *a, struct copying *c, struct archive_entry *e, struct import_error *err)
{
	struct str path = charx_path(a, entry_name(e)), bytes;

	if (archive_entry_filetype(e) != AE_IFREG || path.p == NULL || str_is(path, "card.json") ||
	    (c->skip && str_is(path, c->skip)))
		return 0;
	if (read_data(a, c->from, arena_strdup(a, path), c->left, &bytes, err) < 0)
		return -1;
	c->left -= bytes.n;
	if (put_file(c->to, arena_strdup(a, path), bytes) < 0)
		return import_fail(a, err, "archive_write", "", "the archive cannot be written");
	return 0;
}

/* Copies every safe file but card.json and `skip`. */
static int
copy_files(struct arena *a, struct archive *to, struct str zip, const char *skip, struct import_error *err)
{
	struct copying c = { .to = to, .skip = skip, .left = LIM_ARCHIVE_BYTES };
	struct charx x;
	struct archive_entry *e;
	int rc = 0;

	if (charx_open(a, zip, &x, NULL, err) < 0)
		return -1;
	c.from = open_zip(a, x.zip, x.way);
	if (c.from == NULL)
		return import_fail(a, err, "not_an_archive", "", "the file is no zip archive");
	while (rc == 0 && next_entry(c.from, &e) > 0) {
		struct arena_mark m = arena_mark(a);

		rc = copy_entry(a, &c, e, err);
		if (rc == 0)
			arena_rewind(a, m);
	}
	return rc;
}

/* card.json, the old files, the picture. */
static int
write_files(struct arena *a, struct archive *to, const struct charx_new *n, struct import_error *err)
{
	bool icon = n->icon.n > 0;

	if (put_file(to, "card.json", n->card_json) < 0)
		return import_fail(a, err, "archive_write", "", "the archive cannot be written");
	if (n->original.n > 0 && copy_files(a, to, n->original, icon ? n->icon_path : NULL, err) < 0)
		return -1;
	if ((icon && put_file(to, n->icon_path, n->icon) < 0) || archive_write_close(to) != ARCHIVE_OK)
		return import_fail(a, err, "archive_write", "", "the archive cannot be written");
	return 0;
}

int
charx_write(struct arena *a, const struct charx_new *n, struct str *out, struct import_error *err)
{
	struct arena *scratch = arena_create("charx", 0);
	struct archive *to = archive_write_new();
	struct scope scope = scope_enter();
	struct import_error fault = { 0 };
	struct sb s = sb_new(a);
	int rc = -1;

	arena_defer(scratch, free_write, to);
	if (to && archive_write_set_format_zip(to) == ARCHIVE_OK &&
	    archive_write_set_options(to, "zip:compression=deflate") == ARCHIVE_OK &&
	    archive_write_set_bytes_in_last_block(to, 1) == ARCHIVE_OK &&
	    archive_write_open(to, &s, NULL, write_piece, NULL) == ARCHIVE_OK)
		rc = write_files(scratch, to, n, &fault);
	else
		import_fail(scratch, &fault, "archive_write", "", "the archive cannot be written");
	if (rc < 0 && err) { /* its texts lie in the scratch arena */
		*err = fault;
		err->message = arena_strdup(a, str_c(fault.message));
		err->path = arena_strdup(a, str_c(fault.path));
	}
	arena_destroy(&scratch);
	scope_leave(scope);
	*out = sb_str(&s);
	return rc;
}
