#include "api/sion/exit_saves.hpp"

#include <stdlib.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>

#include "base/report/report.hpp"
#include "multifile/saves/process_saves.hpp"

namespace sheaf::api {

namespace {

std::atomic<bool> fails_exit = false;

// The last exit handler, because it is registered when the library is loaded. Ends a process that would end
// successfully with status 1, if a save has failed and the program asked for that (`async_exit=fail`).
void end_with_status(int status, void*) {
  if (status != 0 || !fails_exit) return;
  std::fflush(nullptr);
  _exit(1);
}
[[maybe_unused]] const int registered = ::on_exit(end_with_status, nullptr);

void report_failure(const char* where, saves::SavePart& part) {
  auto failure = part.failure();
  if (!failure || part.tell()) return;
  if (part.terms().fails_exit) fails_exit = true;
  failure->set_reported_elsewhere(!part.leads());
  report(where, *failure, part.terms().task, 0);
}

}  // namespace

void finish_saves_with_mpi(const char* where) {
  for (const auto& part : saves::ProcessSaves::here().all()) {
    part->wait(saves::SaveState::durable);
    report_failure(where, *part);
  }
}

void finish_saves_with_process(const char* where) {
  for (const auto& part : saves::ProcessSaves::here().all()) {
    part->finish_own_work();
    report_failure(where, *part);
  }
}

}  // namespace sheaf::api
