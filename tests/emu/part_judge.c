/* part_judge.c: every violation is caught, whatever the clock says; and what is ordered is let through. */
#include "emu_test.h"
#include "tap.h"

#define LONG_NS UINT64_C(1000000000)

/* Each does one wrong thing, on a device of its own. */

static void unmap_pending(struct seam_driver *d)
{
	uint64_t va = map_chunks(d, 2);
	MUST(launch(d, 0, va + G, 512, false, LONG_NS));
	MUST(seam__drv_mem_unmap(d, va, 2 * G));
}

static void unmap_untold(struct seam_driver *d)
{
	uint64_t va = map_chunks(d, 1);
	MUST(launch(d, 0, va, 512, true, 10));
	seam__emu_advance(d, LONG_NS); /* it has ended, but nobody has asked */
	MUST(seam__drv_mem_unmap(d, va, G));
}

static void unmap_after_other_stream(struct seam_driver *d)
{
	uint64_t va = map_chunks(d, 1);
	uint64_t stream = make_stream(d, SEAM_STREAM_NONBLOCKING);
	MUST(launch(d, stream, va, 512, true, 10));
	MUST(seam__drv_stream_sync(d, 0));
	MUST(seam__drv_mem_unmap(d, va, G));
}

static void unmap_after_old_record(struct seam_driver *d)
{
	uint64_t va = map_chunks(d, 1);
	struct seam_event event = {0};
	MUST(seam__drv_event_create(d, &event));
	MUST(seam__drv_event_record(d, event, 0));
	MUST(launch(d, 0, va, 512, true, 10));
	MUST(seam__drv_event_sync(d, event));
	MUST(seam__drv_mem_unmap(d, va, G));
}

static void release_unknown(struct seam_driver *d)
{
	struct seam_phys phys = {0};
	MUST(seam__drv_mem_create(d, G, &plain, &phys));
	MUST(seam__drv_mem_release(d, phys));
	ok(seam__drv_mem_release(d, phys) == SEAM_CU_INVALID_VALUE, "a second release is refused too");
}

static void free_pending(struct seam_driver *d)
{
	void *host = NULL;
	uint64_t va = map_chunks(d, 1);
	MUST(seam__drv_host_alloc(d, 4096, &host));
	MUST(launch(d, 0, va, 512, true, LONG_NS));
	MUST(seam__drv_copy_to_device(d, va, host, 4096, 0));
	MUST(seam__drv_host_free(d, host));
}

static void free_untold(struct seam_driver *d)
{
	void *host = NULL;
	uint64_t va = map_chunks(d, 1);
	MUST(seam__drv_host_alloc(d, 2 * 4096, &host));
	MUST(seam__drv_copy_to_device(d, va, (char *)host + 4096, 16, 0));
	seam__emu_advance(d, LONG_NS); /* it has ended, but nobody has asked */
	MUST(seam__drv_host_free(d, host));
}

static void free_after_other_stream(struct seam_driver *d)
{
	void *host = NULL;
	uint64_t va = map_chunks(d, 1);
	MUST(seam__drv_host_alloc(d, 4096, &host));
	MUST(seam__drv_copy_to_host(d, host, va, 4096, make_stream(d, SEAM_STREAM_NONBLOCKING)));
	MUST(seam__drv_stream_sync(d, 0));
	MUST(seam__drv_host_free(d, host));
}

static void access_unmapped(struct seam_driver *d)
{
	uint64_t va = map_chunks(d, 1);
	MUST(launch(d, 0, va, G + 1, false, 0)); /* one byte too far */
	seam__emu_advance(d, 1);
}

static void access_before_grant(struct seam_driver *d)
{
	uint64_t va = map_chunks(d, 1);
	struct seam_phys phys = {0};
	MUST(seam__drv_mem_retain(d, va, &phys));
	MUST(seam__drv_mem_unmap(d, va, G));
	MUST(seam__drv_mem_map(d, va, G, 0, phys, 0));
	MUST(seam__drv_fill32(d, va, 1, 1, 0));
	seam__emu_advance(d, LONG_NS);
}

static void write_read_only(struct seam_driver *d)
{
	uint64_t va = map_chunks(d, 1);
	const struct seam_access read_only = {.where = plain.where, .mode = SEAM_ACCESS_READ};
	MUST(seam__drv_mem_set_access(d, va, G, &read_only, 1));
	MUST(launch(d, 0, va, 512, false, 0));
	ok(seam__emu_violations_all(d) == 0, "reading is allowed");
	MUST(launch(d, 0, va, 512, true, 0));
	seam__emu_advance(d, 1);
}

static void alias_unordered(struct seam_driver *d)
{
	uint64_t va = map_chunks(d, 1);
	uint64_t alias = map_alias(d, va);
	uint64_t stream = make_stream(d, SEAM_STREAM_NONBLOCKING);
	MUST(launch(d, 0, va + 1024, 512, true, 10));
	seam__emu_advance(d, LONG_NS);
	MUST(launch(d, stream, alias, G, false, 10));
}

static void alias_in_kernel(struct seam_driver *d)
{
	uint64_t va = map_chunks(d, 1);
	const struct seam_emu_range ranges[2] = {
		{.va = va, .bytes = 1024, .write = true}, {.va = map_alias(d, va) + 512, .bytes = 512}};
	MUST(seam__emu_launch(d, 0, ranges, 2, 10, 0));
}

static void race_write_read(struct seam_driver *d)
{
	uint64_t va = map_chunks(d, 1);
	MUST(launch(d, make_stream(d, SEAM_STREAM_NONBLOCKING), va, 4096, true, 10));
	MUST(launch(d, make_stream(d, SEAM_STREAM_NONBLOCKING), va + 4095, 1, false, 10));
}

static void race_read_write(struct seam_driver *d)
{
	uint64_t va = map_chunks(d, 1);
	MUST(launch(d, make_stream(d, SEAM_STREAM_NONBLOCKING), va, 4096, false, 10));
	MUST(launch(d, make_stream(d, SEAM_STREAM_NONBLOCKING), va, 4096, false, 10));
	MUST(launch(d, make_stream(d, SEAM_STREAM_NONBLOCKING), va, 1, true, 10));
}

static void race_after_wrong_event(struct seam_driver *d)
{
	uint64_t va = map_chunks(d, 1);
	uint64_t first = make_stream(d, SEAM_STREAM_NONBLOCKING);
	uint64_t second = make_stream(d, SEAM_STREAM_NONBLOCKING);
	struct seam_event event = {0};
	MUST(seam__drv_event_create(d, &event));
	MUST(launch(d, first, va, 512, true, 10));
	MUST(seam__drv_event_record(d, event, first));
	MUST(launch(d, first, va, 512, true, 10)); /* behind the record */
	MUST(seam__drv_stream_wait_event(d, second, event));
	MUST(launch(d, second, va, 512, true, 10));
}

static void remap_in_capture(struct seam_driver *d)
{
	uint64_t va = map_chunks(d, 1);
	uint64_t stream = make_stream(d, SEAM_STREAM_NONBLOCKING);
	MUST(seam__drv_capture_begin(d, stream));
	MUST(launch(d, stream, va, 512, true, 10));
	MUST(seam__drv_mem_unmap(d, va, G));
}

static void alias_in_capture(struct seam_driver *d)
{
	uint64_t va = map_chunks(d, 1);
	uint64_t stream = make_stream(d, SEAM_STREAM_NONBLOCKING);
	MUST(seam__drv_capture_begin(d, stream));
	MUST(launch(d, stream, va, 512, true, 10));
	(void)map_alias(d, va);
}

/* Page-locked memory: the program's own, and so many bytes of it. */
static char *lock_pages(struct seam_driver *d, uint64_t bytes)
{
	static char pages[3 * 4096];
	MUST(seam__emu_host_register(d, pages, bytes));
	return pages;
}

static void race_host_writes(struct seam_driver *d)
{
	uint64_t va = map_chunks(d, 1);
	char *host = lock_pages(d, 4096);
	MUST(seam__drv_copy_to_host(d, host, va, 4096, make_stream(d, SEAM_STREAM_NONBLOCKING)));
	MUST(seam__drv_copy_to_host(d, host + 4095, va, 1, make_stream(d, SEAM_STREAM_NONBLOCKING)));
}

static void race_host_write_read(struct seam_driver *d)
{
	void *host = NULL;
	uint64_t va = map_chunks(d, 2);
	MUST(seam__drv_host_alloc(d, 8192, &host));
	MUST(seam__drv_copy_to_host(d, (char *)host + 16, va, 4096, make_stream(d, SEAM_STREAM_NONBLOCKING)));
	seam__emu_advance(d, LONG_NS); /* it has ended, but nobody has asked */
	MUST(seam__drv_copy_to_device(d, va + G, host, 17, make_stream(d, SEAM_STREAM_NONBLOCKING)));
}

static void race_host_read_write(struct seam_driver *d)
{
	void *host = NULL;
	uint64_t va = map_chunks(d, 2);
	MUST(seam__drv_host_alloc(d, 8192, &host));
	MUST(seam__drv_copy_to_device(d, va, host, 8192, make_stream(d, SEAM_STREAM_NONBLOCKING)));
	MUST(seam__drv_copy_to_host(d, (char *)host + 8191, va + G, 1, make_stream(d, SEAM_STREAM_NONBLOCKING)));
}

/* The second of two blocks that one copy goes through. */
static void race_host_second_block(struct seam_driver *d)
{
	uint64_t va = map_chunks(d, 1);
	char *host = lock_pages(d, 4096);
	MUST(seam__emu_host_register(d, host + 4096, 4096));
	MUST(seam__drv_copy_to_host(d, host, va, 8192, make_stream(d, SEAM_STREAM_NONBLOCKING)));
	MUST(seam__drv_copy_to_host(d, host + 6000, va, 16, make_stream(d, SEAM_STREAM_NONBLOCKING)));
}

static void free_second_block(struct seam_driver *d)
{
	uint64_t va = map_chunks(d, 1);
	char *host = lock_pages(d, 4096);
	MUST(seam__emu_host_register(d, host + 4096, 4096));
	MUST(seam__drv_copy_to_host(d, host, va, 8192, 0));
	MUST(seam__emu_host_unregister(d, host + 4096));
}

static void race_host_in_graph(struct seam_driver *d)
{
	uint64_t va = map_chunks(d, 1);
	uint64_t stream = make_stream(d, SEAM_STREAM_NONBLOCKING);
	uint64_t graph = 0;
	char *host = lock_pages(d, 4096);
	MUST(seam__drv_capture_begin(d, stream));
	MUST(seam__drv_copy_to_host(d, host, va, 4096, stream));
	MUST(seam__emu_capture_keep(d, stream, &graph));
	MUST(seam__drv_copy_to_host(d, host, va, 16, stream));
	ok(seam__emu_violations_all(d) == 0, "what is captured only has not happened");
	MUST(seam__emu_graph_launch(d, graph, make_stream(d, SEAM_STREAM_NONBLOCKING)));
}

static const struct row {
	const char *name;
	void (*act)(struct seam_driver *d);
	enum seam_emu_violation violation;
} rows[] = {
	{"unmap under pending work", unmap_pending, SEAM_EMU_UNMAP_PENDING},
	{"unmap before the host knows", unmap_untold, SEAM_EMU_UNMAP_PENDING},
	{"unmap after waiting for another stream", unmap_after_other_stream, SEAM_EMU_UNMAP_PENDING},
	{"unmap after an older event", unmap_after_old_record, SEAM_EMU_UNMAP_PENDING},
	{"release twice", release_unknown, SEAM_EMU_RELEASE_UNKNOWN},
	{"free host memory under a copy", free_pending, SEAM_EMU_FREE_PENDING},
	{"free host memory before the host knows of its copy", free_untold, SEAM_EMU_FREE_PENDING},
	{"free host memory after waiting for another stream", free_after_other_stream, SEAM_EMU_FREE_PENDING},
	{"kernel beyond a mapping", access_unmapped, SEAM_EMU_ACCESS_UNMAPPED},
	{"access before it is granted", access_before_grant, SEAM_EMU_ACCESS_DENIED},
	{"write with read access", write_read_only, SEAM_EMU_ACCESS_DENIED},
	{"two aliases on two streams", alias_unordered, SEAM_EMU_ALIAS_UNORDERED},
	{"two aliases in one kernel", alias_in_kernel, SEAM_EMU_ALIAS_IN_KERNEL},
	{"read while written", race_write_read, SEAM_EMU_RACE},
	{"write while read", race_read_write, SEAM_EMU_RACE},
	{"write behind the record that is waited for", race_after_wrong_event, SEAM_EMU_RACE},
	{"two copies to the same host memory", race_host_writes, SEAM_EMU_RACE},
	{"copy from host memory that is written", race_host_write_read, SEAM_EMU_RACE},
	{"copy to host memory that is read", race_host_read_write, SEAM_EMU_RACE},
	{"two copies in the second block of the longer one", race_host_second_block, SEAM_EMU_RACE},
	{"free the second block under a copy", free_second_block, SEAM_EMU_FREE_PENDING},
	{"a graph's copy to host memory of another copy", race_host_in_graph, SEAM_EMU_RACE},
	{"unmap in a capture", remap_in_capture, SEAM_EMU_REMAP_IN_CAPTURE},
	{"map again in a capture", alias_in_capture, SEAM_EMU_REMAP_IN_CAPTURE},
};

void part_violations(void)
{
	for (int memory = SEAM_EMU_REAL; memory <= SEAM_EMU_BOOK; memory++) {
		for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
			const struct seam_emu_config config = {.memory = (enum seam_emu_memory)memory, .lenient = true};
			struct seam_driver *d = open_emu(&config);
			rows[i].act(d);
			uint64_t wanted = seam__emu_violations(d, rows[i].violation);
			ok(wanted != 0 && seam__emu_violations_all(d) == wanted,
				"%s is %s: %llu of it, %llu in all (%s)", rows[i].name,
				seam__emu_violation_name(rows[i].violation), (unsigned long long)wanted,
				(unsigned long long)seam__emu_violations_all(d), seam__emu_violation_text(d));
			uint64_t va = 0;
			ok(seam__drv_address_reserve(d, G, 0, 0, &va) == 0, "%s: a lenient device goes on",
				rows[i].name);
			close_emu(d);
		}
	}
}

/* Each orders what it does, in one of the ways there are. */

static void by_stream(struct seam_driver *d, uint64_t va, uint64_t alias)
{
	MUST(launch(d, 0, va, G, true, 10));
	MUST(launch(d, 0, alias, G, true, 10));
}

static void by_event(struct seam_driver *d, uint64_t va, uint64_t alias)
{
	uint64_t first = make_stream(d, SEAM_STREAM_NONBLOCKING);
	uint64_t second = make_stream(d, SEAM_STREAM_NONBLOCKING);
	uint64_t third = make_stream(d, SEAM_STREAM_NONBLOCKING);
	struct seam_event event = {0};
	MUST(seam__drv_event_create(d, &event));
	MUST(launch(d, first, va, G, true, LONG_NS));
	MUST(seam__drv_event_record(d, event, first));
	MUST(seam__drv_stream_wait_event(d, second, event));
	MUST(seam__drv_event_record(d, event, second)); /* hands on what it knows */
	MUST(seam__drv_stream_wait_event(d, third, event));
	MUST(launch(d, third, alias, G, true, 10));
}

static void by_stream_sync(struct seam_driver *d, uint64_t va, uint64_t alias)
{
	uint64_t first = make_stream(d, SEAM_STREAM_NONBLOCKING);
	MUST(launch(d, first, va, G, true, LONG_NS));
	MUST(seam__drv_stream_sync(d, first));
	MUST(launch(d, make_stream(d, SEAM_STREAM_NONBLOCKING), alias, G, true, 10));
}

static void by_query(struct seam_driver *d, uint64_t va, uint64_t alias)
{
	uint64_t first = make_stream(d, SEAM_STREAM_NONBLOCKING);
	struct seam_event event = {0};
	MUST(seam__drv_event_create(d, &event));
	MUST(launch(d, first, va, G, true, 10));
	MUST(seam__drv_event_record(d, event, first));
	seam__emu_advance(d, 10);
	MUST(seam__drv_event_query(d, event));
	MUST(launch(d, make_stream(d, SEAM_STREAM_NONBLOCKING), alias, G, true, 10));
}

static void by_device_sync(struct seam_driver *d, uint64_t va, uint64_t alias)
{
	MUST(launch(d, make_stream(d, SEAM_STREAM_NONBLOCKING), va, G, true, LONG_NS));
	MUST(seam__drv_device_sync(d));
	MUST(launch(d, make_stream(d, SEAM_STREAM_NONBLOCKING), alias, G, true, 10));
}

static void by_legacy(struct seam_driver *d, uint64_t va, uint64_t alias)
{
	MUST(launch(d, make_stream(d, SEAM_STREAM_BLOCKING), va, G, true, LONG_NS));
	MUST(launch(d, SEAM_STREAM_DEFAULT, alias, G, true, 10));
	MUST(launch(d, make_stream(d, SEAM_STREAM_BLOCKING), va, G, true, 10));
}

static void by_reading(struct seam_driver *d, uint64_t va, uint64_t alias)
{
	MUST(launch(d, make_stream(d, SEAM_STREAM_NONBLOCKING), va, G, false, LONG_NS));
	MUST(launch(d, make_stream(d, SEAM_STREAM_NONBLOCKING), alias, G, false, LONG_NS));
}

static void by_distance(struct seam_driver *d, uint64_t va, uint64_t alias)
{
	MUST(launch(d, make_stream(d, SEAM_STREAM_NONBLOCKING), va, 4096, true, LONG_NS));
	MUST(launch(d, make_stream(d, SEAM_STREAM_NONBLOCKING), alias + 4096, 4096, true, LONG_NS));
}

/* Of page-locked memory: one stream, an event, different bytes, and a new life of it. */
static void by_host_edges(struct seam_driver *d, uint64_t va, uint64_t alias)
{
	uint64_t first = make_stream(d, SEAM_STREAM_NONBLOCKING);
	uint64_t second = make_stream(d, SEAM_STREAM_NONBLOCKING);
	struct seam_event event = {0};
	char *host = lock_pages(d, 3 * 4096);
	MUST(seam__drv_event_create(d, &event));
	MUST(seam__drv_copy_to_host(d, host, va, 4096, first));
	MUST(seam__drv_copy_to_host(d, host + 100, va, 4096, first));
	MUST(seam__drv_copy_to_host(d, host + 2 * 4096, alias, 4096, second));
	MUST(seam__drv_event_record(d, event, first));
	MUST(seam__drv_stream_wait_event(d, second, event));
	MUST(seam__drv_copy_to_device(d, va, host, 4096, second));
	MUST(seam__drv_event_record(d, event, second));
	MUST(seam__drv_stream_wait_event(d, first, event));
	MUST(seam__drv_copy_to_device(d, va, host, 4096, first));
	MUST(seam__drv_stream_sync(d, first));
	MUST(seam__emu_host_unregister(d, host));
	host = lock_pages(d, 4096);
	MUST(seam__drv_copy_to_device(d, va, host, 4096, first));
	MUST(seam__drv_stream_sync(d, first));
	MUST(seam__emu_host_unregister(d, host));
}

/* Two streams read the same page-locked memory. */
static void by_host_reading(struct seam_driver *d, uint64_t va, uint64_t alias)
{
	char *host = lock_pages(d, 2 * 4096);
	MUST(seam__drv_copy_to_device(d, va, host, 8192, make_stream(d, SEAM_STREAM_NONBLOCKING)));
	MUST(seam__drv_copy_to_device(d, alias + 8192, host, 8192, make_stream(d, SEAM_STREAM_NONBLOCKING)));
}

static const struct {
	const char *name;
	void (*act)(struct seam_driver *d, uint64_t va, uint64_t alias);
} orders[] = {
	{"one stream", by_stream},
	{"events, handed on", by_event},
	{"a stream's sync", by_stream_sync},
	{"a successful query", by_query},
	{"the device's sync", by_device_sync},
	{"the legacy stream", by_legacy},
	{"only reading", by_reading},
	{"different bytes", by_distance},
	{"edges between copies of host memory", by_host_edges},
	{"only reading host memory", by_host_reading},
};

/* Page-locked memory whose copies the host knows to have passed, by an event that another stream has waited for. */
static void check_host_edges(struct seam_driver *d)
{
	void *host = NULL;
	uint64_t va = map_chunks(d, 1);
	uint64_t first = make_stream(d, SEAM_STREAM_NONBLOCKING);
	uint64_t second = make_stream(d, SEAM_STREAM_NONBLOCKING);
	struct seam_event event = {0};
	MUST(seam__drv_event_create(d, &event));
	MUST(seam__drv_host_alloc(d, 4096, &host));
	MUST(seam__drv_copy_to_device(d, va, host, 4096, first));
	MUST(seam__drv_event_record(d, event, first));
	MUST(seam__drv_stream_wait_event(d, second, event));
	MUST(seam__drv_stream_sync(d, second));
	MUST(seam__drv_host_free(d, host));
	ok(seam__emu_violations_all(d) == 0, "host memory may be freed when its copy is known to have passed (%s)",
		seam__emu_violation_text(d));
}

void part_edges(void)
{
	const struct seam_emu_config config = {.memory = SEAM_EMU_REAL};
	for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++) {
		struct seam_driver *d = open_emu(&config);
		uint64_t va = map_chunks(d, 1);
		uint64_t alias = map_alias(d, va);
		orders[i].act(d, va, alias);
		ok(seam__emu_violations_all(d) == 0, "%s is order enough (%s)", orders[i].name,
			seam__emu_violation_text(d));
		MUST(seam__drv_device_sync(d));
		MUST(seam__drv_mem_unmap(d, va, G));
		MUST(seam__drv_mem_unmap(d, alias, G));
		ok(seam__emu_violations_all(d) == 0, "%s: what is known to have passed may be unmapped",
			orders[i].name);
		close_emu(d);
	}
	struct seam_driver *host_device = open_emu(&config);
	check_host_edges(host_device);
	close_emu(host_device);
	/* Make before break: work through one address does not hold the other. */
	struct seam_driver *d = open_emu(&config);
	uint64_t va = map_chunks(d, 1);
	uint64_t alias = map_alias(d, va);
	MUST(launch(d, 0, alias, G, true, LONG_NS));
	MUST(seam__drv_mem_unmap(d, va, G));
	ok(seam__emu_violations_all(d) == 0, "an alias without work may be unmapped (%s)", seam__emu_violation_text(d));
	close_emu(d);
}

void part_sticky(void)
{
	const struct seam_emu_config config = {.memory = SEAM_EMU_REAL};
	struct seam_driver *d = open_emu(&config);
	uint64_t va = map_chunks(d, 2);
	uint64_t more = 0;
	uint64_t bytes = 0;
	uint64_t stream = make_stream(d, SEAM_STREAM_NONBLOCKING);
	MUST(launch(d, stream, va, 3 * G, true, 10));
	ok(seam__drv_stream_sync(d, stream) == SEAM_CU_ILLEGAL_ADDRESS, "who waits for it is told");
	ok(seam__drv_address_reserve(d, G, 0, 0, &more) == SEAM_CU_ILLEGAL_ADDRESS, "and so is everyone later");
	ok(seam__drv_event_query(d, (struct seam_event){1}) == SEAM_CU_ILLEGAL_ADDRESS, "events too");
	ok(launch(d, stream, va, 1, false, 1) == SEAM_CU_ILLEGAL_ADDRESS, "launches too");
	ok(seam__drv_granularity(d, &plain, &bytes) == SEAM_CU_SUCCESS, "questions are answered");
	ok(seam__drv_mem_unmap(d, va, 2 * G) == SEAM_CU_SUCCESS, "things can be given back");
	ok(seam__drv_address_free(d, va, 2 * G) == SEAM_CU_SUCCESS, "all of them");
	ok(seam__drv_stream_destroy(d, stream) == SEAM_CU_SUCCESS, "streams as well");
	seam__emu_clear_violations(d);
	ok(seam__emu_violations_all(d) == 0 && seam__emu_violation_text(d)[0] == '\0', "a test may clear the record");
	ok(seam__drv_address_reserve(d, G, 0, 0, &more) == SEAM_CU_SUCCESS, "and go on");
	close_emu(d);
}
