/* what_if.h: a recorded program on devices that are not there: tried on the emulator, by the models of PyTorch's two
 * policies and by Seam.
 *
 * The recording is replayed as it is, from its first to its last event, blocks that were live before it included.
 * Not here: output (what_if_report.h), the command line (cmd_what_if.c).
 */
#ifndef TOOLS_WHAT_IF_H
#define TOOLS_WHAT_IF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <seam/seam.h>
#include <seam/trace.h>

#include "machines.h"
#include "replay.h"

#define WHAT_IF_WHERE_BYTES 480

enum what_if_policy { WHAT_IF_NATIVE, WHAT_IF_EXPANDABLE, WHAT_IF_SEAM, WHAT_IF_POLICIES };

struct what_if_device {
	const struct seam_machine *machine; /* NULL: a capacity alone */
	uint64_t capacity_bytes;
	uint64_t usable_bytes; /* by an allocator: less the context of a machine */
};

/* The program by one policy. */
struct what_if_run {
	bool fits;
	uint64_t reserved_bytes; /* the most; valid if it fits */
	bool needs_known;
	uint64_t needs_bytes; /* the most on a device without limit; valid if known */
	/* Valid unless it fits. */
	struct replay_failure failure;
	char where[WHAT_IF_WHERE_BYTES]; /* of the request in the program; "": not recorded */
};

struct what_if_answer {
	const char *trace; /* name as given, not owned */
	const struct what_if_device *device;
	uint64_t requests;
	uint64_t peak_live_bytes;
	bool recorded_oom;           /* the recorded program ran out of memory itself, */
	uint64_t recorded_oom_bytes; /* first with this request, which is not in the recording */
	struct what_if_run runs[WHAT_IF_POLICIES];
};

/* The program that was recorded in the file `path` on each of the devices. config: of seam. error: REPLAY_ERROR_BYTES
 * for one line. Running out of memory is an answer. Errors: those of replay_run(). */
SEAM_MUST_USE enum seam_rc what_if_ask(const struct seam_trace *trace, const char *path,
	const struct seam_config *config, const struct what_if_device *devices, size_t count, char *error,
	struct what_if_answer *ret_answers);

#endif
