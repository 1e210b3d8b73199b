// cli/partest/posix_files: three targets for system calls. The first has one file per task, optionally as a
// stdio stream. The second has one shared file with the concatenated data of the tasks. In the third, one
// task accesses this shared file for all tasks and exchanges the data with them.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "cli/partest/target.hpp"
#include "comm/agree.hpp"
#include "comm/packing.hpp"

namespace sheaf::partest {

namespace {

constexpr int fresh = O_WRONLY | O_CREAT | O_TRUNC;

// A file for writing or reading. All functions throw Error on failure.
class SystemFile : private NonCopyable {
 public:
  explicit SystemFile(bool writes) : writes_(writes) {}
  ~SystemFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }

  void open(const std::string& path, int how) {
    path_ = path;
    descriptor_ = ::open(path.c_str(), how | O_CLOEXEC, 0666);
    if (descriptor_ < 0) throw os_error(how & O_CREAT ? "cannot create" : "cannot open", path, errno);
  }

  void move(std::byte* data, int64_t bytes, int64_t offset) {
    for (int64_t done = 0; done < bytes;) {
      const auto left = static_cast<size_t>(bytes - done);
      const ssize_t n = writes_ ? ::pwrite(descriptor_, data + done, left, offset + done)
                                : ::pread(descriptor_, data + done, left, offset + done);
      if (n < 0 && errno != EINTR) throw os_error(writes_ ? "cannot write to" : "cannot read", path_, errno);
      if (n == 0 && !writes_)
        throw Error(Code::damaged, "'" + path_ + "' ends before the data of the task do");
      if (n > 0) done += n;
    }
  }

  // Closes the file; does nothing if it is not open.
  void close() {
    const int descriptor = std::exchange(descriptor_, -1);
    if (descriptor >= 0 && ::close(descriptor) != 0) throw os_error("cannot close", path_, errno);
  }

 private:
  const bool writes_;
  std::string path_;
  int descriptor_ = -1;
};

class TaskFile : public Target {
 public:
  using Target::Target;
  ~TaskFile() override {
    if (stream_) std::fclose(stream_);
  }

  void open() override {
    file = source();
    files = comm.size();
    path_ = numbered(options.filename, file);
    if (options.calls.posix) return file_.open(path_, writes ? fresh : O_RDONLY);
    stream_ = std::fopen(path_.c_str(), writes ? "wb" : "rb");
    if (!stream_) throw os_error(writes ? "cannot create" : "cannot open", path_, errno);
  }

  void move(std::byte* data, int64_t bytes) override {
    const auto n = static_cast<size_t>(bytes);
    if (!stream_) {
      file_.move(data, bytes, at_);
    } else if (writes) {
      if (std::fwrite(data, 1, n, stream_) != n) throw os_error("cannot write to", path_, errno);
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
  SystemFile file_{writes};  // with --posix, used instead of stream_
  int64_t at_ = 0;
};

class PosixShared : public Target {
 public:
  using Target::Target;

  // The first task creates the file before the other tasks open it.
  void open() override {
    const bool makes = writes && comm.rank() == 0;
    const auto problem = attempt([&] {
      if (makes) file_.open(options.filename, fresh);
    });
    if (writes) comm.barrier();
    if (problem) throw *problem;
    if (!makes) file_.open(options.filename, writes ? O_WRONLY : O_RDONLY);
  }

  void move(std::byte* data, int64_t bytes) override {
    file_.move(data, bytes, at_);
    at_ += bytes;
  }
  void close() override { file_.close(); }
  void remove() override {
    if (comm.rank() == 0) remove_file(options.filename);
  }

 protected:
  SystemFile file_{writes};

 private:
  int64_t at_ = begin_of(source_of(comm.rank()));
};

class OneTask final : public PosixShared {
 public:
  OneTask(bool w, const Options& o, Comm& c) : PosixShared(w, o, c) {
    for (int task = 0; c.rank() == 0 && task < c.size(); ++task) places_.push_back(begin_of(source_of(task)));
  }

  void open() override {
    if (comm.rank() == 0) file_.open(options.filename, writes ? fresh : O_RDONLY);
  }

  // Transfers the data of all tasks through the first task. Each round transfers one piece per task, in rank
  // order.
  void move(std::byte* data, int64_t bytes) override {
    if (writes) {
      Gathered all = comm.gather({data, static_cast<size_t>(bytes)}, 0);
      std::byte* piece = all.bytes.data();
      for (size_t task = 0; task < places_.size(); ++task) {
        file_.move(piece, all.sizes[task], places_[task]);
        piece += all.sizes[task];
        places_[task] += all.sizes[task];
      }
      return;
    }
    const auto wanted = records_of<int64_t>(comm.gather(value_bytes(bytes), 0));
    Gathered pieces;
    std::optional<Error> problem;
    for (size_t task = 0; task < places_.size(); ++task) {
      const int64_t size = wanted[task];
      const size_t before = pieces.bytes.size();
      const auto failed = attempt([&] {
        pieces.bytes.resize(before + static_cast<size_t>(size));
        file_.move(pieces.bytes.data() + before, size, places_[task]);
      });
      if (failed && !problem) problem = failed;
      if (failed) pieces.bytes.resize(before);
      pieces.sizes.push_back(failed ? 0 : size);
      places_[task] += size;
    }
    // After an error, the first task must still take part in the scatter, because the other tasks wait for
    // it.
    const std::vector<std::byte> mine = comm.scatter(pieces, 0);
    if (problem) throw *problem;
    if (std::ssize(mine) != bytes)
      throw Error(Code::damaged, "the first task could not read the data of task " +
                                     std::to_string(source()) + " from '" + options.filename + "'");
    std::copy(mine.begin(), mine.end(), data);
  }

  bool collective() const override { return true; }

 private:
  std::vector<int64_t> places_;  // on the first task: offset of the next piece of each task
};

}  // namespace

std::unique_ptr<Target> make_posix(int type, bool writes, const Options& options, Comm& comm) {
  if (type == task_local) return std::make_unique<TaskFile>(writes, options, comm);
  if (type == one_task) return std::make_unique<OneTask>(writes, options, comm);
  return std::make_unique<PosixShared>(writes, options, comm);
}

}  // namespace sheaf::partest
