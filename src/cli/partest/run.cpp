#include "cli/partest/run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <utility>

#include "cli/partest/clock.hpp"
#include "cli/partest/pattern.hpp"
#include "cli/partest/progress.hpp"
#include "comm/agree.hpp"
#include "comm/packing.hpp"

namespace sheaf::partest {

namespace {

class PhaseRun {
 public:
  PhaseRun(int type, bool writes, const Options& options, Comm& comm, const SharedClock& clock)
      : type_(type), writes_(writes), options_(options), comm_(comm), clock_(clock) {}

  Phase run() {
    untimed([&] { prepare(); });
    int64_t most = calls_;
    comm_.all_max(std::span(&most, 1));
    if (target_->collective()) calls_ = most;
    if (writes_ && options_.write == 2) {
      step(create_step, [&] { target_->open(); });
      step(create_close_step, [&] { target_->close(); });
    }
    step(open_step, [&] { target_->open(); });
    std::optional<Error> problem = attempt([&] { step(transfer_step, [&] { take_turns(); }); });
    if (!problem) problem = attempt([&] { untimed([&] { target_->look(); }); });
    record_.chunks = target_->chunks;
    record_.file = target_->file;
    attempt(problem, [&] { step(close_step, [&] { target_->close(); }); });
    agree(comm_, problem);
    return collected();
  }

  void remove() {
    untimed([&] { target_->remove(); });
  }

 private:
  void prepare() {
    target_ = make_target(type_, writes_, options_, comm_);
    record_.source = target_->source();
    record_.bytes = options_.bytes_of(record_.source, comm_.size());
    piece_ = target_->largest_piece();
    const int64_t rest = record_.bytes - size_at(0);
    calls_ = (record_.bytes > 0 ? 1 : 0) + (rest + piece_ - 1) / piece_;
    const int64_t most = std::min(piece_, record_.bytes);
    pattern_.emplace(static_cast<int>(record_.source), most);
    if (!writes_) memory_.resize(static_cast<size_t>(most));
  }

  // Returns the number of bytes that the call at `offset` of the task's data transfers.
  int64_t size_at(int64_t offset) const {
    const bool short_one = offset == 0 && options_.tasks.byteoffset > 0;
    return std::min({record_.bytes - offset, piece_, short_one ? options_.tasks.byteoffset : piece_});
  }

  template <class Part>
  void untimed(Part part) {
    agree(comm_, attempt(part));
  }

  // Runs one timed step between two barriers: every task starts after all tasks have ended the preceding
  // step.
  template <class Part>
  void step(PhaseStep which, Part part) {
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

  // Transfers the data of all tasks, as many tasks at a time as TaskOptions::serialized requests.
  void take_turns() {
    if (options_.tasks.serialized == -2) target_->begin_transaction();
    const int at_a_time = options_.tasks.serialized > 0 ? options_.tasks.serialized : comm_.size();
    std::optional<Error> problem;
    for (int first = 0; first < comm_.size(); first += at_a_time) {
      if (comm_.rank() / at_a_time == first / at_a_time) problem = attempt([&] { transfer_all(); });
      if (options_.tasks.serialized > 0) comm_.barrier();
    }
    if (options_.tasks.serialized == -2) target_->end_transaction();
    if (problem) throw *problem;
  }

  // Transfers the data of this task. After a failure, the task takes part in the remaining collective calls
  // with 0 bytes.
  void transfer_all() {
    Progress progress(fmt::format("{} {}", writes_ ? "writing" : "reading", name_of_type(type_, options_)),
                      record_.bytes, comm_.rank() == 0);
    std::optional<Error> problem;
    int64_t offset = 0;
    for (int64_t call = 0; call < calls_ && (!problem || target_->collective()); ++call) {
      const int64_t bytes = problem ? 0 : size_at(offset);
      attempt(problem, [&] { transfer_piece(offset, bytes); });
      offset += bytes;
      progress.at(offset);
    }
    if (problem) throw *problem;
  }

  void transfer_piece(int64_t offset, int64_t bytes) {
    const bool told = (options_.output.debugtask && comm_.rank() == 0) ||
                      (options_.output.debuglast && comm_.rank() == comm_.size() - 1);
    const int64_t begin = told ? clock_.now() : 0;
    target_->move(writes_ ? pattern_->at(offset) : memory_.data(), bytes);
    if (told)
      std::fprintf(stderr, "task %d: %s %lld bytes at %lld of its stream in %.6f s\n", comm_.rank(),
                   writes_ ? "wrote" : "read", static_cast<long long>(bytes), static_cast<long long>(offset),
                   1e-9 * static_cast<double>(clock_.now() - begin));
    if (!writes_ && !options_.output.nochecksum) check(offset, bytes);
  }

  void check(int64_t offset, int64_t bytes) {
    const int64_t begin = clock_.now();
    const auto difference = pattern_->difference(memory_.data(), bytes, offset);
    checking_ += clock_.now() - begin;
    if (difference)
      throw Error(Code::damaged, fmt::format("'{}': byte {} of the data of task {} is not what was written",
                                             options_.filename, *difference, record_.source));
  }

  Phase collected() {
    return {type_, writes_, target_->files,
            records_of<TaskMeasurements>(comm_.gather(value_bytes(record_), 0))};
  }

  const int type_;
  const bool writes_;
  const Options& options_;
  Comm& comm_;
  const SharedClock& clock_;
  std::unique_ptr<Target> target_;
  int64_t piece_ = 0;  // maximum bytes per call
  int64_t calls_ = 0;  // number of calls; if they are collective, the maximum over all tasks
  TaskMeasurements record_;
  int64_t checking_ = 0;  // nanoseconds of the current step that were spent on verification
  std::optional<Pattern> pattern_;
  std::vector<std::byte> memory_;
};

}  // namespace

void run(const Options& options, Comm& comm, const std::function<void(const Phase&)>& done) {
  const SharedClock clock(comm);
  for (const int type : options.testtypes) {
    std::unique_ptr<PhaseRun> last;
    for (const bool writes : {true, false}) {
      if ((writes ? options.write : options.read) == 0) continue;
      last.reset();
      last = std::make_unique<PhaseRun>(type, writes, options, comm, clock);
      done(last->run());
    }
    if (last && options.unlinkfiles > 0) last->remove();
  }
}

}  // namespace sheaf::partest
