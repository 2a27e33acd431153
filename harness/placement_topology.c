/* SPDX-License-Identifier: MIT */
/* From hwloc to plain tables. This is the only file that includes hwloc.h, and no object of hwloc outlives a function
 * of it. */
#include "placement.h"

#include "error.h"
#include "membind.h"
#include "meta.h"
#include "placement_state.h"

#include <errno.h>
#include <hwloc.h>
#include <string.h>
#include <unistd.h>

static _Noreturn void fail_on_description(const char *topology)
{
    fail(STATUS_USAGE,
         "wanted an hwloc synthetic description or XML file for --topology, found '%s': write one like "
         "\"pack:4 core:24 pu:2\" or name a file that `lstopo FILE.xml` wrote",
         topology);
}

/* hwloc takes these before any other source, silently; a plan for somebody else's machine would bind to wrong units. */
static void refuse_substitute(hwloc_topology_t loaded)
{
    if (!hwloc_topology_is_thissystem(loaded))
        fail(STATUS_USAGE, "wanted the topology of this machine, hwloc answers with another one: unset HWLOC_XMLFILE, "
                           "HWLOC_SYNTHETIC, HWLOC_FSROOT and HWLOC_COMPONENTS, or name it with --topology");
}

static bool source_set(hwloc_topology_t loading, const char *topology)
{
    if (topology == NULL)
        return true;
    if (access(topology, F_OK) == 0)
        return hwloc_topology_set_xml(loading, topology) == 0;
    return hwloc_topology_set_synthetic(loading, topology) == 0;
}

/* I/O devices are left out by default, and with them the 10 MB that hwloc would need to name them. Memory attributes
 * and distances are of no use here. Disallowed units are kept to number cores over the whole machine. The x86 backend
 * would hop over every unit with the calling thread and learn nothing that the kernel's tables do not say: it is
 * switched off. */
static hwloc_topology_t load(const char *topology)
{
    unsigned long flags = HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED | HWLOC_TOPOLOGY_FLAG_DONT_CHANGE_BINDING |
                          HWLOC_TOPOLOGY_FLAG_NO_DISTANCES | HWLOC_TOPOLOGY_FLAG_NO_MEMATTRS;
    hwloc_topology_t loaded;
    if (hwloc_topology_init(&loaded) != 0 || hwloc_topology_set_flags(loaded, flags) != 0)
        fail(STATUS_UNSUPPORTED, "wanted a topology of hwloc, it says '%s': install hwloc 2.8 or newer",
             strerror(errno));
    if (!source_set(loaded, topology))
        fail_on_description(topology);
    if (hwloc_topology_load(loaded) != 0) {
        if (topology != NULL)
            fail_on_description(topology);
        fail(STATUS_UNSUPPORTED, "wanted the topology of this machine, hwloc says '%s': mount /sys and /proc",
             strerror(errno));
    }
    if (topology == NULL)
        refuse_substitute(loaded);
    return loaded;
}

/* What the kernel lets this process use; hwloc's own answer misses taskset, and cgroups that are not mounted. */
static void allow_what_the_kernel_does(hwloc_topology_t loaded)
{
    struct unit_set units;
    struct node_set nodes;
    if (sched_getaffinity(0, sizeof units, units.part) != 0)
        fail(STATUS_UNSUPPORTED, "wanted the units this process may use, sched_getaffinity says '%s': run elsewhere",
             strerror(errno));
    hwloc_bitmap_t cpus = hwloc_bitmap_alloc(), memory = hwloc_bitmap_alloc();
    for (int os = 0; os < MOST_UNITS; os++)
        if (unit_set_has(&units, os))
            hwloc_bitmap_set(cpus, (unsigned)os);
    bool known = membind_allowed(&nodes);
    for (unsigned w = 0; known && w < NODE_WORDS; w++)
        hwloc_bitmap_set_ith_ulong(memory, w, nodes.word[w]);
    if (hwloc_topology_allow(loaded, cpus, known ? memory : NULL, HWLOC_ALLOW_FLAG_CUSTOM) != 0)
        fail(STATUS_UNSUPPORTED,
             "wanted the allowed units in hwloc's topology, it says '%s': is /sys this machine's own?",
             strerror(errno));
    hwloc_bitmap_free(cpus);
    hwloc_bitmap_free(memory);
}

static hwloc_topology_t load_allowed(const char *topology)
{
    hwloc_topology_t loaded = load(topology);
    if (topology == NULL)
        allow_what_the_kernel_does(loaded);
    return loaded;
}

/* hwloc ranks kinds by what the kernel says of their capacity or frequency; unranked kinds (efficiency -1) have no
 * order. */
static int kind_of(hwloc_topology_t loaded, hwloc_obj_t pu)
{
    int efficiency = 0;
    int kind = hwloc_cpukinds_get_by_cpuset(loaded, pu->cpuset, 0);
    if (kind < 0 || hwloc_cpukinds_get_info(loaded, (unsigned)kind, NULL, &efficiency, NULL, NULL, 0) != 0)
        return 0;
    return efficiency < 0 ? 0 : efficiency;
}

/* Virtual machines may show no packages and no cores: all is one socket then, and each unit a core. */
static void read_unit(hwloc_topology_t loaded, hwloc_obj_t pu, struct unit *unit)
{
    hwloc_obj_t core = hwloc_get_ancestor_obj_by_type(loaded, HWLOC_OBJ_CORE, pu);
    hwloc_obj_t socket = hwloc_get_ancestor_obj_by_type(loaded, HWLOC_OBJ_PACKAGE, pu);
    *unit = (struct unit){
        .os = (int)pu->os_index,
        .core = core ? core->logical_index : pu->logical_index,
        .socket = socket ? socket->logical_index : 0,
        .node = hwloc_bitmap_first(pu->nodeset),
        .kind = kind_of(loaded, pu),
    };
}

static void read_units(struct placement *p, hwloc_topology_t loaded)
{
    hwloc_const_bitmap_t allowed = hwloc_topology_get_allowed_cpuset(loaded);
    p->unit = meta_alloc((size_t)hwloc_get_nbobjs_by_type(loaded, HWLOC_OBJ_PU) * sizeof *p->unit);
    for (hwloc_obj_t pu = NULL; (pu = hwloc_get_next_obj_by_type(loaded, HWLOC_OBJ_PU, pu)) != NULL;) {
        if (!hwloc_bitmap_isset(allowed, pu->os_index))
            continue;
        if (pu->os_index >= MOST_UNITS)
            fail(STATUS_UNSUPPORTED, "wanted units numbered below %d, found unit %u: no kernel has so many", MOST_UNITS,
                 pu->os_index);
        read_unit(loaded, pu, &p->unit[p->units]);
        unit_set_add(&p->allowed, p->unit[p->units++].os);
    }
    if (p->units == 0)
        fail(STATUS_USAGE, "wanted at least one allowed unit in the topology, found none: describe another one");
}

static void read_nodes(struct placement *p, hwloc_topology_t loaded)
{
    hwloc_const_bitmap_t allowed = hwloc_topology_get_allowed_nodeset(loaded);
    for (hwloc_obj_t node = NULL; (node = hwloc_get_next_obj_by_type(loaded, HWLOC_OBJ_NUMANODE, node)) != NULL;) {
        if (!hwloc_bitmap_isset(allowed, node->os_index) || node->os_index >= MOST_NODES)
            continue;
        p->memory.word[node->os_index / NODE_WORD_BITS] |= 1UL << node->os_index % NODE_WORD_BITS;
        p->nodes++;
    }
}

/* Needs the units in hwloc's own order, where the units of a core and the cores of a socket are neighbours. */
static void number_siblings(struct placement *p)
{
    for (unsigned i = 0; i < p->units; i++) {
        struct unit *unit = &p->unit[i];
        bool same_core = i > 0 && unit[-1].core == unit->core;
        unit->sibling = same_core ? unit[-1].sibling + 1 : 0;
        p->cores += !same_core;
        p->sockets += i == 0 || unit[-1].socket != unit->socket;
    }
}

static void count_kinds(struct placement *p)
{
    for (unsigned i = 0; i < p->units; i++) {
        unsigned earlier = 0;
        while (earlier < i && p->unit[earlier].kind != p->unit[i].kind)
            earlier++;
        p->kinds += earlier == i;
    }
}

struct placement *placement_open(const char *topology)
{
    struct placement *p = meta_alloc(sizeof *p);
    p->topology = topology;
    hwloc_topology_t loaded = load_allowed(topology);
    read_units(p, loaded);
    read_nodes(p, loaded);
    hwloc_topology_destroy(loaded);
    number_siblings(p);
    count_kinds(p);
    placement_sort(p);
    return p;
}

bool placement_foreign(const struct placement *p)
{
    return p->topology != NULL;
}

unsigned placement_sockets(const struct placement *p)
{
    return p->sockets;
}

unsigned placement_cores(const struct placement *p)
{
    return p->cores;
}

unsigned placement_units(const struct placement *p)
{
    return p->units;
}

unsigned placement_nodes(const struct placement *p)
{
    return p->nodes;
}

unsigned placement_kinds(const struct placement *p)
{
    return p->kinds;
}
