#include "format/codec/library.hpp"

#include <dlfcn.h>

namespace sheaf::codec {

Library::Library(const char* name) : handle_(dlopen(name, RTLD_NOW | RTLD_LOCAL)) {
  if (!handle_) note(dlerror());
}

Library::Symbol Library::operator[](const char* symbol) {
  void* const address = handle_ ? dlsym(handle_, symbol) : nullptr;
  if (handle_ && !address) note(dlerror());
  return {address};
}

void Library::note(const char* text) {
  if (problem_.empty()) problem_ = text ? text : "unknown failure";
}

}  // namespace sheaf::codec
