/* SPDX-License-Identifier: MIT */
#include "error.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static const char *const names[] = {
    [STATUS_OK] = "ok",
    [STATUS_USAGE] = "usage",
    [STATUS_PRELOAD_FAILED] = "preload_failed",
    [STATUS_BIND_FAILED] = "bind_failed",
    [STATUS_OOM] = "oom",
    [STATUS_INVARIANT] = "invariant",
    [STATUS_UNSUPPORTED] = "unsupported",
};

const char *status_name(enum status status)
{
    return names[status];
}

static void print_line(const char *word, const char *format, va_list arguments)
{
    fflush(stdout);
    flockfile(stderr); /* several threads may find the same fault: a line each */
    fprintf(stderr, "reclaimbench: %s: ", word);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    funlockfile(stderr);
}

void fail(enum status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print_line(names[status], format, arguments);
    va_end(arguments);
    /* _Exit: other threads may be running, and handlers of a foreign allocator must not. */
    _Exit(status == STATUS_BIND_FAILED || status == STATUS_INVARIANT ? 1 : 2);
}

void note(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print_line("note", format, arguments);
    va_end(arguments);
}
