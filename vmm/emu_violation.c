/* emu_violation.c: what programs did that no device allows: counted by kind, the newest as text.
 *
 * Not here: finding it. Counters are read without the lock.
 */
#include <stdarg.h>
#include <stdio.h>

#include "emu_state.h"

static const struct {
	const char *name;
	const char *text;
} violation_texts[SEAM_EMU_VIOLATION_COUNT] = {
#define SEAM_EMU_VIOLATION(name, text) {#name, text},
#include "emu_violations.def"
#undef SEAM_EMU_VIOLATION
};

void seam__emu_violate(struct emu_device *device, enum seam_emu_violation which, const char *format, ...)
{
	struct emu *e = device->e;
	va_list arguments;
	atomic_fetch_add(&e->violations[which], 1);
	int length = snprintf(e->violation_text, sizeof(e->violation_text), "%s: %s: ", violation_texts[which].name,
		violation_texts[which].text);
	if (length > 0 && (size_t)length < sizeof(e->violation_text)) {
		va_start(arguments, format);
		(void)vsnprintf(
			e->violation_text + length, sizeof(e->violation_text) - (size_t)length, format, arguments);
		va_end(arguments);
	}
	if (!e->config.lenient)
		device->sticky = SEAM_CU_ILLEGAL_ADDRESS;
}

uint64_t seam__emu_violations(struct seam_driver *d, enum seam_emu_violation which)
{
	return atomic_load(&seam__emu_of(d)->violations[which]);
}

uint64_t seam__emu_violations_all(struct seam_driver *d)
{
	uint64_t sum = 0;
	for (int which = 0; which < SEAM_EMU_VIOLATION_COUNT; which++)
		sum += seam__emu_violations(d, (enum seam_emu_violation)which);
	return sum;
}

const char *seam__emu_violation_name(enum seam_emu_violation which)
{
	return violation_texts[which].name;
}

const char *seam__emu_violation_text(struct seam_driver *d)
{
	return seam__emu_of(d)->violation_text;
}

void seam__emu_clear_violations(struct seam_driver *d)
{
	struct emu *e = seam__emu_of(d);
	seam__mutex_lock(&e->lock);
	for (int which = 0; which < SEAM_EMU_VIOLATION_COUNT; which++)
		atomic_store(&e->violations[which], 0);
	e->violation_text[0] = '\0';
	for (int i = 0; i < e->config.devices; i++)
		e->devices[i].sticky = 0;
	seam__mutex_unlock(&e->lock);
}
