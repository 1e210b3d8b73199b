// Saves in the background for Fortran (docs/async.md). A save is the address of its handle; 0: none.
#include <cstdint>
#include <string>

#include "api/fortran/fsion.hpp"
#include "sheaf_save.h"

using namespace sheaf::fortran;

SHEAF_ROUTINE(fsheaf_parclose_async, const int* sid, sion_int64* save) {
  *save = address_of(sheaf_parclose_async(*sid));
}

SHEAF_ROUTINE(fsheaf_save_of, const char* name, sion_int64* save, int name_length) {
  *save = sheaf::run_guarded(
      0LL, [&] { return address_of(sheaf_save_of(text(name, name_length).c_str())); },
      [](const std::exception&) { return 0LL; });
}

SHEAF_ROUTINE(fsheaf_save_test, const sion_int64* save, int* state) {
  *state = sheaf_save_test(save_at(save));
}

SHEAF_ROUTINE(fsheaf_save_wait, const sion_int64* save, const int* state, int* reached) {
  *reached = sheaf_save_wait(save_at(save), *state);
}

SHEAF_ROUTINE(fsheaf_save_error, const sion_int64* save, char* message, int message_length) {
  fill(Variable{message, message_length}, sheaf_save_error(save_at(save)));
}

SHEAF_ROUTINE(fsheaf_save_progress, const sion_int64* save, sion_int64* bytes, sion_int64* written,
              int* state) {
  long long captured = 0;
  long long done = 0;
  *state = sheaf_save_progress(save_at(save), &captured, &done);
  *bytes = captured;
  *written = done;
}

SHEAF_ROUTINE(fsheaf_save_free, sion_int64* save) {
  sheaf_save_free(save_at(save));
  *save = 0;
}

// Stores the name with blanks instead of the final zero, so a name may be as long as the variable.
SHEAF_ROUTINE(fsheaf_latest, const char* pattern, char* name, sion_int64* length, int pattern_length,
              int name_length) {
  *length = sheaf::run_guarded(
      -1LL,
      [&] {
        std::string found(static_cast<size_t>(std::max(name_length, 0)) + 1, '\0');
        const long long size =
            sheaf_latest(text(pattern, pattern_length).c_str(), found.data(), found.size());
        if (size >= 0) fill(Variable{name, name_length}, found.c_str());
        return size;
      },
      [](const std::exception&) { return -1LL; });
}
