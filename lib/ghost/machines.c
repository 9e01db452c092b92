/* machines.c: see machines.h. */
#include "machines.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#define KIB UINT64_C(1024)
#define MIB (UINT64_C(1024) * KIB)
#define GIB (UINT64_C(1024) * MIB)
#define NOMINAL_TENTH 10u /* memory differs from the size on the box by at most this part of it */

/* A machine's row takes what its chip has at compile time. */
enum chips {
#define SEAM_CHIP(capability, shared_sm, shared_block, threads)                           \
	SHARED_SM_##capability = (shared_sm), SHARED_BLOCK_##capability = (shared_block), \
	THREADS_##capability = (threads),
#include "machines.def"
#undef SEAM_CHIP
};

static const struct seam_machine machines[] = {
#define SEAM_MACHINE(short_name, driver_name, nominal, memory, context, chip, sm_count, l2, bus, flops, fp32_flops, \
	memory_rate, pcie, up_both, down_both, nvlink, of_memory, of_properties, of_speed)                          \
	{                                                                                                           \
		.name = (short_name),                                                                               \
		.full_name = (driver_name),                                                                         \
		.nominal_bytes = (nominal)*GIB,                                                                     \
		.memory_bytes = (memory)*MIB,                                                                       \
		.context_bytes = (context)*MIB,                                                                     \
		.capability = (chip),                                                                               \
		.sms = (sm_count),                                                                                  \
		.threads_sm = THREADS_##chip,                                                                       \
		.bus_bits = (bus),                                                                                  \
		.l2_bytes = (l2)*KIB,                                                                               \
		.shared_sm_bytes = SHARED_SM_##chip * KIB,                                                          \
		.shared_block_bytes = SHARED_BLOCK_##chip * KIB,                                                    \
		.tflops = (flops),                                                                                  \
		.fp32_tflops = (fp32_flops),                                                                        \
		.memory_gbs = (memory_rate),                                                                        \
		.pcie_gbs = (pcie),                                                                                 \
		.pcie_up_both_gbs = (up_both),                                                                      \
		.pcie_down_both_gbs = (down_both),                                                                  \
		.nvlink_gbs = (nvlink),                                                                             \
		.memory_source = (of_memory),                                                                       \
		.properties_source = (of_properties),                                                               \
		.speed_source = (of_speed),                                                                         \
	},
#include "machines.def"
#undef SEAM_MACHINE
};

#define MACHINE_COUNT (sizeof(machines) / sizeof(machines[0]))

size_t seam__machine_count(void)
{
	return MACHINE_COUNT;
}

const struct seam_machine *seam__machine(size_t number)
{
	return &machines[number];
}

const struct seam_machine *seam__machine_find(const char *name)
{
	for (size_t i = 0; i < MACHINE_COUNT; i++)
		if (strcasecmp(machines[i].name, name) == 0 || strcasecmp(machines[i].full_name, name) == 0)
			return &machines[i];
	return NULL;
}

const char *seam__machine_names(char *buffer)
{
	size_t length = 0;
	buffer[0] = '\0';
	for (size_t i = 0; i < MACHINE_COUNT && length < SEAM_MACHINE_NAMES_BYTES; i++) {
		int added = snprintf(buffer + length, SEAM_MACHINE_NAMES_BYTES - length, "%s%s", i > 0 ? ", " : "",
			machines[i].name);
		length += added > 0 ? (size_t)added : 0;
	}
	return buffer;
}

static const char *check_one(const struct seam_machine *machine)
{
	uint64_t apart_bytes = machine->memory_bytes > machine->nominal_bytes
		? machine->memory_bytes - machine->nominal_bytes
		: machine->nominal_bytes - machine->memory_bytes;
	if (seam__machine_find(machine->name) != machine || seam__machine_find(machine->full_name) != machine ||
		strchr(machine->name, ',') != NULL || strchr(machine->full_name, ',') != NULL)
		return "MA1 names";
	if (apart_bytes * NOMINAL_TENTH > machine->nominal_bytes || machine->context_bytes >= machine->memory_bytes)
		return "MA2 memory";
	if (machine->sms == 0 || machine->bus_bits % 64 != 0 || machine->bus_bits == 0 || machine->l2_bytes == 0 ||
		machine->shared_block_bytes > machine->shared_sm_bytes || machine->threads_sm % 32 != 0)
		return "MA3 the shape";
	if (machine->fp32_tflops <= 0 || machine->tflops < machine->fp32_tflops || machine->memory_gbs <= 0 ||
		machine->pcie_up_both_gbs > machine->pcie_gbs || machine->pcie_down_both_gbs > machine->pcie_gbs)
		return "MA4 speeds";
	if (machine->memory_source[0] == '\0' || machine->properties_source[0] == '\0' ||
		machine->speed_source[0] == '\0')
		return "MA5 sources";
	return NULL;
}

const char *seam__machines_check(void)
{
	const char *broken = NULL;
	for (size_t i = 0; i < MACHINE_COUNT && broken == NULL; i++)
		broken = check_one(&machines[i]);
	return broken;
}
