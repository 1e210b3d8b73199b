#include "api/sion/families/generic_mover.hpp"

#include <map>
#include <mutex>
#include <string>

#include "comm/agree.hpp"

namespace sheaf::api {
namespace {

// Movers by handle. The process functions passed to callbacks receive only the handle. The handle table
// cannot replace this map, because a handle leaves the table before its last bytes are written.
std::mutex movers_mutex;
std::map<int, GenericMover*> movers;

GenericMover* mover_of(int sid) {
  const std::lock_guard lock(movers_mutex);
  const auto found = movers.find(sid);
  return found == movers.end() ? nullptr : found->second;
}

constexpr int spec_length = 2;  // offset and bytes

enum Capability { full = 50, only_sender = 51 };

}  // namespace

GenericMover::~GenericMover() {
  const std::lock_guard lock(movers_mutex);
  const auto found = movers.find(sid_);
  if (found != movers.end() && found->second == this) movers.erase(found);
}

void GenericMover::serve(int sid, int64_t fsblksize) {
  sid_ = sid;
  fsblksize_ = fsblksize;
  const std::lock_guard lock(movers_mutex);
  movers[sid] = this;
}

void GenericMover::gather(std::span<const std::byte> data, int64_t offset, const Members& members,
                          const Write& write) {
  sion_int64 spec[spec_length] = {offset, std::ssize(data)};
  write_ = &write;
  problem_.reset();
  const int result =
      api_.gather_and_execute(data.data(), spec, spec_length, fsblksize_, group_, members.first,
                              members.first + 1, members.last, sid_, write_piece);
  write_ = nullptr;
  finish("gather_and_execute", result);
}

void GenericMover::scatter(std::span<std::byte> data, int64_t offset, const Members& members,
                           const Read& read) {
  sion_int64 spec[spec_length] = {data.empty() ? -1 : offset, data.empty() ? -1 : std::ssize(data)};
  read_ = &read;
  problem_.reset();
  const int result =
      api_.execute_and_scatter(data.data(), spec, spec_length, fsblksize_, group_, members.first,
                               members.first + 1, members.last, sid_, read_piece);
  read_ = nullptr;
  finish("execute_and_scatter", result);
}

void GenericMover::finish(const char* callback, int result) {
  if (problem_) throw *problem_;
  if (result != 0)
    throw Error(Code::io, "the " + std::string(callback) + " callback returned " + std::to_string(result));
}

// Runs `execute` on bytes that the program's callback passes at the collector. Returns 0, or 1 after an
// error. Stores the first error in problem_.
template <class Pointer, class Execute>
int GenericMover::run(const Execute* execute, Pointer data, const sion_int64* spec) {
  const auto failed = attempt([&] {
    if (!execute) throw Error(Code::wrong_mode, "the process function was called outside of its callback");
    if (!spec || (spec[1] > 0 && (!data || spec[0] < 0)))
      throw Error(Code::invalid_argument,
                  "the process function needs data and where in the file they belong");
    if (spec[1] > 0) (*execute)({data, static_cast<size_t>(spec[1])}, spec[0]);
  });
  if (failed && !problem_) problem_ = failed;
  return failed ? 1 : 0;
}

int GenericMover::write_piece(const void* data, sion_int64* spec, int sid) {
  GenericMover* const mover = mover_of(sid);
  return mover ? mover->run(mover->write_, static_cast<const std::byte*>(data), spec) : 1;
}

int GenericMover::read_piece(void* data, sion_int64* spec, int sid) {
  GenericMover* const mover = mover_of(sid);
  return mover ? mover->run(mover->read_, static_cast<std::byte*>(data), spec) : 1;
}

multifile::CollectiveMeans generic_means(const GenericApi& api, void* all, void* local,
                                         std::shared_ptr<GenericMover>& mover) {
  if (!api.moves_data()) return {};
  const int capability = api.capability(all);
  mover = std::make_shared<GenericMover>(api, local);
  return {.meeting = nullptr,
          .may_collect = capability == full,
          .takes_part = capability == full || capability == only_sender,
          .mover = mover};
}

}  // namespace sheaf::api
