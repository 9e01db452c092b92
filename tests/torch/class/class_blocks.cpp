/* class_blocks.cpp: the table of live blocks, and what is counted of them, by themselves. */
#include "class_test.h"

#include <map>

#include "torch_blocks.h"
#include "torch_counts.h"
#include "torch_leaving.h"

namespace
{

/* Addresses as an allocator gives them: near each other, often again. */
void *address_of(uint64_t number)
{
	return reinterpret_cast<void *>((UINT64_C(0x7f0000000000) + number * 512) & ~UINT64_C(511));
}

uint64_t step(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return *state >> 33;
}

/* The same operations on the table and on a map. */
void check_table(uint64_t spread, uint64_t apart)
{
	seam::TorchBlocks table;
	std::map<void *, size_t> model;
	uint64_t state = 1;
	bool same = table.find(address_of(1)) == nullptr;
	for (int i = 0; i < 40000 && same; i++) {
		void *ptr = address_of(step(&state) % spread * apart);
		seam::TorchBlock out;
		const auto known = model.find(ptr);
		const seam::TorchBlock *found = table.find(ptr);
		same = (found != nullptr) == (known != model.end()) &&
			(found == nullptr || found->requested_bytes == known->second) && table.find(nullptr) == nullptr;
		if (known == model.end()) {
			const size_t bytes = step(&state);
			seam::TorchBlock block{bytes, nullptr, nullptr};
			if (bytes % 8 == 0)
				block.record();
			table.insert(ptr, std::move(block));
			model[ptr] = bytes;
		} else if (step(&state) % 4 != 0) {
			same = same && table.take(ptr, &out) && out.requested_bytes == known->second &&
				out.recorded() == (known->second % 8 == 0);
			same = same && !table.take(ptr, &out);
			model.erase(known);
		}
	}
	size_t seen = 0;
	table.each([&](void *ptr, const seam::TorchBlock &block) {
		same = same && model.count(ptr) == 1 && model[ptr] == block.requested_bytes;
		seen++;
	});
	ok(same && seen == model.size() && seen > spread / 8, "%zu blocks %llu KiB apart are what a map says", seen,
		static_cast<unsigned long long>(apart / 2));
}

void check_counts()
{
	seam::TorchKind kind;
	kind.add(1024, 1000);
	kind.add(2048, 2000);
	kind.take(1024, 1000);
	ok(kind.blocks.now == 1 && kind.bytes.peak == 3072 && kind.bytes.stat().allocated == 3072 &&
			kind.bytes.stat().freed == 1024,
		"what was freed follows");
	ok(kind.active().peak == 2 && kind.active_bytes().current == 2048 && kind.active_bytes().freed == 1024,
		"while nothing leaves all that is live is active");
	kind.take(2048, 2000);
	kind.leave(1, 2048);
	kind.add(512, 1);
	kind.look_at_active();
	ok(kind.bytes.now == 512 && kind.active_bytes().current == 2560 && kind.active_bytes().freed == 1024,
		"what leaves is active");
	kind.add(2048, 1);
	kind.look_at_active();
	ok(kind.bytes.peak == 3072 && kind.active_bytes().peak == 4608 && kind.active().peak == 3, "and makes peaks");
	kind.reset_accumulated();
	kind.reset_peaks();
	ok(kind.active_bytes().peak == 4608 && kind.bytes.stat().allocated == 0 && kind.active().freed == 0 &&
			kind.requested_bytes.stat().freed == 0,
		"sums begin anew");
	kind.leave(-1, -2048);
	ok(kind.active_bytes().freed == 2048 && kind.active().freed == 1 && kind.blocks.stat().freed == 0 &&
			kind.active().current == 2,
		"what has left is freed");
}

/* An iterator that counts how often one of its kind moves or is looked at. */
template <typename Inner> struct Counting {
	Inner inner;
	size_t *steps;

	Counting &operator++()
	{
		return ++*steps, ++inner, *this;
	}
	Counting operator++(int)
	{
		const Counting before = *this;
		++*this;
		return before;
	}
	auto operator->() const
	{
		return ++*steps, inner;
	}
	bool operator!=(const Counting &other) const
	{
		return inner != other.inner;
	}
	bool operator==(const Counting &other) const
	{
		return inner == other.inner;
	}
};

/* 4000 blocks are leaving, and the core holds back every other one, in pieces and whole: as many steps as there are
 * entries. */
void check_steps()
{
	std::vector<uint64_t> blocks;
	std::vector<seam::TorchRange> held;
	for (uint64_t i = 0; i < 4000; i++) {
		blocks.push_back(i * 1024);
		if (i % 2 == 0)
			held.push_back({i * 1024, i * 1024 + 512});
	}
	size_t steps = 0, passed = 0;
	using Blocks = Counting<std::vector<uint64_t>::iterator>;
	using Held = Counting<std::vector<seam::TorchRange>::iterator>;
	seam::each_passed(
		Blocks{blocks.begin(), &steps}, Blocks{blocks.end(), &steps}, Held{held.begin(), &steps},
		Held{held.end(), &steps}, [](const Blocks &at) { return *at.inner; },
		[&](const Blocks &at) { passed += *at.inner % 2048 == 1024; });
	ok(passed == 2000, "what nobody holds back has passed: %zu", passed);
	ok(steps <= 4 * (blocks.size() + held.size()), "a look takes %zu steps for %zu and %zu entries", steps,
		blocks.size(), held.size());
}

void check_leaving()
{
	seam::TorchLeaving leaving;
	ok(leaving.empty() && !leaving.may_have_passed(1, 0), "where nothing leaves nothing passes");
	leaving.add(address_of(2), {1000, nullptr, nullptr});
	leaving.add(address_of(8), {512, nullptr, nullptr});
	std::vector<seam::TorchRange> none;
	ok(leaving.may_have_passed(1, 512) && leaving.take_passed(none).empty(),
		"what the core does not have yet has not passed");
	leaving.give(address_of(2));
	leaving.give(address_of(8));
	leaving.begin_look(3, 1536);
	const auto first = reinterpret_cast<uint64_t>(address_of(0));
	std::vector<seam::TorchRange> held = {{first + 4096, first + 8192}, {first, first + 2048}};
	ok(leaving.take_passed(held).empty(), "what lies in what is held back has not passed, in whatever order");
	ok(!leaving.may_have_passed(3, 1536), "a second look would find the same");
	ok(leaving.may_have_passed(4, 1536) && leaving.may_have_passed(3, 512),
		"not after a free, nor when less is held back");
	held.erase(held.begin()); /* in order by then */
	std::vector<seam::TorchGone> gone = leaving.take_passed(held);
	ok(gone.size() == 1 && gone[0].ptr == address_of(2) && gone[0].block.requested_bytes == 1000,
		"what is not held back any more has passed");
	leaving.add(address_of(2), {1000, nullptr, nullptr});
	leaving.give(address_of(2));
	ok(leaving.may_have_passed(3, 1536), "nor after something was given back");
	gone = leaving.take_in({first + 1536, first + 4608});
	ok(gone.size() == 2 && leaving.empty(), "memory that is given again has left, from within the block before");
}

} /* namespace */

void part_blocks()
{
	tap_part = "blocks";
	check_table(40, 1);
	check_table(3000, 1);
	check_table(3000, 4096);
	check_counts();
	check_steps();
	check_leaving();
}
