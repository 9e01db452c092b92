/* test_core_pool.c: a pool's life: configuration, creation that fails at every step, destruction. */
#include "core_fixture.h"

#include <stdio.h>
#include <stdlib.h>

Test(core_pool, the_library_says_its_version)
{
	char wanted[32];
	(void)snprintf(wanted, sizeof wanted, "%d.%d.%d", SEAM_VERSION_MAJOR, SEAM_VERSION_MINOR, SEAM_VERSION_PATCH);
	cr_assert_str_eq(seam_version(), wanted);
}

Test(core_pool, bad_arguments_are_refused)
{
	char error[SEAM_OPTS_LINE_BYTES] = "";
	struct seam_config config;
	struct seam_pool *made = NULL;
	cr_assert_rc(seam_pool_create(0, NULL, error, sizeof error, NULL), SEAM_INVALID);
	cr_assert_rc(seam_pool_create(-1, NULL, error, sizeof error, &made), SEAM_INVALID);
	setenv("SEAM_CONF", "backend:emu_book,nonsense:1", 1);
	cr_assert_rc(seam_pool_create(0, NULL, error, sizeof error, &made), SEAM_CONF);
	cr_assert_not_null(
		strstr(error, "SEAM_CONF: 'nonsense:1'"), "the entry or where it stands is not named: %s", error);
	setenv("SEAM_CONF", "backend:emu_book", 1);
	seam_config_init(&config);
	config.version = SEAM_CONFIG_VERSION + 1;
	cr_assert_rc(seam_pool_create(0, &config, error, sizeof error, &made), SEAM_VERSION);
	seam_config_init(&config);
	config.mapping_limit = 1;
	cr_assert_rc(seam_pool_create(0, &config, error, sizeof error, &made), SEAM_CONF);
	cr_assert_not_null(strstr(error, "mapping_limit"), "the option is not named: %s", error);
	cr_assert_null(made, "ret_pool was touched");
}

/* What the table says is what a pool takes: at both ends of every option's range, and with every choice but backends.
 */
Test(core_pool, every_option_takes_both_ends_of_its_range)
{
	const struct seam_option *option;
	for (size_t i = 0; (option = seam__opts_get(i)) != NULL; i++) {
		if (strcmp(option->name, "backend") == 0 || strcmp(option->name, "gpu_direct_rdma") == 0)
			continue; /* the emulated device cannot be had otherwise, and has no RDMA */
		if (strcmp(option->name, "host_capacity_bytes") == 0)
			continue; /* no machine has its most; test_core_host.c */
		uint64_t most = option->most;
		for (const char *at = option->choices; at != NULL; at = strchr(at + 1, '|'))
			most = at == option->choices ? 0 : most + 1;
		const uint64_t ends[] = {option->least, most};
		for (size_t k = 0; k < 2; k++) {
			char conf[100], value[SEAM_OPTS_VALUE_BYTES], error[SEAM_OPTS_LINE_BYTES] = "";
			struct seam_pool *made = NULL;
			void *ptr = NULL;
			(void)snprintf(conf, sizeof conf, "backend:emu_book,%s:%s", option->name,
				seam__opts_format(option, ends[k], value));
			setenv("SEAM_CONF", conf, 1);
			cr_expect_eq(
				seam_pool_create(0, NULL, error, sizeof error, &made), SEAM_OK, "%s: %s", conf, error);
			if (made == NULL)
				continue;
			cr_expect(ends[k] == 0 || seam__opts_value(option, seam_pool_config(made)) == ends[k], "%s",
				conf);
			cr_expect_eq(seam_alloc(made, MIB(3), NULL, &ptr), SEAM_OK, "%s", conf);
			seam_pool_destroy(made);
		}
	}
}

Test(core_pool, every_failed_creation_says_why)
{
	struct seam_pool *made = NULL;
	static const struct {
		int ordinal;
		const char *conf, *says;
		enum seam_rc rc;
	} rows[] = {
		{-1, "backend:emu_book", "invalid argument", SEAM_INVALID},
		{0, "backend:emu_book,chunk_bytes:3", "chunk_bytes", SEAM_CONF},
		{0, "backend:emu_book,metadata_limit_bytes:1", "metadata", SEAM_OOM_META},
		{0, "backend:emu_book,gpu_direct_rdma:1", "gpu_direct_rdma", SEAM_UNSUPPORTED},
		{99, "backend:cuda", "CUDA device 99", SEAM_NO_DEVICE},
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		char error[SEAM_OPTS_LINE_BYTES];
		memset(error, '?', sizeof error);
		setenv("SEAM_CONF", rows[i].conf, 1);
		cr_expect_eq(seam_pool_create(rows[i].ordinal, NULL, error, sizeof error, &made), rows[i].rc, "%s",
			rows[i].conf);
		cr_expect_not_null(strstr(error, rows[i].says), "%s: %.199s", rows[i].conf, error);
		cr_expect_eq(seam_pool_create(rows[i].ordinal, NULL, NULL, 0, &made), rows[i].rc, "%s, unasked",
			rows[i].conf);
	}
	cr_expect_null(made);
	cr_expect_null(seam_pool_config(NULL));
}

/* What the device cannot do is refused at once, what it can reaches every chunk. */
Test(core_pool, kinds_of_chunks_are_those_of_the_device)
{
	static const struct {
		const char *conf;
		struct seam_emu_config lacking, able;
	} rows[] = {
		{"gpu_direct_rdma:1", {.memory = SEAM_EMU_BOOK}, {.memory = SEAM_EMU_BOOK, .has_rdma = true}},
		{"export_as:fabric", {.memory = SEAM_EMU_BOOK, .no_fabric = true}, {.memory = SEAM_EMU_BOOK}},
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct seam_config config = resolve(rows[i].conf);
		cr_assert_ok(seam__emu_create(&rows[i].lacking, NULL, 0, &driver));
		cr_assert_rc(seam__pool_create_on(driver, &config, &pool), SEAM_UNSUPPORTED);
		assert_nothing_left();
		seam__driver_destroy(driver);
		open_on(&rows[i].able, rows[i].conf);
		const struct seam_phys_props *props = &pool->engine.memory.props;
		cr_expect(i == 0 ? props->gpu_direct_rdma : props->handle_types == SEAM_HANDLE_FABRIC, "%s",
			rows[i].conf);
		(void)must_alloc(MIB(5), NULL);
		close_pool();
	}
}

Test(core_pool, the_struct_wins_over_the_environment_and_that_over_defaults)
{
	struct seam_config config;
	struct seam_pool *made = NULL;
	setenv("SEAM_CONF", "backend:emu_book,chunk_bytes:4M,reuse:wait", 1);
	seam_config_init(&config);
	config.chunk_bytes = MIB(8);
	cr_assert_ok(seam_pool_create(0, &config, NULL, 0, &made));
	const struct seam_config *in_force = seam_pool_config(made);
	cr_assert_eq(in_force->chunk_bytes, MIB(8), "the struct");
	cr_assert_eq(in_force->reuse, SEAM_REUSE_WAIT, "the environment");
	cr_assert_eq(in_force->small_bytes, MIB(1), "the default");
	seam_pool_destroy(made);
}

Test(core_pool, destroying_nothing_is_allowed)
{
	seam_pool_destroy(NULL);
}

Test(core_pool, destruction_returns_live_blocks_too)
{
	open_pool(MIB(512), NULL);
	void *other = make_stream();
	void *ptr = must_alloc(MIB(100), NULL);
	(void)must_alloc(1000, other);
	cr_assert_ok(seam_record_stream(pool, ptr, other));
	must_free(ptr);
	(void)must_alloc(MIB(30), other);
	void *host = NULL;
	cr_assert_ok(seam_host_alloc(pool, 5000, other, &host));
	cr_assert_ok(seam_private_begin(pool, 7, SEAM_ROUTE_ALL, 0));
	(void)must_alloc(MIB(3), NULL);
	close_pool();
}

Test(core_pool, too_little_metadata_is_out_of_memory_and_leaves_nothing)
{
	struct seam_emu_config emu = {.memory = SEAM_EMU_BOOK, .capacity_bytes = MIB(64)};
	cr_assert_ok(seam__emu_create(&emu, NULL, 0, &driver));
	struct seam_config config = resolve(NULL);
	unsigned failures = 0;
	for (config.metadata_limit_bytes = 1;; config.metadata_limit_bytes += 512) {
		enum seam_rc rc = seam__pool_create_on(driver, &config, &pool);
		if (rc == SEAM_OK)
			break;
		cr_assert_rc(rc, SEAM_OOM_META);
		cr_assert_null(pool, "ret_pool was touched");
		assert_nothing_left();
		failures++;
	}
	cr_assert_gt(failures, 0);
	close_pool();
}

Test(core_pool, every_driver_call_of_a_creation_may_fail)
{
	struct seam_emu_config emu = {.memory = SEAM_EMU_BOOK, .capacity_bytes = MIB(64)};
	cr_assert_ok(seam__emu_create(&emu, NULL, 0, &driver));
	struct seam_config config = resolve(NULL);
	uint64_t all = 1u << SEAM_DRV_QUERY | 1u << SEAM_DRV_MEMORY | 1u << SEAM_DRV_EVENT;
	uint64_t before = 0;
	for (uint64_t n = 1;; n++) {
		seam__driver_fail_at(driver, n, all, SEAM_CU_UNKNOWN);
		enum seam_rc rc = seam__pool_create_on(driver, &config, &pool);
		uint64_t fired = atomic_load(&driver->injected) - before;
		before += fired;
		if (rc != SEAM_OK) {
			cr_assert_rc(rc, SEAM_DRIVER);
			cr_assert_eq(fired, 1, "call %lu", (unsigned long)n);
			assert_nothing_left();
			continue;
		}
		if (fired == 0)
			break;
		seam_pool_destroy(pool); /* a call that creation can do without */
	}
	seam__driver_fail_at(driver, 0, 0, 0);
	close_pool();
}

Test(core_pool, a_description_names_device_limits_and_options)
{
	open_pool(MIB(512), "chunk_bytes:4M,stitch:growth");
	char bytes[4096];
	struct seam_text text;
	seam__text_init_fixed(&text, bytes, sizeof bytes);
	seam__pool_describe(pool, &text);
	static const char *const wanted[] = {
		"emulated device", "512 MiB", "granularity  2.00 MiB", "chunk_bytes", "4M", "growth"};
	for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++)
		cr_assert_not_null(strstr(bytes, wanted[i]), "\"%s\" is missing in:\n%s", wanted[i], bytes);
	cr_assert_lt(text.length_bytes, sizeof bytes);
	close_pool();
}

/* The devices of a process: pools of one ordinal share one, pools of two let each other in. */
Test(core_pool, pools_share_the_devices_of_the_process)
{
	struct seam_pool *pools[3] = {NULL, NULL, NULL}, *none = NULL;
	char error[SEAM_OPTS_LINE_BYTES];
	setenv("SEAM_CONF", "backend:emu,emu_devices:2,emu_capacity_bytes:256M", 1);
	for (int i = 0; i < 3; i++)
		cr_assert_ok(seam_pool_create(i / 2, NULL, error, sizeof error, &pools[i]));
	cr_assert_rc(seam_pool_create(2, NULL, error, sizeof error, &none), SEAM_NO_DEVICE);
	cr_expect_not_null(strstr(error, "there are 2"), "%s", error);
	void *first = NULL, *second = NULL;
	cr_assert_ok(seam_alloc(pools[0], MIB(100), NULL, &first));
	cr_assert_ok(seam_alloc(pools[2], MIB(30), NULL, &second));
	uint64_t free_bytes[3];
	for (int i = 0; i < 3; i++)
		cr_assert_ok(seam_device_memory(pools[i], &free_bytes[i], NULL));
	cr_expect_leq(free_bytes[0], MIB(156));
	cr_expect_eq(free_bytes[1], free_bytes[0], "two pools of one device see the same memory");
	cr_expect_geq(free_bytes[2], MIB(200), "another device has its own");
	struct seam_driver *there = pools[2]->driver;
	uint64_t from = (uint64_t)(uintptr_t)first, to = (uint64_t)(uintptr_t)second;
	cr_expect_eq(seam__drv_copy_on_device(there, to, from, MIB(1), 0), SEAM_CU_INVALID_VALUE);
	cr_assert_rc(seam_peer_enable(pools[0], 2), SEAM_DRIVER);
	cr_assert_ok(seam_peer_enable(pools[0], 1));
	cr_assert_eq(seam__drv_fill32(pools[0]->driver, from, 7, MIB(1) / 4, 0), 0);
	cr_assert_eq(seam__drv_device_sync(pools[0]->driver), 0);
	cr_expect_eq(seam__drv_copy_on_device(there, to, from, MIB(1), 0), 0, "memory that is there");
	void *later = NULL;
	cr_assert_ok(seam_alloc(pools[0], MIB(40), NULL, &later));
	cr_expect_eq(
		seam__drv_copy_on_device(there, to, (uint64_t)(uintptr_t)later, MIB(1), 0), 0, "and memory that comes");
	cr_assert_eq(seam__drv_device_sync(there), 0);
	cr_expect_eq(seam__emu_violations_all(there), 0, "%s", seam__emu_violation_text(there));
	for (int i = 0; i < 3; i++)
		seam_pool_destroy(pools[i]);
}
