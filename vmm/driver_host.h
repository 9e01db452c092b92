/* driver_host.h: a device's driver once more, for memory of the host: new memory lies on the NUMA node of the host next
 * to the device, and the control groups of the process have room for it.
 *
 * So an engine that manages a device's memory (stitch/engine.h) manages pinned host memory as it is. All calls go on to
 * the device's driver, by its wrappers: they are counted there, and fail there when a test wants it.
 *
 * Not here: who may touch the memory (memory.h).
 *
 * Locks: none; figures as in host_figures.h.
 */
#ifndef SEAM_VMM_DRIVER_HOST_H
#define SEAM_VMM_DRIVER_HOST_H

#include "driver.h"
#include "host_figures.h"

struct seam_driver_host {
	struct seam_driver base;
	struct seam_driver_ops ops; /* of base */
	struct seam_driver *device;
	const char *root; /* of host_memory.h */
	int node;
	struct seam_host_figures figures;
};

/* Whether the device's driver makes such memory is tried: created, mapped, the CPU let in beside the device, and the
 * driver takes it for the host's. Returns what is lacking, for a person; NULL: nothing. device and root outlive it;
 * there is nothing to free. */
SEAM_MUST_USE const char *seam__driver_host_init(
	struct seam_driver_host *host, struct seam_driver *device, const char *root);

/* What is to be created: memory on the node. */
struct seam_phys_props seam__driver_host_props(const struct seam_driver_host *host);

#endif
