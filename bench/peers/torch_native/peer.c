/* peer.c: one trace through one allocator, on a driver: PyTorch's own allocator, the models of it, or Seam.
 *
 *   peer ALLOCATOR TRACE ITERATIONS   ALLOCATOR: seam, caching, expandable, direct, or the path of peer_torch.cpp,
 *   compiled
 *
 * Prints one line: names and values, separated by tabs. All allocators run through the same loop, against the same
 * driver library, which is meant to be the fake one: it tells how often the device was asked, and how long that took
 * (FAKECUDA_CLOCK=1).
 *
 * Times are of the allocator's call alone: what reading the clock costs is taken off, and, call by call, what the
 * emulated device took. Not here: plans (they need the clock of `seam replay`), contents, several threads.
 */
#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver_cuda.h"
#include "input.h"
#include "peer_allocator.h"
#include "samples.h"
#include "schedule.h"

#define CLOCK_SAMPLES 10001u

/* fakecuda_control.h of the driver library that is loaded; NULL on a real one. */
static uint64_t (*calls_of)(const char *name);
static uint64_t (*device_ticks)(void);

struct peer {
	struct schedule schedule;
	struct seam_driver *driver;
	struct ref_allocator *allocator;
	uint64_t *streams;
	uint64_t *live; /* address of each block; 0: none */
	struct samples allocs;
	struct samples frees;
	uint64_t clock_ticks;  /* that a sample of nothing takes */
	uint64_t device_ticks; /* that the emulated device took of all calls */
	uint64_t first_calls;  /* memory calls of the first iteration, */
	uint64_t last_calls;   /* and of the last */
	uint64_t mark_calls;
	bool oom;
	char error[PEER_ERROR_BYTES];
};

static uint64_t count(const char *name)
{
	return calls_of != NULL ? calls_of(name) : 0;
}

static uint64_t on_device(void)
{
	return device_ticks != NULL ? device_ticks() : 0;
}

/* The first line of why: PyTorch has much more to say. */
static int fail(const char *what, const char *why)
{
	(void)fprintf(stderr, "peer: %s: %.*s\n", what, (int)strcspn(why, "\n"), why);
	return 1;
}

static void find_control(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW);
	void *calls = library != NULL ? dlsym(library, "fakecuda_calls") : NULL;
	void *ticks = library != NULL ? dlsym(library, "fakecuda_ticks") : NULL;
	memcpy(&calls_of, &calls, sizeof(calls_of));
	memcpy(&device_ticks, &ticks, sizeof(device_ticks));
}

/* The median of reading the clock twice. */
static uint64_t measure_clock(void)
{
	struct samples samples;
	const struct seam_clock ticks = {.ns_per_tick = 1};
	if (!samples_init(&samples, CLOCK_SAMPLES))
		return 0;
	for (size_t i = 0; i < CLOCK_SAMPLES; i++) {
		uint64_t start = seam__clock_ticks();
		samples_add(&samples, seam__clock_ticks() - start);
	}
	uint64_t median = (uint64_t)samples_percentile(&samples, &ticks, 50);
	samples_fini(&samples);
	return median;
}

/* One call of the allocator has ended. */
static void add_sample(struct peer *peer, struct samples *samples, uint64_t start, uint64_t start_on_device)
{
	uint64_t ticks = seam__clock_ticks() - start;
	uint64_t not_its_own = on_device() - start_on_device;
	peer->device_ticks += not_its_own;
	not_its_own += peer->clock_ticks;
	samples_add(samples, ticks > not_its_own ? ticks - not_its_own : 0);
}

static enum seam_rc do_alloc(struct peer *peer, const struct schedule_op *op)
{
	const struct ref_request request = {
		.bytes = op->bytes > 0 ? op->bytes : 1,
		.stream = peer->streams[op->stream],
		.private_id = op->private_id,
	};
	uint64_t before = on_device();
	uint64_t start = seam__clock_ticks();
	enum seam_rc rc = ref_alloc(peer->allocator, &request, &peer->live[op->target]);
	add_sample(peer, &peer->allocs, start, before);
	peer->oom = rc == SEAM_OOM_DEVICE || rc == SEAM_OOM_VA;
	return peer->oom ? SEAM_OK : rc;
}

static enum seam_rc do_free(struct peer *peer, uint32_t block)
{
	uint64_t before = on_device();
	uint64_t start = seam__clock_ticks();
	enum seam_rc rc = ref_free(peer->allocator, peer->live[block]);
	add_sample(peer, &peer->frees, start, before);
	peer->live[block] = 0;
	return rc;
}

static void end_iteration(struct peer *peer, uint32_t iteration)
{
	uint64_t calls = count(NULL) - peer->mark_calls;
	if (iteration == 0)
		peer->first_calls = calls;
	peer->last_calls = calls;
}

static enum seam_rc do_op(struct peer *peer, const struct schedule_op *op)
{
	switch ((enum schedule_kind)op->kind) {
	case SCHEDULE_ALLOC:
		return do_alloc(peer, op);
	case SCHEDULE_FREE:
		return do_free(peer, op->target);
	case SCHEDULE_RECORD_STREAM:
		return ref_record_stream(peer->allocator, peer->live[op->target], peer->streams[op->stream]);
	case SCHEDULE_POOL_RELEASE:
		return ref_release_private(peer->allocator, op->target);
	case SCHEDULE_EMPTY_CACHE:
		return ref_empty_cache(peer->allocator);
	case SCHEDULE_STREAM_SYNC:
		return seam__driver_rc(seam__drv_stream_sync(peer->driver, peer->streams[op->stream]));
	case SCHEDULE_DEVICE_SYNC:
		return seam__driver_rc(seam__drv_device_sync(peer->driver));
	case SCHEDULE_BEGIN:
		peer->mark_calls = count(NULL);
		return SEAM_OK;
	case SCHEDULE_END:
		end_iteration(peer, op->target);
		return SEAM_OK;
	default: /* marks and events, which none of them is told of */
		return SEAM_OK;
	}
}

static bool open_streams(struct peer *peer)
{
	peer->streams = calloc(peer->schedule.stream_count, sizeof(*peer->streams));
	peer->live = calloc((size_t)peer->schedule.block_count + 1, sizeof(*peer->live));
	if (peer->streams == NULL || peer->live == NULL)
		return false;
	for (uint32_t i = 1; i < peer->schedule.stream_count; i++)
		if (seam__drv_stream_create(peer->driver, SEAM_STREAM_NONBLOCKING, &peer->streams[i]) !=
			SEAM_CU_SUCCESS)
			return false;
	return samples_init(&peer->allocs, peer->schedule.block_count) &&
		samples_init(&peer->frees, peer->schedule.block_count);
}

static enum seam_rc open_allocator(struct peer *peer, const char *name)
{
	enum ref_kind kind;
	if (ref_kind_find(name, &kind))
		return ref_create(kind, peer->driver, NULL, peer->error, &peer->allocator);
	return peer_allocator_create(name, peer->driver, peer->error, &peer->allocator);
}

static void print_result(struct peer *peer, const char *name, const char *trace)
{
	struct seam_clock clock;
	struct ref_stats stats;
	static const char *const calls[] = {"direct_alloc", "direct_free", "address_reserve", "mem_create",
		"mem_release", "mem_map", "mem_unmap", "mem_set_access", "event_record", "event_query"};
	seam__clock_init(&clock);
	ref_get_stats(peer->allocator, &stats);
	const char *slash = strrchr(trace, '/');
	size_t operations = peer->allocs.count + peer->frees.count;
	printf("trace\t%s\tallocator\t%s\titerations\t%" PRIu32 "\toom\t%d\toperations\t%zu\tlive_peak\t%" PRIu64
	       "\treserved_peak\t%" PRIu64 "\tretries\t%" PRIu64 "\tcalls_first\t%" PRIu64 "\tcalls_last\t%" PRIu64,
		slash != NULL ? slash + 1 : trace, name, peer->schedule.iterations, peer->oom, operations,
		peer->schedule.peak_live_bytes, stats.reserved_peak_bytes, stats.retries, peer->first_calls,
		peer->last_calls);
	if (peer->allocs.count > 0 && peer->frees.count > 0)
		printf("\talloc_ns\t%.1f\tfree_ns\t%.1f\talloc_p99_ns\t%.1f\tdevice_ms\t%.1f",
			samples_percentile(&peer->allocs, &clock, 50), samples_percentile(&peer->frees, &clock, 50),
			samples_percentile(&peer->allocs, &clock, 99),
			(double)peer->device_ticks * clock.ns_per_tick * 1e-6);
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		printf("\t%s\t%" PRIu64, calls[i], count(calls[i]));
	printf("\n");
}

static int run(struct peer *peer, const char *name, const char *path)
{
	enum seam_rc rc = SEAM_OK;
	if (!open_streams(peer))
		return fail(path, "out of memory");
	rc = open_allocator(peer, name);
	if (rc != SEAM_OK)
		return fail(name, peer->error);
	peer->clock_ticks = measure_clock();
	for (size_t i = 0; i < peer->schedule.op_count && rc == SEAM_OK && !peer->oom; i++)
		rc = do_op(peer, &peer->schedule.ops[i]);
	bool is_torch = strchr(name, '/') != NULL;
	if (rc != SEAM_OK)
		return fail(name, is_torch ? peer_allocator_error() : seam_rc_text(rc));
	print_result(peer, is_torch ? peer_allocator_version() : name, path);
	for (uint32_t i = 0; i < peer->schedule.block_count && rc == SEAM_OK; i++)
		if (peer->live[i] != 0)
			rc = ref_free(peer->allocator, peer->live[i]);
	if (rc != SEAM_OK || ref_destroy(peer->allocator) != 0)
		return fail(name, "memory is lost in the end");
	return 0;
}

int main(int argc, char **argv)
{
	char error[INPUT_ERROR_BYTES];
	struct seam_trace *trace;
	struct peer peer = {.oom = false};
	unsigned long iterations = argc == 4 ? strtoul(argv[3], NULL, 10) : 0;
	if (iterations == 0 || iterations > 1000000)
		return fail("usage", "peer ALLOCATOR TRACE ITERATIONS");
	if (!input_read(argv[2], SEAM_IMPORT_ANY_DEVICE, error, &trace))
		return fail("cannot be read", error);
	enum seam_rc rc = schedule_build(trace, (uint32_t)iterations, &peer.schedule);
	if (rc != SEAM_OK)
		return fail(argv[2], seam_rc_text(rc));
	if (seam__cuda_create(0, error, sizeof error, &peer.driver) != SEAM_OK)
		return fail("no device", error);
	find_control();
	int status = run(&peer, argv[1], argv[2]);
	samples_fini(&peer.allocs);
	samples_fini(&peer.frees);
	free(peer.live);
	free(peer.streams);
	schedule_fini(&peer.schedule);
	seam_trace_free(trace);
	return status;
}
