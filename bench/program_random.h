/* program_random.h: numbers for made-up programs: splitmix64, the same on every machine.
 *
 * No state but the caller's. Not for anything but made-up programs.
 */
#ifndef BENCH_PROGRAM_RANDOM_H
#define BENCH_PROGRAM_RANDOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline uint64_t program_random(uint64_t *state)
{
	uint64_t number = *state += UINT64_C(0x9e3779b97f4a7c15);
	number = (number ^ (number >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	number = (number ^ (number >> 27)) * UINT64_C(0x94d049bb133111eb);
	return number ^ (number >> 31);
}

/* From `least` to `most`, each as likely. */
static inline uint32_t program_between(uint64_t *state, uint32_t least, uint32_t most)
{
	return least + (uint32_t)(program_random(state) % ((uint64_t)most - least + 1));
}

static inline bool program_chance(uint64_t *state, uint32_t percent)
{
	return program_random(state) % 100 < percent;
}

#endif
