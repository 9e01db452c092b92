/* torch_contiguous.h: asking for memory that NCCL and RDMA can register: one physical allocation for each tensor made
 *meanwhile.
 *
 *	seam::ContiguousGuard guard;
 *	at::Tensor buffer = at::empty(...);
 *
 * Of the calling thread only; guards nest. From Python: seam_torch_class_contiguous(+1) and (-1).
 */
#ifndef SEAM_TORCH_CONTIGUOUS_H
#define SEAM_TORCH_CONTIGUOUS_H

/* Adds to the calling thread's depth; returns the depth, which never falls below 0. Above 0 its requests are
 * contiguous. */
extern "C" __attribute__((visibility("default"))) int seam_torch_class_contiguous(int change);

namespace seam
{

class ContiguousGuard
{
public:
	ContiguousGuard()
	{
		seam_torch_class_contiguous(1);
	}
	~ContiguousGuard()
	{
		seam_torch_class_contiguous(-1);
	}
	ContiguousGuard(const ContiguousGuard &) = delete;
	ContiguousGuard &operator=(const ContiguousGuard &) = delete;
};

} /* namespace seam */

#endif
