/* SPDX-License-Identifier: MIT */
#include "csv_file.h"

#include "error.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* Locks the file that `path` names then. Another trial's csv_file_check may remove what it created between our open
 * and our lock, and a row for that file would be lost. -1: errno says why. */
static int open_locked(const char *path, struct stat *facts)
{
    for (;;) {
        struct stat named;
        int fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
        if (fd < 0 || flock(fd, LOCK_EX) != 0 || fstat(fd, facts) != 0)
            return -1;
        if (stat(path, &named) == 0 && named.st_dev == facts->st_dev && named.st_ino == facts->st_ino)
            return fd;
        close(fd);
    }
}

static bool ends_a_line(int fd, off_t size)
{
    char last;
    return pread(fd, &last, 1, size - 1) == 1 && last == '\n';
}

/* Opens and locks; what `header` must match if the file holds anything. */
static int open_csv(const char *path, const char *header, off_t *size)
{
    struct stat facts;
    int fd = open_locked(path, &facts);
    if (fd < 0)
        fail(STATUS_USAGE, "wanted to append a row to '%s', found '%s': name a writable file", path, strerror(errno));
    *size = S_ISREG(facts.st_mode) ? facts.st_size : 0;
    if (*size == 0)
        return fd;
    size_t length = strlen(header);
    char *found = malloc(length + 1);
    ssize_t got = found ? pread(fd, found, length, 0) : -1;
    if (got != (ssize_t)length || memcmp(found, header, length) != 0)
        fail(STATUS_USAGE, "wanted '%s' to have this version's columns, found others: name a new file", path);
    free(found);
    if (!ends_a_line(fd, *size))
        fail(STATUS_USAGE, "wanted '%s' to end with a whole row, found half of one: remove it or name a new file",
             path);
    return fd;
}

void csv_file_check(const char *path, const char *header)
{
    off_t size;
    bool existed = access(path, F_OK) == 0;
    int fd = open_csv(path, header, &size);
    /* Under the lock, and only if nobody has written to it since. */
    if (!existed && size == 0)
        unlink(path);
    close(fd);
}

/* A pipe may take less than it was given, a file only if the disk is full. Pipes and devices have no fsync: EINVAL. */
static bool write_whole(int fd, const char *text, size_t length)
{
    while (length) {
        ssize_t written = write(fd, text, length);
        if (written <= 0)
            return false;
        text += written;
        length -= (size_t)written;
    }
    return fsync(fd) == 0 || errno == EINVAL;
}

void csv_file_append(const char *path, const char *header, const char *lines)
{
    off_t size;
    int fd = open_csv(path, header, &size);
    size_t length = strlen(header) + strlen(lines);
    char *text = malloc(length + 1);
    if (!text)
        fail(STATUS_OOM, "wanted memory for %zu bytes of '%s', found '%s': free some", length, path, strerror(errno));
    snprintf(text, length + 1, "%s%s", size ? "" : header, lines);
    errno = 0;
    if (!write_whole(fd, text, strlen(text))) {
        int error = errno ? errno : ENOSPC;
        /* Back to what was there before the disk took a part of it. Pipes and devices have no length: EINVAL. */
        if (ftruncate(fd, size) != 0 && errno != EINVAL)
            error = errno;
        fail(STATUS_USAGE, "wanted to append a row to '%s', found '%s': make room", path, strerror(error));
    }
    close(fd);
    free(text);
}
