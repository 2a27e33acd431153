/* SPDX-License-Identifier: MIT */
#include "fence.h"

#include "error.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

bool fence_is_asymmetric;

static long membarrier(int command)
{
    return syscall(SYS_membarrier, command, 0, 0);
}

/* QUERY may announce a command that a filter then refuses: only a command that QUERY lists, REGISTER accepts and one trial
 * call executes is used. */
static bool membarrier_works(void)
{
    long offered = membarrier(MEMBARRIER_CMD_QUERY);
    if (offered >= 0 && !(offered & MEMBARRIER_CMD_PRIVATE_EXPEDITED))
        errno = ENOSYS;
    return offered > 0 && (offered & MEMBARRIER_CMD_PRIVATE_EXPEDITED) &&
           membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0 &&
           membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) == 0;
}

const char *fence_init(const char *mode)
{
    if (strcmp(mode, "full") == 0) {
        fence_is_asymmetric = false;
        return "full";
    }
    fence_is_asymmetric = membarrier_works();
    if (!fence_is_asymmetric && strcmp(mode, "membarrier") == 0)
        fail(STATUS_UNSUPPORTED, "wanted --fence=membarrier, found that the kernel says '%s': use --fence=full",
             strerror(errno));
    return fence_is_asymmetric ? "membarrier" : "full";
}

void fence_heavy(void)
{
    /* The kernel's barrier orders this thread too. A kernel that is short of memory says so and may be asked again. */
    if (!fence_is_asymmetric) {
        fence_seq_cst();
        return;
    }
    while (membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) != 0)
        if (errno != ENOMEM)
            fail(STATUS_INVARIANT, "membarrier worked at start and now says '%s': use --fence=full", strerror(errno));
}
