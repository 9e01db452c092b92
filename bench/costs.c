/* costs.c: the program `costs`: measures what driver calls cost on a device, and writes it as JSON.
 *
 * The part "fitted" is a cost table as the emulator reads it (emu_costs.def); --table writes it as such a file.
 */
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "costs.h"
#include "driver_cuda.h"
#include "json.h"
#include "meta.h"

#define GIB (UINT64_C(1) << 30)
#define SKIPPED 77

struct options {
	const char *device;
	const char *table; /* a file, or NULL */
	uint64_t ceiling_limit;
	bool quick;
};

static const struct argp_option argp_options[] = {
	{"device", 'd', "cuda|emu", 0, "the device (default: cuda)", 0},
	{"json", 'j', NULL, 0, "accepted for symmetry: the output is always JSON", 0},
	{"table", 't', "FILE", 0, "also write the fitted cost table, for the emulator", 0},
	{"ceiling", 'c', "MAPPINGS", 0, "look for the ceiling of mappings up to this many (default: 700000)", 0},
	{"quick", 'q', NULL, 0, "fewer repetitions, and the ceiling up to 20000", 0},
	{0},
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct options *options = state->input;
	char *end = NULL;
	switch (key) {
	case 'd':
		if (strcmp(argument, "cuda") != 0 && strcmp(argument, "emu") != 0)
			argp_error(state, "no such device: '%s'", argument);
		options->device = argument;
		return 0;
	case 'j':
		return 0;
	case 't':
		options->table = argument;
		return 0;
	case 'c':
		errno = 0;
		options->ceiling_limit = strtoull(argument, &end, 10);
		if (errno != 0 || end == argument || *end != '\0' || options->ceiling_limit > UINT64_C(100000000))
			argp_error(state, "not a number of mappings: '%s'", argument);
		return 0;
	case 'q':
		options->quick = true;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static void write_sample(struct seam_json *json, const struct cost_sample *sample)
{
	seam__json_object_begin(json);
	seam__json_key(json, "experiment");
	seam__json_string(json, sample->experiment);
	seam__json_key(json, "call");
	seam__json_string(json, sample->call == SEAM_DRV_COUNT ? "cycle" : seam__driver_call_name(sample->call));
#define FIELD(name) (seam__json_key(json, #name), seam__json_u64(json, sample->name))
	FIELD(chunk_bytes);
	FIELD(mappings);
	FIELD(live_mappings);
	FIELD(threads);
	FIELD(count);
	FIELD(mean_ns);
	FIELD(p50_ns);
	FIELD(p99_ns);
#undef FIELD
	seam__json_object_end(json);
}

static void write_device(struct seam_json *json, const struct costs *costs)
{
	int64_t version = 0;
	struct seam_driver *d = costs->d;
	seam__json_key(json, "device");
	seam__json_string(json, d->ops->device_name(d));
	seam__json_key(json, "backend");
	seam__json_string(json, d->ops->name);
	seam__json_key(json, "driver_version");
	if (seam__drv_attribute(d, SEAM_ATTR_DRIVER_VERSION, &version) == SEAM_CU_SUCCESS)
		seam__json_i64(json, version);
	else
		seam__json_null(json);
	seam__json_key(json, "granularity_bytes");
	seam__json_u64(json, costs->granularity_bytes);
	seam__json_key(json, "failed");
	seam__json_string(json, costs->failed);
	seam__json_key(json, "failed_result");
	seam__json_i64(json, costs->failed_cu);
}

static void write_json(struct seam_json *json, const struct costs *costs, const struct seam_emu_cost *table)
{
	seam__json_object_begin(json);
	write_device(json, costs);
	seam__json_key(json, "ceiling");
	seam__json_object_begin(json);
	seam__json_key(json, "mappings");
	seam__json_u64(json, costs->ceiling.mappings);
	seam__json_key(json, "stopped_by");
	seam__json_string(json, costs->ceiling.stopped);
	seam__json_key(json, "result");
	seam__json_i64(json, costs->ceiling.cu);
	seam__json_object_end(json);
	seam__json_key(json, "fitted");
	seam__json_object_begin(json);
	for (int call = 0; call < SEAM_DRV_COUNT; call++) {
		seam__json_key(json, seam__driver_call_name((enum seam_drv_call)call));
		seam__json_array_begin(json);
		seam__json_u64(json, table[call].fixed_ns);
		seam__json_u64(json, table[call].per_mapping_ns);
		seam__json_u64(json, table[call].per_2mib_ns);
		seam__json_array_end(json);
	}
	seam__json_object_end(json);
	seam__json_key(json, "samples");
	seam__json_array_begin(json);
	for (size_t i = 0; i < costs->sample_count; i++)
		write_sample(json, &costs->samples[i]);
	seam__json_array_end(json);
	seam__json_object_end(json);
}

static bool print_json(const struct costs *costs, const struct seam_emu_cost *table)
{
	struct seam_text text;
	struct seam_json json;
	seam__text_init(&text, seam__meta_process());
	seam__json_init(&json, &text, true);
	write_json(&json, costs, table);
	bool good = seam__json_finish(&json) == SEAM_OK && fputs(seam__text_string(&text), stdout) >= 0 &&
		fflush(stdout) == 0;
	seam__text_fini(&text);
	return good;
}

/* Calls that were not measured keep the emulator's default: they are left out. */
static bool write_table(const struct costs *costs, const struct seam_emu_cost *table, const char *path)
{
	FILE *file = fopen(path, "w");
	if (file == NULL)
		return false;
	fprintf(file, "# call fixed_ns per_mapping_ns per_2mib_ns, measured on %s\n",
		costs->d->ops->device_name(costs->d));
	for (int call = 0; call < SEAM_DRV_COUNT; call++) {
		const struct seam_emu_cost *cost = &table[call];
		if (cost->fixed_ns == 0 && cost->per_mapping_ns == 0 && cost->per_2mib_ns == 0)
			continue;
		fprintf(file, "%s %llu %llu %llu\n", seam__driver_call_name((enum seam_drv_call)call),
			(unsigned long long)cost->fixed_ns, (unsigned long long)cost->per_mapping_ns,
			(unsigned long long)cost->per_2mib_ns);
	}
	bool good = ferror(file) == 0;
	return fclose(file) == 0 && good;
}

static enum seam_rc open_device(
	const struct options *options, char *error, size_t error_bytes, struct seam_driver **ret_driver)
{
	const struct seam_emu_config config = {.memory = SEAM_EMU_BOOK};
	if (strcmp(options->device, "emu") == 0)
		return seam__emu_create(&config, error, error_bytes, ret_driver);
	return seam__cuda_create(0, error, error_bytes, ret_driver);
}

static void measure(struct costs *costs)
{
	uint64_t free_bytes = 0;
	uint64_t total_bytes = 0;
	const struct seam_phys_props plain = {.where = {.kind = SEAM_AT_DEVICE}};
	if (!TRY(costs, seam__drv_granularity(costs->d, &plain, &costs->granularity_bytes)) ||
		!TRY(costs, seam__drv_mem_info(costs->d, &free_bytes, &total_bytes)))
		return;
	costs->memory_bytes = free_bytes / 2 < 8 * GIB ? free_bytes / 2 : 8 * GIB;
	costs_measure_small(costs);
	costs_measure_sizes(costs);
	costs_measure_batches(costs);
	costs_measure_copies(costs);
	costs_measure_busy(costs);
	costs_measure_threads(costs);
	costs_measure_ceiling(costs);
}

int main(int argc, char **argv)
{
	static const struct argp argp = {
		argp_options, parse, NULL, "Measures what driver calls cost on a device.", 0, 0, 0};
	struct options options = {.device = "cuda"};
	char error[200] = "";
	if (argp_parse(&argp, argc, argv, 0, NULL, &options) != 0)
		return 2;
	static struct costs costs;
	costs.repeat = options.quick ? 16 : 128;
	costs.ceiling_limit = options.quick ? 20000 : 700000;
	if (options.ceiling_limit != 0)
		costs.ceiling_limit = options.ceiling_limit;
	costs.time_limit_ns = UINT64_C(240000000000);
	enum seam_rc rc = open_device(&options, error, sizeof error, &costs.d);
	if (rc != SEAM_OK) {
		fprintf(stderr, "costs: %s\n", error);
		return rc == SEAM_NO_DEVICE ? SKIPPED : 1;
	}
	struct seam_emu_cost table[SEAM_DRV_COUNT];
	measure(&costs);
	costs_fit(&costs, table);
	bool good = print_json(&costs, table);
	if (good && options.table != NULL)
		good = write_table(&costs, table, options.table);
	if (!good)
		fprintf(stderr, "costs: the results could not be written\n");
	if (costs.failed != NULL)
		fprintf(stderr, "costs: %s: %s\n", costs.failed, costs.d->ops->error_text(costs.d, costs.failed_cu));
	good = good && costs.failed == NULL;
	seam__driver_destroy(costs.d);
	return good ? 0 : 1;
}
