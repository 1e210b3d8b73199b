// exchange/collective: transfers that all tasks of a group carry out together.
//
// One reduction tells every task what all want to do; then each transfers its pieces alone, where they are large, or the
// tasks exchange bytes until few of them make few, large requests (two-phase I/O; Blue Gene/L paper, section 3). A failure on
// one task is thrown on all; no task waits for one that has failed.
//
// Where nobody needed the others in the last call, or they filled a range of a file that is memory with large pieces, a task that
// needs nobody in this one leaves it before all have come, and waits for them at the beginning of the next instead (`ahead`): no
// transfer begins before all have ended their part of the last. What a file's last call was like is a guess for the next file's first.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "base/error.hpp"
#include "comm/comm.hpp"
#include "exchange/access.hpp"
#include "exchange/independent.hpp"
#include "exchange/stage.hpp"
#include "exchange/tally.hpp"
#include "storage/store.hpp"

namespace sheaf::exchange {

// How a collective transfer is to be carried out; the same on all tasks.
struct Together {
  enum class Way : uint8_t { automatic, always, never };
  Way exchange = Way::automatic;  // whether tasks exchange bytes
  Alone alone;                    // for those transfers that do not
  bool serial = false;            // every task locks the range it touches and transfers alone (atomic mode)
  int64_t aggregators = 0;        // 0: automatic
  int64_t per_node = -1;          // most aggregators on the node of this task; negative: any number
  std::shared_ptr<const std::vector<int64_t>> on_nodes;  // the same for the nodes of all tasks, if they differ; else null
  int64_t stripes = 0;            // that the file has, 0: not known; as many aggregators on several nodes
  int64_t buffer = 0;             // bytes of an aggregator's buffer; 0: automatic
  int64_t block = 4096;           // file domains begin and end on multiples of it
  int64_t unit = 0;               // > 0: hosts share no page cache; in a call a part of the file from a multiple on has one writer
  bool alltoall = false;          // data between nodes travel by the transport's dense exchange
  // Optimisations.
  bool aligned = true, allreduce = true, pset = true, shared = true, overlap = true, reuse = true, direct = true, place = true,
       ahead = true;
};

class TwoPhase;
class InPlace;
class Staged;

class Collective {
 public:
  explicit Collective(Comm& comm);
  ~Collective();

  // Collective. `problem`: why this task cannot take part; it then brings nothing, and all tasks throw. Throws on all tasks
  // what the lowest failing one met (comm/agree.hpp).
  void write(File& file, const Access& access, const Together& how, std::optional<Error> problem, Tally& tally);
  // Collective. Returns the bytes read here, from the beginning of the stream on.
  int64_t read(File& file, const Access& access, const Together& how, std::optional<Error> problem, Tally& tally);

  // Collective, and to be called before any other call on the group: waits until all have ended the last transfer.
  void settle();
  // Spare the first transfer the making of memory that earlier tasks of the group have left behind (exchange/stage.hpp). Both local: one
  // when all have come that far, the other when all have met since.
  void renew_memory();
  void take_up_memory(const Together& how);

  // Local. Whether nobody needed the others in the last call, which must be settled; and that this is to be expected of the first.
  bool apart() const { return free_; }
  void expect_apart() { free_ = true; }

  // Collective: settle(), and what this task has met in a transfer that the others did not wait for, which they have yet to learn.
  std::optional<Error> late();

 private:
  using Reduction = std::array<int64_t, 11>;  // what tasks bring to a call
  struct Facts;
  struct Part;
  struct Plan;

  bool make_stage(const Together& how);  // collective; whether there is one now that was not there before
  void use(std::unique_ptr<Stage> stage);
  bool goes_alone(const Access& access, const Together& how, bool writes);
  int64_t alone(File& file, const Access& access, const Together& how, bool writes, Tally& tally);
  Plan wish(const Access& access, const Together& how, bool writes) const;
  Stage::Sums* take_sums(const Together& how);
  static Reduction brought(const Part& part, bool same, bool leaves);
  Facts meet(const Part& part, const Together& how);
  bool may_leave(File& file, const Part& part, const Together& how, int64_t bytes) const;
  bool leave(const Together& how);
  int64_t without_some(File& file, const Part& part, const Facts& facts, const Together& how, Tally& tally);
  bool exchanges(const Facts& facts, const Together& how, bool writes) const;
  bool may_place(File& file, const Together& how) const;
  bool places_alone(const Access& access, const Together& how) const;
  int64_t in_place(File& file, const Access& access, const Facts& facts, Tally& tally);
  int64_t staged(File& file, const Access& access, const Together& how, bool writes, const Facts& facts, Tally& tally);
  int64_t by_messages(File& file, const Access& access, const Together& how, bool writes, const Facts& facts, Tally& tally);
  std::optional<int64_t> at_once(File& file, const Access& access, const Together& how, bool writes, std::optional<Error> problem,
                                 Tally& tally);
  bool uses_memory(const Together& how) const;
  void maximum(std::span<int64_t> values, bool reduce);
  int64_t transfer(File& file, const Access& access, const Together& how, bool writes, std::optional<Error> problem, Tally& tally);

  Comm& comm_;
  std::unique_ptr<Staged> staged_;      // where tasks share memory
  std::unique_ptr<InPlace> in_place_;   // as well
  std::unique_ptr<TwoPhase> messages_;  // elsewhere, once needed
  bool looked_for_memory_ = false;
  uint32_t turn_ = 0;  // of the sums
  std::optional<Error> late_;  // of a transfer that the others did not wait for: they learn it in the next
  enum class Owed : uint8_t { nothing, call, rest };
  Owed owed_ = Owed::nothing;  // what this task has begun and not waited for: the last call, or the end of one that some had left
  bool free_ = false;          // nobody needed the others in the last call, or is likely to in the first
  bool failed_ = false;        // a task has failed in a call that some had left
  bool can_begin_ = true;      // this kind of group can begin a reduction
  int not_waiting_ = 0;    // writes before large pieces wait for the others again, who may write in place
  int placing_alone_ = 0;  // the same where all filled a range with such, and are likely to again: each writes in place alone
  bool repeats_ = false;  // the last call repeated the one before, by messages
  std::unique_ptr<Plan> plan_;
};

}  // namespace sheaf::exchange
