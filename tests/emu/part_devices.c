/* part_devices.c: several devices in one machine: what each has of its own, and what one may do to another's memory. */
#include "emu_test.h"
#include "tap.h"

#define LONG_NS UINT64_C(1000000000)
#define BEYOND SEAM_EMU_DEVICES

static const struct seam_access on_second = {.where = {.kind = SEAM_AT_DEVICE, .id = 1}, .mode = SEAM_ACCESS_READWRITE};

/* Drivers of devices 0 and 1 of one machine. */
static void open_two(struct seam_emu_config config, struct seam_driver *d[2])
{
	config.devices = 2;
	d[0] = open_emu(&config);
	d[1] = NULL;
	ok(seam__emu_open(d[0], 1, &d[1]) == SEAM_OK && d[1]->ordinal == 1, "a second device is opened");
}

static void close_two(struct seam_driver *d[2])
{
	seam__driver_destroy(d[0]);
	close_emu(d[1]); /* the machine lives until its last driver goes */
}

#define MUST_ON(device, call) must((device), (call), #call, __LINE__)

static uint64_t free_bytes_of(struct seam_driver *d)
{
	uint64_t free_bytes = 0;
	uint64_t total = 0;
	MUST(seam__drv_mem_info(d, &free_bytes, &total));
	return free_bytes;
}

static uint32_t word_at(struct seam_driver *d, uint64_t va)
{
	uint32_t word = 0;
	MUST(seam__drv_copy_to_host(d, &word, va, sizeof(word), 0));
	MUST(seam__drv_stream_sync(d, 0));
	return word;
}

static void check_memory(void)
{
	const struct seam_emu_config config = {
		.memory = SEAM_EMU_BOOK, .capacity_bytes = 8 * G, .mapping_ceiling = 2, .used_bytes = G};
	struct seam_driver *d[2];
	struct seam_phys phys[2] = {{0}, {0}};
	struct seam_emu_usage usage;
	struct seam_driver *none = NULL;
	uint64_t direct = 0;
	open_two(config, d);
	ok(seam__emu_open(d[0], 2, &none) == SEAM_NO_DEVICE && seam__emu_open(d[0], -1, &none) == SEAM_NO_DEVICE &&
			none == NULL,
		"there is no third device");
	const struct seam_phys_props there = {.where = on_second.where};
	MUST_ON(d[0], seam__drv_mem_create(d[0], 5 * G, &there, &phys[0]));
	ok(free_bytes_of(d[0]) == 7 * G && free_bytes_of(d[1]) == 2 * G,
		"memory is of the device that was named, not of the caller's");
	ok(seam__drv_mem_create(d[0], 3 * G, &there, &phys[1]) == SEAM_CU_OUT_OF_MEMORY,
		"which has no more than its own");
	MUST_ON(d[0], seam__drv_mem_create(d[0], 6 * G, &plain, &phys[1]));
	MUST_ON(d[1], seam__drv_direct_alloc(d[1], G, &direct));
	seam__emu_usage(d[1], &usage);
	ok(usage.used_bytes == 6 * G && usage.handles == 2, "plain memory is of the caller's device");
	MUST_ON(d[0], seam__drv_direct_free(d[0], direct));
	ok(free_bytes_of(d[1]) == 2 * G, "and may be freed by another");
	MUST_ON(d[1], seam__drv_mem_release(d[1], phys[0]));
	MUST_ON(d[0], seam__drv_mem_release(d[0], phys[1]));
	uint64_t va = map_chunks(d[0], 2);
	ok(seam__drv_mem_set_access(d[0], va, 2 * G, &on_second, 1) == 0, "each device has mapping tables of its own");
	uint64_t wide = 0;
	struct seam_phys one = {0};
	MUST_ON(d[0], seam__drv_mem_retain(d[0], va, &one));
	MUST_ON(d[0], seam__drv_address_reserve(d[0], G, 0, 0, &wide));
	MUST_ON(d[0], seam__drv_mem_map(d[0], wide, G, 0, one, 0));
	ok(seam__drv_mem_set_access(d[0], wide, G, &on_second, 1) == SEAM_CU_OUT_OF_MEMORY, "which can be full");
	close_two(d);
}

static void check_access(void)
{
	struct seam_driver *d[2];
	enum seam_access_mode mode = SEAM_ACCESS_NONE;
	open_two((struct seam_emu_config){.memory = SEAM_EMU_REAL}, d);
	uint64_t va = map_chunks(d[0], 2);
	uint64_t own = 0;
	MUST_ON(d[1], seam__drv_direct_alloc(d[1], 2 * G, &own));
	MUST_ON(d[0], seam__drv_fill32(d[0], va, 7, G / 2, 0));
	MUST_ON(d[0], seam__drv_device_sync(d[0]));
	ok(seam__drv_copy_on_device(d[1], own, va, 2 * G, 0) == SEAM_CU_INVALID_VALUE,
		"mapped memory that was not granted cannot be copied from");
	ok(seam__drv_copy_on_device(d[1], va, own, 2 * G, 0) == SEAM_CU_INVALID_VALUE, "nor to");
	ok(seam__drv_fill32(d[1], va, 1, 1, 0) == SEAM_CU_INVALID_VALUE, "nor filled");
	MUST_ON(d[1], seam__drv_copy_between(d[1], d[1], own, d[0], va, 2 * G, 0));
	MUST_ON(d[1], seam__drv_stream_sync(d[1], 0));
	ok(word_at(d[1], own + 2 * G - 4) == 7, "a copy that names both devices needs no grant");
	ok(seam__drv_copy_between(d[1], d[1], own, d[1], va, G, 0) == SEAM_CU_INVALID_VALUE, "but the right devices");
	MUST_ON(d[1], seam__drv_mem_set_access(d[1], va, G, &on_second, 1));
	MUST_ON(d[0], seam__drv_mem_get_access(d[0], va, &on_second.where, &mode));
	ok(mode == SEAM_ACCESS_READWRITE, "access is granted to one device more");
	MUST_ON(d[0], seam__drv_mem_get_access(d[0], va, &plain.where, &mode));
	ok(mode == SEAM_ACCESS_READWRITE, "and the other keeps its own");
	MUST_ON(d[1], seam__drv_fill32(d[1], va, 9, 1, 0));
	MUST_ON(d[1], launch(d[1], 0, va, G, true, 10));
	MUST_ON(d[1], seam__drv_device_sync(d[1]));
	ok(word_at(d[0], va) == 9 && seam__emu_violations_all(d[0]) == 0, "then all of its work may use it (%s)",
		seam__emu_violation_text(d[0]));
	ok(seam__drv_copy_on_device(d[1], own, va, 2 * G, 0) == SEAM_CU_INVALID_VALUE, "as far as it was granted");
	/* Plain memory of another device. */
	MUST_ON(d[0], seam__drv_fill32(d[0], own, 5, 1, 0));
	MUST_ON(d[0], seam__drv_copy_on_device(d[0], va + G, own, 64, 0));
	MUST_ON(d[0], seam__drv_device_sync(d[0]));
	ok(word_at(d[0], va + G) == 5, "plain memory of another device can be copied at once");
	MUST_ON(d[0], seam__emu_peer_enable(d[0], 1));
	MUST_ON(d[0], launch(d[0], 0, own, G, true, 10));
	MUST_ON(d[0], seam__drv_device_sync(d[0]));
	ok(seam__emu_violations_all(d[0]) == 0, "and touched by kernels once they are let (%s)",
		seam__emu_violation_text(d[0]));
	MUST_ON(d[1], seam__drv_direct_free(d[1], own));
	close_two(d);
}

static void check_order(void)
{
	struct seam_driver *d[2];
	struct seam_event events[2] = {{0}, {0}};
	open_two((struct seam_emu_config){.memory = SEAM_EMU_BOOK}, d);
	uint64_t va = map_chunks(d[0], 1);
	MUST_ON(d[0], seam__drv_mem_set_access(d[0], va, G, &on_second, 1));
	uint64_t streams[2] = {make_stream(d[0], SEAM_STREAM_NONBLOCKING), make_stream(d[1], SEAM_STREAM_NONBLOCKING)};
	MUST_ON(d[0], seam__drv_event_create(d[0], &events[0]));
	MUST_ON(d[1], seam__drv_event_create(d[1], &events[1]));
	ok(streams[0] != streams[1], "streams of two devices have handles of their own");
	ok(launch(d[1], streams[0], va, 1, false, 1) == SEAM_CU_INVALID_HANDLE,
		"a kernel does not run on another device's stream");
	ok(seam__drv_event_record(d[0], events[0], streams[1]) == SEAM_CU_INVALID_HANDLE,
		"nor is an event recorded on one");
	MUST_ON(d[0], launch(d[0], streams[0], va, G, true, LONG_NS));
	MUST_ON(d[0], seam__drv_event_record(d[0], events[0], streams[0]));
	MUST_ON(d[1], seam__drv_device_sync(d[1]));
	MUST_ON(d[1], seam__drv_stream_sync(d[1], SEAM_STREAM_DEFAULT));
	ok(seam__drv_event_query(d[1], events[0]) == SEAM_CU_NOT_READY,
		"waiting for a device, or its legacy stream, waits for no other device");
	MUST_ON(d[1], seam__drv_stream_wait_event(d[1], streams[1], events[0]));
	MUST_ON(d[1], launch(d[1], streams[1], va, G, true, 10));
	ok(seam__emu_violations_all(d[0]) == 0, "an event orders work of two devices (%s)",
		seam__emu_violation_text(d[0]));
	MUST_ON(d[1], seam__drv_event_record(d[1], events[1], streams[1]));
	MUST_ON(d[1], seam__drv_event_sync(d[0], events[1]));
	MUST_ON(d[0], seam__drv_event_query(d[0], events[0]));
	MUST_ON(d[0], launch(d[0], streams[0], va, G, true, LONG_NS));
	MUST_ON(d[1], seam__drv_stream_wait_event(d[1], streams[1], events[0]));
	MUST_ON(d[0], seam__drv_event_record(d[0], events[0], streams[0]));
	MUST_ON(d[1], seam__drv_stream_wait_event(d[1], streams[1], events[0]));
	MUST_ON(d[1], launch(d[1], streams[1], va, G, true, 10));
	MUST_ON(d[1], seam__drv_device_sync(d[1]));
	MUST_ON(d[0], seam__drv_mem_unmap(d[0], va, G));
	ok(seam__emu_violations_all(d[0]) == 0, "who waits for a device knows what that has waited for (%s)",
		seam__emu_violation_text(d[0]));
	MUST_ON(d[0], seam__drv_capture_begin(d[0], streams[0]));
	ok(seam__drv_device_sync(d[1]) == 0 && seam__drv_device_sync(d[0]) == SEAM_CU_STREAM_CAPTURE_UNSUPPORTED,
		"a capture on one device forbids nothing on another");
	MUST_ON(d[0], seam__drv_capture_end(d[0], streams[0]));
	close_two(d);
}

/* Each does one wrong thing that takes two devices. */

static void race(struct seam_driver *d[2], uint64_t va)
{
	MUST_ON(d[0], launch(d[0], 0, va, G, true, 10));
	MUST_ON(d[1], launch(d[1], 0, va, G, true, 10));
}

static void unmap_after_other_device(struct seam_driver *d[2], uint64_t va)
{
	MUST_ON(d[1], launch(d[1], 0, va, G, true, 10));
	seam__emu_advance(d[0], LONG_NS);
	MUST_ON(d[0], seam__drv_device_sync(d[0]));
	MUST_ON(d[0], seam__drv_mem_unmap(d[0], va, G));
}

static void kernel_without_grant(struct seam_driver *d[2], uint64_t va)
{
	(void)va;
	MUST_ON(d[1], launch(d[1], 0, map_chunks(d[0], 1), G, false, 0));
	seam__emu_advance(d[0], 1);
}

static void kernel_without_peer(struct seam_driver *d[2], uint64_t va)
{
	(void)va;
	uint64_t direct = 0;
	MUST_ON(d[0], seam__drv_direct_alloc(d[0], G, &direct));
	MUST_ON(d[1], launch(d[1], 0, direct, G, false, 0));
	seam__emu_advance(d[0], 1);
}

static void check_violations(void)
{
	static const struct {
		const char *name;
		void (*act)(struct seam_driver *d[2], uint64_t va);
		enum seam_emu_violation violation;
		bool of_second;
	} rows[] = {
		{"a race of two devices", race, SEAM_EMU_RACE, true},
		{"unmap after waiting for another device", unmap_after_other_device, SEAM_EMU_UNMAP_PENDING, false},
		{"a kernel on memory that was not granted", kernel_without_grant, SEAM_EMU_ACCESS_DENIED, true},
		{"a kernel on plain memory of another device", kernel_without_peer, SEAM_EMU_ACCESS_DENIED, true},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct seam_driver *d[2];
		uint64_t other = 0;
		open_two((struct seam_emu_config){.memory = SEAM_EMU_BOOK}, d);
		uint64_t va = map_chunks(d[0], 1);
		MUST_ON(d[0], seam__drv_mem_set_access(d[0], va, G, &on_second, 1));
		rows[i].act(d, va);
		ok(seam__emu_violations(d[0], rows[i].violation) == 1 && seam__emu_violations_all(d[1]) == 1,
			"%s is found (%s)", rows[i].name, seam__emu_violation_text(d[0]));
		bool poisoned[2];
		for (int k = 0; k < 2; k++)
			poisoned[k] = seam__drv_address_reserve(d[k], G, 0, 0, &other) == SEAM_CU_ILLEGAL_ADDRESS;
		ok(poisoned[0] != rows[i].of_second && poisoned[1] == rows[i].of_second,
			"%s: it poisons one device only", rows[i].name);
		close_two(d);
	}
}

void part_devices(void)
{
	check_memory();
	check_access();
	check_order();
	check_violations();
	struct seam_driver *d[2];
	const struct seam_emu_config many = {.devices = BEYOND + 1};
	char error[200] = "";
	ok(seam__emu_create(&many, error, sizeof error, &d[0]) == SEAM_INVALID && error[0] != '\0',
		"too many devices are refused: %s", error);
	open_two((struct seam_emu_config){.memory = SEAM_EMU_BOOK, .no_peers = true}, d);
	uint64_t va = map_chunks(d[0], 1);
	ok(seam__drv_mem_set_access(d[0], va, G, &on_second, 1) == SEAM_CU_INVALID_DEVICE,
		"without peers nothing is granted to another device");
	ok(seam__emu_peer_enable(d[0], 1) == SEAM_CU_NOT_SUPPORTED &&
			seam__emu_peer_enable(d[0], 0) == SEAM_CU_INVALID_DEVICE,
		"and no kernel is let");
	uint64_t own = 0;
	MUST_ON(d[1], seam__drv_direct_alloc(d[1], G, &own));
	MUST_ON(d[1], seam__drv_copy_between(d[1], d[1], own, d[0], va, G, 0));
	ok(seam__drv_device_sync(d[1]) == 0, "copies that name both devices work all the same");
	close_two(d);
}
