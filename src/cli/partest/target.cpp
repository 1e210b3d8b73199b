#include "cli/partest/target.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

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

int64_t Target::begin_of(int task) const {
  int64_t begin = 0;
  for (int t = 0; t < task; ++t) begin += options.bytes_of(t, comm.size());
  return begin;
}

SystemFile::~SystemFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void SystemFile::open(const std::string& path, int flags) {
  path_ = path;
  descriptor_ = ::open(path.c_str(), flags | O_CLOEXEC, 0666);
  if (descriptor_ < 0) throw os_error(flags & O_CREAT ? "cannot create" : "cannot open", path, errno);
}

void SystemFile::write(const std::byte* data, int64_t bytes, int64_t offset) {
  for (int64_t done = 0; done < bytes;) {
    const ssize_t n = ::pwrite(descriptor_, data + done, static_cast<size_t>(bytes - done), offset + done);
    if (n < 0 && errno != EINTR) throw os_error("cannot write to", path_, errno);
    if (n > 0) done += n;
  }
}

void SystemFile::read(std::byte* data, int64_t bytes, int64_t offset) {
  for (int64_t done = 0; done < bytes;) {
    const ssize_t n = ::pread(descriptor_, data + done, static_cast<size_t>(bytes - done), offset + done);
    if (n < 0 && errno != EINTR) throw os_error("cannot read", path_, errno);
    if (n == 0) throw Error(Code::damaged, "'" + path_ + "' ends before the data of the task do");
    if (n > 0) done += n;
  }
}

void SystemFile::close() {
  const int descriptor = std::exchange(descriptor_, -1);
  if (descriptor >= 0 && ::close(descriptor) != 0) throw os_error("cannot close", path_, errno);
}

std::string numbered(const std::string& name, int number) { return fmt::format("{}.{:06}", name, number); }

void remove_file(const std::string& path) {
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) throw os_error("cannot remove", path, errno);
}

}  // namespace sheaf::partest
