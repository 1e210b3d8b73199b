// api/fortran/fsion: naming and calling conventions of the C side of the Fortran interfaces.
//
// Every routine is one C function fsion_NAME_c_ (fsheaf_NAME_c_), to which the modules bind. FORTRAN 77
// programs call its alias fsion_NAME_ (fsheaf_NAME_). Other functions are named sheaf_fortran_NAME if
// programs that use the modules bind to them, and sheaf_private_fortran_NAME if only procedures of the
// modules call them. Arguments are passed by reference; string lengths are passed by value after all other
// arguments, as compilers do. The functions only translate arguments: checks, messages and return values are
// those of the C interface.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include "base/export.hpp"
#include "base/os/memory.hpp"
#include "base/report/guard.hpp"
#include "sheaf_save.h"
#include "sion.h"

// Declares fsion_NAME_c_ as exported; the definition must follow.
#define SHEAF_FORTRAN extern "C" SHEAF_EXPORT

// Defines an alias of a function defined above.
#define SHEAF_ALIAS(name, target) SHEAF_FORTRAN decltype(target) name __attribute__((alias(#target)))

// Defines the routine NAME_c_ and its FORTRAN 77 alias.
#define SHEAF_ROUTINE(name, ...)                                               \
  SHEAF_FORTRAN void name##_(__VA_ARGS__) __attribute__((alias(#name "_c_"))); \
  SHEAF_FORTRAN void name##_c_(__VA_ARGS__)

// Defines the routine of a call that takes only a sid. `result` receives the result of sion_NAME().
#define SHEAF_CALL(name) \
  SHEAF_ROUTINE(fsion_##name, const int* sid, int* result) { *result = sion_##name(*sid); }

// Defines a function in Fortran. The FORTRAN 77 entry point returns the value of sion_NAME(). The modules
// bind to a C function that stores it in the last argument.
#define SHEAF_FUNCTION(name)                                                             \
  SHEAF_FORTRAN sion_int64 fsion_##name##_(const int* sid) { return sion_##name(*sid); } \
  SHEAF_FORTRAN void fsion_##name##_c_(const int* sid, sion_int64* value) { *value = sion_##name(*sid); }

// Defines the FORTRAN 77 aliases of a function with a data argument, one alias for each data type.
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

// Returns the text of a Fortran string without trailing blanks.
inline std::string text(const char* characters, int length) {
  while (length > 0 && characters[length - 1] == ' ') --length;
  return std::string(characters, static_cast<size_t>(length > 0 ? length : 0));
}

// Results of sion_get_locations.
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
  // Stores a changed value in the argument unless the argument is a constant.
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

// Runs an open call and stores its result in *sid, or -1 if it throws, for example because memory is
// exhausted. Exceptions must not reach Fortran.
template <class Body>
void open(int* sid, Body&& body) {
  *sid = sheaf::run_guarded(-1, body, [](const std::exception&) { return -1; });
}

// A string argument that receives a result, with its length in characters. If `characters` is null, the
// program does not request the result.
struct Variable {
  char* characters = nullptr;
  int length = 0;
};

// Stores `value` in the variable, truncated or filled with blanks.
inline void fill(Variable variable, const char* value) {
  const auto room = static_cast<size_t>(std::max(variable.length, 0));
  std::memset(variable.characters, ' ', room);
  std::memcpy(variable.characters, value, std::min(std::strlen(value), room));
}

// A save in the background as an integer: the address of its handle; 0: none.
inline sheaf_save* save_at(const sion_int64* save) {
  return reinterpret_cast<sheaf_save*>(static_cast<intptr_t>(*save));
}
inline sion_int64 address_of(const sheaf_save* save) { return reinterpret_cast<intptr_t>(save); }

// Runs a parallel open, call(char** physical_name). On success stores the name of the physical file in
// `newfname`, truncated or padded with blanks.
template <class Call>
void paropen(int* sid, Variable newfname, Call&& call) {
  open(sid, [&] {
    char* physical = nullptr;
    const int opened = call(newfname.characters ? &physical : nullptr);
    if (opened >= 0 && physical) fill(newfname, physical);
    std::free(physical);
    return opened;
  });
}

}  // namespace sheaf::fortran
