/* host_times.cpp: nanoseconds of an allocation of pinned memory with its free, through PyTorch's own interface. Whoever
 * loads it says which allocator that is. See bench/host. */
#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include <ATen/core/CachingHostAllocator.h>
#include <c10/cuda/CUDAStream.h>

namespace
{

using Clock = std::chrono::steady_clock;

struct Work {
	size_t bytes;
	bool uses; /* a stream uses each block before it is freed */
	int pairs;
};

double pair_ns(const Work &work)
{
	at::HostAllocator *allocator = at::getHostAllocator(c10::kCUDA);
	const c10::Stream stream = c10::cuda::getCurrentCUDAStream().unwrap();
	const auto begin = Clock::now();
	for (int i = 0; i < work.pairs; i++) {
		const c10::DataPtr block = allocator->allocate(work.bytes);
		if (work.uses)
			allocator->record_event(block.get(), block.get_context(), stream);
	}
	return std::chrono::duration<double, std::nano>(Clock::now() - begin).count() / work.pairs;
}

/* The mean of threads that begin together. */
double threads_ns(const Work &work, int count)
{
	std::atomic<int> ready{0};
	std::vector<double> found(static_cast<size_t>(count));
	std::vector<std::thread> threads;
	for (double &mine : found) {
		threads.emplace_back([&] {
			for (ready++; ready < count;)
				std::this_thread::yield();
			mine = pair_ns(work);
		});
	}
	double sum = 0;
	for (size_t i = 0; i < found.size(); i++) {
		threads[i].join();
		sum += found[i];
	}
	return sum / count;
}

} /* namespace */

/* The least of `runs` short runs, while `others` blocks of the same size live. */
extern "C" __attribute__((visibility("default"))) double host_pair_ns(
	size_t bytes, int uses, int others, int threads, int pairs, int runs)
{
	at::HostAllocator *allocator = at::getHostAllocator(c10::kCUDA);
	std::vector<c10::DataPtr> kept;
	for (int i = 0; i < others; i++)
		kept.push_back(allocator->allocate(bytes));
	const Work work{bytes, uses != 0, pairs};
	double least = 0;
	for (int i = 0; i < runs; i++) {
		const double now = threads == 1 ? pair_ns(work) : threads_ns(work, threads);
		least = i == 0 ? now : std::min(least, now);
	}
	return least;
}
