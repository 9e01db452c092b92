/* cmd_machines.c: `seam machines [NAME...]`: the table of GPUs, with its sources. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>

#include "cmd.h"
#include "json_fields.h"
#include "machines.h"
#include "meta.h"
#include "table.h"
#include "text.h"

#define MIB (1u << 20)
#define KIB 1024u
#define GIB 1073741824.0

enum key { KEY_JSON = 0x2000 };

struct arguments {
	const struct seam_machine **machines; /* in the order asked for */
	size_t count;
	bool json;
};

static const struct argp_option options[] = {
	{"json", KEY_JSON, NULL, 0, "print JSON", 0},
	{0},
};

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct arguments *arguments = state->input;
	char names[SEAM_MACHINE_NAMES_BYTES];
	switch (key) {
	case KEY_JSON:
		arguments->json = true;
		return 0;
	case ARGP_KEY_ARG:
		arguments->machines[arguments->count] = seam__machine_find(text);
		if (arguments->machines[arguments->count++] == NULL)
			return cmd_usage(state, "no such GPU: '%s'; known are %s", text, seam__machine_names(names));
		return 0;
	case ARGP_KEY_END:
		if (arguments->count > 0)
			return 0;
		for (size_t i = 0; i < seam__machine_count(); i++)
			arguments->machines[arguments->count++] = seam__machine(i);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp syntax = {
	.options = options,
	.parser = parse,
	.args_doc = "[NAME...]",
	.doc = "Show what is known of GPUs, all of them or those named: memory, shape, speeds, and where each number is from.\v"
	       "A NAME is the short one or the driver's, in any case. Memory is the total that CUDA reports, context what a process that runs "
	       "PyTorch has beside its allocator's. Speeds are published ones, '-' where nothing was found; (mem) is from memory, to be checked.",
};

static void put_machine(struct seam_json *json, const struct seam_machine *machine)
{
	char capability[16];
	seam__text_line(capability, sizeof(capability), "%" PRIu32 ".%" PRIu32, machine->capability / 10,
		machine->capability % 10);
	seam__json_object_begin(json);
	json_field_string(json, "gpu", machine->name);
	json_field_string(json, "full_name", machine->full_name);
	json_field_u64(json, "nominal_bytes", true, machine->nominal_bytes);
	json_field_u64(json, "memory_bytes", true, machine->memory_bytes);
	json_field_u64(json, "context_bytes", true, machine->context_bytes);
	json_field_string(json, "compute_capability", capability);
	json_field_u64(json, "multiprocessors", true, machine->sms);
	json_field_u64(json, "threads_per_multiprocessor", true, machine->threads_sm);
	json_field_u64(json, "shared_bytes_per_multiprocessor", true, machine->shared_sm_bytes);
	json_field_u64(json, "shared_bytes_per_block", true, machine->shared_block_bytes);
	json_field_u64(json, "l2_bytes", true, machine->l2_bytes);
	json_field_u64(json, "bus_bits", true, machine->bus_bits);
	json_field_double(json, "tflops", machine->tflops > 0, machine->tflops);
	json_field_double(json, "fp32_tflops", true, machine->fp32_tflops);
	json_field_double(json, "memory_gbs", machine->memory_gbs > 0, machine->memory_gbs);
	json_field_double(json, "pcie_gbs", machine->pcie_gbs > 0, machine->pcie_gbs);
	json_field_double(json, "pcie_up_both_gbs", machine->pcie_up_both_gbs > 0, machine->pcie_up_both_gbs);
	json_field_double(json, "pcie_down_both_gbs", machine->pcie_down_both_gbs > 0, machine->pcie_down_both_gbs);
	json_field_double(json, "nvlink_gbs", machine->nvlink_gbs > 0, machine->nvlink_gbs);
	json_field_string(json, "memory_source", machine->memory_source);
	json_field_string(json, "properties_source", machine->properties_source);
	json_field_string(json, "speed_source", machine->speed_source);
	seam__json_object_end(json);
}

static enum seam_rc write_json(const struct arguments *arguments, struct seam_text *text)
{
	struct seam_json json;
	seam__json_init(&json, text, true);
	seam__json_array_begin(&json);
	for (size_t i = 0; i < arguments->count; i++)
		put_machine(&json, arguments->machines[i]);
	seam__json_array_end(&json);
	return seam__json_finish(&json);
}

static void cell_speed(struct seam_table *table, double speed)
{
	if (speed > 0)
		seam__table_cell(table, "%g", speed);
	else
		seam__table_cell(table, "-");
}

static void add_row(struct seam_table *table, const struct seam_machine *machine)
{
	seam__table_cell(table, "%s", machine->name);
	seam__table_cell(table, "%s", machine->full_name);
	seam__table_cell(table, "%.2f GiB", (double)machine->memory_bytes / GIB);
	seam__table_cell(table, "%" PRIu64 " MiB", machine->context_bytes / MIB);
	seam__table_cell(table, "%" PRIu32 ".%" PRIu32, machine->capability / 10, machine->capability % 10);
	seam__table_cell(table, "%" PRIu32, machine->sms);
	seam__table_cell(table, "%g MiB", (double)machine->l2_bytes / MIB);
	seam__table_cell(table, "%" PRIu64 " KiB", machine->shared_sm_bytes / KIB);
	seam__table_cell(table, "%" PRIu32, machine->bus_bits);
	cell_speed(table, machine->tflops);
	cell_speed(table, machine->fp32_tflops);
	cell_speed(table, machine->memory_gbs);
	cell_speed(table, machine->pcie_gbs);
	cell_speed(table, machine->nvlink_gbs);
}

static enum seam_rc write_table(const struct arguments *arguments, struct seam_text *text)
{
	static const char *const headings[] = {"name", "GPU", "memory", "context", "capability", "SMs", "L2",
		"shared/SM", "bus bits", "TFLOP/s", "of fp32", "memory GB/s", "PCIe GB/s", "NVLink GB/s"};
	struct seam_table table;
	seam__table_init(&table, seam__meta_process(), sizeof(headings) / sizeof(headings[0]));
	table.right_from = 2;
	for (size_t i = 0; i < sizeof(headings) / sizeof(headings[0]); i++)
		seam__table_cell(&table, "%s", headings[i]);
	for (size_t i = 0; i < arguments->count; i++)
		add_row(&table, arguments->machines[i]);
	enum seam_rc rc = seam__table_write(&table, SEAM_TABLE_PLAIN, text);
	seam__table_fini(&table);
	seam__text_printf(text, "\nsources (memory | properties | speeds); (mem): from memory, to be checked\n");
	for (size_t i = 0; i < arguments->count; i++)
		seam__text_printf(text, "%s: %s | %s | %s\n", arguments->machines[i]->name,
			arguments->machines[i]->memory_source, arguments->machines[i]->properties_source,
			arguments->machines[i]->speed_source);
	return rc == SEAM_OK ? seam__text_rc(text) : rc;
}

int cmd_machines(int argc, char **argv)
{
	struct arguments arguments = {0};
	arguments.machines = calloc((size_t)argc + seam__machine_count(), sizeof(*arguments.machines));
	if (arguments.machines == NULL)
		return cmd_fail("out of memory");
	int status = cmd_parse(&syntax, argc, argv, &arguments);
	if (status == CMD_GO_ON) {
		struct seam_text text;
		seam__text_init(&text, seam__meta_process());
		enum seam_rc rc = arguments.json ? write_json(&arguments, &text) : write_table(&arguments, &text);
		status = cmd_print(rc, &text);
		seam__text_fini(&text);
	}
	free(arguments.machines);
	return status;
}
