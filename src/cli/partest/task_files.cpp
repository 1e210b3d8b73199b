// One file per task: the plain calls of stdio, or of the operating system with --posix.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "cli/partest/target.hpp"

namespace sheaf::partest {

namespace {

class TaskFile : public Target {
 public:
  using Target::Target;
  ~TaskFile() override {
    if (stream_) std::fclose(stream_);
    if (fd_ >= 0) ::close(fd_);
  }

  void open(Operation operation) override {
    const bool writes = operation == Operation::write;
    path_ = numbered(options.filename, writes ? comm.rank() : source());
    if (options.posix) {
      fd_ = ::open(path_.c_str(), writes ? O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC : O_RDONLY | O_CLOEXEC,
                   0666);
    } else {
      stream_ = std::fopen(path_.c_str(), writes ? "wb" : "rb");
    }
    if (fd_ < 0 && !stream_) throw os_error(writes ? "cannot create" : "cannot open", path_, errno);
    file = writes ? comm.rank() : source();
    files = comm.size();
  }

  void write(const std::byte* data, int64_t bytes) override {
    if (stream_) {
      if (std::fwrite(data, 1, static_cast<size_t>(bytes), stream_) != static_cast<size_t>(bytes))
        throw os_error("cannot write to", path_, errno);
      return;
    }
    for (int64_t done = 0; done < bytes;) {
      const ssize_t n = ::write(fd_, data + done, static_cast<size_t>(bytes - done));
      if (n < 0 && errno != EINTR) throw os_error("cannot write to", path_, errno);
      if (n > 0) done += n;
    }
  }

  void read(std::byte* data, int64_t bytes) override {
    int64_t done = 0;
    while (done < bytes) {
      const auto rest = static_cast<size_t>(bytes - done);
      errno = 0;
      const ssize_t n = stream_ ? static_cast<ssize_t>(std::fread(data + done, 1, rest, stream_))
                                : ::read(fd_, data + done, rest);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0 || (n == 0 && stream_ && std::ferror(stream_))) throw os_error("cannot read", path_, errno);
      if (n == 0) throw Error(Code::damaged, "'" + path_ + "' ends before the data of the task do");
      done += n;
    }
  }

  void close() override {
    FILE* const stream = std::exchange(stream_, nullptr);
    const int fd = std::exchange(fd_, -1);
    if ((stream && std::fclose(stream) != 0) || (fd >= 0 && ::close(fd) != 0))
      throw os_error("cannot close", path_, errno);
  }

  void remove() override { remove_file(numbered(options.filename, comm.rank())); }

 private:
  std::string path_;
  FILE* stream_ = nullptr;
  int fd_ = -1;
};

}  // namespace

std::unique_ptr<Target> make_task_files(const Options& options, Comm& comm) {
  return std::make_unique<TaskFile>(options, comm);
}

}  // namespace sheaf::partest
