/* test_costs.c: measured on the emulator, whose prices are known, the fitted table is the emulator's own. */
#include <stdlib.h>

#include "costs.h"
#include "emu_state.h"
#include "tap.h"

#define MIB UINT64_C(1048576)

/* Rows of a call that differ in what they count cannot be fitted together. */
static void check_rows(const struct costs *costs)
{
	bool alike = true;
	for (size_t i = 0; i < costs->sample_count; i++) {
		const struct cost_sample *sample = &costs->samples[i];
		bool handles = sample->call == SEAM_DRV_mem_create || sample->call == SEAM_DRV_mem_release;
		alike &= !handles || sample->mappings == 0;
	}
	ok(alike, "making and releasing a handle touches no mapping");
}

static void check_fit(const struct costs *costs)
{
	struct seam_emu_cost wanted[SEAM_DRV_COUNT];
	struct seam_emu_cost found[SEAM_DRV_COUNT];
	seam__emu_costs_default(wanted);
	costs_fit(costs, found);
	for (int call = 0; call < SEAM_DRV_COUNT; call++) {
		bool measured = false;
		for (size_t i = 0; i < costs->sample_count; i++)
			measured |= costs->samples[i].call == (enum seam_drv_call)call;
		/* What a copy costs its caller and what it costs the device overlap. */
		if (!measured || seam__driver_call_class((enum seam_drv_call)call) == SEAM_DRV_COPY)
			continue;
		ok(found[call].fixed_ns == wanted[call].fixed_ns &&
				found[call].per_mapping_ns == wanted[call].per_mapping_ns &&
				found[call].per_2mib_ns == wanted[call].per_2mib_ns,
			"%s: %llu + %llu + %llu, fitted %llu + %llu + %llu",
			seam__driver_call_name((enum seam_drv_call)call), (unsigned long long)wanted[call].fixed_ns,
			(unsigned long long)wanted[call].per_mapping_ns, (unsigned long long)wanted[call].per_2mib_ns,
			(unsigned long long)found[call].fixed_ns, (unsigned long long)found[call].per_mapping_ns,
			(unsigned long long)found[call].per_2mib_ns);
	}
}

/* Everything is measured, and everything is given back; `fail_at` makes one call on the way fail. */
static void run(uint64_t ceiling, uint64_t fail_at)
{
	const struct seam_emu_config config = {.memory = SEAM_EMU_BOOK, .mapping_ceiling = ceiling};
	struct seam_emu_usage usage;
	struct costs *costs = calloc(1, sizeof(*costs));
	if (costs == NULL || seam__emu_create(&config, NULL, 0, &costs->d) != SEAM_OK) {
		ok(false, "a device can be made");
		free(costs);
		return;
	}
	costs->granularity_bytes = 2 * MIB;
	costs->memory_bytes = 2048 * MIB;
	costs->repeat = 8;
	costs->ceiling_limit = 8192;
	costs->time_limit_ns = UINT64_C(60000000000);
	seam__driver_fail_at(costs->d, fail_at, UINT64_C(1) << SEAM_DRV_MEMORY, SEAM_CU_OUT_OF_MEMORY);
	costs_measure_small(costs);
	costs_measure_sizes(costs);
	costs_measure_batches(costs);
	costs_measure_copies(costs);
	costs_measure_busy(costs);
	costs_measure_threads(costs);
	costs_measure_ceiling(costs);
	if (fail_at == 0) {
		ok(costs->failed == NULL, "every call works (%s)",
			costs->failed != NULL ? costs->failed : "none failed");
		uint64_t wanted = ceiling < 8192 ? ceiling / 512 * 512 : 8192;
		ok(costs->ceiling.mappings == wanted, "the ceiling is found: %llu",
			(unsigned long long)costs->ceiling.mappings);
		check_rows(costs);
		check_fit(costs);
	}
	seam__emu_usage(costs->d, &usage);
	uint64_t left = usage.handles + usage.mappings + usage.reservations + usage.direct_allocations + usage.events +
		usage.streams + usage.host_allocations;
	/* A call that gives back and fails, fails for good: what it would have given back, and what hangs on it, stays.
	 */
	ok(left <= (fail_at == 0 ? 0 : 3), "nothing is left after failure %llu: %llu", (unsigned long long)fail_at,
		(unsigned long long)left);
	ok(seam__emu_violations_all(costs->d) == 0, "the device was used well (%s)",
		seam__emu_violation_text(costs->d));
	seam__driver_destroy(costs->d);
	free(costs);
}

int main(void)
{
	tap_part = "costs";
	run(100000, 0);
	run(5000, 0);
	for (uint64_t n = 1; n < 20000; n = n * 3 + 1)
		run(100000, n);
	return tap_end();
}
