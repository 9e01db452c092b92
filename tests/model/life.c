/* life.c: a model's beginning and end, its chance, its failures; see model.h. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "meta.h"
#include "model.h"
#include "opts.h"
#include "learner.h"

/* The worker's plans need not be good ones. */
#define PLACE_NS UINT64_C(2000000)
#define PLACE_NODES UINT64_C(2000)

void model_fail(struct model *model, const char *format, ...)
{
	if (model_failed(model))
		return;
	char text[300];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	snprintf(
		model->failure, sizeof model->failure, "operation %" PRIu64 " (%s): %s", model->op, model->doing, text);
}

uint64_t model_random(struct model *model, uint64_t below)
{
	uint64_t x = model->random += UINT64_C(0x9e3779b97f4a7c15);
	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return below == 0 ? 0 : (x ^ (x >> 31)) % below;
}

void model_arm(struct model *model)
{
	const struct model_fault *fault = &model->fault;
	if (fault->left != 0 && fault->metadata)
		seam__meta_fail_at(model->pool->meta, fault->left);
	else if (fault->left != 0)
		seam__driver_fail_at(model->driver, fault->left, fault->classes, fault->code);
}

bool model_disarm(struct model *model)
{
	struct model_fault *fault = &model->fault;
	if (fault->left == 0)
		return false;
	if (fault->metadata) {
		fault->left = seam__meta_fail_left(model->pool->meta);
		seam__meta_fail_at(model->pool->meta, 0);
	} else {
		int64_t left = atomic_load(&model->driver->fail_countdown);
		fault->left = left > 0 ? (uint64_t)left : 0;
		seam__driver_fail_at(model->driver, 0, 0, 0);
	}
	fault->fired |= fault->left == 0;
	return fault->left == 0;
}

static bool open_pool(struct model *model, const struct model_row *row)
{
	char error[200] = "";
	struct seam_emu_config emu = {
		.memory = (row->features & MODEL_CONTENT) != 0 ? SEAM_EMU_REAL : SEAM_EMU_BOOK,
		.capacity_bytes = row->device_bytes,
	};
	struct seam_config given, config;
	seam_config_init(&given);
	enum seam_rc rc = seam_config_parse(&given, row->conf, error, sizeof error);
	if (rc == SEAM_OK)
		rc = seam__opts_resolve(&given, NULL, error, sizeof error, &config);
	if (rc == SEAM_OK)
		rc = seam__emu_create(&emu, error, sizeof error, &model->driver);
	if (rc == SEAM_OK)
		rc = seam__pool_create_on(model->driver, &config, &model->pool);
	if (rc != SEAM_OK)
		model_fail(model, "no pool: %s %s", seam_rc_text(rc), error);
	return rc == SEAM_OK;
}

bool model_open(struct model *model, const struct model_row *row, uint64_t seed, uint64_t slowness,
	const struct model_fault *fault)
{
	memset(model, 0, sizeof *model);
	model->row = row;
	model->random = seed;
	model->slowness = slowness;
	if (fault != NULL)
		model->fault = *fault;
	model->doing = "open";
	RB_INIT(&model->physes);
	if (!open_pool(model, row))
		return false;
	model->pool->learner->place_ns = PLACE_NS;
	model->pool->learner->place_nodes = PLACE_NODES;
	bool legacy = (row->features & MODEL_LEGACY) != 0;
	for (unsigned i = 0; i < row->streams; i++) {
		int cu = SEAM_CU_SUCCESS;
		if (!legacy || i > 0)
			cu = seam__drv_stream_create(model->driver,
				legacy ? SEAM_STREAM_BLOCKING : SEAM_STREAM_NONBLOCKING, &model->streams[i]);
		if (cu == SEAM_CU_SUCCESS)
			cu = seam__drv_event_create(model->driver, &model->events[i]);
		if (cu != SEAM_CU_SUCCESS)
			model_fail(model, "no stream: %d", cu);
	}
	return !model_failed(model);
}

static void close_device(struct model *model)
{
	for (unsigned i = 0; i < model->row->streams; i++) {
		int cu = seam__drv_event_destroy(model->driver, model->events[i]);
		if (cu == SEAM_CU_SUCCESS && model->streams[i] != SEAM_STREAM_DEFAULT)
			cu = seam__drv_stream_destroy(model->driver, model->streams[i]);
		if (cu != SEAM_CU_SUCCESS)
			model_fail(model, "a stream of the model's own could not be destroyed");
	}
	struct seam_emu_usage usage;
	seam__emu_usage(model->driver, &usage);
	if (usage.handles != 0 || usage.used_bytes != 0 || usage.mappings != 0 || usage.reservations != 0 ||
		usage.events != 0)
		model_fail(model,
			"I11: after destroy the device holds %" PRIu64 " handles, %" PRIu64 " mappings, %" PRIu64
			" reservations, %" PRIu64 " events",
			usage.handles, usage.mappings, usage.reservations, usage.events);
	if (seam__emu_violations_all(model->driver) != 0)
		model_fail(model, "the device's judge after destroy: %s", seam__emu_violation_text(model->driver));
}

void model_close(struct model *model)
{
	model->doing = "close";
	for (unsigned i = 0; i < model->row->streams; i++)
		model_capture_end(model, i);
	model_plan_close(model);
	if (model->pool != NULL)
		seam_pool_destroy(model->pool);
	model_forget_all(model);
	if (model->driver != NULL) {
		close_device(model);
		seam__driver_destroy(model->driver);
	}
}
