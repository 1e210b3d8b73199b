// api/sion/families/generic_api: objects of the generic interface that hold a program's callbacks.
#pragma once

#include <string>

#include "api/sion/handles/exported.hpp"
#include "base/export.hpp"
#include "comm/threads/callback_comm.hpp"

namespace sheaf::api {

struct GenericApi {
  std::string name;
  CommCallbacks comm;
  char* (*multi_filename)(const char*, int) = nullptr;
  int (*gather_and_execute)(const void*, sion_int64*, int, sion_int64, void*, int, int, int, int,
                            int (*)(const void*, sion_int64*, int)) = nullptr;
  int (*execute_and_scatter)(void*, sion_int64*, int, sion_int64, void*, int, int, int, int,
                             int (*)(void*, sion_int64*, int)) = nullptr;
  int (*capability)(void*) = nullptr;

  // Returns whether all callbacks for collective reading and writing are set.
  bool moves_data() const { return gather_and_execute && execute_and_scatter && capability; }

  // Throws invalid_argument with the names of missing callbacks.
  void check_complete() const;
};

// Returns a copy of the object with id `aid`. Throws invalid_argument if the id is invalid. Thread-safe.
GenericApi generic_api(int aid);

}  // namespace sheaf::api
