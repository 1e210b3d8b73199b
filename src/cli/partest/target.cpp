#include "cli/partest/target.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>

#include "base/error.hpp"

namespace sheaf::partest {

std::unique_ptr<Target> make_target(int type, bool writes, const Options& options, Comm& comm) {
  if (options.tasks.threads > 0 || type < mpi_io) return make_multifile(type, writes, options, comm);
  if (type == mpi_io) return make_mpi_io(writes, options, comm);
  return make_posix(type, writes, options, comm);
}

std::string name_of_type(int type, const Options& options) {
  if (options.tasks.threads > 0) {
    constexpr const char* names[] = {"hybrid multifile", "hybrid multifile, open_rank", "OpenMP multifiles",
                                     "OpenMP multifiles, open_rank"};
    return names[type];
  }
  constexpr const char* names[] = {"multifile",         "multifile, open_rank", "MPI-IO",
                                   "one file per task", "one task for all",     "one shared POSIX file"};
  return names[type];
}

int Target::source_of(int task) const {
  if (writes) return task;
  const int64_t n = comm.size();
  return static_cast<int>((((task + options.tasks.taskoffset) % n) + n) % n);
}

int64_t Target::begin_of(int task) const {
  int64_t begin = 0;
  for (int t = 0; t < task; ++t) begin += options.bytes_of(t, comm.size());
  return begin;
}

std::string numbered(const std::string& name, int number) { return fmt::format("{}.{:06}", name, number); }

void remove_file(const std::string& path) {
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) throw os_error("cannot remove", path, errno);
}

}  // namespace sheaf::partest
