/* torch_pluggable.h: what the files of PyTorch's pluggable door share. What they export: seam/torch.h.
 *
 * Locks: `made` (torch_pluggable.c) guards the configuration and the making of pools; `opening` (torch_private.c) the
 * open private pools; `told` (torch_errors.c) the newest error. None is held while another is taken, or across a call
 * that throws, but the filters' (see torch_private.c).
 */
#ifndef SEAM_DOORS_TORCH_PLUGGABLE_H
#define SEAM_DOORS_TORCH_PLUGGABLE_H

#include <seam/seam.h>
#include <seam/torch.h>

#define SEAM_TORCH_LINE_BYTES 512
#define SEAM_TORCH_TEXT_BYTES 4096 /* of an exception */

/* Remembers what failed, for seam_torch_error(). */
__attribute__((format(printf, 1, 2))) void seam__torch_tell(const char *format, ...);

/* Throws c10::Error with what was told last. Returns as seam_torch_throw_error() does. */
void seam__torch_fail(void);

/* Tells why a request failed, and throws what fits the code. */
void seam__torch_refuse(struct seam_pool *pool, int device, uint64_t bytes, enum seam_rc rc);

/* The pool of a device for memory that PyTorch takes for cudaMalloc's: it copies such memory between devices without a
 * word, so each device with such a pool is let in to the others'. As seam_torch_pool() otherwise. */
struct seam_pool *seam__torch_open_pool(int device);

/* The private pool, newest first, whose filter accepts the stream; 0: none. Lets the filter's exceptions through. */
uint64_t seam__torch_route(int device, void *stream);

/* Releases private pools whose release had to wait for the end of a capture. */
void seam__torch_release_late(int device);

#endif
