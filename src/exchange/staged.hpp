// exchange/staged: what a task does in passes over the stage of its host (exchange/stage_call).
#pragma once

#include <optional>

#include "base/error.hpp"
#include "comm/agree.hpp"
#include "exchange/stage_call.hpp"
#include "exchange/transfer/independent.hpp"
#include "exchange/transfer/tally.hpp"
#include "storage/file.hpp"

namespace sheaf::exchange {

// One task's part of a transfer.
class Staged {
 public:
  // `marks`: which bytes are put is marked, for windows with gaps.
  Staged(const StageCall& call, const ViewAccess& access, bool marks, Tally& tally)
      : call_(call), access_(access), marks_(marks), done_(access.to), tally_(tally) {}

  void mark(const WindowPart& part) const;
  void put(const WindowPart& part);
  void take(const WindowPart& part);

  // One host: whole windows, to the file and from there. Nothing is thrown.
  void write(uint64_t number, File& file, Sieving sieving);
  void read(uint64_t number, File& file);

  // The position in the stream up to which bytes were there to be taken.
  int64_t done() const { return done_; }
  const std::optional<Error>& problem() const { return problem_; }

 private:
  const StageCall& call_;
  const ViewAccess& access_;
  const bool marks_;
  int64_t done_;
  Tally& tally_;
  std::optional<Error> problem_;
};

}  // namespace sheaf::exchange
