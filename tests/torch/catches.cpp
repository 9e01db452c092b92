/* catches.cpp: what seam_torch_alloc() throws, caught as PyTorch catches it. As TAP.
 *
 * Built against the stand-in (c10.h), and, where PyTorch is installed, against PyTorch's own header and library
 * (REAL_C10).
 */
#include <dlfcn.h>

#ifdef REAL_C10
#include <c10/util/Exception.h>
static int alive()
{
	return 0;
}
#else
#include "c10.h"
static int alive()
{
	return c10::errors_alive;
}
#endif

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>

#include <seam/torch.h>

#ifdef REAL_C10
static_assert(sizeof(c10::OutOfMemoryError) <= 1024, "torch_oom.cpp has room for it");
#endif

namespace
{

int count, failures;

void report(bool good, const char *what)
{
	failures += good ? 0 : 1;
	std::printf("%s %d - %s\n", good ? "ok" : "not ok", ++count, what);
}

enum Kind { NOTHING, OOM, ERROR, STRANGE };

#ifdef NO_OOM_TYPE
constexpr Kind SHORT = ERROR; /* the best there is */
#else
constexpr Kind SHORT = OOM;
#endif

/* The most derived type that `what` throws, and its text. */
Kind kind_of(const std::function<void()> &what, std::string &text)
{
	try {
		what();
		return NOTHING;
	} catch (const c10::OutOfMemoryError &error) {
		text = error.what();
		return OOM;
	} catch (const c10::Error &error) {
		text = error.what();
		return ERROR;
	} catch (...) {
		return STRANGE;
	}
}

bool has(const std::string &text, const char *what)
{
	return text.find(what) != std::string::npos;
}

} /* namespace */

int main()
{
	std::string text;
	const char *beside = std::getenv("REAL_C10_CUDA");
	if (beside != nullptr && dlopen(beside, RTLD_LAZY) == nullptr)
		std::printf("# %s\n", dlerror());
	setenv("SEAM_CONF", "backend:emu_book,emu_capacity_bytes:256M", 1);
	report(kind_of([] { seam_torch_free(seam_torch_alloc(1000, 0, nullptr), 1000, 0, nullptr); }, text) == NOTHING,
		"nothing is thrown");
#ifdef HAS_C10_CUDA
	report(kind_of(c10::run_out, text) == OOM, "native's own");
#endif
	report(kind_of([] { seam_torch_alloc(std::size_t(1) << 40, 0, nullptr); }, text) == SHORT, "out of memory");
	report(has(text, "CUDA out of memory. Tried to allocate 1024.00 GiB"), "its text");
	for (int i = 0; i < 1000; i++)
		kind_of([] { seam_torch_alloc(std::size_t(1) << 40, 0, nullptr); }, text);
	report(alive() == 0, "nothing is left of a thousand");
	report(kind_of([] { seam_torch_alloc(1000, -1, nullptr); }, text) == ERROR, "another failure");
	report(has(text, "no such ordinal"), "its text");
	report(kind_of([] { seam_torch_memory_fraction(2, 0); }, text) == ERROR, "a wrong fraction");
	report(kind_of([] { seam_torch_base_alloc(&count, nullptr); }, text) == ERROR, "no block");
	report(kind_of([] { seam_torch_record_stream(&count, nullptr); }, text) == ERROR, "no block to record");
	report(kind_of([] { seam_torch_segment_alloc(std::size_t(1) << 40, 0, nullptr); }, text) == NOTHING,
		"a segment is never thrown for");
	report(kind_of([] { seam_torch_throw_oom(nullptr); }, text) == SHORT, "no text");
	try {
		seam_torch_throw_oom("slice");
	} catch (const std::exception &error) {
		report((dynamic_cast<const c10::OutOfMemoryError *>(&error) != nullptr) == (SHORT == OOM) &&
				std::strstr(error.what(), "slice") != nullptr,
			"as any exception, its type known at run time");
	}
	std::printf("1..%d\n", count);
	return failures != 0;
}
