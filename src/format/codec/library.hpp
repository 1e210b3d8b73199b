// format/codec/library: finds the functions of a shared library, which is loaded on first use.
#pragma once

#include <string>

namespace sheaf::codec {

// A shared library that is never unloaded, because streams may use it until the process ends.
class Library {
 public:
  explicit Library(const char* name);

  // Converts to the function pointer type that it is assigned to.
  struct Symbol {
    void* address;
    template <class Function>
    operator Function*() const {
      return reinterpret_cast<Function*>(address);
    }
  };
  Symbol operator[](const char* symbol);

  // Returns why the library or one of its functions is unavailable, or an empty string if all are available.
  const std::string& problem() const { return problem_; }

 private:
  void note(const char* text);

  void* handle_;
  std::string problem_;
};

// Loads the library `name` on the first call and returns the functions that find(library) looks up. If one of
// them is unavailable, returns null and stores the reason in *problem unless `problem` is null. Any thread
// may call it. The result stays valid, because a Library is never unloaded.
template <class Functions, class Find>
const Functions* load(const char* name, std::string* problem, Find find) {
  static Library& library = *new Library(name);
  static const Functions functions = find(library);
  if (problem && !library.problem().empty()) *problem = library.problem();
  return library.problem().empty() ? &functions : nullptr;
}

}  // namespace sheaf::codec
