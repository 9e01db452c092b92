/* test_machines.c: the table of GPUs: found by either name, plausible, as the driver lays memory out. */
#include <criterion/criterion.h>
#include <string.h>

#include "machines.h"

#define MIB (UINT64_C(1) << 20)

Test(machines, the_table_holds_its_invariants)
{
	const char *broken = seam__machines_check();
	cr_assert_null(broken, "%s", broken);
	cr_assert_geq(seam__machine_count(), 15);
}

Test(machines, are_found_by_either_name_in_any_case)
{
	const struct seam_machine *machine = seam__machine_find("rtx4090");
	cr_assert_not_null(machine);
	cr_assert_eq(seam__machine_find("RTX4090"), machine);
	cr_assert_eq(seam__machine_find("NVIDIA GeForce RTX 4090"), machine);
	cr_assert_null(seam__machine_find("rtx409"));
	cr_assert_null(seam__machine_find(""));
	for (size_t i = 0; i < seam__machine_count(); i++)
		cr_assert_eq(seam__machine_find(seam__machine(i)->name), seam__machine(i));
}

Test(machines, names_are_listed_in_full)
{
	char buffer[SEAM_MACHINE_NAMES_BYTES];
	size_t length = strlen(seam__machine_names(buffer));
	size_t expected = 0;
	cr_assert_lt(length, sizeof(buffer) - 1);
	for (size_t i = 0; i < seam__machine_count(); i++) {
		expected += strlen(seam__machine(i)->name) + (i > 0 ? 2 : 0);
		cr_assert_not_null(strstr(buffer, seam__machine(i)->name), "%s", seam__machine(i)->name);
	}
	cr_assert_eq(length, expected);
}

/* What people's messages say, in GiB: seen apart from the table. */
Test(machines, memory_is_what_messages_say)
{
	static const struct {
		const char *name;
		double least_gib, most_gib;
	} rows[] = {{"rtx3090", 23.6, 23.7}, {"rtx4090", 23.6, 23.69}, {"rtx5090", 31.3, 31.4}, {"t4", 14.5, 14.76},
		{"a100-40g", 39.3, 39.6}, {"a100-80g", 79.1, 79.3}, {"h100", 79.1, 79.2}, {"h200", 139.7, 139.9},
		{"b200", 178.3, 178.4}, {"l4", 22.0, 22.2}, {"v100-32g", 31.7, 31.8}};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct seam_machine *machine = seam__machine_find(rows[i].name);
		cr_assert_not_null(machine, "%s", rows[i].name);
		double gib = (double)machine->memory_bytes / 1024 / MIB;
		cr_expect(gib >= rows[i].least_gib && gib <= rows[i].most_gib, "%s: %.2f", rows[i].name, gib);
		cr_expect_eq(machine->memory_bytes % MIB, 0);
		cr_expect_geq(machine->context_bytes, 100 * MIB);
	}
}

Test(machines, a_chip_s_numbers_are_its_capability_s)
{
	for (size_t i = 0; i < seam__machine_count(); i++) {
		const struct seam_machine *machine = seam__machine(i);
		bool hopper_or_ampere = machine->capability >= 80 && machine->capability % 10 == 0;
		uint64_t reserved_bytes = machine->capability < 80 ? 0 : 1024; /* of a block, by the driver */
		if (hopper_or_ampere && machine->capability < 120)
			cr_expect_eq(machine->threads_sm, 2048, "%s", machine->name);
		cr_expect_eq(
			machine->shared_sm_bytes - machine->shared_block_bytes, reserved_bytes, "%s", machine->name);
	}
}
