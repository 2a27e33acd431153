/* SPDX-License-Identifier: MIT */
#include "kernel_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool kernel_file_read(const char *path, char *text, size_t size)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return false;
    size_t length = 0;
    while (length < size - 1) {
        /* One read may give less than there is: /proc hands out whole records. */
        ssize_t got = read(file, text + length, size - 1 - length);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        length += (size_t)got;
    }
    close(file);
    while (length && text[length - 1] == '\n')
        length--;
    text[length] = 0;
    return length > 0;
}

static bool parse(const char *text, const char **end, long long *number)
{
    char *stop;
    errno = 0;
    long long value = strtoll(text, &stop, 10);
    if (stop == text || errno)
        return false;
    *end = stop;
    *number = value;
    return true;
}

bool kernel_file_number(const char *path, long long *number)
{
    char text[64];
    const char *end;
    return kernel_file_read(path, text, sizeof text) && parse(text, &end, number);
}

bool kernel_text_field(const char *text, const char *key, long long *number)
{
    size_t length = strlen(key);
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, key, length) || (line[length] != ':' && line[length] != ' '))
            continue;
        const char *end;
        if (!parse(line + length + 1, &end, number))
            return false;
        if (!strncmp(end, " kB", 3))
            *number *= 1024;
        return true;
    }
    return false;
}
