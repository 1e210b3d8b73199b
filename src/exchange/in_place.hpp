// exchange/in_place: collective writes into a file that is memory, by tasks that share a node.
//
// Every task puts its pieces where they belong in the file; no byte passes through other memory or a request. What is left to
// share is the making of the file's pages: the first task that comes to a large page makes it, the next ones make those behind
// it meanwhile. Tasks that go on so for a while need not tell each other each time what they have.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "base/error.hpp"
#include "exchange/access.hpp"
#include "exchange/extent.hpp"
#include "exchange/stage.hpp"
#include "exchange/tally.hpp"
#include "storage/store.hpp"

namespace sheaf::exchange {

class InPlace {
 public:
  // `tasks` use the stage; it outlives this.
  InPlace(Stage& stage, int tasks) : stage_(stage), tasks_(static_cast<uint32_t>(tasks)) {}

  // Whether the kernel makes pages, as far as this task knows.
  bool works() const;

  // Whether a range of the file, all of which is to be written, is better written so; the same on all tasks. `large`: what tasks
  // have of it are large pieces.
  static bool pays(File& file, Extent range, bool large);

  // Collective; `pays`, and the pieces of the tasks fill the range; `access.bytes()` may be 0. Nothing is thrown on the way.
  // Returns what went wrong here. With `failed`, tasks wait for each other, and it then tells all whether one has failed; without,
  // each is through when its own pieces are where they belong, and await_last() tells.
  std::optional<Error> write(File& file, const Access& access, Extent range, SharedWord* failed, Tally& tally);

  // The same for a task that does not know what the others do, whose pieces (`access.bytes()` > 0) follow each other in the file: pages
  // that they touch are made whole.
  std::optional<Error> write_alone(File& file, const Access& access, Tally& tally);

  // Waits until all have ended their parts of the last write(). False if one has failed. Local.
  bool await_last();

 private:
  struct Job;
  FileMemory* reach(File& file, Extent range);
  std::optional<Error> carry_out(File& file, const Job& job, const Access& access, Tally& tally);
  bool put(const Job& job, const Access& access, Tally& tally);
  void await_page(const Job& job, int64_t number);
  bool make_next(const Job& job, int64_t number);
  void make(const Job& job, int64_t number);
  void end_part();
  SharedWord& word(const Job& job, int64_t number) const;

  Stage& stage_;
  const uint32_t tasks_;
  std::unique_ptr<FileMemory> memory_;  // kept, because what is mapped is cheap to use again
  File* file_ = nullptr;  // whose memory that is
  uint32_t round_ = 0;    // of the words of pages
  uint32_t placed_ = 0;   // parts of tasks, over all calls
  int unmade_ = 0;        // pages that could not be made here
};

}  // namespace sheaf::exchange
