/* SPDX-License-Identifier: MIT */
/* The plan handed to the kernel, and asked back from it. */
#include "placement.h"

#include "error.h"
#include "placement_state.h"

#include <errno.h>
#include <string.h>

void placement_refuse_foreign(const struct placement *p)
{
    if (placement_foreign(p))
        fail(STATUS_USAGE,
             "wanted to run on this machine, found --topology=%s: add --plan-pinning, or leave --topology out",
             p->topology);
}

/* One unit, or for NULL the whole allowed set. */
static struct unit_set place_of(const struct placement *p, const struct unit *unit)
{
    if (unit == NULL)
        return p->allowed;
    struct unit_set set = {0};
    unit_set_add(&set, unit->os);
    return set;
}

static const struct unit *planned_unit(const struct placement *p, unsigned thread)
{
    return p->plan ? p->plan[thread] : NULL;
}

static void set_attributes(const struct placement *p, const struct unit *unit, pthread_attr_t *attributes)
{
    placement_refuse_foreign(p);
    struct unit_set set = place_of(p, unit);
    int error = pthread_attr_setaffinity_np(attributes, sizeof set, set.part);
    if (error)
        fail(STATUS_BIND_FAILED,
             "wanted unit %d in a thread's attributes, pthread_attr_setaffinity_np says '%s': free memory",
             unit ? unit->os : -1, strerror(error));
}

void placement_attributes(const struct placement *p, unsigned thread, pthread_attr_t *attributes)
{
    set_attributes(p, planned_unit(p, thread), attributes);
}

void placement_helper_attributes(const struct placement *p, pthread_attr_t *attributes)
{
    set_attributes(p, p->helper, attributes);
}

void placement_bind_main(const struct placement *p)
{
    placement_refuse_foreign(p);
    struct unit_set set = place_of(p, p->helper);
    if (sched_setaffinity(0, sizeof set, set.part) != 0)
        fail(STATUS_BIND_FAILED,
             "wanted the main thread on unit %d, sched_setaffinity says '%s': is the unit still online?",
             placement_helper_unit(p), strerror(errno));
}

/* Offlining a unit or shrinking a cgroup moves threads without telling them; either shows in one of the two answers. */
bool placement_verify(const struct placement *p, unsigned thread, char *why, size_t size)
{
    struct unit_set wanted = place_of(p, planned_unit(p, thread)), found = {0};
    if (sched_getaffinity(0, sizeof found, found.part) != 0) {
        snprintf(why, size, "thread %u cannot read its affinity: %s", thread, strerror(errno));
        return false;
    }
    int here = sched_getcpu();
    bool here_wanted = here >= 0 && here < MOST_UNITS && unit_set_has(&wanted, here);
    if (CPU_EQUAL_S(sizeof found, found.part, wanted.part) && here_wanted)
        return true;
    char place[32] = "any allowed unit";
    if (p->plan)
        snprintf(place, sizeof place, "unit %d", placement_unit(p, thread));
    snprintf(why, size, "thread %u was put on %s (%d allowed), is on unit %d and may run on %d units", thread, place,
             CPU_COUNT_S(sizeof wanted, wanted.part), here, CPU_COUNT_S(sizeof found, found.part));
    return false;
}
