// api/sion/families/generic_api: the objects of the generic interface that collect a program's callbacks.
#pragma once

#include <string>

#include "api/sion/handles/exported.hpp"
#include "base/export.hpp"
#include "comm_teams/callback_comm.hpp"

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

  // What collective reading and writing need.
  bool moves_data() const { return gather_and_execute && execute_and_scatter && capability; }

  // Throws invalid_argument, naming the callbacks that are missing.
  void check_complete() const;
};

// A copy of what is registered under an id. Throws invalid_argument for an invalid one. Any thread.
GenericApi generic_api(int aid);

}  // namespace sheaf::api
