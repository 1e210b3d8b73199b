// api/fortran/fsion: how the C side of the Fortran interfaces is named and called.
//
// Every routine is one C function fsion_NAME_c_, which the modules bind to; the entry point of FORTRAN 77
// programs, fsion_NAME_, is a second name of it. Of the others, programs that use the modules are bound to
// sheaf_fortran_NAME; sheaf_private_fortran_NAME is called by procedures of the modules alone. Arguments come
// by reference, lengths of strings by value at the end, where compilers put them. The functions only
// translate: checks, messages and return values are those of the C interface.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>

#include "base/export.hpp"
#include "process/writable_memory.hpp"
#include "sion.h"

// Declares fsion_NAME_c_ as visible; its definition follows.
#define SHEAF_FORTRAN extern "C" SHEAF_EXPORT

// Gives a function defined above another name.
#define SHEAF_ALIAS(name, target) SHEAF_FORTRAN decltype(target) name __attribute__((alias(#target)))

// Defines the routine fsion_NAME_c_ with the name that FORTRAN 77 programs have for it.
#define SHEAF_ROUTINE(name, ...)                                               \
  SHEAF_FORTRAN void name##_(__VA_ARGS__) __attribute__((alias(#name "_c_"))); \
  SHEAF_FORTRAN void name##_c_(__VA_ARGS__)

// Gives a function with a data argument its names in FORTRAN 77, one for each type of the data.
#define SHEAF_F77_TYPES(name, target)     \
  SHEAF_ALIAS(name##_, target);           \
  SHEAF_ALIAS(name##_integer_, target);   \
  SHEAF_ALIAS(name##_character_, target); \
  SHEAF_ALIAS(name##_real_, target);      \
  SHEAF_ALIAS(name##_double_, target);    \
  SHEAF_ALIAS(name##_complex_, target);   \
  SHEAF_ALIAS(name##_logical_, target)
#define SHEAF_F77_TYPED(name) SHEAF_F77_TYPES(name, name##_c_)

namespace sheaf::fortran {

// An array argument of the modules, of any shape, or its first element. The address is the first member of
// every descriptor (Fortran 2018, 18.5.3); type and shape are not used.
struct Descriptor {
  void* address;
  template <class T>
  T* as() const {
    return static_cast<T*>(address);
  }
};

// The text of a Fortran string: without the blanks at its end.
inline std::string text(const char* characters, int length) {
  while (length > 0 && characters[length - 1] == ' ') --length;
  return std::string(characters, static_cast<size_t>(length > 0 ? length : 0));
}

// What sion_get_locations tells.
struct Locations {
  int ntasks = 0;
  int maxblocks = 0;
  sion_int64 globalskip = 0;
  sion_int64 start_of_varheader = 0;
  sion_int64* chunksizes = nullptr;
  sion_int64* globalranks = nullptr;
  sion_int64* blockcount = nullptr;
  sion_int64* blocksizes = nullptr;

  int find(int sid) {
    return sion_get_locations(sid, &ntasks, &maxblocks, &globalskip, &start_of_varheader, &chunksizes,
                              &globalranks, &blockcount, &blocksizes);
  }
};

// A copy of an integer argument that a C call reads and sets. Programs may pass a constant, an expression or
// an intent(in) dummy argument for it (docs/api-fortran.md, "Constants as arguments").
class IntegerArgument {
 public:
  explicit IntegerArgument(int* argument) : argument_(argument), value_(*argument) {}
  // Stores a changed value in the argument, unless that is a constant.
  ~IntegerArgument() {
    if (*argument_ != value_ && try_overwrite(argument_)) *argument_ = value_;
  }
  IntegerArgument(const IntegerArgument&) = delete;
  IntegerArgument& operator=(const IntegerArgument&) = delete;
  int* value() { return &value_; }

 private:
  int* argument_;
  int value_;
};

// Runs an open call; no exception passes into Fortran.
template <class Body>
void open(int* sid, Body&& body) {
  try {
    *sid = body();
  } catch (const std::bad_alloc&) {
    *sid = -1;
  }
}

// A string that the program passed, with the length of its variable in characters. Without characters: not
// wanted.
struct Variable {
  char* characters = nullptr;
  int length = 0;
};

// Runs a parallel open, call(char** physical_name). If it succeeds newfname becomes the name of the physical
// file, cut or filled with blanks to its length.
template <class Call>
void paropen(int* sid, Variable newfname, Call&& call) {
  open(sid, [&] {
    char* physical = nullptr;
    const int opened = call(newfname.characters ? &physical : nullptr);
    if (opened >= 0 && physical) {
      const auto room = static_cast<size_t>(newfname.length);
      std::memset(newfname.characters, ' ', room);
      std::memcpy(newfname.characters, physical, std::min(std::strlen(physical), room));
    }
    std::free(physical);
    return opened;
  });
}

}  // namespace sheaf::fortran
