// One shared file through the calls of the operating system, the data of the tasks one behind the other; and
// one task that does all of it for the others, who send what they have, or get what they are to read.
#include <fcntl.h>

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "cli/partest/target.hpp"
#include "comm/agree.hpp"

namespace sheaf::partest {

namespace {

class PosixShared : public Target {
 public:
  using Target::Target;

  void prepare(Operation operation) override {
    at_ = begin_of(operation == Operation::write ? comm.rank() : source());
  }

  // The first task makes the file, the others find it.
  void open(Operation operation) override {
    const bool writes = operation == Operation::write;
    const bool makes = writes && comm.rank() == 0;
    const auto problem = attempt([&] {
      if (makes) file_.open(options.filename, O_WRONLY | O_CREAT | O_TRUNC);
    });
    if (writes) comm.barrier();
    if (problem) throw *problem;
    if (!makes) file_.open(options.filename, writes ? O_WRONLY : O_RDONLY);
  }

  void write(const std::byte* data, int64_t bytes) override {
    file_.write(data, bytes, at_);
    at_ += bytes;
  }
  void read(std::byte* data, int64_t bytes) override {
    file_.read(data, bytes, at_);
    at_ += bytes;
  }
  void close() override { file_.close(); }
  void remove() override {
    if (comm.rank() == 0) remove_file(options.filename);
  }

 protected:
  SystemFile file_;

 private:
  int64_t at_ = 0;
};

class OneTask final : public PosixShared {
 public:
  using PosixShared::PosixShared;

  void prepare(Operation operation) override {
    PosixShared::prepare(operation);
    if (comm.rank() != 0) return;
    places_.clear();
    for (int task = 0; task < comm.size(); ++task)
      places_.push_back(begin_of(operation == Operation::write ? task : source_of(task)));
  }

  void open(Operation operation) override {
    if (comm.rank() == 0)
      file_.open(options.filename, operation == Operation::write ? O_WRONLY | O_CREAT | O_TRUNC : O_RDONLY);
  }

  // A call takes one piece of every task through the first one, in the order of the tasks.
  void write(const std::byte* data, int64_t bytes) override {
    const Gathered all = comm.gather({data, static_cast<size_t>(bytes)}, 0);
    if (comm.rank() != 0) return;
    const auto pieces = all.pieces();
    for (size_t task = 0; task < pieces.size(); ++task) {
      file_.write(pieces[task].data(), std::ssize(pieces[task]), places_[task]);
      places_[task] += std::ssize(pieces[task]);
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
      const auto failed = attempt([&] { file_.read(pieces.bytes.data() + at, size, places_[task]); });
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
