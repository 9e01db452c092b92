/* emu_shared.c: emulated machines that are the process's, as GPUs are: whoever asks for one of the same kind gets a
 * device of the same machine.
 *
 * They live as long as the process. A child process after fork() makes its own.
 */
#include <pthread.h>

#include "emu_state.h"
#include "text.h"

#define MACHINES 8

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct seam_driver *machines[MACHINES]; /* lock. Device 0 of each, or NULL */

static bool is_like(struct seam_driver *machine, const struct seam_emu_config *config)
{
	const struct emu *e = seam__emu_of(machine);
	return e->config.memory == config->memory && e->config.devices == config->devices &&
		e->asked_capacity_bytes == config->capacity_bytes;
}

/* With the lock. */
static enum seam_rc find(
	const struct seam_emu_config *config, char *error, size_t error_bytes, struct seam_driver **ret_machine)
{
	struct seam_driver **place = NULL;
	for (int i = 0; i < MACHINES; i++) {
		bool lives = machines[i] != NULL &&
			atomic_load_explicit(seam__emu_of(machines[i])->alive, memory_order_relaxed) != 0;
		if (lives && is_like(machines[i], config)) {
			*ret_machine = machines[i];
			return SEAM_OK;
		}
		if (!lives && place == NULL)
			place = &machines[i];
	}
	if (place == NULL) {
		seam__text_line(error, error_bytes,
			"emulated device: the process has %d other emulated machines already", MACHINES);
		return SEAM_INVALID;
	}
	enum seam_rc rc = seam__emu_create(config, error, error_bytes, ret_machine);
	if (rc == SEAM_OK)
		*place = *ret_machine;
	return rc;
}

enum seam_rc seam__emu_shared(const struct seam_emu_config *config, int ordinal, char *error, size_t error_bytes,
	struct seam_driver **ret_driver)
{
	struct seam_driver *machine = NULL;
	(void)pthread_mutex_lock(&lock);
	enum seam_rc rc = find(config, error, error_bytes, &machine);
	if (rc == SEAM_OK) {
		rc = seam__emu_open(machine, ordinal, ret_driver);
		if (rc == SEAM_NO_DEVICE)
			seam__text_line(
				error, error_bytes, "emulated device %d: there are %d", ordinal, config->devices);
	}
	(void)pthread_mutex_unlock(&lock);
	return rc;
}
