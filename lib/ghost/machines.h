/* machines.h: the GPUs that people have: memory, shape and speeds of each, by a short name.
 *
 * The table is machines.def, with the source of each number. Not here: the device at hand (vmm/driver.h); its speeds as
 * measured. Constant.
 * Invariants, named by seam__machines_check():
 *   MA1 names are unique in any case, and hold no comma
 *   MA2 memory is within 10 % of the size on the box, and larger than the context
 *   MA3 the numbers that shape a device are there and go together
 *   MA4 peaks are known, that of fp32 the lower one; copies both ways at once are no faster than one alone
 *   MA5 every number has a source
 */
#ifndef SEAM_GHOST_MACHINES_H
#define SEAM_GHOST_MACHINES_H

#include <stddef.h>
#include <stdint.h>

struct seam_machine {
	const char *name;      /* short: "rtx4090" */
	const char *full_name; /* as the driver reports it */
	uint64_t nominal_bytes;
	uint64_t memory_bytes;  /* the total that cudaMemGetInfo reports */
	uint64_t context_bytes; /* of a process that runs PyTorch, beside its allocator's */
	uint32_t capability;    /* compute capability, major * 10 + minor */
	uint32_t sms;           /* multiprocessors */
	uint32_t threads_sm;    /* resident threads of a multiprocessor */
	uint32_t bus_bits;      /* of memory */
	uint64_t l2_bytes;
	uint64_t shared_sm_bytes;    /* of a multiprocessor */
	uint64_t shared_block_bytes; /* of a block that asks for all it may have */
	/* Published or measured, see machines.def; 0: unknown. GB/s are 10^9 bytes. */
	double tflops, fp32_tflops; /* tensor cores with 16 bits; without them */
	double memory_gbs;
	double pcie_gbs; /* one direction alone */
	double pcie_up_both_gbs, pcie_down_both_gbs;
	double nvlink_gbs;
	const char *memory_source, *properties_source, *speed_source;
};

size_t seam__machine_count(void);

/* number: below the count. */
const struct seam_machine *seam__machine(size_t number);

/* By either name, in any case; NULL: there is none. */
const struct seam_machine *seam__machine_find(const char *name);

#define SEAM_MACHINE_NAMES_BYTES 512

/* "a10g, a40, ...": all short names, for a message. Returns the buffer, of SEAM_MACHINE_NAMES_BYTES. */
const char *seam__machine_names(char *buffer);

/* Name of the first broken invariant, or NULL. */
const char *seam__machines_check(void);

#endif
