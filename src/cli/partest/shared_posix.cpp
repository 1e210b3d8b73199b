// One shared file through the calls of the operating system, the data of the tasks one behind the other; and
// one task that does all of it for the others, who send what they have, or get what they are to read.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "cli/partest/target.hpp"
#include "comm/agree.hpp"

namespace sheaf::partest {

namespace {

class PosixShared : public Target {
 public:
  using Target::Target;
  ~PosixShared() override {
    if (fd_ >= 0) ::close(fd_);
  }

  void prepare(Operation operation) override {
    const int task = operation == Operation::write ? comm.rank() : source();
    at_ = begin_of(task);
  }

  // The first task makes the file, the others find it.
  void open(Operation operation) override {
    const bool writes = operation == Operation::write;
    const bool makes = writes && comm.rank() == 0;
    const auto problem = attempt([&] {
      if (makes) open_file(O_WRONLY | O_CREAT | O_TRUNC);
    });
    if (writes) comm.barrier();
    if (problem) throw *problem;
    if (!makes) open_file(writes ? O_WRONLY : O_RDONLY);
  }

  void write(const std::byte* data, int64_t bytes) override {
    write_all(data, bytes, at_);
    at_ += bytes;
  }
  void read(std::byte* data, int64_t bytes) override {
    read_all(data, bytes, at_);
    at_ += bytes;
  }
  void close() override {
    const int fd = std::exchange(fd_, -1);
    if (fd >= 0 && ::close(fd) != 0) throw os_error("cannot close", options.filename, errno);
  }
  void remove() override {
    if (comm.rank() == 0) remove_file(options.filename);
  }

 protected:
  int64_t begin_of(int64_t task) const {
    int64_t begin = 0;
    for (int64_t t = 0; t < task; ++t) begin += options.bytes_of(t, comm.size());
    return begin;
  }

  void open_file(int flags) {
    fd_ = ::open(options.filename.c_str(), flags | O_CLOEXEC, 0666);
    if (fd_ < 0) throw os_error(flags & O_CREAT ? "cannot create" : "cannot open", options.filename, errno);
  }

  void write_all(const std::byte* data, int64_t bytes, int64_t offset) {
    for (int64_t done = 0; done < bytes;) {
      const ssize_t n = ::pwrite(fd_, data + done, static_cast<size_t>(bytes - done), offset + done);
      if (n < 0 && errno != EINTR) throw os_error("cannot write to", options.filename, errno);
      if (n > 0) done += n;
    }
  }

  void read_all(std::byte* data, int64_t bytes, int64_t offset) {
    for (int64_t done = 0; done < bytes;) {
      const ssize_t n = ::pread(fd_, data + done, static_cast<size_t>(bytes - done), offset + done);
      if (n < 0 && errno != EINTR) throw os_error("cannot read", options.filename, errno);
      if (n == 0)
        throw Error(Code::damaged, "'" + options.filename + "' ends before the data of task " +
                                       std::to_string(source()) + " do");
      if (n > 0) done += n;
    }
  }

  int fd_ = -1;
  int64_t at_ = 0;
};

class OneTask final : public PosixShared {
 public:
  using PosixShared::PosixShared;

  void prepare(Operation operation) override {
    PosixShared::prepare(operation);
    if (comm.rank() != 0) return;
    places_.clear();
    for (int task = 0; task < comm.size(); ++task) {
      const int64_t n = comm.size();
      const int64_t whose =
          operation == Operation::write ? task : (((task + options.taskoffset) % n) + n) % n;
      places_.push_back(begin_of(whose));
    }
  }

  void open(Operation operation) override {
    if (comm.rank() == 0) open_file(operation == Operation::write ? O_WRONLY | O_CREAT | O_TRUNC : O_RDONLY);
  }

  // A call takes one piece of every task through the first one, in the order of the tasks.
  void write(const std::byte* data, int64_t bytes) override {
    const Gathered all = comm.gather({data, static_cast<size_t>(bytes)}, 0);
    if (comm.rank() != 0) return;
    int64_t at = 0;
    for (size_t task = 0; task < all.sizes.size(); ++task) {
      write_all(all.bytes.data() + at, all.sizes[task], places_[task]);
      places_[task] += all.sizes[task];
      at += all.sizes[task];
    }
  }

  void read(std::byte* data, int64_t bytes) override {
    const Gathered wanted = comm.gather(std::as_bytes(std::span(&bytes, 1)), 0);
    Gathered pieces;
    std::optional<Error> problem;
    for (size_t task = 0; task < wanted.sizes.size() && comm.rank() == 0; ++task) {
      int64_t size = 0;
      std::copy_n(wanted.bytes.data() + task * sizeof size, sizeof size, reinterpret_cast<std::byte*>(&size));
      const size_t at = pieces.bytes.size();
      pieces.bytes.resize(at + static_cast<size_t>(size));
      const auto failed = attempt([&] { read_all(pieces.bytes.data() + at, size, places_[task]); });
      if (failed && !problem) problem = failed;
      if (failed) pieces.bytes.resize(at);
      places_[task] += size;
      pieces.sizes.push_back(failed ? 0 : size);
    }
    // The others wait for what they get, whatever has happened here.
    const std::vector<std::byte> mine = comm.scatter(pieces, 0);
    if (problem) throw *problem;
    if (std::ssize(mine) != bytes)
      throw Error(Code::damaged, "the first task could not read the data of task " +
                                     std::to_string(source()) + " from '" + options.filename + "'");
    std::copy(mine.begin(), mine.end(), data);
  }

  bool collective(Operation) const override { return true; }

 private:
  std::vector<int64_t> places_;  // at the first task: where the next piece of each task goes
};

}  // namespace

std::unique_ptr<Target> make_posix_shared(const Options& options, Comm& comm) {
  return std::make_unique<PosixShared>(options, comm);
}
std::unique_ptr<Target> make_one_task(const Options& options, Comm& comm) {
  return std::make_unique<OneTask>(options, comm);
}

}  // namespace sheaf::partest
