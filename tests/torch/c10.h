/* c10.h: a stand-in for what libc10.so has of exceptions: the same names, so that what throws PyTorch's finds these. */
#ifndef SEAM_TESTS_C10_H
#define SEAM_TESTS_C10_H

#include <cstdint>
#include <exception>
#include <string>
#include <vector>

#define C10_API __attribute__((visibility("default")))

namespace c10
{

struct SourceLocation {
	const char *function;
	const char *file;
	std::uint32_t line;
};

class C10_API Error : public std::exception
{
	std::string text;
	std::vector<std::string> context;

public:
	Error(SourceLocation location, std::string said);
	const char *what() const noexcept override;
	~Error() override;
};

/* Since 2.13 with a constructor of its own; before it inherits that of Error: none is exported, and libc10.so does not
 * have the type. */
class C10_API OutOfMemoryError : public Error
{
	using Error::Error;

public:
#ifdef C10_NEW
	OutOfMemoryError(SourceLocation location, std::string said);
#endif
};

extern C10_API int errors_alive;

C10_API void run_out(); /* of libc10_cuda.so: throws an OutOfMemoryError */

} /* namespace c10 */

#endif
