/* SPDX-License-Identifier: MIT */
#include "loader.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static bool same_name(const char *a, const char *b)
{
    size_t length = strcspn(a, "=");
    return !strncmp(a, b, length + 1);
}

static bool replaced(const char *entry, const char *const *settings)
{
    for (; *settings; settings++)
        if (same_name(*settings, entry))
            return true;
    return false;
}

static void read_all(int file, char *text, size_t size)
{
    size_t length = 0;
    char rest[512];
    for (;;) {
        /* What does not fit is read too, or the program would wait for us to do so. */
        bool room = length < size - 1;
        ssize_t got = room ? read(file, text + length, size - 1 - length) : read(file, rest, sizeof rest);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        length += room ? (size_t)got : 0;
    }
    text[length] = 0;
}

bool loader_run(const char *program, char *const *argv, const char *const *settings, char *text, size_t size)
{
    size_t count = 0, used = 0;
    while (environ[count])
        count++;
    for (size_t i = 0; settings[i]; i++)
        count++;
    char **variables = malloc((count + 1) * sizeof *variables);
    int ends[2];
    if (!variables)
        return false;
    if (pipe2(ends, O_CLOEXEC)) {
        free(variables);
        return false;
    }
    for (char **entry = environ; *entry; entry++)
        if (!replaced(*entry, settings))
            variables[used++] = *entry;
    for (size_t i = 0; settings[i]; i++)
        variables[used++] = (char *)settings[i];
    variables[used] = NULL;

    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
    pid_t child;
    bool started = !posix_spawnp(&child, program, &actions, NULL, argv, variables);
    posix_spawn_file_actions_destroy(&actions);
    free(variables);
    close(ends[1]);
    *text = 0;
    if (started) {
        read_all(ends[0], text, size);
        while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    close(ends[0]);
    return started;
}

/* Lines of the list: "\tNAME => PATH (0xADDRESS)", or "\tPATH (0xADDRESS)" for one given by its path. */
static bool path_in_list(char *text, const char *object, char *path)
{
    size_t length = strlen(object);
    for (char *line = text; line; line = strchr(line, '\n')) {
        line += strspn(line, "\n\t");
        if (strncmp(line, object, length))
            continue;
        char *from = line + length;
        if (!strncmp(from, " => ", 4))
            from += 4;
        else if (*from == ' ')
            from = line;
        else
            continue;
        char *end = strstr(from, " (0x");
        if (!end || end > from + strcspn(from, "\n"))
            continue;
        *end = 0;
        return realpath(from, path) != NULL;
    }
    return false;
}

/* "ERROR: ld.so: object 'NAME' from LD_PRELOAD cannot be preloaded (WHY): ignored." */
static void find_reason(const char *text, char *reason, size_t size)
{
    const char *why = strstr(text, "cannot be preloaded");
    const char *from = why ? strchr(why, '(') : NULL, *to = from ? strchr(from, ')') : NULL;
    if (to)
        snprintf(reason, size, "%.*s", (int)(to - from - 1), from + 1);
    else
        snprintf(reason, size, "the dynamic loader does not take it");
}

bool loader_finds(const char *object, char *path, char *reason, size_t reason_size)
{
    char text[16384], preload[PATH_MAX + 16];
    if (strpbrk(object, " :$")) {
        snprintf(reason, reason_size, "LD_PRELOAD cannot name a path with a blank, a colon or a dollar sign");
        return false;
    }
    snprintf(preload, sizeof preload, "LD_PRELOAD=%s", object);
    /* With LD_TRACE_LOADED_OBJECTS the loader maps what it would map, prints the list and ends; no line of the program
     * runs. */
    const char *const settings[] = {preload, "LD_TRACE_LOADED_OBJECTS=1", "LC_ALL=C", NULL};
    char *const argv[] = {(char *)"reclaimbench", NULL};
    if (!loader_run("/proc/self/exe", argv, settings, text, sizeof text)) {
        snprintf(reason, reason_size, "this program could not be started a second time");
        return false;
    }
    const char *missing = strstr(text, " => not found");
    if (missing) {
        const char *name = missing;
        while (name > text && name[-1] != '\n' && name[-1] != '\t')
            name--;
        snprintf(reason, reason_size, "%.*s, which it needs, is missing", (int)(missing - name), name);
        return false;
    }
    if (path_in_list(text, object, path))
        return true;
    find_reason(text, reason, reason_size);
    return false;
}
