/* class_memory.cpp: the allocator class: memory, streams, copies, and running out of memory. */
#include "class_test.h"

#include <regex>

#include <c10/cuda/CUDAStream.h>

void part_memory()
{
	tap_part = "memory";
	c10::DataPtr a = it().allocate(1000), b = it().allocate(3 * MIB), none = it().allocate(0);
	ok(a.get() != nullptr && b.get() != nullptr && a.get() != b.get(), "blocks have addresses");
	ok(reinterpret_cast<uintptr_t>(a.get()) % 512 == 0, "that are aligned");
	ok(a.get_context() == a.get() && a.get_deleter() == it().raw_deleter(), "the deleter gets the address");
	ok(a.device() == c10::Device(c10::kCUDA, 0), "they are of the current device");
	ok(none.get() == nullptr && none.device().is_cuda(), "no bytes, no address");
	size_t bytes = 0;
	void *inside = static_cast<char *>(b.get()) + MIB;
	ok(it().getBaseAllocation(inside, &bytes) == b.get() && bytes == 3 * MIB,
		"the block of an address inside it is found");
	void *old = a.get();
	a.clear();
	ok(says(thrown_by([&] { it().getBaseAllocation(old, nullptr); }), "live block"),
		"not that of one that is gone");
	ok(says(thrown_by([&] { it().raw_delete(old); }), "not the address"), "which cannot be freed twice");
	void *raw = it().raw_alloc(5000);
	ok(raw != nullptr && it().raw_alloc(0) == nullptr, "raw memory");
	it().raw_delete(raw);
	it().raw_delete(nullptr);
	c10::DataPtr again = it().allocate(5000);
	ok(again.get() == raw, "is used again");
	ok(it().isEnabled() && it().name() == "seam" && it().initialized(), "it says what it is");
	ok(says(thrown_by([] { it().cacheInfo(7, nullptr); }), "no device 7"), "a device that is not there is refused");
}

namespace
{

/* What one request could get, which it is asked for. */
size_t largest_granted(const char *when)
{
	size_t largest = 0;
	it().cacheInfo(0, &largest);
	void *all = nullptr;
	const std::string error = thrown_by([&] { all = it().raw_alloc(largest); });
	ok(all != nullptr, "%s: a request can have as much as is told: %zu: %s", when, largest, error.c_str());
	it().raw_delete(all);
	return largest;
}

} /* namespace */

void part_largest()
{
	tap_part = "largest";
	size_t rest = 0, total = 0;
	ok(cudaMemGetInfo(&rest, &total) == cudaSuccess, "the device says what is free");
	it().emptyCache();
	size_t largest = largest_granted("memory that is not taken yet");
	ok(largest >= rest - 2 * MIB && largest <= total, "is all that the device has: %zu of %zu", largest, rest);
	ok(largest_granted("all of it cached") == largest, "it is the same when all of it is cached");
	it().emptyCache();
	std::vector<c10::DataPtr> blocks;
	for (int i = 0; i < 30; i++)
		blocks.push_back(it().allocate(50 * MIB));
	for (size_t i = 0; i < 30; i += 2)
		blocks[i].clear();
	const size_t holes = largest_granted("what is cached between live blocks, with the rest");
	ok(holes + 15 * 52 * MIB >= largest && holes + 15 * 50 * MIB <= largest, "is all but what is live: %zu", holes);
	blocks.clear();
	it().emptyCache();
	it().setMemoryFraction(0.25, 0);
	const size_t share = largest_granted("with a share of the device");
	ok(share <= total / 4 && share >= total / 4 - 4 * MIB, "it is what the share leaves: %zu", share);
	it().emptyCache();
	it().setMemoryFraction(1.0, 0);
}

void part_streams()
{
	tap_part = "streams";
	cudaStream_t one = new_stream(), two = new_stream();
	void *raw = it().raw_alloc_with_stream(4 * MIB, one);
	it().raw_delete(raw);
	void *again = it().raw_alloc_with_stream(4 * MIB, one);
	ok(again == raw, "a stream gets its own memory back at once");
	work_on(again, 4 * MIB, one);
	it().raw_delete(again);
	void *other = it().raw_alloc_with_stream(4 * MIB, two);
	ok(other != again, "another one does not, while work is pending");
	it().raw_delete(other);
	c10::cuda::CUDAStream second = c10::cuda::getStreamFromExternal(two, 0);
	c10::DataPtr used = it().allocate(6 * MIB);
	it().recordStream(used, second);
	work_on(used.get(), 6 * MIB, two);
	const auto before = it().getDeviceStats(0);
	void *where = used.get();
	used.clear();
	const auto held = it().getDeviceStats(0);
	ok(held.allocated_bytes[0].current == before.allocated_bytes[0].current - static_cast<int64_t>(6 * MIB),
		"a freed block is not allocated");
	ok(held.active_bytes[0].current == before.active_bytes[0].current,
		"but active as long as another stream uses it");
	c10::DataPtr next = it().allocate(6 * MIB);
	ok(next.get() != where, "and given to nobody");
	next.clear();
	ok(cudaDeviceSynchronize() == cudaSuccess, "the device can be waited for");
	it().emptyCache();
	const auto after = it().getDeviceStats(0);
	ok(after.active_bytes[0].current == after.allocated_bytes[0].current &&
			after.active[0].current == after.allocation[0].current,
		"until that has passed");
	c10::DataPtr own = it().allocate(MIB);
	it().recordStream(own, c10::cuda::getCurrentCUDAStream(0));
	own.clear();
	const auto same = it().getDeviceStats(0);
	ok(same.active_bytes[0].current == after.active_bytes[0].current, "its own stream is no other");
	c10::DataPtr foreign(&tap_part, c10::Device(c10::kCUDA, 0));
	ok(thrown_by([&] { it().recordStream(foreign, second); }).empty(), "the memory of others is left alone");
	ok(cudaStreamSynchronize(one) == cudaSuccess && cudaStreamSynchronize(two) == cudaSuccess, "all work ends");
}

namespace
{

int callbacks;
int observed;
size_t observed_bytes;
void *spare;

/* As PyTorch's own users of that registry: frees something when memory is short. */
class GiveSpare : public c10::FreeMemoryCallback
{
public:
	bool Execute() override
	{
		callbacks++;
		if (spare == nullptr)
			return false;
		it().raw_delete(spare);
		spare = nullptr;
		return true;
	}
};

} /* namespace */

namespace c10
{
REGISTER_FREE_MEMORY_CALLBACK("seam_class_test", GiveSpare)
}

void part_shortage()
{
	tap_part = "shortage";
	it().attachOutOfMemoryObserver([](int64_t device, size_t bytes, size_t total, size_t rest) {
		observed += device == 0 && total >= rest;
		observed_bytes = bytes;
	});
	it().emptyCache();
	const auto before = it().getDeviceStats(0);
	const size_t much = 1024 * 1024 * MIB;
	const std::string text = thrown_by<c10::OutOfMemoryError>([&] { it().raw_alloc(much); });
	const std::string facts =
		"CUDA out of memory\\. Tried to allocate 1024\\.00 GiB\\. GPU 0 has a total capacity of 8\\.00 GiB of which [0-9.]+ GiB is free\\. "
		"Of the allocated memory [0-9.]+ (bytes|[KMG]iB) is allocated by PyTorch, and [0-9.]+ (bytes|[KMG]iB) is reserved by PyTorch but unallocated";
	ok(std::regex_search(text, std::regex("^" + facts)), "the error begins with what programs read: %s",
		text.c_str());
	ok(says(text, "Seam") && says(text, "What would help"), "and says what would help");
	ok(observed == 1 && observed_bytes == much, "the observer is told");
	ok(callbacks == 1, "callbacks were asked for memory first");
	const auto after = it().getDeviceStats(0);
	ok(after.num_ooms == before.num_ooms + 1, "it is counted");
	ok(after.allocated_bytes[0].current == before.allocated_bytes[0].current, "nothing was allocated");
	size_t rest = 0, total = 0;
	ok(cudaMemGetInfo(&rest, &total) == cudaSuccess, "the device says what is free");
	const size_t most = rest / (32 * MIB) * (32 * MIB) - 64 * MIB;
	spare = it().raw_alloc(most);
	void *second = it().raw_alloc(most);
	ok(second != nullptr && spare == nullptr && callbacks == 2, "what a callback freed serves the request");
	it().raw_delete(second);
	it().emptyCache();
}

namespace
{

#if SEAM_TORCH_HAS_REJECTIONS
void native_setting(const char *text)
{
	c10::CachingAllocator::setAllocatorSettings(text);
}
#endif

} /* namespace */

/* Run with PYTORCH_CUDA_ALLOC_CONF=per_process_memory_fraction:0.25. */
void part_limited()
{
	tap_part = "limited";
	size_t rest = 0, total = 0;
	ok(cudaMemGetInfo(&rest, &total) == cudaSuccess, "the device says what it has");
	c10::DataPtr block = it().allocate(total / 8);
	ok(it().getMemoryFraction(0) == 0.25, "PyTorch's setting is the limit at first");
	ok(says(thrown_by<c10::OutOfMemoryError>([&] { it().raw_alloc(total / 4); }), "out of memory"), "and holds");
	it().setMemoryFraction(1.0, 0);
	it().raw_delete(it().raw_alloc(total / 4));
	ok(it().getMemoryFraction(0) == 1.0, "until the program sets another");
}

/* Run with PYTORCH_CUDA_ALLOC_CONF=per_process_memory_fraction:0.25,throw_on_cudamalloc_oom:True, of which PyTorch
 * takes the first as a limit too. */
void part_rejecting()
{
	tap_part = "rejecting";
#if SEAM_TORCH_HAS_REJECTIONS
	static std::vector<size_t> rejected;
	it().attachOomRejectionObserver([](int64_t /* device */, size_t bytes, size_t taken, size_t total) {
		rejected = {bytes, taken, total};
	});
	size_t rest = 0, total = 0;
	ok(cudaMemGetInfo(&rest, &total) == cudaSuccess, "the device says what it has");
	c10::DataPtr block = it().allocate(total / 8);
	(void)thrown_by<c10::OutOfMemoryError>([&] { it().raw_alloc(total / 4); });
	ok(it().getDeviceStats(0).num_ooms == 1 && it().getDeviceStats(0).num_oom_rejections == 0,
		"beyond the limit there is no memory");
	it().setMemoryFraction(1.0, 0);
	const std::string text = thrown_by<c10::OutOfMemoryError>([&] { it().raw_alloc(total / 4); });
	ok(says(text, "Tried to allocate 2.00 GiB") && says(text, "throw_on_cudamalloc_oom"),
		"without a limit the setting rejects: %s", text.c_str());
	const auto stats = it().getDeviceStats(0);
	ok(stats.num_ooms == 1 && stats.num_oom_rejections == 1, "which is counted by itself");
	ok(rejected.size() == 3 && rejected[0] == total / 4 &&
			rejected[1] == static_cast<size_t>(stats.reserved_bytes[0].current) && rejected[2] == total,
		"and told to its observers");
	block.clear();
	block = it().allocate(total / 5);
	ok(block.get() != nullptr, "what there is room for is served");
	it().resetAccumulatedStats(0);
	ok(it().getDeviceStats(0).num_oom_rejections == 0, "the count begins anew");
	native_setting("throw_on_cudamalloc_oom:False");
	it().raw_delete(it().raw_alloc(total / 4));
	ok(rejected[0] == total / 4, "until the setting is taken back");
#else
	ok(true, "this PyTorch rejects nothing");
#endif
}

void part_fraction()
{
	tap_part = "fraction";
	ok(it().getMemoryFraction(0) == 1.0, "all of the device at first");
	size_t rest = 0, total = 0;
	ok(cudaMemGetInfo(&rest, &total) == cudaSuccess, "the device says how large it is");
	it().emptyCache();
	it().setMemoryFraction(0.25, 0);
	ok(it().getMemoryFraction(0) == 0.25, "a share of it");
	const std::string text = thrown_by<c10::OutOfMemoryError>([&] { it().raw_alloc(total / 2); });
	ok(says(text, "out of memory"), "half is too much then");
	void *some = it().raw_alloc(total / 8);
	ok(some != nullptr && it().getDeviceStats(0).reserved_bytes[0].current <= static_cast<int64_t>(total / 4),
		"an eighth is not");
	it().raw_delete(some);
	it().setMemoryFraction(1.0, 0);
	void *half = it().raw_alloc(total / 2);
	ok(half != nullptr, "nor is half of all");
	it().raw_delete(half);
	it().emptyCache();
	ok(says(thrown_by([] { it().setMemoryFraction(1.5, 0); }), "between 0 and 1"), "more than all is refused");
}

void part_copies()
{
	tap_part = "copies";
	c10::DataPtr from = it().allocate(4096), to = it().allocate(4096);
	std::vector<char> sent(4096, 'x'), got(4096, 0);
	cudaStream_t stream = c10::cuda::getCurrentCUDAStream(0);
	ok(cudaMemcpyAsync(from.get(), sent.data(), 4096, cudaMemcpyHostToDevice, stream) == cudaSuccess,
		"memory can be written");
	ok(it().memcpyAsync(to.get(), 0, from.get(), 0, 4096, stream, false) == cudaSuccess, "and copied");
	ok(cudaMemcpyAsync(got.data(), to.get(), 4096, cudaMemcpyDeviceToHost, stream) == cudaSuccess &&
			cudaStreamSynchronize(stream) == cudaSuccess && got == sent,
		"and arrives");
	std::fill(got.begin(), got.end(), 0);
	it().copy_data(from.get(), to.get(), 4096);
	ok(cudaMemcpy(got.data(), from.get(), 4096, cudaMemcpyDeviceToHost) == cudaSuccess && got == sent,
		"by copy_data too");
}
