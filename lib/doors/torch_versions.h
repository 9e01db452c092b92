/* torch_versions.h: every difference between the PyTorch minors that the allocator class is compiled for, and the types
 * that moved.
 *
 * The one place that looks at PyTorch's version; the other files ask for what is named here. SEAM_TORCH_MINOR: given by
 * the build (python -m seamalloc.build), else from PyTorch's own header. Read from the headers of 2.9 to 2.15; a newer
 * minor is taken for like the newest.
 */
#ifndef SEAM_TORCH_VERSIONS_H
#define SEAM_TORCH_VERSIONS_H

#include <c10/cuda/CUDACachingAllocator.h>

#ifndef SEAM_TORCH_MINOR
#if __has_include(<torch/headeronly/version.h>)
#include <torch/headeronly/version.h>
#else
#include <torch/version.h>
#endif
#if TORCH_VERSION_MAJOR != 2
#error "Seam's allocator class knows PyTorch 2 only"
#endif
#define SEAM_TORCH_MINOR TORCH_VERSION_MINOR
#endif

#if SEAM_TORCH_MINOR < 9
#error "Seam's allocator class needs PyTorch 2.9 or newer; older ones are served by the pluggable door"
#endif

#define SEAM_TORCH_HAS_SEGMENT_SIZES (SEAM_TORCH_MINOR >= 10) /* getExpandableSegmentSizes */
#define SEAM_TORCH_HAS_NO_SPLIT (SEAM_TORCH_MINOR >= 10)      /* setNoSplit */
#define SEAM_TORCH_SHARES_SOURCES (SEAM_TORCH_MINOR >= 11)    /* createOrIncrefPool takes a shared_ptr */
#define SEAM_TORCH_HAS_FRACTION_SETTING \
	(SEAM_TORCH_MINOR >= 10)                             /* CUDAAllocatorConfig::per_process_memory_fraction() */
#define SEAM_TORCH_HAS_METADATA (SEAM_TORCH_MINOR >= 10)     /* set and getUserMetadata; a field of trace entries */
#define SEAM_TORCH_HAS_SKIP_ACTIONS (SEAM_TORCH_MINOR >= 11) /* recordHistory's last argument */
#define SEAM_TORCH_HAS_TRACE_CHOICE (SEAM_TORCH_MINOR >= 11) /* snapshot's second argument */
#define SEAM_TORCH_OOM_USE_IS_FLAG (SEAM_TORCH_MINOR >= 11)  /* setUseOnOOM's third argument */
#define SEAM_TORCH_HAS_REJECTIONS \
	(SEAM_TORCH_MINOR >= 12) /* attachOomRejectionObserver, throw_on_cudamalloc_oom, num_oom_rejections */
#define SEAM_TORCH_HAS_CONTEXT_LOOKUP (SEAM_TORCH_MINOR >= 12) /* getContextForPointer */
#define SEAM_TORCH_HAS_PRIVATE_SUMS \
	(SEAM_TORCH_MINOR >= 13) /* DeviceStats::reserved_bytes_by_private_pools; markCaptureBegin and End */
#define SEAM_TORCH_HAS_ANNOTATE (SEAM_TORCH_MINOR >= 14)     /* annotateMemory, supportsUserMetadata */
#define SEAM_TORCH_HAS_PINNED_SIZES (SEAM_TORCH_MINOR >= 15) /* AllocatorConfigInfo::max_cached_size and its like */

#define SEAM_TORCH_HAS_HOST_REQUESTS (SEAM_TORCH_MINOR >= 10) /* HostStats::active_requests and its like */
#define SEAM_TORCH_HAS_HOST_POOLS (SEAM_TORCH_MINOR >= 11)    /* HostAllocator::begin_allocate_to_pool and its like */
#define SEAM_TORCH_HAS_HOST_HISTORY (SEAM_TORCH_MINOR >= 14)  /* HostAllocator::record_history and its like */

namespace seam
{

namespace native = c10::cuda::CUDACachingAllocator;

#if SEAM_TORCH_MINOR >= 11
using TorchAnnotation = c10::CachingDeviceAllocator::AnnotationEntry;
#else
using TorchAnnotation = native::AnnotationEntry;
#endif

#if SEAM_TORCH_HAS_REJECTIONS
using TorchRejectionObserver = native::OomRejectionObserver;
#else
using TorchRejectionObserver = native::OutOfMemoryObserver; /* none is ever there */
#endif

using TorchContext = std::shared_ptr<c10::GatheredContext>;

#if SEAM_TORCH_SHARES_SOURCES
using TorchSource = std::shared_ptr<native::CUDAAllocator>;
#else
using TorchSource = native::CUDAAllocator *;
#endif

} /* namespace seam */

#endif
