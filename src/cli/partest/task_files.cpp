// One file per task: the plain calls of stdio, or of the operating system with --posix.
#include <fcntl.h>

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
  }

  void open(Operation operation) override {
    const bool writes = operation == Operation::write;
    file = writes ? comm.rank() : source();
    files = comm.size();
    path_ = numbered(options.filename, file);
    if (options.posix) return file_.open(path_, writes ? O_WRONLY | O_CREAT | O_TRUNC : O_RDONLY);
    stream_ = std::fopen(path_.c_str(), writes ? "wb" : "rb");
    if (!stream_) throw os_error(writes ? "cannot create" : "cannot open", path_, errno);
  }

  void write(const std::byte* data, int64_t bytes) override {
    const auto n = static_cast<size_t>(bytes);
    if (!stream_) {
      file_.write(data, bytes, at_);
    } else if (std::fwrite(data, 1, n, stream_) != n) {
      throw os_error("cannot write to", path_, errno);
    }
    at_ += bytes;
  }

  void read(std::byte* data, int64_t bytes) override {
    const auto n = static_cast<size_t>(bytes);
    if (!stream_) {
      file_.read(data, bytes, at_);
    } else if (std::fread(data, 1, n, stream_) != n) {
      if (std::ferror(stream_)) throw os_error("cannot read", path_, errno);
      throw Error(Code::damaged, "'" + path_ + "' ends before the data of the task do");
    }
    at_ += bytes;
  }

  void close() override {
    FILE* const stream = std::exchange(stream_, nullptr);
    if (stream && std::fclose(stream) != 0) throw os_error("cannot close", path_, errno);
    file_.close();
  }

  void remove() override { remove_file(numbered(options.filename, comm.rank())); }

 private:
  std::string path_;
  FILE* stream_ = nullptr;
  SystemFile file_;  // instead of it, with --posix
  int64_t at_ = 0;
};

}  // namespace

std::unique_ptr<Target> make_task_files(const Options& options, Comm& comm) {
  return std::make_unique<TaskFile>(options, comm);
}

}  // namespace sheaf::partest
