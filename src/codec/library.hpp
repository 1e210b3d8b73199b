// codec/library: the functions of a shared library, loaded when they are first asked for.
#pragma once

#include <string>

namespace sheaf::codec {

// A library that stays loaded: streams may be in use until the process ends.
class Library {
 public:
  explicit Library(const char* name);

  // A function of whatever type it is assigned to.
  struct Symbol {
    void* address;
    template <class Function>
    operator Function*() const {
      return reinterpret_cast<Function*>(address);
    }
  };
  Symbol operator[](const char* symbol);

  // Why it, or one of its functions, is not there; empty: all are.
  const std::string& problem() const { return problem_; }

 private:
  void note(const char* text);

  void* handle_;
  std::string problem_;
};

// The functions that find(library) gives; null, and why in *problem (if given), if they are not all there.
// Any thread. Never freed: see Library.
template <class Functions, class Find>
const Functions* load(const char* name, std::string* problem, Find find) {
  static Library& library = *new Library(name);
  static const Functions functions = find(library);
  if (problem && !library.problem().empty()) *problem = library.problem();
  return library.problem().empty() ? &functions : nullptr;
}

}  // namespace sheaf::codec
