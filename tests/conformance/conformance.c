/* conformance.c: the suite that both backends of the driver table must pass, unchanged: `conformance --device
 * emu|cuda`.
 *
 * Plain C, TAP on standard output, exit status 77 where there is no such device. `--memory real|strict|book` and
 * `--lax` for the emulator.
 */
#include <getopt.h>
#include <sched.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "conf.h"
#include "driver_cuda.h"
#include "emu.h"
#include "tap.h"

struct conf conf;
const struct seam_phys_props conf_plain = {.where = {.kind = SEAM_AT_DEVICE, .id = 0}};
const struct seam_access conf_read_write = {.where = {.kind = SEAM_AT_DEVICE, .id = 0}, .mode = SEAM_ACCESS_READWRITE};

#define SKIPPED 77
#define ERROR_BYTES 200
#define GATE_NS UINT64_C(10000000000)

static jmp_buf given_up;
static struct conf_gate *closed_gate; /* of the part that runs, or NULL */

static const struct part {
	const char *name;
	void (*run)(void);
} parts[] = {
	{"queries", part_queries},
	{"reserve", part_reserve},
	{"create", part_create},
	{"map", part_map},
	{"unmap", part_unmap},
	{"access", part_access},
	{"references", part_references},
	{"aliases", part_aliases},
	{"export", part_export},
	{"direct", part_direct},
	{"host", part_host},
	{"host_node", part_host_node},
	{"copies", part_copies},
	{"streams", part_streams},
	{"events", part_events},
	{"order", part_order},
	{"legacy", part_legacy},
	{"per-thread", part_per_thread},
	{"capture", part_capture},
	{"capture-refusals", part_capture_refusals},
	{"injection", part_injection},
	{"counters", part_counters},
	{"threads", part_threads},
	{"peers", part_peers},
	/* Last: a driver may poison the context for these. */
	{"stray-direct", part_stray_direct},
	{"stray-copies", part_stray_copies},
	{"stray-peers", part_stray_peers},
};

/* The gate is memory of the part that is left here: nothing may wait at it any more. */
static _Noreturn void give_up(const char *what, int cu)
{
	ok(false, "%s is %d (%s): the rest of this part is given up", what, cu, conf.d->ops->error_text(conf.d, cu));
	if (closed_gate != NULL)
		conf_gate_open(closed_gate);
	int ignored = seam__drv_device_sync(conf.d);
	(void)ignored;
	longjmp(given_up, 1);
}

#define needs(call)                               \
	do {                                      \
		int needs_cu = (call);            \
		if (needs_cu != SEAM_CU_SUCCESS)  \
			give_up(#call, needs_cu); \
	} while (0)

bool conf_result(int cu, int wanted, const char *file, int line, const char *call)
{
	if (cu == wanted)
		return tap_check(true, file, line, "%s is %d", call, wanted);
	return tap_check(
		false, file, line, "%s is %d (%s), not %d", call, cu, conf.d->ops->error_text(conf.d, cu), wanted);
}

bool conf_observe(int cu, int assumed, const char *call)
{
	tap_observe(
		cu == assumed, "%s is %d (%s), %d was assumed", call, cu, conf.d->ops->error_text(conf.d, cu), assumed);
	return cu == SEAM_CU_SUCCESS;
}

bool conf_differ(int cu, const char *call)
{
	tap_observe(true, "%s is %d (%s), and drivers differ", call, cu, conf.d->ops->error_text(conf.d, cu));
	return cu == SEAM_CU_SUCCESS;
}

uint64_t conf_reserve(uint64_t bytes)
{
	uint64_t va = 0;
	needs(seam__drv_address_reserve(conf.d, bytes, 0, 0, &va));
	return va;
}

struct seam_phys conf_create(uint64_t bytes)
{
	struct seam_phys phys = {0};
	needs(seam__drv_mem_create(conf.d, bytes, &conf_plain, &phys));
	return phys;
}

void conf_map(uint64_t va, struct seam_phys phys, uint64_t bytes)
{
	needs(seam__drv_mem_map(conf.d, va, bytes, 0, phys, 0));
	needs(seam__drv_mem_set_access(conf.d, va, bytes, &conf_read_write, 1));
}

uint64_t conf_stream(enum seam_stream_kind kind)
{
	uint64_t stream = 0;
	needs(seam__drv_stream_create(conf.d, kind, &stream));
	return stream;
}

struct seam_event conf_event(void)
{
	struct seam_event event = {0};
	needs(seam__drv_event_create(conf.d, &event));
	return event;
}

void conf_sync(void)
{
	needs(seam__drv_device_sync(conf.d));
}

void conf_unmap(uint64_t va, uint64_t bytes)
{
	int ignored = seam__drv_mem_unmap(conf.d, va, bytes);
	(void)ignored;
}

void conf_release(struct seam_phys phys)
{
	needs(seam__drv_mem_release(conf.d, phys));
}

void conf_free(uint64_t va, uint64_t bytes)
{
	int ignored = seam__drv_address_free(conf.d, va, bytes);
	(void)ignored;
}

static void make_pattern(uint32_t *words, uint64_t count, uint32_t seed)
{
	for (uint64_t i = 0; i < count; i++)
		words[i] = (uint32_t)i * UINT32_C(2654435761) ^ seed;
}

static uint32_t *get_buffer(uint64_t bytes)
{
	uint32_t *buffer = malloc(bytes);
	if (buffer == NULL)
		give_up("host memory", SEAM_CU_OUT_OF_MEMORY);
	return buffer;
}

void conf_write(uint64_t va, uint64_t bytes, uint32_t seed)
{
	uint32_t *buffer = get_buffer(bytes);
	make_pattern(buffer, bytes / sizeof(buffer[0]), seed);
	needs(seam__drv_copy_to_device(conf.d, va, buffer, bytes, SEAM_STREAM_DEFAULT));
	needs(seam__drv_stream_sync(conf.d, SEAM_STREAM_DEFAULT));
	free(buffer);
}

bool conf_holds(uint64_t va, uint64_t bytes, uint32_t seed)
{
	if (!conf.has_contents)
		return true;
	uint32_t *wanted = get_buffer(bytes);
	uint32_t *found = get_buffer(bytes);
	make_pattern(wanted, bytes / sizeof(wanted[0]), seed);
	memset(found, 0, bytes);
	bool same = seam__drv_copy_to_host(conf.d, found, va, bytes, SEAM_STREAM_DEFAULT) == SEAM_CU_SUCCESS &&
		seam__drv_stream_sync(conf.d, SEAM_STREAM_DEFAULT) == SEAM_CU_SUCCESS &&
		memcmp(wanted, found, bytes) == 0;
	free(wanted);
	free(found);
	return same;
}

static void wait_at_gate(void *argument)
{
	struct conf_gate *gate = argument;
	uint64_t start_ns = seam__clock_ns();
	while (atomic_load(&gate->open) == 0 && seam__clock_ns() - start_ns < GATE_NS)
		(void)sched_yield();
	atomic_store(&gate->passed, 1);
}

void conf_gate_close(struct conf_gate *gate, uint64_t stream)
{
	atomic_store(&gate->open, 0);
	atomic_store(&gate->passed, 0);
	closed_gate = gate;
	needs(seam__drv_stream_host_func(conf.d, stream, wait_at_gate, gate));
}

void conf_gate_open(struct conf_gate *gate)
{
	atomic_store(&gate->open, 1);
	closed_gate = NULL;
}

/* After each part: nothing is left, and the emulator has seen nothing wrong. */
static void check_clean(void)
{
	struct seam_emu_usage usage;
	if (!conf.is_emu)
		return;
	const char *broken = seam__emu_check(conf.d);
	ok(broken == NULL, "no invariant of the emulator is broken (%s)", broken != NULL ? broken : "none");
	ok(seam__emu_violations_all(conf.d) == 0, "no violation (%s)", seam__emu_violation_text(conf.d));
	struct seam_emu_usage theirs;
	seam__emu_usage(conf.d, &usage);
	seam__emu_usage(conf.peer, &theirs);
	ok(usage.handles == 0 && usage.used_bytes == 0 && usage.mappings == 0 && usage.reservations == 0 &&
			usage.direct_allocations == 0 && usage.host_allocations == 0 && usage.streams == 0 &&
			usage.events == 0 && theirs.used_bytes == 0 && theirs.streams == 0,
		"nothing is left: %llu handles, %llu bytes, %llu mappings, %llu reservations, %llu streams, %llu events",
		(unsigned long long)usage.handles, (unsigned long long)usage.used_bytes,
		(unsigned long long)usage.mappings, (unsigned long long)usage.reservations,
		(unsigned long long)usage.streams, (unsigned long long)usage.events);
}

static void run_part(const struct part *part)
{
	tap_part = part->name;
	closed_gate = NULL;
	if (setjmp(given_up) == 0)
		part->run();
	check_clean();
}

static int usage(void)
{
	fprintf(stderr, "usage: conformance [--device emu|cuda] [--memory real|strict|book] [--lax] [--only PART]\n");
	return 2;
}

static enum seam_rc open_device(bool cuda, const struct seam_emu_config *config, char *error, size_t error_bytes)
{
	conf.is_emu = !cuda;
	conf.has_contents = cuda || config->memory != SEAM_EMU_BOOK;
	enum seam_rc rc = cuda ? seam__cuda_create(0, error, error_bytes, &conf.d)
			       : seam__emu_create(config, error, error_bytes, &conf.d);
	if (rc == SEAM_OK)
		rc = cuda ? seam__cuda_create(1, NULL, 0, &conf.peer) : seam__emu_open(conf.d, 1, &conf.peer);
	return rc == SEAM_NO_DEVICE && conf.d != NULL ? SEAM_OK : rc;
}

static bool parse_memory(const char *text, enum seam_emu_memory *ret_memory)
{
	static const char *const names[] = {
		[SEAM_EMU_REAL] = "real", [SEAM_EMU_STRICT] = "strict", [SEAM_EMU_BOOK] = "book"};
	for (int memory = SEAM_EMU_REAL; memory <= SEAM_EMU_BOOK; memory++) {
		if (strcmp(text, names[memory]) != 0)
			continue;
		*ret_memory = (enum seam_emu_memory)memory;
		return true;
	}
	return false;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {{"device", required_argument, NULL, 'd'},
		{"memory", required_argument, NULL, 'm'}, {"lax", no_argument, NULL, 'l'},
		{"only", required_argument, NULL, 'o'}, {NULL, 0, NULL, 0}};
	char error[ERROR_BYTES] = "";
	const char *only = NULL;
	bool cuda = false;
	struct seam_emu_config config = {.no_fabric = true, .devices = 2};
	for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;) {
		if (c == 'd' && (strcmp(optarg, "emu") == 0 || strcmp(optarg, "cuda") == 0))
			cuda = strcmp(optarg, "cuda") == 0;
		else if (c == 'o')
			only = optarg;
		else if (c == 'l')
			config.lax = true;
		else if (c != 'm' || !parse_memory(optarg, &config.memory))
			return usage();
	}
	enum seam_rc rc = open_device(cuda, &config, error, sizeof error);
	if (rc != SEAM_OK) {
		printf("1..0 # SKIP %s\n", error);
		return rc == SEAM_NO_DEVICE ? SKIPPED : 1;
	}
	tap_note("device: %s", conf.d->ops->device_name(conf.d));
	if (seam__drv_granularity(conf.d, &conf_plain, &conf.g) != SEAM_CU_SUCCESS) {
		printf("1..0 # SKIP the device has no virtual memory management\n");
		seam__driver_destroy(conf.peer);
		seam__driver_destroy(conf.d);
		return SKIPPED;
	}
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (only == NULL || strcmp(only, parts[i].name) == 0)
			run_part(&parts[i]);
	}
	seam__driver_destroy(conf.peer);
	seam__driver_destroy(conf.d);
	return tap_end();
}
