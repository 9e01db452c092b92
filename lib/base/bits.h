/* bits.h: arithmetic on sizes and addresses that cannot overflow unseen.
 *
 * All pure. The checked forms return false, and leave *ret_result untouched, where the true result does not fit.
 */
#ifndef SEAM_BASE_BITS_H
#define SEAM_BASE_BITS_H

#include <stdbool.h>
#include <stdint.h>

static inline bool seam__bits_is_pow2(uint64_t value)
{
	return value != 0 && (value & (value - 1)) == 0;
}

/* `alignment` is a power of two. */
static inline bool seam__bits_is_aligned(uint64_t value, uint64_t alignment)
{
	return (value & (alignment - 1)) == 0;
}

/* `alignment` is a power of two and the result fits; see seam__bits_try_align_up() for what a user passed. */
static inline uint64_t seam__bits_align_up(uint64_t value, uint64_t alignment)
{
	return (value + (alignment - 1)) & ~(alignment - 1);
}

static inline bool seam__bits_try_add(uint64_t a, uint64_t b, uint64_t *ret_result)
{
	uint64_t sum;
	if (__builtin_add_overflow(a, b, &sum))
		return false;
	*ret_result = sum;
	return true;
}

static inline bool seam__bits_try_mul(uint64_t a, uint64_t b, uint64_t *ret_result)
{
	uint64_t product;
	if (__builtin_mul_overflow(a, b, &product))
		return false;
	*ret_result = product;
	return true;
}

static inline bool seam__bits_try_align_up(uint64_t value, uint64_t alignment, uint64_t *ret_result)
{
	uint64_t padded;
	if (!seam__bits_try_add(value, alignment - 1, &padded))
		return false;
	*ret_result = padded & ~(alignment - 1);
	return true;
}

/* For qsort() and trees. */
static inline int seam__bits_compare(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static inline uint64_t seam__bits_distance(uint64_t a, uint64_t b)
{
	return a < b ? b - a : a - b;
}

/* Rounded up; divisor is not 0. */
static inline uint64_t seam__bits_div_up(uint64_t value, uint64_t divisor)
{
	return value / divisor + (value % divisor != 0);
}

/* floor(log2(value)); value is not 0. */
static inline unsigned seam__bits_log2(uint64_t value)
{
	return 63u - (unsigned)__builtin_clzll(value);
}

static inline uint64_t seam__bits_min(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static inline uint64_t seam__bits_max(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* Halves [low, high), two unsigned variables, until `low` is the first number of it for which is_below is false, or
 * `high` was: an expression of `middle`, true up to there and false from there on. */
#define SEAM__BITS_BISECT(low, high, middle, is_below)                       \
	while ((low) < (high)) {                                             \
		const __typeof__(low) middle = (low) + ((high) - (low)) / 2; \
		if (is_below)                                                \
			(low) = middle + 1;                                  \
		else                                                         \
			(high) = middle;                                     \
	}

#endif
