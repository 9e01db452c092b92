/* emu_test.c: what only the emulator promises: that it catches, counts, limits and repeats.
 *
 * Plain C and TAP, like the conformance suite, so that it runs under every sanitizer.
 */
#include "emu_test.h"

#include <stdio.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tap.h"

const struct seam_phys_props plain = {.where = {.kind = SEAM_AT_DEVICE}};
const struct seam_access read_write = {.where = {.kind = SEAM_AT_DEVICE}, .mode = SEAM_ACCESS_READWRITE};

static const struct part {
	const char *name;
	void (*run)(void);
} parts[] = {
	{"violations", part_violations},
	{"edges", part_edges},
	{"sticky", part_sticky},
	{"time", part_time},
	{"costs", part_costs},
	{"limits", part_limits},
	{"handles", part_handles},
	{"memory", part_memory},
	{"registered", part_registered},
	{"failures", part_failures},
	{"fork", part_fork},
	{"full map", part_full_map},
	{"model", part_model},
	{"metadata", part_metadata},
	{"devices", part_devices},
	{"graph", part_graph},
	{"strict", part_strict},
	{"engine", part_engine},
};

struct seam_driver *open_emu(const struct seam_emu_config *config)
{
	char error[200] = "";
	struct seam_driver *d = NULL;
	if (seam__emu_create(config, error, sizeof error, &d) != SEAM_OK) {
		printf("Bail out! %s: %s\n", tap_part, error);
		exit(1);
	}
	return d;
}

void close_emu(struct seam_driver *d)
{
	const char *broken = seam__emu_check(d);
	if (broken != NULL)
		ok(false, "no invariant is broken: %s", broken);
	seam__driver_destroy(d);
}

void must(struct seam_driver *d, int cu, const char *call, int line)
{
	if (cu == SEAM_CU_SUCCESS)
		return;
	printf("Bail out! %s, line %d: %s is %d (%s)\n", tap_part, line, call, cu, seam__emu_violation_text(d));
	exit(1);
}

uint64_t map_chunks(struct seam_driver *d, uint64_t chunks)
{
	uint64_t va = 0;
	struct seam_phys phys = {0};
	MUST(seam__drv_address_reserve(d, chunks * G, 0, 0, &va));
	for (uint64_t i = 0; i < chunks; i++) {
		MUST(seam__drv_mem_create(d, G, &plain, &phys));
		MUST(seam__drv_mem_map(d, va + i * G, G, 0, phys, 0));
		MUST(seam__drv_mem_release(d, phys));
	}
	MUST(seam__drv_mem_set_access(d, va, chunks * G, &read_write, 1));
	return va;
}

uint64_t map_alias(struct seam_driver *d, uint64_t va)
{
	uint64_t alias = 0;
	struct seam_phys phys = {0};
	MUST(seam__drv_mem_retain(d, va, &phys));
	MUST(seam__drv_address_reserve(d, G, 0, 0, &alias));
	MUST(seam__drv_mem_map(d, alias, G, 0, phys, 0));
	MUST(seam__drv_mem_set_access(d, alias, G, &read_write, 1));
	MUST(seam__drv_mem_release(d, phys));
	return alias;
}

uint64_t make_stream(struct seam_driver *d, enum seam_stream_kind kind)
{
	uint64_t stream = 0;
	MUST(seam__drv_stream_create(d, kind, &stream));
	return stream;
}

int launch(struct seam_driver *d, uint64_t stream, uint64_t va, uint64_t bytes, bool write, uint64_t duration_ns)
{
	const struct seam_emu_range range = {.va = va, .bytes = bytes, .write = write};
	return seam__emu_launch(d, stream, &range, 1, duration_ns, 0);
}

int touch(uint64_t va, bool write)
{
	volatile unsigned char *byte = (volatile unsigned char *)(uintptr_t)va;
	int status = 0;
	pid_t child = fork();
	if (child == 0) {
		(void)signal(SIGSEGV, SIG_DFL);
		if (write)
			*byte = 1;
		else
			(void)*byte;
		_exit(0);
	}
	if (child < 0 || waitpid(child, &status, 0) != child)
		return -1;
	return WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
}

int main(void)
{
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		tap_part = parts[i].name;
		parts[i].run();
	}
	return tap_end();
}
