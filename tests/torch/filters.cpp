/* filters.cpp: see filters.h. */
#include "filters.h"

#include <functional>
#include <thread>
#include <utility>

namespace
{

using Stream = void *; /* cudaStream_t is a pointer */
using Filter = std::function<bool(Stream)>;
using Id = std::pair<std::uint64_t, std::uint64_t>;
using Begin = std::function<void(int, Id, Filter)>;
using End = std::function<void(int, Id)>;

int alive;

struct Counted {
	Counted()
	{
		alive++;
	}
	Counted(const Counted &)
	{
		alive++;
	}
	Counted(Counted &&) noexcept
	{
		alive++;
	}
	~Counted()
	{
		alive--;
	}
};

/* As PyTorch's Python module makes a function of an address. */
template <typename To, typename From> To as(From *function)
{
	return reinterpret_cast<To>(reinterpret_cast<std::uintptr_t>(function));
}

void begin(int device, Id id, Filter filter)
{
	Begin function = as<void (*)(int, Id, Filter)>(&seam_torch_begin_pool);
	function(device, id, std::move(filter));
}

} /* namespace */

void begin_for_stream(int device, std::uint64_t first, std::uint64_t second, void *stream)
{
	begin(device, {first, second}, [stream, counted = Counted()](Stream asked) { return asked == stream; });
}

void begin_for_thread(int device, std::uint64_t first, std::uint64_t second)
{
	auto mine = std::this_thread::get_id();
	begin(device, {first, second}, [mine](Stream) { return std::this_thread::get_id() == mine; });
}

void begin_for_nothing(int device, std::uint64_t first, std::uint64_t second)
{
	begin(device, {first, second}, Filter());
}

void begin_for_flag(int device, std::uint64_t first, std::uint64_t second, const bool *flag)
{
	struct Large {
		const bool *flag;
		char room[200];
		Counted counted;
		bool operator()(Stream) const
		{
			return *flag;
		}
	};
	begin(device, {first, second}, Large{flag, {}, {}});
}

void begin_that_throws(int device, std::uint64_t first, std::uint64_t second)
{
	begin(device, {first, second}, [](Stream) -> bool { throw 7; });
}

void end_through(int device, std::uint64_t first, std::uint64_t second)
{
	End function = as<void (*)(int, Id)>(&seam_torch_end_pool);
	function(device, {first, second});
}

void release_through(int device, std::uint64_t first, std::uint64_t second)
{
	End function = as<void (*)(int, Id)>(&seam_torch_release_pool);
	function(device, {first, second});
}

int thrown_by_alloc(int device, void *stream)
{
	try {
		seam_torch_alloc(1 << 20, device, stream);
	} catch (int number) {
		return number;
	}
	return 0;
}

int thrown_by_begin(int device, std::uint64_t first)
{
	struct Fragile {
		const bool *armed;
		explicit Fragile(const bool *flag) : armed(flag)
		{
		}
		Fragile(const Fragile &other) : armed(other.armed)
		{
			if (*armed)
				throw 9;
		}
		bool operator()(Stream) const
		{
			return true;
		}
	};
	bool armed = false;
	Filter filter = Fragile(&armed);
	armed = true;
	try {
		seam_torch_begin_pool(device, {first, 0}, &filter);
	} catch (int number) {
		return number;
	}
	return 0;
}

int filters_alive(void)
{
	return alive;
}
