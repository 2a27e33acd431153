/* SPDX-License-Identifier: MIT */
/* For tests of code that ends its process: run it in a child, look at how it ended. Included after cmocka.h, and never
 * together with harness/error.h, because each of them defines its own fail. */
#ifndef RB_TEST_IN_CHILD_H
#define RB_TEST_IN_CHILD_H

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct ending {
    int status;
    char text[1024]; /* what it wrote to stderr */
};

static inline struct ending in_child(void (*body)(const void *), const void *argument)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        close(ends[1]);
        body(argument);
        _exit(0);
    }
    close(ends[1]);
    struct ending ending = {0};
    size_t length = 0;
    for (ssize_t got; (got = read(ends[0], ending.text + length, sizeof ending.text - 1 - length)) > 0;)
        length += (size_t)got;
    close(ends[0]);
    waitpid(child, &ending.status, 0);
    assert_true(WIFEXITED(ending.status));
    ending.status = WEXITSTATUS(ending.status);
    return ending;
}

/* One line and exit status 2. */
static inline void check_refused(struct ending ending, const char *says)
{
    if (ending.status != 2 || strstr(ending.text, says) == NULL)
        fail_msg("wanted exit status 2 and '%s', found %d and: %s", says, ending.status, ending.text);
    assert_ptr_equal(strchr(ending.text, '\n'), ending.text + strlen(ending.text) - 1);
}

#endif
