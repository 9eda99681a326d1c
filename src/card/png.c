/*
 * png: reads the text chunks that carry cards and writes them back (st-assembly.md 4). Every
 * length is checked against the file before it is used.
 */
#include "png.h"

#include "base/limits.h"
#include "base/sb.h"
#include "inflate.h"

#include <zlib.h>

#define SIGNATURE STR("\x89PNG\r\n\x1a\n")
#define CHUNK_FRAME 12 /* length, type, CRC */

static const char *const keywords[] = { "ccv3", "chara", "naidata" };

struct chunk {
	struct str all;  /* with length, type and CRC */
	struct str type; /* four bytes */
	struct str data;
	size_t offset;
	bool bad_crc;
};

static uint32_t
be32(const char *p)
{
	const unsigned char *u = (const unsigned char *)p;

	return (uint32_t)u[0] << 24 | (uint32_t)u[1] << 16 | (uint32_t)u[2] << 8 | u[3];
}

bool
png_is(struct str bytes)
{
	return str_starts(bytes, SIGNATURE);
}

/* The chunk at *pos: 1, 0 at the end of the file, -1 if it runs past it. */
static int
chunk_next(struct arena *a, struct str bytes, size_t *pos, struct chunk *c, struct import_error *err)
{
	size_t left = bytes.n - *pos;
	uint32_t len;

	if (left == 0)
		return 0;
	if (left < CHUNK_FRAME || (len = be32(bytes.p + *pos)) > left - CHUNK_FRAME) {
		import_fail(a, err, "png_truncated", "png",
		    "the PNG is cut off: the chunk at byte %zu runs past the end of the file; upload the "
		    "whole file",
		    *pos);
		if (err)
			err->offset = (int64_t)*pos;
		return -1;
	}
	c->all = str_sub(bytes, *pos, *pos + CHUNK_FRAME + len);
	c->type = str_sub(c->all, 4, 8);
	c->data = str_sub(c->all, 8, 8 + (size_t)len);
	c->offset = *pos;
	c->bad_crc = crc32(crc32(0, NULL, 0), (const Bytef *)c->type.p, 4 + len) != be32(c->all.p + 8 + len);
	*pos += c->all.n;
	return 1;
}

static bool
known_keyword(struct str key)
{
	for (size_t i = 0; i < sizeof(keywords) / sizeof(keywords[0]); i++)
		if (str_ieq(key, str_c(keywords[i])))
			return true;
	return false;
}

/* Takes a text chunk apart. False if it is none, or not well formed. */
static bool
text_split(const struct chunk *c, struct png_text *t)
{
	static const char *const types[] = { [PNG_TEXT] = "tEXt", [PNG_ITXT] = "iTXt", [PNG_ZTXT] = "zTXt" };
	size_t at = str_chr(c->data, '\0', 0), kind = 0;

	while (kind < 3 && !str_is(c->type, types[kind]))
		kind++;
	if (kind == 3 || at == STR_NPOS)
		return false;
	*t =
	    (struct png_text){ .kind = (enum png_text_kind)kind, .offset = c->offset, .bad_crc = c->bad_crc };
	t->keyword = str_sub(c->data, 0, at++);
	if (kind == PNG_TEXT) {
		t->data = str_sub(c->data, at, c->data.n);
		return true;
	}
	if (kind == PNG_ZTXT) { /* method, stream */
		t->deflated = true;
		t->data = str_sub(c->data, at + 1, c->data.n);
		return at < c->data.n && c->data.p[at] == 0;
	}
	if (at + 2 > c->data.n) /* flag, method, language NUL, translated keyword NUL, text */
		return false;
	t->deflated = c->data.p[at] != 0;
	for (int skip = 0; skip < 2; skip++) {
		at = str_chr(c->data, '\0', skip == 0 ? at + 2 : at + 1);
		if (at == STR_NPOS)
			return false;
	}
	t->data = str_sub(c->data, at + 1, c->data.n);
	return true;
}

int
png_walk(struct arena *a, struct str bytes, struct png *out, struct import_error *err)
{
	size_t pos = SIGNATURE.n;
	struct chunk c;
	int rc = 0;

	*out = (struct png){ 0 };
	if (!png_is(bytes))
		return import_fail(a, err, "png_signature", "png", "the file does not begin like a PNG");
	while ((rc = chunk_next(a, bytes, &pos, &c, err)) > 0) {
		struct png_text t;

		out->bad_crc |= c.bad_crc;
		if (str_is(c.type, "IEND"))
			return 0;
		if (text_split(&c, &t) && known_keyword(t.keyword))
			vec_push(a, &out->texts, t);
	}
	out->no_end = true;
	return rc;
}

const char *
png_text_name(struct arena *a, const struct png_text *t)
{
	static const char *const types[] = { [PNG_TEXT] = "tEXt", [PNG_ITXT] = "iTXt", [PNG_ZTXT] = "zTXt" };
	const char *key = "naidata";

	for (size_t i = 0; i < sizeof(keywords) / sizeof(keywords[0]); i++)
		if (str_ieq(t->keyword, str_c(keywords[i])))
			key = keywords[i];
	return arena_printf(a, "%s:%s", types[t->kind], key);
}

int
png_text_read(struct arena *a, const struct png_text *t, struct str *out, struct import_error *err)
{
	if (!t->deflated) {
		*out = t->data;
		return 0;
	}
	switch (inflate_zlib(a, t->data, LIM_CARD_JSON, out)) {
	case INFLATE_OK:
		return 0;
	case INFLATE_TOO_LARGE:
		import_fail(a, err, "too_large", png_text_name(a, t),
		    "the text unpacks to more than %u bytes", LIM_CARD_JSON);
		if (err)
			err->too_large = true;
		break;
	case INFLATE_BROKEN:
		import_fail(a, err, "png_text_broken", png_text_name(a, t),
		    "the compressed text of the chunk is damaged");
		break;
	}
	if (err)
		err->offset = (int64_t)t->offset;
	return -1;
}

static void
add_be32(struct sb *s, uint32_t v)
{
	char b[4] = { (char)(v >> 24), (char)(v >> 16), (char)(v >> 8), (char)v };

	sb_add(s, (struct str){ b, 4 });
}

static void
add_text(struct sb *s, const struct png_new_text *t)
{
	size_t from, len = strlen(t->keyword) + 1 + t->value.n;

	add_be32(s, (uint32_t)len);
	from = s->n;
	sb_adds(s, "tEXt");
	sb_adds(s, t->keyword);
	sb_addc(s, '\0');
	sb_add(s, t->value);
	add_be32(s, (uint32_t)crc32(crc32(0, NULL, 0), (const Bytef *)s->p + from, (uInt)(4 + len)));
}

static bool
replaced(const struct chunk *c, const struct png_new_text *texts, size_t n)
{
	struct png_text t;

	if (!text_split(c, &t))
		return false;
	for (size_t i = 0; i < n; i++)
		if (str_ieq(t.keyword, str_c(texts[i].keyword)))
			return true;
	return false;
}

int
png_rewrite(struct arena *a, struct str picture, const struct png_new_text *texts, size_t n, struct str *out,
    struct import_error *err)
{
	struct sb s = sb_new(a);
	size_t pos = SIGNATURE.n;
	struct chunk c;
	int rc = 0;

	if (!png_is(picture))
		return import_fail(a, err, "png_signature", "png", "the picture is no PNG");
	sb_add(&s, SIGNATURE);
	while ((rc = chunk_next(a, picture, &pos, &c, err)) > 0 && !str_is(c.type, "IEND"))
		if (!replaced(&c, texts, n))
			sb_add(&s, c.all);
	if (rc < 0)
		return -1;
	for (size_t i = 0; i < n; i++)
		add_text(&s, &texts[i]);
	sb_add(&s, STR("\0\0\0\0IEND\xae\x42\x60\x82"));
	if (rc > 0)
		sb_add(&s, str_sub(picture, pos, picture.n)); /* what stands behind IEND stays there */
	*out = sb_str(&s);
	return 0;
}

struct str
png_blank(void)
{
	/* 1 x 1, eight bits of grey, the pixel mid-grey. */
	return STR("\x89PNG\r\n\x1a\n"
		   "\0\0\0\x0dIHDR\0\0\0\x01\0\0\0\x01\x08\0\0\0\0\x3a\x7e\x9b\x55"
		   "\0\0\0\x0aIDAT\x78\xda\x63\x68\0\0\0\x82\0\x81\xda\x45\x08\x3b"
		   "\0\0\0\0IEND\xae\x42\x60\x82");
}
