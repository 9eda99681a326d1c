/*
 * conf: settings by table. Sources are merged as text first, then the winners are converted, so
 * that a fault names the place it came from. Prints nothing but what it is asked to.
 */
#include "base/conf.h"

#include "base/file.h"
#include "base/sb.h"

#include <errno.h>
#include <stdio.h>

#define FILE_MAX (1u << 20)
#define SECRET_FILE_MAX (64u << 10)

/* The value that has won so far, and who said it ("tavernd.conf:12", "environment"). */
struct said {
	const char *text, *where;
	bool is_file; /* text names a file that holds the value */
};

struct load {
	struct arena *a;
	const struct conf_row *rows;
	struct said *said; /* one per row */
	struct conf_error *err;
};

static void fault(struct load *l, const char *where, const char *fmt, ...) PRINTF(3, 4);

static void
fault(struct load *l, const char *where, const char *fmt, ...)
{
	va_list ap;
	const char *text;

	va_start(ap, fmt);
	text = arena_vprintf(l->a, fmt, ap);
	va_end(ap);
	vec_push(l->a, &l->err->lines, arena_printf(l->a, "%s: %s", where, text));
}

static size_t
row_count(const struct conf_row *rows)
{
	size_t n = 0;

	while (rows[n].key)
		n++;
	return n;
}

/* Row of a key, or of KEY_file where KEY is a secret; -1 if there is none. */
static long
find_row(const struct load *l, struct str key, bool *is_file)
{
	for (long i = 0; l->rows[i].key; i++) {
		struct str have = str_c(l->rows[i].key);

		*is_file = false;
		if (str_eq(key, have))
			return i;
		*is_file = true;
		if (l->rows[i].type == CONF_SECRET && str_starts(key, have) &&
		    str_is(str_sub(key, have.n, key.n), "_file"))
			return i;
	}
	return -1;
}

static void
say(struct load *l, const char *where, struct str key, struct str value)
{
	bool is_file;
	long i = find_row(l, key, &is_file);

	if (i < 0)
		fault(l, where, "unknown setting \"%.*s\"", STR_ARG(key));
	else
		l->said[i] = (struct said){ arena_strdup(l->a, value), where, is_file };
}

static void
say_file(struct load *l, const char *path)
{
	struct str rest = file_read(l->a, path, FILE_MAX), line;

	if (!rest.p) {
		fault(l, path, "cannot be read: %s", strerror(errno));
		return;
	}
	for (int n = 1; str_next(&rest, '\n', &line); n++) {
		const char *where = arena_printf(l->a, "%s:%d", path, n);
		size_t eq;

		line = str_trim(line);
		if (line.n == 0 || line.p[0] == '#')
			continue;
		eq = str_chr(line, '=', 0);
		if (eq == STR_NPOS)
			fault(l, where, "expected `key = value`");
		else
			say(l, where, str_trim(str_sub(line, 0, eq)),
			    str_trim(str_sub(line, eq + 1, line.n)));
	}
}

/* PREFIX_KEY */
static const char *
env_name(struct arena *a, const char *prefix, const char *key, const char *suffix)
{
	char *name = arena_printf(a, "%s_%s%s", prefix, key, suffix);

	for (char *p = name; *p; p++)
		if (*p >= 'a' && *p <= 'z')
			*p = (char)(*p - 32);
	return name;
}

/* Value of a variable; one that is empty counts as unset, as compose files write it. */
static struct str
env_value(char **env, const char *name)
{
	size_t n = strlen(name);

	for (; env && *env; env++)
		if (strncmp(*env, name, n) == 0 && (*env)[n] == '=' && (*env)[n + 1])
			return str_c(*env + n + 1);
	return STR_NULL;
}

static void
say_env(struct load *l, const char *prefix, char **env)
{
	for (size_t i = 0; l->rows[i].key; i++) {
		const char *name = env_name(l->a, prefix, l->rows[i].key, "");
		const char *name_file = env_name(l->a, prefix, l->rows[i].key, "_file");
		struct str v = env_value(env, name), file = STR_NULL;

		if (l->rows[i].type == CONF_SECRET)
			file = env_value(env, name_file);
		if (v.p && file.p)
			fault(l, name, "set together with %s", name_file);
		if (v.p)
			l->said[i] = (struct said){ arena_strdup(l->a, v), name, false };
		else if (file.p)
			l->said[i] = (struct said){ arena_strdup(l->a, file), name_file, true };
	}
}

static void
say_args(struct load *l, const char *const *args)
{
	for (; args && *args; args++) {
		struct str arg = str_c(*args);
		size_t eq = str_chr(arg, '=', 0);

		if (eq == STR_NPOS)
			fault(l, "command line", "expected key=value, got \"%s\"", *args);
		else
			say(l, "command line", str_trim(str_sub(arg, 0, eq)), str_sub(arg, eq + 1, arg.n));
	}
}

struct unit {
	const char *name;
	int64_t times;
};

static const struct unit ms_units[] = { { "ms", 1 }, { "s", 1000 }, { "m", 60000 }, { "h", 3600000 },
	{ "d", 86400000 }, { NULL, 0 } };
static const struct unit byte_units[] = { { "", 1 }, { "b", 1 }, { "k", 1 << 10 }, { "m", 1 << 20 },
	{ "g", 1 << 30 }, { NULL, 0 } };

/* A number and one of the units; 0 needs none. */
static bool
parse_units(struct str s, const struct unit *u, int64_t *out)
{
	size_t digits = 0;
	int64_t v;

	while (digits < s.n && s.p[digits] >= '0' && s.p[digits] <= '9')
		digits++;
	if (!str_int(str_sub(s, 0, digits), &v))
		return false;
	s = str_trim(str_sub(s, digits, s.n));
	if (v == 0 && s.n == 0) {
		*out = 0;
		return true;
	}
	for (; u->name; u++)
		if (str_ieq(s, str_c(u->name)))
			return !__builtin_mul_overflow(v, u->times, out);
	return false;
}

static bool
parse_bool(struct str s, bool *out)
{
	static const char *const words[] = { "false", "true", "no", "yes", "off", "on", "0", "1" };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (str_ieq(s, str_c(words[i]))) {
			*out = i % 2;
			return true;
		}
	}
	return false;
}

static const char **
parse_list(struct arena *a, struct str s)
{
	VEC(const char *) v = { 0 };
	struct str piece;

	while (str_next(&s, ',', &piece)) {
		piece = str_trim(piece);
		if (piece.n)
			vec_push(a, &v, arena_strdup(a, piece));
	}
	vec_push(a, &v, NULL);
	return v.v;
}

static bool
parse_choice(const struct conf_row *r, struct str s, int *out)
{
	for (int i = 0; r->choices[i]; i++) {
		if (str_is(s, r->choices[i])) {
			*out = i;
			return true;
		}
	}
	return false;
}

static const char *
choice_names(struct arena *a, const struct conf_row *r)
{
	struct sb s = sb_new(a);

	for (int i = 0; r->choices[i]; i++)
		sb_addf(&s, "%s%s", i ? ", " : "", r->choices[i]);
	return sb_c(&s);
}

static void
set_number(struct load *l, const struct conf_row *r, const struct said *said, int64_t *out)
{
	struct str s = str_c(said->text);
	bool bounded = r->min || r->max;
	int64_t v;
	bool ok = r->type == CONF_INT ? str_int(s, &v)
				      : parse_units(s, r->type == CONF_MS ? ms_units : byte_units, &v);

	if (!ok)
		fault(l, said->where, "%s: \"%s\" is not %s", r->key, said->text,
		    r->type == CONF_INT  ? "a whole number"
		    : r->type == CONF_MS ? "a time such as 500ms, 30s, 10m, 2h or 1d"
					 : "a size such as 512, 64k, 16m or 1g");
	else if (bounded && (v < r->min || v > r->max))
		fault(l, said->where, "%s: %s is not in the range %lld to %lld", r->key, said->text,
		    (long long)r->min, (long long)r->max);
	else
		*out = v;
}

static const char *
read_secret(struct load *l, const struct conf_row *r, const struct said *said)
{
	struct str text;

	if (!said->is_file)
		return said->text;
	text = file_read(l->a, said->text, SECRET_FILE_MAX);
	if (!text.p)
		fault(l, said->where, "%s: \"%s\" cannot be read: %s", r->key, said->text, strerror(errno));
	return arena_strdup(l->a, str_trim(text));
}

/* Converts one value into its member of the settings. */
static void
set_row(struct load *l, const struct conf_row *r, const struct said *said, void *settings)
{
	void *to = (char *)settings + r->offset;

	switch (r->type) {
	case CONF_STR:
		*(const char **)to = said->text;
		break;
	case CONF_SECRET:
		*(const char **)to = read_secret(l, r, said);
		break;
	case CONF_LIST:
		*(const char ***)to = parse_list(l->a, str_c(said->text));
		break;
	case CONF_BOOL:
		if (!parse_bool(str_c(said->text), to))
			fault(l, said->where, "%s: \"%s\" is not true or false", r->key, said->text);
		break;
	case CONF_ENUM:
		if (!parse_choice(r, str_c(said->text), to))
			fault(l, said->where, "%s: \"%s\" is none of %s", r->key, said->text,
			    choice_names(l->a, r));
		break;
	case CONF_INT:
	case CONF_MS:
	case CONF_BYTES:
		set_number(l, r, said, to);
		break;
	}
}

int
conf_load(struct arena *a, const struct conf_row *rows, void *settings, const char *path, const char *prefix,
    char **env, const char *const *args, struct conf_error *err)
{
	struct load l = { .a = a, .rows = rows, .err = err };
	size_t n = row_count(rows);

	*err = (struct conf_error){ 0 };
	l.said = arena_array(a, struct said, n);
	for (size_t i = 0; i < n; i++)
		if (rows[i].dflt)
			l.said[i] = (struct said){ rows[i].dflt, "default", false };
	if (path)
		say_file(&l, path);
	say_env(&l, prefix, env);
	say_args(&l, args);
	for (size_t i = 0; i < n; i++)
		if (l.said[i].text)
			set_row(&l, &rows[i], &l.said[i], settings);
		else if (rows[i].type == CONF_LIST)
			*(const char ***)((char *)settings + rows[i].offset) = parse_list(a, STR_NULL);
	return err->lines.n ? -1 : 0;
}

void
conf_print_sample(const struct conf_row *rows, const char *prefix)
{
	struct arena *a = arena_create("conf sample", 0);

	for (; rows->key; rows++) {
		printf("# %s\n", rows->help ? rows->help : rows->key);
		if (rows->type == CONF_ENUM)
			printf("# One of %s.\n", choice_names(a, rows));
		if (rows->type == CONF_SECRET)
			printf("# Or %s_file = PATH of a file that holds it.\n", rows->key);
		printf("# Environment: %s\n#%s = %s\n\n", env_name(a, prefix, rows->key, ""), rows->key,
		    rows->dflt ? rows->dflt : "");
	}
	arena_destroy(&a);
}

static void
print_value(const struct conf_row *r, const void *from)
{
	const char *text;

	switch (r->type) {
	case CONF_STR:
		text = *(const char *const *)from;
		fputs(text ? text : "", stdout);
		break;
	case CONF_SECRET:
		text = *(const char *const *)from;
		fputs(text && *text ? "********" : "", stdout);
		break;
	case CONF_LIST:
		for (const char *const *v = *(const char *const *const *)from; v && *v; v++)
			printf("%s%s", v == *(const char *const *const *)from ? "" : ",", *v);
		break;
	case CONF_BOOL:
		fputs(*(const bool *)from ? "true" : "false", stdout);
		break;
	case CONF_ENUM:
		fputs(r->choices[*(const int *)from], stdout);
		break;
	case CONF_INT:
	case CONF_BYTES:
	case CONF_MS:
		printf("%lld%s", (long long)*(const int64_t *)from, r->type == CONF_MS ? "ms" : "");
		break;
	}
}

void
conf_print_values(const struct conf_row *rows, const void *settings)
{
	for (; rows->key; rows++) {
		printf("%s = ", rows->key);
		print_value(rows, (const char *)settings + rows->offset);
		putchar('\n');
	}
}
