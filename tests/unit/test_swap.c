/* test_swap.c: the swap engine: tickets, edges, refusals, and whatever fails. */
#include <sys/wait.h>

#include <seam/swap.h>

#include "core_fixture.h"
#include "swap_engine.h"
#include "swap_schedule.h"

#define SECOND UINT64_C(1000000000)

static const struct seam_emu_config real = {.memory = SEAM_EMU_REAL, .capacity_bytes = MIB(128)};
static struct seam_swap *swap;

static void open_swap(const struct seam_emu_config *emu, const char *conf)
{
	open_on(emu, conf);
	cr_assert_ok(seam_swap_create(pool, &swap));
}

static void close_swap(void)
{
	struct seam_emu_usage usage;
	cr_assert_null(seam_swap_check(swap), "%s", seam_swap_check(swap));
	seam__emu_usage(driver, &usage);
	uint64_t streams = usage.streams;
	seam_swap_destroy(swap);
	seam__emu_usage(driver, &usage);
	cr_assert_eq(usage.streams, streams - 2, "its streams are gone");
	close_pool();
}

static struct seam_swap_stats swap_stats(void)
{
	struct seam_swap_stats stats = {.size = sizeof stats, .version = SEAM_SWAP_STATS_VERSION};
	cr_assert_ok(seam_swap_stats_get(swap, &stats));
	return stats;
}

static void sync_stream(void *stream)
{
	cr_assert_eq(seam__drv_stream_sync(driver, (uint64_t)(uintptr_t)stream), SEAM_CU_SUCCESS);
}

static void fill(void *stream, void *ptr, uint64_t bytes, uint32_t value)
{
	cr_assert_eq(seam__drv_fill32(driver, (uint64_t)(uintptr_t)ptr, value, bytes / 4, (uint64_t)(uintptr_t)stream),
		SEAM_CU_SUCCESS);
}

static uint64_t must_out(void *tensor, uint64_t bytes, void *stream)
{
	uint64_t ticket = 0;
	cr_assert_ok(seam_swap_out(swap, &tensor, &bytes, 1, stream, &ticket));
	return ticket;
}

Test(swap, bad_arguments_are_refused)
{
	open_swap(&real, NULL);
	void *tensor = must_alloc(MIB(1), NULL);
	void *none = NULL;
	void *host = NULL;
	void *const two[2] = {tensor, NULL};
	uint64_t bytes[2] = {MIB(1), 1};
	const uint64_t zero = 0;
	const uint64_t most[2] = {UINT64_MAX - 1000, UINT64_MAX - 1000};
	void *const same[2] = {tensor, tensor};
	uint64_t ticket = 0;
	struct seam_swap *other = NULL;
	cr_assert_rc(seam_swap_create(NULL, &other), SEAM_INVALID);
	cr_assert_rc(seam_swap_create(pool, NULL), SEAM_INVALID);
	cr_assert_rc(seam_swap_out(NULL, &tensor, bytes, 1, NULL, &ticket), SEAM_INVALID);
	cr_assert_rc(seam_swap_out(swap, NULL, bytes, 1, NULL, &ticket), SEAM_INVALID);
	cr_assert_rc(seam_swap_out(swap, &tensor, NULL, 1, NULL, &ticket), SEAM_INVALID);
	cr_assert_rc(seam_swap_out(swap, &tensor, bytes, 0, NULL, &ticket), SEAM_INVALID);
	cr_assert_rc(seam_swap_out(swap, &tensor, bytes, 1, NULL, NULL), SEAM_INVALID);
	cr_assert_rc(seam_swap_out(swap, &tensor, &zero, 1, NULL, &ticket), SEAM_INVALID);
	cr_assert_rc(seam_swap_out(swap, two, bytes, 2, NULL, &ticket), SEAM_INVALID);
	cr_assert_rc(seam_swap_out(swap, same, most, 2, NULL, &ticket), SEAM_INVALID);
	cr_assert_rc(seam_swap_out(swap, &tensor, most, 1, NULL, &ticket), SEAM_OOM_HOST);
	cr_assert_rc(seam_swap_out(swap, &tensor, bytes, 1, stream_of(0xdead000), &ticket), SEAM_DRIVER);
	cr_assert_eq(ticket, 0, "ret_ticket was touched");
	cr_assert_ok(seam_host_alloc(pool, MIB(1), NULL, &host));
	cr_assert_rc(seam_swap_load(swap, NULL, &tensor, bytes, 1, NULL, &ticket), SEAM_INVALID);
	cr_assert_rc(seam_swap_load(swap, &none, &tensor, bytes, 1, NULL, &ticket), SEAM_INVALID);
	cr_assert_rc(seam_swap_load(swap, &host, &none, bytes, 1, NULL, &ticket), SEAM_INVALID);
	cr_assert_rc(seam_swap_load(swap, &tensor, &tensor, bytes, 1, NULL, &ticket), SEAM_NOT_FOUND);
	bytes[1] = MIB(1) + 1;
	cr_assert_rc(seam_swap_load(swap, &host, &tensor, &bytes[1], 1, NULL, &ticket), SEAM_NOT_FOUND);
	cr_assert_rc(seam_swap_in(swap, 1, &tensor, 1, NULL), SEAM_NOT_FOUND);
	cr_assert_rc(seam_swap_await(swap, 1, NULL), SEAM_NOT_FOUND);
	cr_assert_rc(seam_swap_join(swap, 1), SEAM_NOT_FOUND);
	cr_assert_rc(seam_swap_host(swap, 1, 0, &host), SEAM_NOT_FOUND);
	cr_assert_rc(seam_swap_drop(swap, 1), SEAM_NOT_FOUND);
	cr_assert_eq(swap_stats().tickets + swap_stats().outs + swap_stats().host_bytes, 0);
	cr_assert_eq(swap_stats().refusals, 1);
	ticket = must_out(tensor, MIB(1), NULL);
	cr_assert_rc(seam_swap_in(swap, ticket, two, 2, NULL), SEAM_INVALID);
	cr_assert_rc(seam_swap_in(swap, ticket, &none, 1, NULL), SEAM_INVALID);
	cr_assert_rc(seam_swap_host(swap, ticket, 1, &host), SEAM_NOT_FOUND);
	cr_assert_ok(seam_swap_await(swap, ticket, NULL));
	cr_assert_ok(seam_swap_drop(swap, ticket));
	cr_assert_rc(seam_swap_drop(swap, ticket), SEAM_NOT_FOUND);
	seam_swap_destroy(NULL);
	cr_assert_null(seam_swap_check(NULL));
	close_swap();
}

/* Of another device, and of none. */
Test(swap, other_streams_are_refused)
{
	const struct seam_emu_config two = {.memory = SEAM_EMU_REAL, .capacity_bytes = MIB(128), .devices = 2};
	struct seam_driver *other = NULL;
	uint64_t foreign = 0;
	open_swap(&two, NULL);
	cr_assert_ok(seam__emu_open(driver, 1, &other));
	cr_assert_eq(seam__drv_stream_create(other, SEAM_STREAM_NONBLOCKING, &foreign), SEAM_CU_SUCCESS);
	void *const streams[2] = {SEAM_NO_STREAM, (void *)(uintptr_t)foreign};
	void *tensor = must_alloc(MIB(1), NULL);
	void *host = NULL;
	uint64_t bytes = MIB(1);
	cr_assert_ok(seam_host_alloc(pool, MIB(1), NULL, &host));
	uint64_t ticket = must_out(tensor, MIB(1), NULL);
	for (int i = 0; i < 2; i++) {
		uint64_t none = 0;
		cr_assert_rc(seam_swap_out(swap, &tensor, &bytes, 1, streams[i], &none), SEAM_INVALID);
		cr_assert_rc(seam_swap_load(swap, &host, &tensor, &bytes, 1, streams[i], &none), SEAM_INVALID);
		cr_assert_rc(seam_swap_in(swap, ticket, &tensor, 1, streams[i]), SEAM_INVALID);
		cr_assert_rc(seam_swap_await(swap, ticket, streams[i]), SEAM_INVALID);
	}
	cr_assert_eq(swap_stats().tickets, 1);
	cr_assert_ok(seam_swap_await(swap, ticket, NULL));
	cr_assert_ok(seam_swap_drop(swap, ticket));
	cr_assert_eq(seam__drv_stream_destroy(other, foreign), SEAM_CU_SUCCESS);
	seam__driver_destroy(other);
	close_swap();
}

Test(swap, figures_are_of_a_known_version)
{
	open_swap(&real, NULL);
	struct seam_swap_stats stats = {.size = sizeof stats, .version = SEAM_SWAP_STATS_VERSION + 1};
	cr_assert_rc(seam_swap_stats_get(swap, NULL), SEAM_INVALID);
	cr_assert_rc(seam_swap_stats_get(NULL, &stats), SEAM_INVALID);
	cr_assert_rc(seam_swap_stats_get(swap, &stats), SEAM_VERSION);
	stats = (struct seam_swap_stats){.size = sizeof stats + 8, .version = SEAM_SWAP_STATS_VERSION};
	cr_assert_rc(seam_swap_stats_get(swap, &stats), SEAM_VERSION);
	stats = (struct seam_swap_stats){.size = 16, .version = SEAM_SWAP_STATS_VERSION, .host_bytes = 7};
	must_out(must_alloc(8, NULL), 8, NULL);
	cr_assert_ok(seam_swap_stats_get(swap, &stats));
	cr_assert(stats.size == 16 && stats.tickets == 1 && stats.host_bytes == 7, "an older program's struct");
	close_swap();
}

Test(swap, host_memory_is_exact_and_figures_count_it)
{
	static const uint64_t bytes[3] = {1, 513, MIB(3) + 4};
	open_swap(&real, NULL);
	void *tensors[3];
	uint64_t ticket = 0;
	for (int i = 0; i < 3; i++)
		tensors[i] = must_alloc(bytes[i], NULL);
	cr_assert_ok(seam_swap_out(swap, tensors, bytes, 3, NULL, &ticket));
	uint64_t padded = 512 + 1024 + MIB(3) + 512;
	cr_assert_eq(get_stats().host_live_bytes, padded);
	cr_assert_eq(swap_stats().host_bytes, padded);
	void *host[3];
	for (size_t i = 0; i < 3; i++)
		cr_assert_ok(seam_swap_host(swap, ticket, i, &host[i]));
	cr_assert((char *)host[1] == (char *)host[0] + 512 && (char *)host[2] == (char *)host[1] + 1024);
	cr_assert_ok(seam_swap_in(swap, ticket, tensors, 3, NULL));
	cr_assert_ok(seam_swap_await(swap, ticket, NULL));
	cr_assert_ok(seam_swap_join(swap, ticket));
	uint64_t sum = bytes[0] + bytes[1] + bytes[2];
	struct seam_swap_stats stats = swap_stats();
	cr_assert(stats.tickets == 1 && stats.outs == 1 && stats.ins == 1 && stats.loads == 0 && stats.awaits == 1 &&
		stats.joins == 1 && stats.down_bytes == sum && stats.up_bytes == sum && stats.refusals == 0 &&
		stats.failures == 0);
	cr_assert_ok(seam_swap_drop(swap, ticket));
	cr_assert_eq(get_stats().host_live_bytes, 0);
	cr_assert_eq(swap_stats().host_bytes + swap_stats().tickets, 0);
	close_swap();
}

Test(swap, a_steady_state_makes_no_event_and_pins_nothing)
{
	open_swap(&real, NULL);
	void *stream = make_stream();
	struct seam_emu_usage before = {0};
	uint64_t pinned = 0;
	for (int round = 0; round < 20; round++) {
		void *tensor = must_alloc(MIB(2), stream);
		uint64_t ticket = must_out(tensor, MIB(2), stream);
		cr_assert_ok(seam_swap_in(swap, ticket, &tensor, 1, stream));
		cr_assert_ok(seam_swap_await(swap, ticket, stream));
		cr_assert_ok(seam_swap_drop(swap, ticket));
		must_free(tensor);
		sync_stream(stream);
		if (round == 4) {
			seam__emu_usage(driver, &before);
			pinned = atomic_load(&driver->counts[SEAM_DRV_host_alloc].calls);
		}
	}
	struct seam_emu_usage after;
	seam__emu_usage(driver, &after);
	cr_assert_eq(after.events, before.events);
	cr_assert_eq(atomic_load(&driver->counts[SEAM_DRV_host_alloc].calls), pinned);
	close_swap();
}

Test(swap, weights_are_loaded_from_inside_of_the_callers_memory)
{
	open_swap(&real, NULL);
	void *stream = make_stream();
	void *block = NULL;
	cr_assert_ok(seam_host_alloc(pool, MIB(1), stream, &block));
	memset(block, 5, MIB(1));
	void *hosts[2] = {(char *)block + 4096, (char *)block + MIB(1) - 100};
	void *tensors[2] = {must_alloc(KIB(64), stream), must_alloc(100, stream)};
	const uint64_t bytes[2] = {KIB(64), 100};
	uint64_t ticket = 0;
	launch(stream, tensors[0], 512, SECOND); /* the copies come behind it */
	cr_assert_ok(seam_swap_load(swap, hosts, tensors, bytes, 2, stream, &ticket));
	cr_assert_ok(seam_host_free(pool, block));
	void *taken = NULL;
	cr_assert_ok(seam_host_alloc(pool, MIB(1), stream, &taken));
	cr_assert_neq(taken, block, "the copies are pending");
	cr_assert_rc(seam_swap_in(swap, ticket, tensors, 2, stream), SEAM_INVALID);
	cr_assert_rc(seam_swap_host(swap, ticket, 0, &taken), SEAM_NOT_FOUND);
	cr_assert_eq(swap_stats().host_bytes, 0);
	cr_assert_eq(swap_stats().up_bytes, KIB(64) + 100);
	cr_assert_ok(seam_swap_await(swap, ticket, stream));
	cr_assert_ok(seam_swap_drop(swap, ticket));
	sync_stream(stream);
	cr_assert(((char *)tensors[0])[KIB(64) - 1] == 5 && ((char *)tensors[1])[99] == 5);
	close_swap();
}

Test(swap, nothing_is_copied_during_a_capture)
{
	open_swap(&real, NULL);
	void *stream = make_stream();
	void *tensor = must_alloc(MIB(1), stream);
	void *host = NULL;
	const uint64_t bytes = MIB(1);
	uint64_t ticket = must_out(tensor, MIB(1), stream);
	uint64_t other = 0;
	cr_assert_ok(seam_host_alloc(pool, MIB(1), NULL, &host));
	cr_assert_eq(seam__drv_capture_begin(driver, (uint64_t)(uintptr_t)stream), SEAM_CU_SUCCESS);
	cr_assert_rc(seam_swap_out(swap, &tensor, &bytes, 1, stream, &other), SEAM_CAPTURING);
	cr_assert_rc(seam_swap_in(swap, ticket, &tensor, 1, stream), SEAM_CAPTURING);
	cr_assert_rc(seam_swap_load(swap, &host, &tensor, &bytes, 1, stream, &other), SEAM_CAPTURING);
	cr_assert_rc(seam_swap_await(swap, ticket, stream), SEAM_CAPTURING);
	cr_assert_eq(other, 0);
	cr_assert_eq(seam__drv_capture_end(driver, (uint64_t)(uintptr_t)stream), SEAM_CU_SUCCESS, "it was not spoilt");
	cr_assert_eq(swap_stats().failures, 4);
	cr_assert_ok(seam_swap_await(swap, ticket, stream));
	close_swap();
}

Test(swap, where_host_memory_is_short_tensors_stay_and_the_rest_goes)
{
	enum { COUNT = 8, FIT = 3 };
	open_swap(&real, "host_capacity_bytes:6M");
	void *stream = make_stream();
	void *tensors[COUNT];
	uint64_t tickets[COUNT] = {0};
	const uint64_t bytes = MIB(2);
	for (uint32_t i = 0; i < COUNT; i++) {
		tensors[i] = must_alloc(bytes, stream);
		fill(stream, tensors[i], bytes, i + 1);
		cr_assert_rc(seam_swap_out(swap, &tensors[i], &bytes, 1, stream, &tickets[i]),
			i < FIT ? SEAM_OK : SEAM_OOM_HOST);
		cr_assert_eq(tickets[i] != 0, i < FIT);
	}
	cr_assert_eq(swap_stats().refusals, COUNT - FIT);
	for (int i = 0; i < FIT; i++) {
		cr_assert_ok(seam_swap_await(swap, tickets[i], stream));
		must_free(tensors[i]);
	}
	fill(stream, must_alloc(FIT * bytes, stream), FIT * bytes, 99); /* where they were */
	for (int i = 0; i < FIT; i++) {
		tensors[i] = must_alloc(bytes, stream);
		cr_assert_ok(seam_swap_in(swap, tickets[i], &tensors[i], 1, stream));
		cr_assert_ok(seam_swap_await(swap, tickets[i], stream));
		cr_assert_ok(seam_swap_drop(swap, tickets[i]));
	}
	cr_assert_ok(seam_swap_out(swap, &tensors[COUNT - 1], &bytes, 1, stream, &tickets[COUNT - 1]));
	sync_stream(stream);
	for (uint32_t i = 0; i < COUNT; i++)
		cr_assert_eq(((const uint32_t *)tensors[i])[bytes / 4 - 1], i + 1, "tensor %u", i);
	close_swap();
}

Test(swap, copies_hide_behind_work_of_other_streams)
{
	static const struct seam_emu_config book = {.memory = SEAM_EMU_BOOK, .capacity_bytes = MIB(512)};
	open_swap(&book, NULL);
	void *stream = make_stream();
	void *down = must_alloc(MIB(64), stream), *up = must_alloc(MIB(64), stream);
	uint64_t back = must_out(up, MIB(64), stream);
	uint64_t pinned = must_out(down, MIB(64), stream); /* pinning takes longer than copying */
	cr_assert_ok(seam_swap_join(swap, pinned));
	cr_assert_ok(seam_swap_drop(swap, pinned));
	uint64_t start = driver->ops->clock_ns(driver);
	uint64_t ticket = must_out(down, MIB(64), stream);
	cr_assert_ok(seam_swap_in(swap, back, &up, 1, stream));
	launch(stream, NULL, 0, 5000000); /* 64 MiB take 1.2 ms alone, 2.5 up while copies go down */
	cr_assert_ok(seam_swap_await(swap, ticket, stream));
	cr_assert_ok(seam_swap_await(swap, back, stream));
	sync_stream(stream);
	uint64_t took = driver->ops->clock_ns(driver) - start;
	cr_assert(took >= 5000000 && took < 5100000, "%llu ns", (unsigned long long)took);
	close_swap();
}

Test(swap, an_engine_goes_with_the_tickets_that_it_has)
{
	open_swap(&real, NULL);
	void *stream = make_stream();
	void *tensor = must_alloc(MIB(1), stream);
	launch(stream, tensor, MIB(1), SECOND);
	for (int i = 0; i < 5; i++)
		(void)must_out(tensor, MIB(1), stream);
	cr_assert_ok(seam_swap_in(swap, must_out(tensor, MIB(1), stream), &tensor, 1, stream));
	seam_swap_destroy(swap);
	launch(stream, tensor, MIB(1), 10); /* no RACE: the host has waited */
	cr_assert_eq(get_stats().host_live_bytes, 0);
	close_pool();
}

Test(swap, engines_that_come_and_go_share_their_host_memory)
{
	open_on(&real, NULL);
	uint64_t reserved = 0;
	void *tensor = must_alloc(MIB(8), NULL);
	for (int i = 0; i < 20; i++) {
		cr_assert_ok(seam_swap_create(pool, &swap));
		uint64_t ticket = must_out(tensor, MIB(8), NULL);
		cr_assert_ok(seam_swap_await(swap, ticket, NULL));
		cr_assert_ok(seam_swap_drop(swap, ticket));
		seam_swap_destroy(swap);
		(void)make_stream(); /* so that no handle comes back at once */
		(void)make_stream();
		reserved = i == 0 ? get_stats().host_reserved_bytes : reserved;
	}
	cr_assert_eq(get_stats().host_reserved_bytes, reserved);
	cr_assert_eq(atomic_load(&driver->counts[SEAM_DRV_device_sync].calls), 0, "no stream was lost sight of");
	close_pool();
}

Test(swap, a_child_process_must_not_use_it)
{
	open_swap(&real, NULL);
	uint64_t ticket = must_out(must_alloc(8, NULL), 8, NULL);
	pid_t child = fork();
	if (child == 0) {
		bool good = seam_swap_join(swap, ticket) == SEAM_FORKED && seam_swap_drop(swap, ticket) == SEAM_FORKED;
		seam_swap_destroy(swap);
		_exit(good ? 0 : 1);
	}
	int status = -1;
	cr_assert_eq(waitpid(child, &status, 0), child);
	cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	close_swap();
}

/* A device that refuses the second copy down, and every record from then on. */
static const struct seam_driver_ops *whole_ops;
static int copies_down;

static int second_copy_fails(struct seam_driver *d, void *to, uint64_t va, uint64_t bytes, uint64_t stream)
{
	return ++copies_down == 2 ? SEAM_CU_UNKNOWN : whole_ops->copy_to_host(d, to, va, bytes, stream);
}

static int record_fails(struct seam_driver *d, struct seam_event event, uint64_t stream)
{
	return copies_down >= 2 ? SEAM_CU_UNKNOWN : whole_ops->event_record(d, event, stream);
}

Test(swap, where_a_stream_cannot_be_ordered_the_host_waits)
{
	open_swap(&real, NULL);
	void *stream = make_stream();
	void *tensors[3];
	const uint64_t bytes[3] = {MIB(4), 8, 8};
	uint64_t ticket = 0;
	for (int i = 0; i < 3; i++)
		tensors[i] = must_alloc(bytes[i], stream);
	whole_ops = driver->ops;
	struct seam_driver_ops ops = *whole_ops;
	ops.copy_to_host = second_copy_fails;
	ops.event_record = record_fails;
	driver->ops = &ops;
	cr_assert_rc(seam_swap_out(swap, tensors, bytes, 3, stream, &ticket), SEAM_DRIVER);
	driver->ops = whole_ops;
	cr_assert_eq(copies_down, 2);
	launch(stream, tensors[0], bytes[0], 10); /* no RACE with the first copy */
	close_swap();
}

/* ---- drawn schedules ---- */

/* Returns calls that had to be made again. moved: NULL, or tensors that came back. */
static uint64_t run_schedule(struct swap_schedule *s, uint64_t seed, int steps)
{
	swap_schedule_begin(s, driver, pool, swap, seed);
	for (int i = 0; i < steps && swap_schedule_step(s); i++) {
	}
	cr_assert(swap_schedule_end(s), "seed %llu: %s", (unsigned long long)seed, s->broken);
	return s->again;
}

/* Copies of true times, and copies done as early or as late as edges allow; host memory enough, and for some only. */
Test(swap, drawn_schedules_lose_nothing_and_race_nowhere)
{
	uint64_t moved = 0;
	uint64_t refused = 0;
	for (uint64_t seed = 1; seed <= 240; seed++) {
		struct seam_emu_config emu = real;
		struct swap_schedule s;
		emu.drawn_copies = seed % 4 == 0 ? 0 : seed;
		open_swap(&emu, seed % 3 == 0 ? "host_capacity_bytes:64K" : NULL);
		cr_assert_eq(run_schedule(&s, seed, 150), 0);
		moved += s.moved;
		refused += s.refused;
		close_swap();
	}
	cr_assert(moved > 240 * 10 && refused > 240, "%llu came back, %llu were refused", (unsigned long long)moved,
		(unsigned long long)refused);
}

/* Every driver call that a schedule makes fails once, pool's and all, with each seed: what was tried is tried again. */
Test(swap, whatever_driver_call_fails_nothing_is_lost, .timeout = 300)
{
	uint64_t again = 0;
	uint64_t failed = 0;
	for (uint64_t seed = 1; seed <= 2; seed++) {
		for (uint64_t n = 1;; n++) {
			struct seam_emu_config emu = real;
			struct swap_schedule s;
			emu.drawn_copies = seed == 2 ? n : 0;
			open_swap(&emu, NULL);
			seam__driver_fail_at(driver, n, UINT64_MAX, SEAM_CU_UNKNOWN);
			again += run_schedule(&s, seed, 50);
			bool fired = atomic_load(&driver->injected) != 0;
			seam__driver_fail_at(driver, 0, 0, 0);
			failed += fired;
			close_swap();
			if (!fired)
				break;
		}
	}
	cr_assert(failed > 200 && again > 100, "%llu calls failed, %llu were made again", (unsigned long long)failed,
		(unsigned long long)again);
}

/* Each of the engine's own allocations, then each of the pool's. */
Test(swap, whatever_metadata_is_refused_nothing_is_lost, .timeout = 300)
{
	uint64_t again[2] = {0, 0};
	for (int which = 0; which < 2; which++) {
		bool fired = true;
		for (uint64_t n = 1; fired; n++) {
			struct swap_schedule s;
			open_swap(&real, NULL);
			struct seam_meta *meta = which == 0 ? swap->meta : pool->meta;
			seam__meta_fail_at(meta, n);
			again[which] += run_schedule(&s, 3, 60);
			fired = seam__meta_fail_left(meta) == 0;
			seam__meta_fail_at(meta, 0);
			close_swap();
		}
	}
	cr_assert(again[0] > 10 && again[1] > 5, "%llu and %llu calls failed", (unsigned long long)again[0],
		(unsigned long long)again[1]);
}

Test(swap, an_engine_is_made_whole_or_not_at_all)
{
	for (uint64_t n = 1; n <= 2; n++) {
		open_on(&real, NULL);
		swap = NULL;
		seam__driver_fail_at(driver, n, UINT64_MAX, SEAM_CU_UNKNOWN);
		cr_assert_rc(seam_swap_create(pool, &swap), SEAM_DRIVER);
		cr_assert_null(swap);
		struct seam_emu_usage usage;
		seam__emu_usage(driver, &usage);
		cr_assert_eq(usage.streams, 0);
		close_pool();
	}
}
