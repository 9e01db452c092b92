/* c10.cpp: see c10.h. Built twice: as PyTorch's library is since 2.13 (C10_NEW), and as it was before. */
#include "c10.h"

#include <utility>

namespace c10
{

int errors_alive;

Error::Error(SourceLocation location, std::string said) : text(std::move(said))
{
	context.push_back(std::string(location.file) + ":" + location.function);
	errors_alive++;
}

const char *Error::what() const noexcept
{
	return text.c_str();
}

Error::~Error()
{
	errors_alive--;
}

#ifdef C10_NEW
OutOfMemoryError::OutOfMemoryError(SourceLocation location, std::string said) : Error(location, std::move(said))
{
}
#endif

} /* namespace c10 */
