/* torch_graph_pools.cpp: private pools of one device and the filters that lead to them. */
#include "torch_graph_pools.h"

#include <utility>

namespace seam
{

namespace
{

/* Beside numbers that a program may have given out itself by seam_private_begin(). */
constexpr uint64_t first_number = UINT64_C(0x746f726368) << 24;

/* No request comes from this stream: which requests go to a pool is for its filter to say. */
constexpr uint64_t no_stream = UINT64_MAX;

void must(enum seam_rc rc, const char *what)
{
	TORCH_CHECK(rc == SEAM_OK, "Seam: ", what, ": ", seam_rc_text(rc));
}

} /* namespace */

std::shared_ptr<TorchPrivate> TorchPrivates::find(c10::MempoolId_t id) const
{
	auto at = pools_.find(id);
	return at != pools_.end() ? at->second : nullptr;
}

std::shared_ptr<TorchPrivate> TorchPrivates::known(c10::MempoolId_t id) const
{
	std::shared_ptr<TorchPrivate> found = find(id);
	TORCH_CHECK(found != nullptr, "there is no memory pool (", id.first, ", ", id.second, ")");
	return found;
}

/* With one use and one reference more, and open in the core. */
std::shared_ptr<TorchPrivate> TorchPrivates::find_or_make(struct seam_pool *pool, c10::MempoolId_t id)
{
	std::shared_ptr<TorchPrivate> found = find(id);
	if (found == nullptr) {
		found = std::make_shared<TorchPrivate>();
		found->id = id;
		found->number = first_number + ++made_;
	}
	must(seam_private_begin(pool, found->number, SEAM_ROUTE_STREAM, no_stream), "a private pool cannot be opened");
	found->uses++;
	pools_[id] = found;
	names_[found->number] = id;
	return found;
}

void TorchPrivates::hold(struct seam_pool *pool, c10::MempoolId_t id)
{
	std::shared_ptr<TorchPrivate> held = find_or_make(pool, id);
	must(seam_private_end(pool, held->number), "a private pool cannot be closed");
}

void TorchPrivates::open(struct seam_pool *pool, c10::MempoolId_t id, std::function<bool(cudaStream_t)> filter)
{
	for (const Route &route : routes_)
		TORCH_CHECK(route.to->id != id, "memory pool (", id.first, ", ", id.second,
			") is already being allocated to");
	routes_.push_back({find_or_make(pool, id), std::move(filter)});
}

void TorchPrivates::close(struct seam_pool *pool, c10::MempoolId_t id)
{
	for (size_t i = routes_.size(); i-- > 0;) {
		if (routes_[i].to->id != id)
			continue;
		const uint64_t number = routes_[i].to->number;
		routes_.erase(routes_.begin() + static_cast<std::ptrdiff_t>(i));
		must(seam_private_end(pool, number), "a private pool cannot be closed");
		return;
	}
	TORCH_CHECK(false, "memory pool (", id.first, ", ", id.second, ") is not being allocated to");
}

uint64_t TorchPrivates::release(c10::MempoolId_t id)
{
	std::shared_ptr<TorchPrivate> released = find(id);
	TORCH_CHECK(released != nullptr, "there is no memory pool (", id.first, ", ", id.second, ") to release");
	if (--released->uses > 0)
		return released->number;
	pools_.erase(id);
	if (released->served) {
		leaving_.push_back(released->number);
		return 0;
	}
	/* Nothing was captured into it: nothing to wait for. */
	names_.erase(released->number);
	return released->number;
}

std::vector<uint64_t> TorchPrivates::take_leaving()
{
	return has_routes() ? std::vector<uint64_t>() : std::exchange(leaving_, {});
}

void TorchPrivates::settle(const std::vector<uint64_t> &numbers, bool dropped)
{
	for (uint64_t number : numbers) {
		if (dropped)
			names_.erase(number);
		else
			leaving_.push_back(number);
	}
}

std::shared_ptr<TorchPrivate> TorchPrivates::route(cudaStream_t stream) const
{
	for (size_t i = routes_.size(); i-- > 0;) {
		if (routes_[i].filter == nullptr || routes_[i].filter(stream))
			return routes_[i].to;
	}
	return nullptr;
}

std::vector<std::shared_ptr<TorchPrivate>> TorchPrivates::helpers() const
{
	std::vector<std::shared_ptr<TorchPrivate>> result;
	for (const auto &[id, pool] : pools_) {
		if (pool->use_on_oom)
			result.push_back(pool);
	}
	return result;
}

c10::MempoolId_t TorchPrivates::name_of(uint64_t number) const
{
	auto at = names_.find(number);
	return at != names_.end() ? at->second : c10::MempoolId_t{0, 0};
}

} /* namespace seam */
