#include "cli/partest/target.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>

#include "base/error.hpp"

namespace sheaf::partest {

std::unique_ptr<Target> make_target(int type, const Options& options, Comm& comm) {
  if (options.threads == 0 && type == mpi_io) return make_mpi_io(options, comm);
  if (options.threads == 0 && type == task_local) return make_task_files(options, comm);
  if (type == posix_shared) return make_posix_shared(options, comm);
  if (type == one_task) return make_one_task(options, comm);
  return make_multifile(type, options, comm);
}

std::string name_of_type(int type, const Options& options) {
  if (options.threads > 0) {
    constexpr const char* names[] = {"hybrid multifile", "hybrid multifile, open_rank", "OpenMP multifiles",
                                     "OpenMP multifiles, open_rank"};
    return names[type];
  }
  constexpr const char* names[] = {"multifile",         "multifile, open_rank", "MPI-IO",
                                   "one file per task", "one task for all",     "one shared POSIX file"};
  return names[type];
}

std::string numbered(const std::string& name, int number) { return fmt::format("{}.{:06}", name, number); }

void remove_file(const std::string& path) {
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) throw os_error("cannot remove", path, errno);
}

}  // namespace sheaf::partest
