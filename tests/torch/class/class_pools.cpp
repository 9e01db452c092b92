/* class_pools.cpp: the allocator class: private pools, contiguous memory, and what it refuses. */
#include "class_test.h"

#include <atomic>
#include <chrono>
#include <filesystem>
#include <future>
#include <malloc.h>
#include <set>
#include <sys/resource.h>
#include <thread>
#include <unordered_set>

namespace
{

constexpr c10::MempoolId_t common = {0, 0}, graph = {1, 0}, user = {0, 1}, unknown = {0, 99};

cudaStream_t routed;

bool is_routed(cudaStream_t stream)
{
	return stream == routed;
}

c10::MempoolId_t pool_of(void *ptr)
{
	for (const auto &segment : snapshot_of().segments) {
		const auto address = reinterpret_cast<size_t>(ptr);
		if (segment.address <= address && address < segment.address + segment.total_size)
			return segment.owner_private_pool_id;
	}
	return unknown;
}

void use_on_oom(c10::MempoolId_t pool)
{
#if SEAM_TORCH_OOM_USE_IS_FLAG
	it().setUseOnOOM(0, pool, true);
#else
	it().setUseOnOOM(0, pool);
#endif
}

void check_routes()
{
	routed = new_stream();
	cudaStream_t other = new_stream();
	ok(it().getPoolUseCount(0, graph) == 0, "an unknown pool has no uses");
	it().beginAllocateToPool(0, graph, is_routed);
	ok(it().getPoolUseCount(0, graph) == 1, "a begin is a use");
	ok(says(thrown_by([] { it().beginAllocateToPool(0, graph, is_routed); }), "already"),
		"a second begin is refused");
	void *inside = it().raw_alloc_with_stream(2 * MIB, routed),
	     *outside = it().raw_alloc_with_stream(2 * MIB, other);
	ok(pool_of(inside) == graph, "what the filter wants goes to the pool");
	ok(pool_of(outside) == common, "and nothing else");
	it().endAllocateToPool(0, graph);
	ok(says(thrown_by([] { it().endAllocateToPool(0, graph); }), "not being allocated"),
		"there is one end for a begin");
	ok(it().checkPoolLiveAllocations(0, graph, {inside}), "its live blocks are known");
	ok(!it().checkPoolLiveAllocations(0, graph, {}) &&
			!it().checkPoolLiveAllocations(0, graph, {inside, outside}) &&
			!it().checkPoolLiveAllocations(0, graph, {outside}),
		"and no others taken for them");
	it().raw_delete(inside);
	void *eager = it().raw_alloc_with_stream(2 * MIB, routed);
	ok(eager != inside && pool_of(eager) == common, "its free memory is for no other request");
	it().beginAllocateToPool(0, graph, is_routed);
	ok(it().getPoolUseCount(0, graph) == 2, "a pool can be begun again");
	void *second = it().raw_alloc_with_stream(2 * MIB, routed);
	ok(second == inside, "and uses its memory again");
	it().endAllocateToPool(0, graph);
	it().releasePool(0, graph);
	it().raw_delete(second);
	it().releasePool(0, graph);
	ok(it().getPoolUseCount(0, graph) == 0 && says(thrown_by([] { it().releasePool(0, graph); }), "no memory pool"),
		"it is gone with its last use");
	void *after = it().raw_alloc_with_stream(2 * MIB, routed);
	ok(pool_of(after) == common, "its memory is everybody's then");
	it().raw_delete(after);
	it().raw_delete(outside);
	it().raw_delete(eager);
}

void check_nesting()
{
	it().beginAllocateToPool(0, graph, [](cudaStream_t) { return true; });
	it().createOrIncrefPool(0, user);
	it().beginAllocateToPool(0, user, is_routed);
	void *inner = it().raw_alloc_with_stream(MIB, routed), *outer = it().raw_alloc(MIB);
	ok(pool_of(inner) == user && pool_of(outer) == graph, "the newest filter is asked first");
	it().endAllocateToPool(0, user);
	void *back = it().raw_alloc_with_stream(MIB, routed);
	ok(pool_of(back) == graph, "then the one before");
	it().endAllocateToPool(0, graph);
	for (void *ptr : {inner, outer, back})
		it().raw_delete(ptr);
	it().releasePool(0, graph);
	it().releasePool(0, user);
	ok(it().getPoolUseCount(0, user) == 1, "createOrIncrefPool is a use of its own");
	ok(snapshot_of(user).segments.size() == 1, "a snapshot of one pool shows that pool");
	it().raw_delete(it().raw_alloc(60 * MIB));
	const int64_t held = it().getDeviceStats(0).reserved_bytes[0].current;
	const auto of_pool = static_cast<int64_t>(snapshot_of(user).segments.at(0).total_size);
	it().emptyCache(user);
	ok(snapshot_of(user).segments.empty(), "whose free memory can be given back");
	ok(it().getDeviceStats(0).reserved_bytes[0].current == held - of_pool, "and no other's");
	it().releasePool(0, user);
}

/* A graph is recorded, and its pool is released while another recording runs. */
void check_captures()
{
	cudaGraph_t recorded = nullptr;
	it().beginAllocateToPool(0, graph, is_routed);
	ok(cudaStreamBeginCapture(routed, cudaStreamCaptureModeGlobal) == cudaSuccess, "a capture begins");
	void *inside = it().raw_alloc_with_stream(2 * MIB, routed);
	ok(inside != nullptr, "memory is found during a capture");
	work_on(inside, 2 * MIB, routed);
	it().raw_delete(inside);
	it().emptyCache();
	ok(cudaStreamEndCapture(routed, &recorded) == cudaSuccess && recorded != nullptr,
		"no call of the allocator spoils it");
	it().endAllocateToPool(0, graph);
	it().emptyCache();
	ok(snapshot_of(graph).segments.size() == 1, "what a capture used stays until the release");
	cudaStream_t other = new_stream();
	it().beginAllocateToPool(0, {2, 0}, [other](cudaStream_t stream) { return stream == other; });
	ok(cudaStreamBeginCapture(other, cudaStreamCaptureModeGlobal) == cudaSuccess, "another capture begins");
	it().releasePool(0, graph);
	cudaGraph_t second = nullptr;
	ok(cudaStreamEndCapture(other, &second) == cudaSuccess && second != nullptr,
		"a release waits for nothing meanwhile");
	it().endAllocateToPool(0, {2, 0});
	ok(snapshot_of(graph).segments.empty(), "and is done behind it");
	it().releasePool(0, {2, 0});
	ok(cudaGraphDestroy(recorded) == cudaSuccess && cudaGraphDestroy(second) == cudaSuccess,
		"the graphs are destroyed");
}

/* Set by the thread that is about to wait for the device; and if another thread was answered meanwhile. */
std::atomic<bool> waits, answered;

/* Runs on the device's behalf, which is not done before. */
void ask_meanwhile(void * /* unused */)
{
	while (!waits)
		std::this_thread::yield();
	std::this_thread::sleep_for(std::chrono::milliseconds(50)); /* by then it waits */
	std::packaged_task<double()> ask([] { return it().getMemoryFraction(0); });
	std::future<double> answer = ask.get_future();
	std::thread(std::move(ask)).detach();
	answered = answer.wait_for(std::chrono::seconds(10)) == std::future_status::ready;
}

template <typename Call> void check_answered(const char *what, Call call)
{
	waits = answered = false;
	ok(cudaLaunchHostFunc(routed, ask_meanwhile, nullptr) == cudaSuccess,
		"work that another thread's question is part of");
	waits = true;
	call();
	ok(answered, "who waits for the device in %s keeps nobody else waiting", what);
}

void check_waiting()
{
	it().beginAllocateToPool(0, graph, is_routed);
	void *inside = it().raw_alloc_with_stream(2 * MIB, routed);
	auto state = it().getCheckpointState(0, graph);
	work_on(inside, 2 * MIB, routed);
	it().raw_delete(inside);
	it().endAllocateToPool(0, graph);
	check_answered(
		"going back to a checkpoint", [&] { it().setCheckpointPoolState(0, state).dataptrs_allocd.clear(); });
	check_answered("the last release of a pool", [] { it().releasePool(0, graph); });
	ok(snapshot_of(graph).segments.empty(), "whose memory is everybody's then");
}

/* Two results of a graph are put back after others have used their memory. */
void check_checkpoints()
{
	it().beginAllocateToPool(0, graph, is_routed);
	ok(cudaStreamBeginCapture(routed, cudaStreamCaptureModeGlobal) == cudaSuccess, "a capture begins");
	void *first = it().raw_alloc_with_stream(5 * MIB, routed), *second = it().raw_alloc_with_stream(700, routed);
	work_on(first, 5 * MIB, routed);
	cudaGraph_t recorded = nullptr;
	ok(cudaStreamEndCapture(routed, &recorded) == cudaSuccess, "and ends");
	const int64_t before = it().getDeviceStats(0).allocated_bytes[0].current;
	auto state = it().getCheckpointState(0, graph);
	it().raw_delete(first);
	it().raw_delete(second);
	void *later = it().raw_alloc_with_stream(5 * MIB, routed);
	auto empty = it().setCheckpointPoolState(0, state);
	ok(empty.ptrs_freed.size() == 1 && empty.ptrs_freed[0] == later, "what was live since is freed");
	ok(empty.dataptrs_allocd.size() == 2 && it().checkPoolLiveAllocations(0, graph, {first, second}),
		"what was live then is live again");
	ok(it().getDeviceStats(0).allocated_bytes[0].current == before, "and counted");
	void *elsewhere = it().raw_alloc_with_stream(5 * MIB, routed);
	ok(elsewhere != first, "nobody else gets its memory");
	for (c10::DataPtr &data : empty.dataptrs_allocd)
		ok(data.get_deleter() == it().raw_deleter() && (data.get() == first || data.get() == second),
			"who is given a block frees it");
	empty.dataptrs_allocd.clear();
	ok(it().checkPoolLiveAllocations(0, graph, {elsewhere}), "as it would any other");
	auto again = it().setCheckpointPoolState(0, state);
	ok(again.ptrs_freed.size() == 1 && again.dataptrs_allocd.size() == 2,
		"a checkpoint can be returned to more than once");
	again.dataptrs_allocd.clear();
	ok(says(thrown_by([&] { it().setCheckpointPoolState(0, nullptr); }), "no checkpoint"), "it must be one");
	it().endAllocateToPool(0, graph);
	it().releasePool(0, graph);
	ok(says(thrown_by([&] { it().setCheckpointPoolState(0, state); }), "no memory pool"),
		"and its pool must be there");
	ok(cudaGraphDestroy(recorded) == cudaSuccess, "the graph is destroyed");
}

/* A block that another stream uses goes, comes back with the checkpoint, and goes so again. */
void check_checkpoint_of_used()
{
	c10::cuda::CUDAStream other = c10::cuda::getStreamFromExternal(new_stream(), 0);
	it().beginAllocateToPool(0, graph, is_routed);
	c10::DataPtr block(
		it().raw_alloc_with_stream(5 * MIB, routed), nullptr, it().raw_deleter(), c10::Device(c10::kCUDA, 0));
	auto state = it().getCheckpointState(0, graph);
	for (int i = 0; i < 2; i++) {
		it().recordStream(block, other);
		work_on(block.get(), 5 * MIB, other.stream());
		it().raw_delete(block.get());
		auto delta = it().setCheckpointPoolState(0, state);
		ok(delta.ptrs_freed.empty() && delta.dataptrs_allocd.size() == 1 &&
				delta.dataptrs_allocd[0].release_context() == block.get(),
			"what waits for another stream can live again");
	}
	it().raw_delete(block.get());
	it().endAllocateToPool(0, graph);
	it().releasePool(0, graph);
	const auto after = it().getDeviceStats(0);
	ok(after.active_bytes[0].current == after.allocated_bytes[0].current &&
			after.active[0].current == after.allocation[0].current,
		"and is counted once");
}

void check_help()
{
	size_t rest = 0, total = 0;
	it().emptyCache();
	it().createOrIncrefPool(0, user);
	it().beginAllocateToPool(0, user, is_routed);
	ok(cudaMemGetInfo(&rest, &total) == cudaSuccess, "the device says what is free");
	const size_t most = rest / (32 * MIB) * (32 * MIB) - 64 * MIB;
	void *hoard = it().raw_alloc_with_stream(most, routed);
	ok(cudaStreamBeginCapture(routed, cudaStreamCaptureModeGlobal) == cudaSuccess, "a capture");
	void *captured = it().raw_alloc_with_stream(MIB, routed);
	cudaGraph_t recorded = nullptr;
	ok(cudaStreamEndCapture(routed, &recorded) == cudaSuccess && cudaGraphDestroy(recorded) == cudaSuccess, "ends");
	it().endAllocateToPool(0, user);
	ok(says(thrown_by<c10::OutOfMemoryError>([&] { it().raw_alloc(most); }), "out of memory"),
		"what a pool holds is missing elsewhere");
	it().raw_delete(captured);
	it().raw_delete(hoard);
	use_on_oom(user);
	void *helped = it().raw_alloc_with_stream(most, routed);
	ok(helped != nullptr, "it is free now, or the pool helps");
	it().raw_delete(helped);
	it().releasePool(0, user);
	it().releasePool(0, user);
	it().emptyCache();
}

/* How many physical chunks a block lies in. */
size_t chunks_of(void *ptr)
{
	size_t count = 0;
	ok(seam_block_chunks(seam_torch_pool(0), ptr, nullptr, 0, &count) == SEAM_OK, "a block's chunks are known");
	return count;
}

void check_contiguous()
{
	const size_t bytes = 300 * MIB;
	void *plain = it().raw_alloc(bytes);
	void *whole = nullptr;
	{
		seam::ContiguousGuard guard;
		whole = it().raw_alloc(bytes);
	}
	void *later = it().raw_alloc(bytes);
	ok(chunks_of(plain) > 1 && chunks_of(later) > 1, "large blocks have several chunks");
	ok(chunks_of(whole) == 1, "one that is to be contiguous has one");
	for (void *ptr : {plain, whole, later})
		it().raw_delete(ptr);
#if SEAM_TORCH_HAS_NO_SPLIT
	it().createOrIncrefPool(0, user);
	it().setNoSplit(0, user);
	it().beginAllocateToPool(0, user, is_routed);
	void *alone = it().raw_alloc_with_stream(bytes, routed);
	ok(chunks_of(alone) == 1, "so has a block of a pool that does not split");
	it().raw_delete(alone);
	it().endAllocateToPool(0, user);
	it().releasePool(0, user);
	it().releasePool(0, user);
#endif
	it().emptyCache();
}

} /* namespace */

void part_private()
{
	tap_part = "private";
	check_routes();
	check_nesting();
	check_captures();
	check_waiting();
	check_checkpoints();
	check_checkpoint_of_used();
	check_help();
	check_contiguous();
}

void part_refusals()
{
	tap_part = "refusals";
	c10::DataPtr block = it().allocate(MIB);
	ok(says(thrown_by([] { it().getCheckpointState(0, unknown); }), "no memory pool"),
		"a pool that is not there has no checkpoint");
	ok(says(thrown_by([&] { it().shareIpcHandle(block.get()); }), "export_as:fd"),
		"memory is not shared unless the option says so");
	ok(says(thrown_by([] { it().getIpcDevPtr("x"); }), "no handle of Seam's"), "foreign handles are not opened");
	ok(says(thrown_by([] { use_on_oom(unknown); }), "no memory pool"), "a pool that is not there has no settings");
}

namespace
{

size_t open_descriptors()
{
	size_t count = 0;
	for (const auto &entry : std::filesystem::directory_iterator("/proc/self/fd"))
		count += !entry.path().empty();
	return count;
}

/* What is written at `here` is read at `there`. */
bool is_same_memory(void *here, void *there, const char *text)
{
	char got[100] = "";
	return cudaMemcpy(here, text, strlen(text) + 1, cudaMemcpyHostToDevice) == cudaSuccess &&
		cudaMemcpy(got, there, strlen(text) + 1, cudaMemcpyDeviceToHost) == cudaSuccess &&
		strcmp(got, text) == 0;
}

/* More blocks than a process may have descriptors. */
void check_many_shared()
{
	struct rlimit limit = {}, usual = {};
	ok(getrlimit(RLIMIT_NOFILE, &usual) == 0, "the limit of descriptors is known");
	limit = usual;
	limit.rlim_cur = 64;
	ok(setrlimit(RLIMIT_NOFILE, &limit) == 0, "and can be set");
	const size_t before = open_descriptors();
	std::vector<c10::DataPtr> blocks;
	std::set<std::string> handles;
	std::vector<std::shared_ptr<void>> opened;
	bool same = true;
	const std::string error = thrown_by([&] {
		for (size_t i = 0; i < 1200; i++) {
			blocks.push_back(it().allocate(1000 + i));
			const auto handle = it().shareIpcHandle(blocks.back().get());
			handles.insert(handle.handle);
			opened.push_back(it().getIpcDevPtr(handle.handle));
			same = same &&
				(i % 100 != 0 ||
					is_same_memory(blocks.back().get(),
						static_cast<char *>(opened.back().get()) + handle.offset, "small"));
		}
	});
	ok(error.empty() && same, "1200 small blocks are shared: %s", error.c_str());
	/* The emulated device keeps another end of each that it gave. */
	const size_t during = open_descriptors();
	ok(handles.size() < 10 && during <= before + 2 * handles.size(),
		"by the descriptors of their chunks: %zu handles, %zu descriptors", handles.size(), during - before);
	opened.clear();
	for (size_t i = 0; i + 1 < blocks.size(); i++)
		blocks[i].clear();
	ok(open_descriptors() == during - (handles.size() - 1), "of which one is left with the last block");
	blocks.clear();
	ok(open_descriptors() == during - handles.size(), "and none without it");
	ok(setrlimit(RLIMIT_NOFILE, &usual) == 0, "the limit is as before");
}

/* The descriptor's number comes again while somebody still has the mapping of the block before. */
void check_number_again()
{
	c10::DataPtr first = it().allocate(90 * MIB), second = it().allocate(90 * MIB);
	const auto gone = it().shareIpcHandle(first.get());
	const std::shared_ptr<void> kept = it().getIpcDevPtr(gone.handle);
	first.clear();
	const auto handle = it().shareIpcHandle(second.get());
	ok(handle.handle != gone.handle, "no two blocks ever have the same handle");
	const std::shared_ptr<void> opened = it().getIpcDevPtr(handle.handle);
	ok(opened != kept && is_same_memory(second.get(), static_cast<char *>(opened.get()) + handle.offset, "second"),
		"nor the same mapping");
	ok(it().getIpcDevPtr(gone.handle) == kept, "what was opened before is open");
}

/* Handles that nobody uses any more leave nothing behind. */
void check_closed_handles()
{
	size_t used = 0;
	for (int i = 0; i < 1100; i++) {
		if (i == 100)
			used = mallinfo2().uordblks;
		c10::DataPtr block = it().allocate(3 * MIB);
		(void)it().getIpcDevPtr(it().shareIpcHandle(block.get()).handle);
	}
	const size_t grown = mallinfo2().uordblks - std::min(used, mallinfo2().uordblks);
	ok(grown < 50 * 1000, "a thousand handles, opened and closed, leave %zu bytes", grown);
}

} /* namespace */

/* The process opens its own handle, as another one would. */
void part_shared()
{
	tap_part = "shared";
	char sent[] = "through another mapping", got[sizeof sent] = "";
	c10::DataPtr block = it().allocate(90 * MIB);
	char *inside = static_cast<char *>(block.get()) + 70 * MIB;
	const auto handle = it().shareIpcHandle(inside);
	ok(it().shareIpcHandle(block.get()).handle == handle.handle, "a block has one handle");
	{
		std::shared_ptr<void> opened = it().getIpcDevPtr(handle.handle);
		ok(opened != nullptr && it().getIpcDevPtr(handle.handle) == opened, "it is opened once");
		char *there = static_cast<char *>(opened.get()) + handle.offset;
		ok(there != inside, "at another address");
		ok(cudaMemcpy(inside, sent, sizeof sent, cudaMemcpyHostToDevice) == cudaSuccess &&
				cudaMemcpy(got, there, sizeof sent, cudaMemcpyDeviceToHost) == cudaSuccess &&
				strcmp(got, sent) == 0,
			"both are the same memory");
	}
	void *again = it().getIpcDevPtr(handle.handle).get();
	ok(again != nullptr, "it can be opened again");
	block.clear();
	ok(says(thrown_by([&] { it().getIpcDevPtr(handle.handle); }), "cannot be opened"),
		"not when the block is gone");
	it().beginAllocateToPool(0, graph, [](cudaStream_t) { return true; });
	auto empty = it().getCheckpointState(0, graph);
	const auto pooled = it().shareIpcHandle(it().raw_alloc(90 * MIB));
	it().setCheckpointPoolState(0, empty);
	ok(says(thrown_by([&] { it().getIpcDevPtr(pooled.handle); }), "cannot be opened"),
		"nor when its pool has gone back to before it");
	it().endAllocateToPool(0, graph);
	it().releasePool(0, graph);
	std::string damaged = handle.handle.substr(0, handle.handle.size() - 1);
	ok(says(thrown_by([&] { it().getIpcDevPtr(damaged); }), "no handle of Seam's"), "nor if the handle is damaged");
	check_many_shared();
	check_number_again();
	check_closed_handles();
	ok(fakecuda_violations() == 0, "the device has seen nothing wrong: %s", fakecuda_violation_text());
}
