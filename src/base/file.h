/*
 * file: whole files into memory, with a limit.
 */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include "arena.h"

/*
 * The bytes of a regular file of at most `max` bytes, NUL-terminated in the arena. STR_NULL with errno set
 * if it cannot be had (EFBIG: too large, EINVAL: no regular file).
 */
struct str file_read(struct arena *a, const char *path, size_t max);
/* The same from an open descriptor of any kind up to its end; for standard input. */
struct str file_read_fd(struct arena *a, int fd, size_t max);

#endif
