#include "cli/partest/run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <optional>
#include <utility>

#include "cli/partest/clock.hpp"
#include "cli/partest/pattern.hpp"
#include "cli/partest/progress.hpp"
#include "comm/agree.hpp"

namespace sheaf::partest {

namespace {

// The calls that move the data of one task.
struct Plan {
  int64_t bytes = 0;
  int64_t first = 0;  // bytes of the first call; 0: as the others
  int64_t piece = 0;  // bytes of the others, at most
  int64_t calls = 0;  // as many as every task makes in collective mode

  int64_t size_at(int64_t offset) const {
    return std::min(bytes - offset, offset == 0 && first > 0 ? std::min(first, piece) : piece);
  }
  int64_t count() const {
    const int64_t rest = bytes - size_at(0);
    return (bytes > 0 ? 1 : 0) + (rest + piece - 1) / piece;
  }
};

class PhaseRun {
 public:
  PhaseRun(int type, Operation operation, const Options& options, Comm& comm, const SharedClock& clock)
      : type_(type),
        operation_(operation),
        options_(options),
        comm_(comm),
        clock_(clock),
        target_(make_target(type, options, comm)) {}

  Phase run() {
    const bool writes = operation_ == Operation::write;
    untimed([&] { prepare(); });
    if (writes && options_.write == 2) {
      step(create_step, [&] { target_->open(operation_); });
      step(create_close_step, [&] { target_->close(); });
    }
    step(open_step, [&] { target_->open(operation_); });
    std::optional<Error> problem = attempt([&] { step(transfer_step, [&] { take_turns(); }); });
    if (!problem) problem = attempt([&] { untimed([&] { target_->look(); }); });
    record_.chunks = target_->chunks;
    record_.file = target_->file;
    const std::optional<Error> closing = attempt([&] { step(close_step, [&] { target_->close(); }); });
    agree(comm_, problem ? problem : closing);
    return collected();
  }

  void remove() {
    untimed([&] { target_->remove(); });
  }

 private:
  void prepare() {
    target_->prepare(operation_);
    const int task = operation_ == Operation::write ? comm_.rank() : target_->source();
    record_.source = task;
    record_.bytes = options_.bytes_of(task, comm_.size());
    plan_.bytes = record_.bytes;
    plan_.first = options_.byteoffset;
    plan_.piece = target_->largest_piece();
    plan_.calls = plan_.count();
    const int64_t most = std::min(plan_.piece, plan_.bytes);
    pattern_.emplace(task, most);
    if (operation_ == Operation::read) memory_.resize(static_cast<size_t>(most));
  }

  template <class Part>
  void untimed(Part part) {
    agree(comm_, attempt(part));
  }

  // Every task begins after all have ended what was before, and waits for all others afterwards.
  template <class Part>
  void step(Step which, Part part) {
    if (which == transfer_step) {
      int64_t calls[] = {plan_.calls};
      comm_.all_max(calls);
      plan_.calls = calls[0];
    }
    comm_.barrier();
    const int64_t begin = clock_.now();
    const std::optional<Error> problem = attempt(part);
    const int64_t end = clock_.now();
    comm_.barrier();
    record_.begin[which] = begin;
    record_.time[which] = end - begin - std::exchange(checking_, 0);
    record_.barrier[which] = clock_.now() - end;
    agree(comm_, problem);
  }

  // So many tasks at a time as asked for.
  void take_turns() {
    if (options_.serialized == -2) target_->begin_transaction();
    std::optional<Error> problem;
    if (options_.serialized > 0) {
      const int turns = (comm_.size() + options_.serialized - 1) / options_.serialized;
      for (int turn = 0; turn < turns; ++turn) {
        if (comm_.rank() / options_.serialized == turn) problem = attempt([&] { transfer_all(); });
        comm_.barrier();
      }
    } else {
      problem = attempt([&] { transfer_all(); });
    }
    if (options_.serialized == -2) target_->end_transaction();
    if (problem) throw *problem;
  }

  // A task that has failed takes part in the collective calls to the end, with nothing.
  void transfer_all() {
    const bool collective = target_->collective(operation_);
    const int64_t calls = collective ? plan_.calls : plan_.count();
    Progress progress(fmt::format("{} {}", operation_ == Operation::write ? "writing" : "reading",
                                  name_of_type(type_, options_)),
                      plan_.bytes, comm_.rank() == 0);
    std::optional<Error> problem;
    int64_t offset = 0;
    for (int64_t call = 0; call < calls; ++call) {
      const int64_t bytes = problem ? 0 : plan_.size_at(offset);
      const auto failed = attempt([&] { transfer_piece(offset, bytes); });
      if (failed && !problem) problem = failed;
      if (failed && !collective) break;
      offset += bytes;
      progress.at(offset);
    }
    if (problem) throw *problem;
  }

  void transfer_piece(int64_t offset, int64_t bytes) {
    const bool told = debugged();
    const int64_t begin = told ? clock_.now() : 0;
    if (operation_ == Operation::write) {
      target_->write(pattern_->at(offset), bytes);
    } else {
      target_->read(memory_.data(), bytes);
    }
    if (told)
      std::fprintf(stderr, "task %d: %s %lld bytes at %lld of its stream in %.6f s\n", comm_.rank(),
                   operation_ == Operation::write ? "wrote" : "read", static_cast<long long>(bytes),
                   static_cast<long long>(offset), 1e-9 * static_cast<double>(clock_.now() - begin));
    if (operation_ == Operation::read && !options_.nochecksum) check(offset, bytes);
  }

  void check(int64_t offset, int64_t bytes) {
    const int64_t begin = clock_.now();
    const auto difference = pattern_->difference(memory_.data(), bytes, offset);
    checking_ += clock_.now() - begin;
    if (difference)
      throw Error(Code::damaged, fmt::format("'{}': byte {} of the data of task {} is not what was written",
                                             options_.filename, *difference, record_.source));
  }

  bool debugged() const {
    return (options_.debugtask && comm_.rank() == 0) ||
           (options_.debuglast && comm_.rank() == comm_.size() - 1);
  }

  Phase collected() {
    Phase phase{type_, operation_, target_->files, {}};
    const Gathered all = comm_.gather(std::as_bytes(std::span(&record_, 1)), 0);
    phase.tasks.resize(all.bytes.size() / sizeof(Record));
    if (!all.bytes.empty()) std::memcpy(phase.tasks.data(), all.bytes.data(), all.bytes.size());
    return phase;
  }

  const int type_;
  const Operation operation_;
  const Options& options_;
  Comm& comm_;
  const SharedClock& clock_;
  std::unique_ptr<Target> target_;
  Plan plan_;
  Record record_;
  int64_t checking_ = 0;  // nanoseconds spent checking within the current step
  std::optional<Pattern> pattern_;
  std::vector<std::byte> memory_;
};

}  // namespace

void run(const Options& options, Comm& comm, const std::function<void(const Phase&)>& done) {
  const SharedClock clock(comm);
  for (const int type : options.testtypes) {
    std::unique_ptr<PhaseRun> last;
    for (const Operation operation : {Operation::write, Operation::read}) {
      if ((operation == Operation::write ? options.write : options.read) == 0) continue;
      last.reset();
      last = std::make_unique<PhaseRun>(type, operation, options, comm, clock);
      done(last->run());
    }
    if (last && options.unlinkfiles > 0) last->remove();
  }
}

}  // namespace sheaf::partest
