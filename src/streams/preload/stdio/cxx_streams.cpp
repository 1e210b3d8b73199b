#include "streams/preload/stdio/cxx_streams.hpp"

#include <dlfcn.h>

#include <iosfwd>
#include <istream>
#include <streambuf>

namespace sheaf::preload {

namespace {

// The standard streams of C++, with their symbols. They belong to the libstdc++ of the program, not to the
// copy that is linked into this library. This file relies only on the object layout, which is part of the
// binary interface of libstdc++.
struct StandardStream {
  int fd;
  bool wide;
  const char* name;
};
constexpr StandardStream standard_streams[] = {
    {0, false, "_ZSt3cin"}, {1, false, "_ZSt4cout"}, {2, false, "_ZSt4cerr"}, {2, false, "_ZSt4clog"},
    {0, true, "_ZSt4wcin"}, {1, true, "_ZSt5wcout"}, {2, true, "_ZSt5wcerr"}, {2, true, "_ZSt5wclog"},
};

constexpr char narrow_buffer[] = "_ZTVN9__gnu_cxx18stdio_sync_filebufIcSt11char_traitsIcEEE";
constexpr char wide_buffer[] = "_ZTVN9__gnu_cxx18stdio_sync_filebufIwSt11char_traitsIwEEE";

void* table_of(void* object) { return *static_cast<void**>(object); }

// Returns the buffer of a C++ stream: an istream if `reads` is set, else an ostream.
template <class Character>
void* buffer_of(void* stream, bool reads) {
  if (reads) return static_cast<std::basic_istream<Character>*>(stream)->rdbuf();
  return static_cast<std::basic_ostream<Character>*>(stream)->rdbuf();
}

}  // namespace

void show_cxx_streams(int fd, FILE* old, FILE* made) noexcept {
  for (const StandardStream& one : standard_streams) {
    if (one.fd != fd) continue;
    void* const stream = dlsym(RTLD_DEFAULT, one.name);
    auto* const table = static_cast<char*>(dlsym(RTLD_DEFAULT, one.wide ? wide_buffer : narrow_buffer));
    if (!stream || !table || !table_of(stream)) continue;
    void* const buffer = one.wide ? buffer_of<wchar_t>(stream, fd == 0) : buffer_of<char>(stream, fd == 0);
    if (!buffer || table_of(buffer) != table + 2 * sizeof(void*)) continue;
    static_assert(sizeof(std::streambuf) == sizeof(std::wstreambuf));
    auto* const file = reinterpret_cast<FILE**>(static_cast<char*>(buffer) + sizeof(std::streambuf));
    if (*file == old) *file = made;
  }
}

}  // namespace sheaf::preload
