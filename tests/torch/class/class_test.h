/* class_test.h: what the parts of the allocator class's test share. The class is seen as PyTorch sees it: through
 * CUDAAllocator. */
#ifndef SEAM_TESTS_CLASS_TEST_H
#define SEAM_TESTS_CLASS_TEST_H

#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include <cuda_runtime_api.h>

#include <seam/seam.h>
#include <seam/stats.h>
#include <seam/torch.h>

#include "torch_contiguous.h"
#include "torch_versions.h"

extern "C" {
#include "tap.h"
int seam_torch_class_install(char *error, size_t error_bytes);
int seam_torch_class_version(void);

/* of the emulated device behind the fake runtime */
int fakecuda_work(void *stream, uint64_t va, uint64_t bytes, int writes, uint64_t duration_ns);
void fakecuda_advance(uint64_t ns);
uint64_t fakecuda_violations(void);
const char *fakecuda_violation_text(void);
uint64_t fakecuda_used_bytes(void);
}

constexpr size_t MIB = 1024 * 1024;

/* The allocator in force. */
inline seam::native::CUDAAllocator &it()
{
	return *seam::native::get();
}

inline cudaStream_t new_stream()
{
	cudaStream_t stream = nullptr;
	ok(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess, "a stream can be made");
	return stream;
}

/* Work of 1 ms of virtual time that writes the block. */
inline void work_on(void *ptr, size_t bytes, cudaStream_t stream)
{
	ok(fakecuda_work(stream, reinterpret_cast<uint64_t>(ptr), bytes, 1, 1000000) == 0, "work is submitted");
}

/* The text of what the call throws, "" if it throws nothing. */
template <typename Error = c10::Error, typename Call> std::string thrown_by(Call call)
{
	try {
		call();
	} catch (const Error &error) {
		return error.what_without_backtrace();
	}
	return "";
}

inline bool says(const std::string &text, const char *part)
{
	return text.find(part) != std::string::npos;
}

struct Here : c10::GatheredContext {
};

/* How often somebody wanted to know where the program is. */
inline int gathered;

inline std::shared_ptr<c10::GatheredContext> gather()
{
	gathered++;
	return std::make_shared<Here>();
}

#if SEAM_TORCH_HAS_TRACE_CHOICE
inline seam::native::SnapshotInfo snapshot_of(c10::MempoolId_t pool = {0, 0})
{
	return it().snapshot(pool, true);
}
#else
inline seam::native::SnapshotInfo snapshot_of(c10::MempoolId_t pool = {0, 0})
{
	return it().snapshot(pool);
}
#endif

inline void record_history(bool enabled, seam::native::CreateContextFn recorder, size_t most,
	seam::native::RecordContext when, const std::vector<std::string> &skip = {})
{
#if SEAM_TORCH_HAS_SKIP_ACTIONS
	it().recordHistory(enabled, recorder, most, when, true, skip);
#else
	(void)skip;
	it().recordHistory(enabled, recorder, most, when, true);
#endif
}

void part_blocks();
void part_memory();
void part_largest();
void part_streams();
void part_shortage();
void part_fraction();
void part_limited();
void part_rejecting();
void part_copies();
void part_planned(const char *path);
void part_private();
void part_refusals();
void part_shared();
void part_stats();
void part_private_sums();
void part_history();
void part_observed();
void part_asked();
void part_two();
void part_snapshot(const char *path);

#endif
