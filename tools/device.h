/* device.h: the device that a replay runs on, and an account of the driver calls that are the tool's own.
 *
 * The tool makes driver calls too (streams, events of the trace, contents): what it does between device_mine_begin()
 * and device_mine_end() is taken out of the figures that it reports. One thread at a time.
 */
#ifndef TOOLS_DEVICE_H
#define TOOLS_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

#include <seam/rc.h>

#include "driver.h"

#define DEVICE_ERROR_BYTES 200

enum device_kind { DEVICE_AUTO, DEVICE_CUDA, DEVICE_EMU };
enum device_memory { DEVICE_MEMORY_AUTO, DEVICE_MEMORY_REAL, DEVICE_MEMORY_STRICT, DEVICE_MEMORY_BOOK };

struct device_options {
	enum device_kind kind;     /* AUTO: a GPU if there is one and bookkeeping is not asked for, else the emulator */
	enum device_memory memory; /* of the emulator. AUTO: bookkeeping only. A GPU's is real, whatever is asked for */
	uint64_t capacity_bytes;   /* of the emulator; 0: its default, or twice need_bytes if that is more */
	uint64_t need_bytes;       /* what will be live at once */
	const char *cost_file; /* of the emulator: what its calls cost; NULL: its default. AUTO is the emulator then */
};

/* Calls and nanoseconds by call. */
struct device_counts {
	uint64_t calls[SEAM_DRV_COUNT];
	uint64_t ns[SEAM_DRV_COUNT];
};

struct device {
	struct seam_driver *driver;
	bool emulated;
	bool real;                  /* memory has contents */
	const char *memory;         /* of an emulated one: the kind, in a word */
	struct device_counts mine;  /* the tool's own calls */
	struct device_counts start; /* scratch of device_mine_begin() */
};

/* error: DEVICE_ERROR_BYTES for one line. Errors: SEAM_NO_DEVICE, SEAM_INVALID, SEAM_OOM_META, SEAM_OOM_HOST,
 * SEAM_DRIVER. */
SEAM_MUST_USE enum seam_rc device_open(const struct device_options *options, char *error, struct device *ret_device);

/* Closes the device. SEAM_CORRUPT, with a line in `error`, if the emulator flagged a violation or something was left on
 * it. */
SEAM_MUST_USE enum seam_rc device_close(struct device *device, char *error);

/* "cuda: NVIDIA H200", "emu (book)". Valid until the next call. */
const char *device_label(const struct device *device, char *buffer, size_t buffer_bytes);

/* What the tool calls from here on is its own. Not nested. */
void device_mine_begin(struct device *device);
void device_mine_end(struct device *device);

/* Everything but the tool's own, so far. */
void device_get_counts(const struct device *device, struct device_counts *ret_counts);

uint64_t device_calls_of(const struct device_counts *counts, enum seam_drv_class class);

#endif
