/* pool.c: a pool's life: which device, which configuration, creation and destruction. */
#include "pool.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "check.h"
#include "driver_cuda.h"
#include "emu.h"
#include "host_memory.h"
#include "log.h"
#include "meta.h"
#include "opts.h"
#include "plain.h"
#include "recording.h"
#include "learner.h"
#include "planned.h"

/* In the order of the names in options.def. */
enum backend { BACKEND_AUTO, BACKEND_CUDA, BACKEND_EMU, BACKEND_EMU_BOOK };

static struct seam_policy policy_of(const struct seam_config *config)
{
	return (struct seam_policy){
		.chunk_bytes = config->chunk_bytes,
		.small_bytes = config->small_bytes,
		.fragmentation_limit_bytes = config->fragmentation_limit_bytes,
		.reuse = (enum seam_reuse)config->reuse,
		.stitching = (enum seam_stitching)config->stitch,
		.deterministic = config->deterministic != 0,
		.verify_streams = config->verify_streams != 0,
	};
}

static struct seam_phys_props props_of(const struct seam_config *config, int ordinal)
{
	static const unsigned types[] = {SEAM_HANDLE_NONE, SEAM_HANDLE_POSIX_FD, SEAM_HANDLE_FABRIC};
	return (struct seam_phys_props){
		.where = {SEAM_AT_DEVICE, ordinal},
		.handle_types = types[config->export_as],
		.gpu_direct_rdma = config->gpu_direct_rdma != 0,
	};
}

static bool has(struct seam_driver *driver, enum seam_drv_attribute what)
{
	int64_t value = 0;
	return seam__drv_attribute(driver, what, &value) == SEAM_CU_SUCCESS && value != 0;
}

/* The option that asks for chunks such as the device does not make, or NULL. */
static const char *option_beyond(struct seam_driver *driver, const struct seam_config *config)
{
	static const enum seam_drv_attribute exports[] = {
		[1] = SEAM_ATTR_POSIX_FD_SUPPORTED, [2] = SEAM_ATTR_FABRIC_SUPPORTED};
	if (config->export_as != 0 && !has(driver, exports[config->export_as]))
		return "export_as";
	if (config->gpu_direct_rdma != 0 && !has(driver, SEAM_ATTR_RDMA_SUPPORTED))
		return "gpu_direct_rdma";
	return NULL;
}

static enum seam_rc init_engine(struct seam_pool *pool)
{
	const struct seam_config *config = &pool->config;
	if (option_beyond(pool->driver, config) != NULL)
		return SEAM_UNSUPPORTED;
	struct seam_policy policy = policy_of(config);
	struct seam_phys_props props = props_of(config, pool->driver->ordinal);
	enum seam_rc rc = seam__engine_init(&pool->engine, pool->driver, pool->meta, &policy, &props);
	if (rc != SEAM_OK)
		return rc;
	struct seam_memory *memory = &pool->engine.memory;
	if (config->capacity_bytes != 0)
		memory->capacity_bytes = config->capacity_bytes;
	memory->mapping_limit = config->mapping_limit;
	memory->address_limit_bytes = config->address_limit_bytes;
	pool->engine.spare = seam__planned_spare;
	pool->engine.spare_user = pool->runtime;
	return SEAM_OK;
}

static bool lacks_vmm(struct seam_driver *driver)
{
	int64_t vmm = 0;
	return seam__drv_attribute(driver, SEAM_ATTR_VMM_SUPPORTED, &vmm) == SEAM_CU_SUCCESS && vmm == 0;
}

static enum seam_rc init_learner(struct seam_pool *pool)
{
	const struct seam_learner_parts parts = {
		.runtime = pool->runtime,
		.engine = &pool->engine,
		.maps = pool->plain == NULL,
		.meta = pool->meta,
		.recorder = pool->recorder,
		.mode = (enum seam_plan_mode)pool->config.plan,
		.deterministic = pool->config.deterministic != 0,
	};
	return seam__learner_create(&parts, &pool->learner);
}

static void fini_device_memory(struct seam_pool *pool)
{
	if (pool->plain != NULL)
		seam__plain_destroy(pool);
	else
		seam__engine_fini(&pool->engine);
}

/* The engine, or the plain store where the device cannot map, and the learner of its plans. */
static enum seam_rc init_device_memory(struct seam_pool *pool)
{
	enum seam_rc rc = lacks_vmm(pool->driver) ? seam__plain_create(pool) : init_engine(pool);
	if (rc != SEAM_OK)
		return rc;
	rc = init_learner(pool);
	if (rc != SEAM_OK)
		fini_device_memory(pool);
	return rc;
}

/* Device memory, plans and host memory. */
static enum seam_rc init_parts(struct seam_pool *pool)
{
	enum seam_rc rc = seam__pool_host_init(pool);
	if (rc != SEAM_OK)
		return rc;
	rc = seam__runtime_create(
		pool->meta, &pool->engine, (enum seam_plan_reuse)pool->config.plan_reuse, &pool->runtime);
	if (rc == SEAM_OK)
		rc = init_device_memory(pool);
	if (rc != SEAM_OK) {
		seam__runtime_destroy(pool->runtime);
		seam__pool_host_fini(pool);
	}
	return rc;
}

static void fini_parts(struct seam_pool *pool)
{
	seam__learner_destroy(pool->learner);
	seam__runtime_destroy(pool->runtime); /* before the engine: streams and uses are its own */
	fini_device_memory(pool);
	seam__private_fini(pool);
	seam__pool_host_fini(pool); /* blocks that are live die with the pool */
	seam__recorder_destroy(pool->recorder);
}

enum seam_rc seam__pool_create_on(
	struct seam_driver *driver, const struct seam_config *config, struct seam_pool **ret_pool)
{
	seam__fork_watch();
	struct seam_meta *meta = seam__meta_create(config->metadata_limit_bytes);
	if (meta == NULL)
		return SEAM_OOM_META;
	struct seam_pool *pool = seam__meta_alloc(meta, sizeof *pool);
	if (pool == NULL) {
		seam__meta_destroy(meta);
		return SEAM_OOM_META;
	}
	pool->config = *config;
	pool->meta = meta;
	pool->driver = driver;
	pool->fork_generation = seam__fork_generation();
	LIST_INIT(&pool->privates);
	LIST_INIT(&pool->routes);
	enum seam_rc rc = seam__recording_begin(pool);
	if (rc == SEAM_OK)
		rc = init_parts(pool);
	if (rc != SEAM_OK) {
		seam__recorder_destroy(pool->recorder);
		seam__meta_free(meta, pool, sizeof *pool);
		seam__meta_destroy(meta);
		return rc;
	}
	seam__log(SEAM_LOG_INFO, "a pool on %s, ordinal %d", driver->ops->device_name(driver), driver->ordinal);
	if (pool->plain != NULL)
		seam__log(SEAM_LOG_WARNING, "%s has no virtual memory management: nothing is stitched",
			driver->ops->device_name(driver));
	*ret_pool = pool;
	return SEAM_OK;
}

/* A limit of pinned memory that the process could never reach is a mistake: it is told, not cut to what there is. */
static enum seam_rc check_host_capacity(const struct seam_config *config, char *error, size_t error_bytes)
{
	char asked[24], most[24];
	struct seam_host_memory memory;
	if (config->host_capacity_bytes == 0)
		return SEAM_OK;
	seam__host_memory_get("", &memory);
	if (config->host_capacity_bytes <= memory.most_bytes)
		return SEAM_OK;
	seam__text_line(error, error_bytes, "host_capacity_bytes: %s, and this process can have %s at most",
		seam__text_size(asked, config->host_capacity_bytes), seam__text_size(most, memory.most_bytes));
	return SEAM_CONF;
}

static enum seam_rc open_driver(
	int ordinal, const struct seam_config *config, char *error, size_t error_bytes, struct seam_driver **ret_driver)
{
	if (config->backend == BACKEND_AUTO || config->backend == BACKEND_CUDA)
		return seam__cuda_create(ordinal, error, error_bytes, ret_driver);
	struct seam_emu_config emu = {
		.memory = config->backend == BACKEND_EMU ? SEAM_EMU_REAL : SEAM_EMU_BOOK,
		.capacity_bytes = config->emu_capacity_bytes,
		.devices = (int)config->emu_devices,
	};
	if (config->emu_devices != 0)
		return seam__emu_shared(&emu, ordinal, error, error_bytes, ret_driver);
	return seam__emu_create(&emu, error, error_bytes, ret_driver);
}

/* Why there is no pool on this driver. */
static void explain(
	struct seam_driver *driver, const struct seam_config *config, enum seam_rc rc, char *error, size_t error_bytes)
{
	struct seam_text text;
	seam__text_init_fixed(&text, error, error_bytes);
	if (rc == SEAM_DRIVER)
		seam__driver_error_put(driver, &text);
	else if (rc == SEAM_UNSUPPORTED)
		seam__text_printf(&text, "%s: not supported by this device", option_beyond(driver, config));
}

static enum seam_rc create(
	int ordinal, const struct seam_config *config, char *error, size_t error_bytes, struct seam_pool **ret_pool)
{
	struct seam_config resolved;
	enum seam_rc rc = seam__opts_resolve(config, secure_getenv("SEAM_CONF"), error, error_bytes, &resolved);
	if (rc == SEAM_OK)
		rc = check_host_capacity(&resolved, error, error_bytes);
	if (rc != SEAM_OK)
		return rc;
	struct seam_driver *driver = NULL;
	rc = open_driver(ordinal, &resolved, error, error_bytes, &driver);
	if (rc != SEAM_OK)
		return rc;
	struct seam_pool *pool = NULL;
	rc = seam__pool_create_on(driver, &resolved, &pool);
	if (rc != SEAM_OK) {
		explain(driver, &resolved, rc, error, error_bytes);
		seam__driver_destroy(driver);
		return rc;
	}
	pool->owns_driver = true;
	rc = seam__autosave_begin(pool, secure_getenv("SEAM_TRACE"));
	if (rc != SEAM_OK) {
		seam_pool_destroy(pool);
		return rc;
	}
	*ret_pool = pool;
	return SEAM_OK;
}

enum seam_rc seam_pool_create(
	int ordinal, const struct seam_config *config, char *error, size_t error_bytes, struct seam_pool **ret_pool)
{
	if (error == NULL)
		error_bytes = 0;
	if (error_bytes != 0)
		error[0] = '\0';
	enum seam_rc rc =
		ret_pool == NULL || ordinal < 0 ? SEAM_INVALID : create(ordinal, config, error, error_bytes, ret_pool);
	if (rc != SEAM_OK && error_bytes != 0 && error[0] == '\0')
		seam__text_line(error, error_bytes, "%s", seam_rc_text(rc));
	return rc;
}

void seam_pool_destroy(struct seam_pool *pool)
{
	if (seam__pool_enter(pool) != SEAM_OK)
		return;
	seam__autosave_end(pool);
	/* A device that cannot be waited for is gone, or has failed; what it ran runs no more. */
	int ignored = seam__drv_device_sync(pool->driver);
	(void)ignored;
	fini_parts(pool);
	struct seam_driver *driver = pool->owns_driver ? pool->driver : NULL;
	struct seam_meta *meta = pool->meta;
	seam__meta_free(meta, pool, sizeof *pool);
	uint64_t leaked = seam__meta_destroy(meta);
	SEAM_ASSERT(leaked == 0);
	if (leaked != 0)
		seam__log(SEAM_LOG_ERROR, "a destroyed pool left %" PRIu64 " bytes of metadata: a bug in Seam", leaked);
	seam__driver_destroy(driver);
}

const struct seam_config *seam_pool_config(const struct seam_pool *pool)
{
	return pool != NULL ? &pool->config : NULL;
}

const char *seam__pool_check(struct seam_pool *pool)
{
	const char *broken = seam__pool_host_check(pool);
	if (broken == NULL && pool->plain != NULL)
		return seam__store_check(pool->plain);
	seam__pool_stop(pool);
	if (broken == NULL)
		broken = seam__engine_check(&pool->engine);
	if (broken == NULL)
		broken = seam__private_check(pool);
	if (broken == NULL)
		broken = seam__planned_check(pool->runtime);
	seam__pool_go(pool);
	return broken;
}
