/* part_world.c: virtual time, costs, limits, handles, memory, injected failures, fork. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "emu_test.h"
#include "tap.h"

static const struct seam_emu_config book = {.memory = SEAM_EMU_BOOK};
static const struct seam_emu_config real = {.memory = SEAM_EMU_REAL};

static uint64_t now(struct seam_driver *d)
{
	return d->ops->clock_ns(d);
}

static void return_at_once(void *argument)
{
	(void)argument;
}

void part_time(void)
{
	struct seam_driver *d = open_emu(&book);
	uint64_t va = map_chunks(d, 2);
	uint64_t first = make_stream(d, SEAM_STREAM_NONBLOCKING);
	uint64_t second = make_stream(d, SEAM_STREAM_NONBLOCKING);
	struct seam_event event = {0};
	MUST(seam__drv_event_create(d, &event));
	uint64_t start = now(d);
	MUST(launch(d, first, va, G, true, 1000000));
	MUST(launch(d, second, va + G, G, true, 3000000));
	MUST(launch(d, first, va, G, true, 1000000));
	MUST(seam__drv_event_record(d, event, first));
	ok(seam__drv_event_query(d, event) == SEAM_CU_NOT_READY, "work takes time");
	ok(now(d) - start < 100000, "and asking does not wait for it");
	MUST(seam__drv_event_sync(d, event));
	ok(now(d) - start >= 2000000 && now(d) - start < 2100000, "one stream's work adds up: %llu ns",
		(unsigned long long)(now(d) - start));
	MUST(seam__drv_device_sync(d));
	ok(now(d) - start >= 3000000 && now(d) - start < 3100000, "two streams overlap: %llu ns",
		(unsigned long long)(now(d) - start));
	uint64_t times[2] = {0, 0};
	struct seam_event other = {0};
	MUST(seam__drv_event_create(d, &other));
	ok(seam__emu_event_time(d, other, &times[1]) == SEAM_CU_INVALID_HANDLE,
		"an event that was not recorded has no time");
	ok(seam__emu_event_time(d, event, &times[0]) == 0 && times[0] - start >= 2000000 && times[0] - start < 2100000,
		"an event came when its work ended: %llu ns", (unsigned long long)(times[0] - start));
	start = now(d);
	MUST(seam__drv_event_record(d, event, first));
	MUST(launch(d, first, va, G, true, 1000000));
	MUST(seam__drv_event_record(d, other, first));
	ok(seam__emu_event_time(d, event, &times[0]) == 0 && times[0] >= start && times[0] - start < 100000,
		"on a stream at rest, when it was recorded: %llu ns", (unsigned long long)(times[0] - start));
	ok(seam__emu_event_time(d, other, &times[1]) == SEAM_CU_NOT_READY, "not before it comes");
	MUST(seam__drv_stream_sync(d, first));
	ok(seam__emu_event_time(d, other, &times[1]) == 0 && times[1] - times[0] >= 1000000 &&
			times[1] - times[0] < 1100000,
		"work between two took %llu ns", (unsigned long long)(times[1] - times[0]));
	MUST(seam__drv_event_destroy(d, other));
	start = now(d);
	seam__emu_advance(d, 12345);
	ok(now(d) == start + 12345, "time can be let pass");
	start = now(d);
	MUST(launch(d, first, va, G, true, 1000000));
	MUST(seam__drv_event_record(d, event, first));
	MUST(seam__drv_stream_wait_event(d, second, event));
	MUST(launch(d, second, va, G, true, 500000));
	MUST(seam__drv_stream_sync(d, second));
	ok(now(d) - start >= 1500000 && now(d) - start < 1600000, "who waits for an event starts after it: %llu ns",
		(unsigned long long)(now(d) - start));
	/* The same behind a host function: its end, and so all times after it, are not known when work is submitted. */
	start = now(d);
	MUST(seam__drv_stream_host_func(d, first, return_at_once, NULL));
	MUST(launch(d, first, va, G, true, 1000000));
	MUST(seam__drv_event_record(d, event, first));
	MUST(seam__drv_stream_wait_event(d, second, event));
	MUST(launch(d, second, va, G, true, 500000));
	MUST(seam__drv_stream_sync(d, second));
	ok(now(d) - start >= 1500000 && now(d) - start < 1600000, "also behind a host function: %llu ns",
		(unsigned long long)(now(d) - start));
	close_emu(d);
}

/* A file with the given text; its name is in `path`. */
static void write_file(char path[64], const char *text)
{
	(void)snprintf(path, 64, "/tmp/seam-costs-XXXXXX");
	int file = mkstemp(path);
	if (file < 0 || write(file, text, strlen(text)) != (ssize_t)strlen(text) || close(file) != 0) {
		printf("Bail out! no temporary file\n");
		exit(1);
	}
}

static uint64_t cost_of_access(struct seam_driver *d)
{
	uint64_t va = map_chunks(d, 8);
	uint64_t start = now(d);
	MUST(seam__drv_mem_set_access(d, va, 8 * G, &read_write, 1));
	return now(d) - start;
}

void part_costs(void)
{
	char path[64];
	struct seam_driver *d = open_emu(&book);
	ok(cost_of_access(d) == 8 * (19839 + 69), "the default price of access to 8 chunks of 2 MiB");
	ok(seam__driver_ns(d, SEAM_DRV_MEMORY) == now(d) - seam__driver_ns(d, SEAM_DRV_QUERY),
		"the counters add up to the clock");
	close_emu(d);
	static const struct {
		const char *text;
		enum seam_rc rc;
		const char *says;
	} files[] = {
		{"# measured\nmem_set_access 7 100 10 # here\n\n  mem_map 1 0 0\n", SEAM_OK, ""},
		{"mem_set_access 7 100\n", SEAM_FORMAT, ":1: "},
		{"\nmem_set_acces 7 100 10\n", SEAM_FORMAT, ":2: "},
		{"mem_set_access 7 100 -10\n", SEAM_FORMAT, ":1: "},
		{"mem_set_access 7 100 10 11\n", SEAM_FORMAT, ":1: "},
		{"mem_set_access 7 100 99999999999999999999\n", SEAM_FORMAT, ":1: "},
	};
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		char error[200] = "";
		write_file(path, files[i].text);
		const struct seam_emu_config config = {.memory = SEAM_EMU_BOOK, .cost_file = path};
		d = NULL;
		enum seam_rc rc = seam__emu_create(&config, error, sizeof error, &d);
		ok(rc == files[i].rc && strstr(error, files[i].says) != NULL, "cost file %zu is %s: %s", i,
			seam_rc_name(rc), error);
		if (d != NULL) {
			ok(cost_of_access(d) == 7 + 8 * 110, "a file replaces what it names");
			close_emu(d);
		}
		(void)unlink(path);
	}
	const struct seam_emu_config missing = {.cost_file = "/nonexistent/costs"};
	char error[200] = "";
	ok(seam__emu_create(&missing, error, sizeof error, &d) == SEAM_IO &&
			strstr(error, "/nonexistent/costs") != NULL,
		"a missing file is named: %s", error);
}

static void try_config(const char *name, struct seam_emu_config config)
{
	char error[200] = "";
	struct seam_driver *d = NULL;
	enum seam_rc rc = seam__emu_create(&config, error, sizeof error, &d);
	ok(rc == SEAM_INVALID && d == NULL && error[0] != '\0', "%s is refused: %s", name, error);
}

void part_limits(void)
{
	const struct seam_emu_config small = {.memory = SEAM_EMU_BOOK,
		.capacity_bytes = 10 * G,
		.used_bytes = 2 * G,
		.mapping_ceiling = 4,
		.address_space_bytes = 64 * G};
	struct seam_driver *d = open_emu(&small);
	struct seam_phys phys = {0};
	uint64_t free_bytes = 0;
	uint64_t total = 0;
	uint64_t va = 0;
	MUST(seam__drv_mem_info(d, &free_bytes, &total));
	ok(free_bytes == 8 * G && total == 10 * G, "capacity, less what others hold");
	ok(seam__drv_mem_create(d, 9 * G, &plain, &phys) == SEAM_CU_OUT_OF_MEMORY, "no more than that can be had");
	MUST(seam__drv_mem_create(d, 8 * G, &plain, &phys));
	ok(seam__drv_direct_alloc(d, 1, &va) == SEAM_CU_OUT_OF_MEMORY, "in any way");
	MUST(seam__drv_mem_release(d, phys));
	MUST(seam__drv_address_reserve(d, 8 * G, 0, 0, &va));
	MUST(seam__drv_mem_create(d, G, &plain, &phys));
	for (uint64_t i = 0; i < 5; i++)
		MUST(seam__drv_mem_map(d, va + i * G, G, 0, phys, 0));
	ok(seam__drv_mem_set_access(d, va, 5 * G, &read_write, 1) == SEAM_CU_OUT_OF_MEMORY, "mappings have a ceiling");
	enum seam_access_mode mode = SEAM_ACCESS_READ;
	MUST(seam__drv_mem_get_access(d, va, &plain.where, &mode));
	ok(mode == SEAM_ACCESS_NONE, "and nothing was granted in part");
	MUST(seam__drv_mem_set_access(d, va, 4 * G, &read_write, 1));
	MUST(seam__drv_mem_set_access(d, va, 4 * G, &read_write, 1)); /* again costs no room */
	ok(seam__drv_mem_set_access(d, va + 4 * G, G, &read_write, 1) == SEAM_CU_OUT_OF_MEMORY, "one more is refused");
	MUST(seam__drv_mem_unmap(d, va, G));
	MUST(seam__drv_mem_set_access(d, va + 4 * G, G, &read_write, 1));
	ok(seam__drv_address_reserve(d, 57 * G, 0, 0, &total) == SEAM_CU_OUT_OF_MEMORY, "address space ends");
	MUST(seam__drv_address_reserve(d, 56 * G, 0, 0, &total));
	close_emu(d);
	try_config("more used than capacity", (struct seam_emu_config){.capacity_bytes = G, .used_bytes = 2 * G});
	try_config("an odd granularity", (struct seam_emu_config){.granularity_bytes = 3 * MIB});
	try_config("a huge capacity", (struct seam_emu_config){.capacity_bytes = UINT64_MAX});
	try_config("no memory mode", (struct seam_emu_config){.memory = (enum seam_emu_memory)9});
	const struct seam_emu_config no_vmm = {.memory = SEAM_EMU_BOOK, .no_vmm = true};
	d = open_emu(&no_vmm);
	int64_t has_vmm = 1;
	MUST(seam__drv_attribute(d, SEAM_ATTR_VMM_SUPPORTED, &has_vmm));
	ok(has_vmm == 0, "a device without virtual memory management says so");
	ok(seam__drv_address_reserve(d, G, 0, 0, &va) == SEAM_CU_NOT_SUPPORTED, "and refuses");
	ok(seam__drv_mem_create(d, G, &plain, &phys) == SEAM_CU_NOT_SUPPORTED, "every such call");
	MUST(seam__drv_direct_alloc(d, G, &va));
	MUST(seam__drv_direct_free(d, va));
	close_emu(d);
}

void part_handles(void)
{
	struct seam_driver *d[2] = {open_emu(&book), open_emu(&book)};
	struct seam_phys first = {0};
	struct seam_phys second = {0};
	struct seam_event event = {0};
	uint64_t stream = make_stream(d[0], SEAM_STREAM_BLOCKING);
	uint64_t id = 0;
	must(d[0], seam__drv_mem_create(d[0], G, &plain, &first), "create", __LINE__);
	must(d[0], seam__drv_mem_release(d[0], first), "release", __LINE__);
	must(d[0], seam__drv_mem_create(d[0], G, &plain, &second), "create", __LINE__);
	ok(first.id != second.id, "handles of memory are never given out again");
	must(d[0], seam__drv_mem_release(d[0], second), "release", __LINE__);
	must(d[0], seam__drv_event_create(d[0], &event), "event", __LINE__);
	must(d[0], seam__drv_event_destroy(d[0], event), "event", __LINE__);
	ok(seam__drv_event_query(d[0], event) == SEAM_CU_INVALID_HANDLE, "a destroyed event is known to be one");
	must(d[0], seam__drv_stream_destroy(d[0], stream), "stream", __LINE__);
	ok(seam__drv_stream_id(d[0], stream, &id) == SEAM_CU_INVALID_HANDLE, "and a destroyed stream");
	ok(seam__drv_stream_destroy(d[0], SEAM_STREAM_DEFAULT) == SEAM_CU_INVALID_HANDLE, "the default one stays");
	ok(make_stream(d[0], SEAM_STREAM_BLOCKING) == stream, "the newest freed handle comes first");
	/* The same calls, the same addresses. */
	uint64_t apart = 0;
	uint64_t va[2][64] = {{0}};
	uint64_t sizes[64];
	uint32_t random = 1;
	for (int step = 0; step < 2000; step++) {
		random = random * 1664525 + 1013904223;
		int slot = (int)(random >> 8 & 63);
		for (int k = 0; k < 2; k++) {
			if (va[k][slot] != 0)
				must(d[k], seam__drv_address_free(d[k], va[k][slot], sizes[slot]), "free", __LINE__);
		}
		sizes[slot] = (1 + (random >> 24)) * G;
		for (int k = 0; k < 2; k++)
			must(d[k], seam__drv_address_reserve(d[k], sizes[slot], 0, 0, &va[k][slot]), "reserve",
				__LINE__);
		apart += va[0][slot] != va[1][slot];
	}
	ok(apart == 0, "the same calls get the same addresses: %llu differ", (unsigned long long)apart);
	close_emu(d[0]);
	close_emu(d[1]);
}

/* Host memory of the program's own, page-locked for a while. */
void part_registered(void)
{
	static unsigned char host[16384];
	struct seam_driver *d = open_emu(&real);
	struct seam_emu_usage usage;
	uint64_t va = 0;
	void *locked = NULL;
	MUST(seam__drv_host_alloc(d, 4096, &locked));
	ok(seam__emu_host_register(d, NULL, 4096) == SEAM_CU_INVALID_VALUE &&
			seam__emu_host_register(d, host, 0) == SEAM_CU_INVALID_VALUE &&
			seam__emu_host_register(d, host, UINT64_MAX) == SEAM_CU_INVALID_VALUE,
		"nothing is not registered");
	ok(seam__emu_host_register(d, host + 4096, 4096) == 0, "host memory is registered");
	ok(seam__emu_host_register(d, host, 4097) == SEAM_CU_HOST_MEMORY_ALREADY_REGISTERED &&
			seam__emu_host_register(d, host + 8191, 2) == SEAM_CU_HOST_MEMORY_ALREADY_REGISTERED &&
			seam__emu_host_register(d, locked, 1) == SEAM_CU_HOST_MEMORY_ALREADY_REGISTERED,
		"no byte of it again");
	ok(seam__emu_host_register(d, host, 4096) == 0 && seam__emu_host_register(d, host + 8192, 4096) == 0,
		"but its neighbours");
	seam__emu_usage(d, &usage);
	ok(usage.host_allocations == 4, "they are counted");
	ok(seam__drv_host_free(d, host) == SEAM_CU_INVALID_VALUE &&
			seam__emu_host_unregister(d, locked) == SEAM_CU_HOST_MEMORY_NOT_REGISTERED &&
			seam__emu_host_unregister(d, host + 1) == SEAM_CU_HOST_MEMORY_NOT_REGISTERED,
		"each kind is given back its own way");
	MUST(seam__drv_direct_alloc(d, 4096, &va));
	host[5000] = 7;
	MUST(seam__drv_copy_to_device(d, va, host + 4096, 4096, 0));
	MUST(seam__drv_device_sync(d));
	ok(seam__emu_host_unregister(d, host + 4096) == 0 && host[5000] == 7 && seam__emu_violations_all(d) == 0,
		"it is given back, as it was, once its copy has ended");
	MUST(seam__drv_copy_to_device(d, va, host, 4096, 0));
	ok(seam__emu_host_unregister(d, host) == 0 && seam__emu_violations(d, SEAM_EMU_FREE_PENDING) == 1,
		"before that is wrong");
	seam__emu_clear_violations(d);
	MUST(seam__drv_host_free(d, locked));
	MUST(seam__drv_direct_free(d, va));
	close_emu(d); /* with one that is still registered */
	host[8192] = 1;
	ok(host[8192] == 1, "which goes on");
}

void part_memory(void)
{
	struct seam_driver *d = open_emu(&real);
	const struct seam_access read_only = {.where = plain.where, .mode = SEAM_ACCESS_READ};
	struct seam_phys phys = {0};
	uint64_t va = 0;
	MUST(seam__drv_address_reserve(d, 4 * G, 0, 0, &va));
	ok(touch(va, false) == SIGSEGV, "reserved addresses cannot be touched");
	MUST(seam__drv_mem_create(d, 2 * G, &plain, &phys));
	MUST(seam__drv_mem_map(d, va, 2 * G, 0, phys, 0));
	ok(touch(va, false) == SIGSEGV, "nor can a mapping without access");
	MUST(seam__drv_mem_set_access(d, va, 2 * G, &read_only, 1));
	ok(touch(va, false) == 0, "read access lets read");
	ok(touch(va, true) == SIGSEGV, "but not write");
	MUST(seam__drv_mem_set_access(d, va, 2 * G, &read_write, 1));
	ok(touch(va + 2 * G - 1, true) == 0, "full access lets write");
	ok(touch(va + 2 * G, false) == SIGSEGV, "not beyond");
	const unsigned char *bytes = (const unsigned char *)(uintptr_t)va;
	ok(bytes[0] == 0xd5 && bytes[G - 1] == 0xd5 && bytes[G] == 0xd5, "new memory is poisoned at every edge");
	MUST(seam__drv_fill32(d, va, 0x01020304, G / 2, 0));
	MUST(seam__drv_stream_sync(d, 0));
	ok(bytes[G] == 4, "a fill is seen at the address");
	MUST(seam__drv_mem_unmap(d, va, 2 * G));
	ok(touch(va, false) == SIGSEGV, "what is unmapped cannot be touched");
	MUST(seam__drv_mem_release(d, phys));
	MUST(seam__drv_mem_create(d, 2 * G, &plain, &phys));
	MUST(seam__drv_mem_map(d, va, 2 * G, 0, phys, 0));
	MUST(seam__drv_mem_set_access(d, va, 2 * G, &read_write, 1));
	ok(bytes[G + 4096] != 4, "memory that died has forgotten its bytes");
	close_emu(d);
	/* Exported memory lives on, and dies when the last descriptor is closed. */
	const struct seam_phys_props shareable = {.where = plain.where, .handle_types = SEAM_HANDLE_POSIX_FD};
	struct seam_emu_usage usage;
	int descriptor = -1;
	d = open_emu(&book);
	MUST(seam__drv_mem_create(d, G, &shareable, &phys));
	MUST(seam__drv_mem_export(d, phys, SEAM_HANDLE_POSIX_FD, &descriptor));
	int copy = dup(descriptor);
	MUST(seam__drv_mem_release(d, phys));
	(void)close(descriptor);
	seam__emu_usage(d, &usage);
	ok(usage.handles == 1 && usage.used_bytes == G, "a copy of the descriptor keeps the memory");
	(void)close(copy);
	seam__emu_usage(d, &usage);
	ok(usage.handles == 0 && usage.used_bytes == 0, "closing the last one frees it");
	close_emu(d);
}

/* Isolated mappings until there are no more, of the emulator's or of the kernel's; their number. */
static uint64_t map_isolated(struct seam_driver *d, uint64_t va, struct seam_phys phys, uint64_t limit)
{
	uint64_t n = 0;
	while (n < limit && seam__drv_mem_map(d, va + 2 * n * G, G, 0, phys, 0) == 0) {
		if (seam__drv_mem_set_access(d, va + 2 * n * G, G, &read_write, 1) != 0) {
			MUST(seam__drv_mem_unmap(d, va + 2 * n * G, G));
			break;
		}
		n++;
	}
	return n;
}

#if defined(__SANITIZE_THREAD__)
#define KERNEL_MAP_IS_OURS false /* ThreadSanitizer maps memory of its own as it goes, and dies where it cannot */
#else
#define KERNEL_MAP_IS_OURS true
#endif

void part_full_map(void)
{
	if (!KERNEL_MAP_IS_OURS) {
		tap_note("left out under ThreadSanitizer");
		return;
	}
	const uint64_t limit = 40000; /* more than the kernel's default lets a process have */
	struct seam_driver *d = open_emu(&real);
	struct seam_phys phys = {0};
	uint64_t va = 0;
	MUST(seam__drv_address_reserve(d, 2 * limit * G, 0, 0, &va));
	MUST(seam__drv_mem_create(d, G, &plain, &phys));
	uint64_t first = map_isolated(d, va, phys, limit);
	for (uint64_t i = 0; i < first; i++)
		MUST(seam__drv_mem_unmap(d, va + 2 * i * G, G));
	ok(touch(va, false) == SIGSEGV && touch(va + 2 * (first - 1) * G, false) == SIGSEGV,
		"after %llu isolated mappings unmapping still takes the bytes away", (unsigned long long)first);
	uint64_t second = map_isolated(d, va, phys, 1000);
	ok(second == 1000, "and there is room for mappings again: %llu", (unsigned long long)second);
	close_emu(d);
}

/* A life of a mapping; stops at the first failure and gives back what it has. */
static int live_once(struct seam_driver *d)
{
	uint64_t va = 0;
	struct seam_phys phys = {0};
	int cu = seam__drv_address_reserve(d, G, 0, 0, &va);
	if (cu != 0)
		return cu;
	cu = seam__drv_mem_create(d, G, &plain, &phys);
	if (cu == 0) {
		cu = seam__drv_mem_map(d, va, G, 0, phys, 0);
		if (cu == 0) {
			cu = seam__drv_mem_set_access(d, va, G, &read_write, 1);
			while (seam__drv_mem_unmap(d, va, G) != 0)
				cu = -1;
		}
		while (seam__drv_mem_release(d, phys) != 0)
			cu = -1;
	}
	while (seam__drv_address_free(d, va, G) != 0)
		cu = -1;
	return cu;
}

static void check_failures(const struct seam_emu_config *config)
{
	struct seam_driver *d = open_emu(config);
	struct seam_emu_usage usage;
	uint64_t n = 1;
	for (;; n++) {
		uint64_t injected = atomic_load(&d->injected);
		seam__driver_fail_at(d, n, UINT64_C(1) << SEAM_DRV_MEMORY, SEAM_CU_OUT_OF_MEMORY);
		int cu = live_once(d);
		if (atomic_load(&d->injected) == injected) {
			ok(cu == 0, "without a failure it works");
			break;
		}
		seam__emu_usage(d, &usage);
		ok(cu != 0 && usage.handles == 0 && usage.mappings == 0 && usage.reservations == 0,
			"failure %llu leaves nothing behind", (unsigned long long)n);
	}
	ok(n == 8, "each of the 7 calls has failed once: %llu", (unsigned long long)n);
	close_emu(d);
}

void part_failures(void)
{
	check_failures(&book);
	check_failures(&(struct seam_emu_config){.memory = SEAM_EMU_STRICT});
}

void part_fork(void)
{
	struct seam_driver *d = open_emu(&real);
	uint64_t va = map_chunks(d, 1);
	int status = 0;
	pid_t child = fork();
	if (child == 0) {
		int cu = seam__drv_mem_unmap(d, va, G);
		uint64_t seen = seam__emu_violations(d, SEAM_EMU_AFTER_FORK);
		seam__driver_destroy(d);
		_exit(cu == SEAM_CU_NOT_INITIALIZED && seen == 1 ? 0 : 1);
	}
	if (child < 0 || waitpid(child, &status, 0) != child)
		status = -1;
	ok(status == 0, "a child is refused and told: %d", status);
	ok(touch(va, true) == 0 && seam__emu_violations_all(d) == 0, "the parent has not noticed");
	MUST(seam__drv_mem_unmap(d, va, G));
	close_emu(d);
}
