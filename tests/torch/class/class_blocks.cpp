/* class_blocks.cpp: the table of live blocks, and what is counted of them, by themselves. */
#include "class_test.h"

#include <map>

#include "torch_blocks.h"
#include "torch_counts.h"

namespace {

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
		same = (found != nullptr) == (known != model.end()) && (found == nullptr || found->requested_bytes == known->second);
		if (known == model.end()) {
			const size_t bytes = step(&state);
			seam::TorchBlock block{bytes, nullptr, nullptr};
			if (bytes % 8 == 0)
				block.record();
			table.insert(ptr, std::move(block));
			model[ptr] = bytes;
		} else if (step(&state) % 4 != 0) {
			same = same && table.take(ptr, &out) && out.requested_bytes == known->second && out.recorded() == (known->second % 8 == 0);
			same = same && !table.take(ptr, &out);
			model.erase(known);
		}
	}
	size_t seen = 0;
	table.each([&](void *ptr, const seam::TorchBlock &block) {
		same = same && model.count(ptr) == 1 && model[ptr] == block.requested_bytes;
		seen++;
	});
	ok(same && seen == model.size() && seen > spread / 8, "%zu blocks %llu KiB apart are what a map says", seen, static_cast<unsigned long long>(apart / 2));
}

void check_counts()
{
	seam::TorchKind kind;
	kind.add(1024, 1000);
	kind.add(2048, 2000);
	kind.take(1024, 1000);
	ok(kind.blocks.now == 1 && kind.bytes.peak == 3072 && kind.bytes.stat().allocated == 3072 && kind.bytes.stat().freed == 1024, "what was freed follows");
	ok(kind.active().peak == 2 && kind.active_bytes().current == 2048 && kind.active_bytes().freed == 1024, "while nothing leaves all that is live is active");
	kind.take(2048, 2000);
	kind.leave(1, 2048);
	kind.add(512, 1);
	kind.look_at_active();
	ok(kind.bytes.now == 512 && kind.active_bytes().current == 2560 && kind.active_bytes().freed == 1024, "what leaves is active");
	kind.add(2048, 1);
	kind.look_at_active();
	ok(kind.bytes.peak == 3072 && kind.active_bytes().peak == 4608 && kind.active().peak == 3, "and makes peaks");
	kind.reset_accumulated();
	kind.reset_peaks();
	ok(kind.active_bytes().peak == 4608 && kind.bytes.stat().allocated == 0 && kind.active().freed == 0 && kind.requested_bytes.stat().freed == 0, "sums begin anew");
	kind.leave(-1, -2048);
	ok(kind.active_bytes().freed == 2048 && kind.active().freed == 1 && kind.blocks.stat().freed == 0 && kind.active().current == 2, "what has left is freed");
}

} /* namespace */

void part_blocks()
{
	tap_part = "blocks";
	check_table(40, 1);
	check_table(3000, 1);
	check_table(3000, 4096);
	check_counts();
}
