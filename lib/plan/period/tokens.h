/* tokens.h: a trace as a row of tokens: what repeats in it, in a form in which two of them are equal when a program did
 * the same again.
 *
 * A token is an allocation, a free, or a use by another stream, of a request whose size does not depend on data. Its
 * key says what was done (kind, size, stream, pool, thread), its `back` how many allocations ago the block was
 * allocated. So a free in one iteration equals that of the iteration before if it frees the corresponding block, even
 * one of an earlier iteration. Allocations are counted, not tokens: the first iterations of a program ask for what the
 * later ones ask for, but they do not free what those free. `state` is a sum over the blocks live behind a token of a
 * hash of size and stream: two places of equal state have the same multiset of blocks live (but for one chance in
 * 2^64).
 *
 * Not here: what repeats (period.h).
 * Immutable once built; on the process-wide metadata domain. No locks.
 */
#ifndef SEAM_TOKENS_H
#define SEAM_TOKENS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <seam/trace.h>

#include "request.h"

struct seam_token {
	uint64_t key;
	uint64_t state;  /* behind it */
	uint32_t event;  /* in the trace */
	uint32_t back;   /* allocations since and with the block's own; 0 for an allocation */
	uint32_t allocs; /* allocations before this token */
};

struct seam_tokens {
	const struct seam_traced_requests *requests; /* outlive them */
	struct seam_grow items;                      /* struct seam_token */
	struct seam_grow allocs;                     /* uint32_t: numbers of the tokens that are allocations */
};

/* O(events). Errors: SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__tokens_init(
	const struct seam_traced_requests *requests, struct seam_tokens *ret_tokens);
void seam__tokens_fini(struct seam_tokens *tokens); /* a zeroed one is allowed */

static inline const struct seam_token *seam__tokens_at(const struct seam_tokens *tokens, uint32_t number)
{
	return (const struct seam_token *)tokens->items.items + number;
}

static inline uint32_t seam__tokens_count(const struct seam_tokens *tokens)
{
	return (uint32_t)tokens->items.count;
}

/* The state before token `number`, which may be the count. */
static inline uint64_t seam__tokens_state(const struct seam_tokens *tokens, uint32_t number)
{
	return number == 0 ? 0 : seam__tokens_at(tokens, number - 1)->state;
}

/* Allocations before token `number`, which may be the count. */
static inline uint32_t seam__tokens_allocs(const struct seam_tokens *tokens, uint32_t number)
{
	return number < tokens->items.count ? seam__tokens_at(tokens, number)->allocs : (uint32_t)tokens->allocs.count;
}

/* The number, among the allocations, of that of the token's block. */
static inline uint32_t seam__tokens_origin(const struct seam_tokens *tokens, uint32_t number)
{
	return seam__tokens_at(tokens, number)->allocs - seam__tokens_at(tokens, number)->back;
}

/* The token of an allocation. */
static inline const struct seam_token *seam__tokens_alloc(const struct seam_tokens *tokens, uint32_t alloc)
{
	return seam__tokens_at(tokens, ((const uint32_t *)tokens->allocs.items)[alloc]);
}

/* The number of tokens before `event`. O(log tokens). */
uint32_t seam__tokens_before(const struct seam_tokens *tokens, uint64_t event);

/* Whether two tokens do the same to corresponding blocks. */
static inline bool seam__tokens_equal(const struct seam_tokens *tokens, uint32_t a, uint32_t b)
{
	const struct seam_token *left = seam__tokens_at(tokens, a);
	const struct seam_token *right = seam__tokens_at(tokens, b);

	return left->key == right->key && left->back == right->back;
}

/* Two hashes as one. */
uint64_t seam__tokens_mix(uint64_t a, uint64_t b);

#endif
