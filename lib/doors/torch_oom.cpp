/* torch_oom.cpp: the one place in Seam that throws: PyTorch's own exceptions, made without PyTorch's headers.
 *
 * libc10.so, where PyTorch has loaded it, has the constructor and the type information of c10::Error and
 * c10::OutOfMemoryError: they are looked up in it by name at a failure, so that this library needs no PyTorch to be
 * built or loaded, and serves every version. Until 2.12 the constructor of OutOfMemoryError is inherited and not
 * exported, and its type is in libc10_cuda.so, which throws it: the object is then made as a c10::Error, of which it is
 * a subclass with no member of its own, and given the subclass's table of virtual functions. Where the type is nowhere,
 * out of memory is a c10::Error.
 *
 * What is taken for granted: the Itanium C++ ABI; libstdc++'s std::string; c10::SourceLocation is two strings and a
 * 32-bit number; std::exception is the first base, so that the destructor can be called through it; an exception takes
 * at most OBJECT_BYTES.
 */
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <cxxabi.h>
#include <dlfcn.h>
#include <exception>
#include <string>
#include <typeinfo>

#include <seam/torch.h>

namespace
{

constexpr std::size_t OBJECT_BYTES = 1024; /* c10::Error of PyTorch 2.9 to 2.15 takes less than 300 */
constexpr std::size_t TABLE_HEAD_BYTES =
	16; /* of a table of virtual functions: offset to the top and type information */

struct Location {
	const char *function;
	const char *file;
	std::uint32_t line;
};

/* A constructor is a function whose first argument is the object. */
using Constructor = void (*)(void *object, Location location, std::string text);

/* The names of c10::NAME's constructor from a location and a string, its type information and its table of virtual
 * functions. */
struct Names {
	const char *constructor;
	const char *type;
	const char *table;
};

constexpr Names OOM = {
	"_ZN3c1016OutOfMemoryErrorC1ENS_14SourceLocationENSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE",
	"_ZTIN3c1016OutOfMemoryErrorE",
	"_ZTVN3c1016OutOfMemoryErrorE",
};

constexpr Names ERROR = {
	"_ZN3c105ErrorC1ENS_14SourceLocationENSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE",
	"_ZTIN3c105ErrorE",
	"_ZTVN3c105ErrorE",
};

void *loaded(const char *library)
{
	/* Not closed again: the exception's code must stay. */
	return dlopen(library, RTLD_NOLOAD | RTLD_LAZY);
}

/* In the first of the libraries that has it, or NULL. */
template <typename T> T find(const char *name)
{
	void *found = nullptr;
	for (const char *library : {"libc10.so", "libc10_cuda.so"}) {
		void *handle = found == nullptr ? loaded(library) : nullptr;
		if (handle != nullptr)
			found = dlsym(handle, name);
	}
	T pointer = nullptr;
	static_assert(sizeof pointer == sizeof found, "functions and data have addresses of one size");
	std::memcpy(&pointer, &found, sizeof pointer);
	return pointer;
}

void destroy(void *object)
{
	static_cast<std::exception *>(object)->~exception();
}

void throw_named(const Names &names, const char *text)
{
	auto *type = find<std::type_info *>(names.type);
	auto construct = find<Constructor>(names.constructor);
	char *table = nullptr;
	if (construct == nullptr) {
		construct = find<Constructor>(ERROR.constructor);
		table = find<char *>(names.table);
	}
	if (type == nullptr || construct == nullptr)
		return;
	void *object = abi::__cxa_allocate_exception(OBJECT_BYTES);
	construct(object, Location{"seam_torch_alloc", "seam", 0}, std::string(text));
	if (table != nullptr) {
		table += TABLE_HEAD_BYTES;
		std::memcpy(object, &table, sizeof table);
	}
	abi::__cxa_throw(object, type, destroy);
}

} /* namespace */

void seam_torch_throw_oom(const char *text)
{
	throw_named(OOM, text != nullptr ? text : "");
	throw_named(ERROR, text != nullptr ? text : "");
}

void seam_torch_throw_error(const char *text)
{
	throw_named(ERROR, text != nullptr ? text : "");
}
