/* part_peers.c: a second device, if there is one: its memory, its streams, and what reaches across. */
#include "conf.h"
#include "tap.h"

static const struct seam_location second = {.kind = SEAM_AT_DEVICE, .id = 1};
static const struct seam_access both[2] = {{.where = {.kind = SEAM_AT_DEVICE, .id = 0}, .mode = SEAM_ACCESS_READWRITE},
	{.where = {.kind = SEAM_AT_DEVICE, .id = 1}, .mode = SEAM_ACCESS_READWRITE}};

/* Plain memory of the second device, to look at through the first one's copies. */
static void check_copies(uint64_t va, uint64_t direct)
{
	uint64_t g = conf.g;
	works(seam__drv_copy_between(conf.peer, conf.peer, direct, conf.d, va, g, SEAM_STREAM_DEFAULT));
	works(seam__drv_device_sync(conf.peer));
	ok(conf_holds(direct, g, 31), "a copy between devices needs no access of one to the other's memory");
	conf_write(direct, g, 32);
	works(seam__drv_copy_between(conf.d, conf.d, va, conf.peer, direct, g, SEAM_STREAM_DEFAULT));
	conf_sync();
	ok(conf_holds(va, g, 32), "nor does one the other way");
}

static void check_access(uint64_t va, uint64_t direct)
{
	uint64_t g = conf.g;
	enum seam_access_mode mode = SEAM_ACCESS_READ;
	works(seam__drv_mem_get_access(conf.d, va, &second, &mode));
	ok(mode == SEAM_ACCESS_NONE, "another device has no access at first");
	int cu = seam__drv_mem_set_access(conf.d, va, g, both, 2);
	if (cu != SEAM_CU_SUCCESS) {
		tap_note("observed: a device that cannot reach the other's memory gets %d, 101 was assumed", cu);
		return;
	}
	works(seam__drv_mem_get_access(conf.peer, va, &second, &mode));
	ok(mode == SEAM_ACCESS_READWRITE, "one call grants access to two devices");
	works(seam__drv_fill32(conf.peer, va, 5, 1, SEAM_STREAM_DEFAULT));
	works(seam__drv_copy_on_device(conf.peer, direct, va, g, SEAM_STREAM_DEFAULT));
	works(seam__drv_device_sync(conf.peer));
	uint32_t found = 0;
	works(seam__drv_copy_to_host(conf.d, &found, direct, sizeof(found), SEAM_STREAM_DEFAULT));
	conf_sync();
	ok(!conf.has_contents || found == 5, "then it reads and writes there");
}

static void check_streams(void)
{
	struct conf_gate gate;
	uint64_t stream = 0;
	struct seam_event theirs = {0};
	struct seam_event ours = conf_event();
	uint64_t first = conf_stream(SEAM_STREAM_NONBLOCKING);
	works(seam__drv_stream_create(conf.peer, SEAM_STREAM_NONBLOCKING, &stream));
	works(seam__drv_event_create(conf.peer, &theirs));
	ok(stream != first, "streams of two devices have handles of their own");
	wants(SEAM_CU_INVALID_HANDLE, seam__drv_event_record(conf.d, ours, stream));
	conf_gate_close(&gate, first);
	works(seam__drv_event_record(conf.d, ours, first));
	works(seam__drv_stream_wait_event(conf.peer, stream, ours));
	works(seam__drv_event_record(conf.peer, theirs, stream));
	wants(SEAM_CU_NOT_READY, seam__drv_event_query(conf.peer, theirs));
	works(seam__drv_stream_sync(conf.peer, SEAM_STREAM_DEFAULT));
	conf_gate_open(&gate);
	works(seam__drv_event_sync(conf.peer, theirs));
	ok(atomic_load(&gate.passed) == 1, "work of one device waits for an event of another");
	conf_sync();
	works(seam__drv_device_sync(conf.peer));
	works(seam__drv_event_destroy(conf.d, ours));
	works(seam__drv_event_destroy(conf.peer, theirs));
	works(seam__drv_stream_destroy(conf.d, first));
	works(seam__drv_stream_destroy(conf.peer, stream));
}

void part_peers(void)
{
	uint64_t g = conf.g;
	uint64_t free_before[2] = {0, 0};
	uint64_t free_with[2] = {0, 0};
	uint64_t total = 0;
	uint64_t direct = 0;
	struct seam_phys phys = {0};
	const struct seam_phys_props there = {.where = second};
	if (conf.peer == NULL) {
		tap_note("observed: there is no second device");
		return;
	}
	works(seam__drv_mem_info(conf.d, &free_before[0], &total));
	works(seam__drv_mem_info(conf.peer, &free_before[1], &total));
	works(seam__drv_mem_create(conf.d, 16 * g, &there, &phys));
	works(seam__drv_mem_info(conf.d, &free_with[0], &total));
	works(seam__drv_mem_info(conf.peer, &free_with[1], &total));
	ok(free_before[1] - free_with[1] >= 16 * g && free_with[0] == free_before[0],
		"memory is of the device that is named");
	conf_release(phys);
	uint64_t va = conf_reserve(g);
	phys = conf_create(g);
	conf_map(va, phys, g);
	conf_write(va, g, 31);
	works(seam__drv_direct_alloc(conf.peer, g, &direct));
	check_copies(va, direct);
	check_access(va, direct);
	check_streams();
	works(seam__drv_direct_free(conf.peer, direct));
	conf_unmap(va, g);
	conf_release(phys);
	conf_free(va, g);
}

/* Memory that a device has not been let in to: its driver may say so at once, or poison its context. */
void part_stray_peers(void)
{
	uint64_t g = conf.g;
	uint64_t direct = 0;
	if (conf.peer == NULL)
		return;
	uint64_t va = conf_reserve(g);
	struct seam_phys phys = conf_create(g);
	conf_map(va, phys, g);
	works(seam__drv_direct_alloc(conf.peer, g, &direct));
	observes(SEAM_CU_INVALID_VALUE, seam__drv_copy_on_device(conf.peer, direct, va, g, SEAM_STREAM_DEFAULT));
	observes(SEAM_CU_SUCCESS, seam__drv_device_sync(conf.peer));
	observes(SEAM_CU_SUCCESS, seam__drv_direct_free(conf.peer, direct));
	conf_unmap(va, g);
	conf_release(phys);
	conf_free(va, g);
}
