#include "mpiio/file/file_transfers.hpp"

#include <algorithm>
#include <climits>
#include <type_traits>

#include "comm/agree.hpp"
#include "comm/collective_call.hpp"
#include "exchange/pieces/constants.hpp"
#include "exchange/transfer/non_coherent_file.hpp"
#include "exchange/transfer/throttle.hpp"
#include "mpiio/file/file_access.hpp"
#include "mpiio/file/sequence.hpp"

namespace sheaf::mpiio {

using exchange::IoCounters;
using exchange::Sieving;

namespace {

// Converts a choice to the type `Wanted`: Sieving, or CollectiveOptions::Buffering.
template <class Wanted>
Wanted wanted(Choice choice) {
  return choice == Choice::enabled    ? Wanted::enabled
         : choice == Choice::disabled ? Wanted::disabled
                                      : Wanted::automatic;
}

}  // namespace

int64_t TransferSettings::block() const {
  return hints.block_size > 0 ? hints.block_size : hints.striping_unit > 0 ? hints.striping_unit : file_block;
}

exchange::IndependentOptions TransferSettings::independent_writes() const {
  return {.sieving = policy.may_sieve_writes() ? wanted<Sieving>(hints.sieve_write) : Sieving::disabled,
          .buffer = hints.sieve_write_size,
          .locked = atomic,
          .publishes = policy.has_own_caches() && (atomic || !policy.keeps_own_writes())};
}

exchange::IndependentOptions TransferSettings::independent_reads() const {
  return {.sieving = wanted<Sieving>(hints.sieve_read), .buffer = hints.sieve_read_size, .locked = atomic};
}

exchange::CollectiveOptions TransferSettings::collective(
    Choice buffering, const exchange::IndependentOptions& independent) const {
  const bool by_one_host = one_host && policy.has_own_caches() && hints.aggregators == 0 &&
                           hints.striping_factor == 0 && hints.config_list.empty();
  return {.exchange = wanted<exchange::CollectiveOptions::Buffering>(buffering),
          .independent = independent,
          .aggregators = by_one_host ? 1 : hints.aggregators,
          .per_host = by_one_host && !stores_file ? 0 : per_host,
          .stripes = hints.striping_factor,
          .buffer = hints.buffer_size,
          .block = block(),
          .unit = policy.unit_per_host(),
          .others_write = several_sequences,
          .switches = hints,  // the base class TransferSwitches
          .methods = hints};  // the base class ExchangeMethods
}

exchange::CollectiveOptions TransferSettings::collective_writes() const {
  exchange::CollectiveOptions how = collective(hints.collective_write, independent_writes());
  if (how.others_write) return how;
  // With romio_ds_write=enable the program states that no other handle writes, so collective writes may fill
  // gaps. Otherwise ConcurrentOpeners determines whether other handles write.
  how.fills_gaps = hints.sieve_write == Choice::enabled;
  if (is_announced && hints.sieve_write != Choice::disabled) how.others = &others;
  return how;
}

exchange::CollectiveOptions TransferSettings::collective_reads() const {
  exchange::CollectiveOptions how = collective(hints.collective_read, independent_reads());
  // Several aggregators may read parts of one unit if none keeps windows in a cache. A host page still has
  // one aggregator.
  if (!exchange::keeps_windows(policy)) how.unit = std::min(how.unit, exchange::max_host_page);
  return how;
}

bool TransferSettings::may_hold() const {
  return policy.has_own_caches() && !atomic && hints.hold_writes != Choice::disabled;
}

bool TransferSettings::holds(const exchange::FileAccess& access) const {
  if (!may_hold() || access.bytes() <= 0) return false;
  const int64_t pieces = access.pieces();
  return access.bytes() / pieces < exchange::max_held_piece &&
         (hints.hold_writes == Choice::enabled || pieces >= exchange::pieces_worth_holding);
}

Hints TransferSettings::resolved(const exchange::CollectiveExecutor::Chosen& chosen) const {
  Hints result = hints;
  if (result.block_size == 0) result.block_size = block();
  if (result.aggregators == 0) result.aggregators = chosen.aggregators;
  if (result.buffer_size == 0) result.buffer_size = chosen.window;
  result.file_system = name_of(policy.kind);
  for (const int64_t task : chosen.tasks)
    result.aggregator_list.append(result.aggregator_list.empty() ? "" : " ").append(std::to_string(task));
  return result;
}

int64_t FileTransfers::write(const View& view, int64_t position, const Source& from) {
  const exchange::FileAccess access = access_of(view, position, from);
  const auto transfer = [&](Statistics& one) {
    recorded(access, [&] {
      if (hold(access)) return;
      held_.replace(access);
      independent_write(*file, access, settings.independent_writes(), one);
    });
    one.bytes_written = access.bytes();
  };
  return counted(access, &Statistics::independent_writes, transfer).bytes_written;
}

int64_t FileTransfers::read(const View& view, int64_t position, const Destination& to) {
  const exchange::FileAccess access = access_of(view, position, to);
  const auto transfer = [&](Statistics& one) {
    if (!access.filetype->is_ordered()) drain_alone();
    one.bytes_read = held_.read(
        access, [&] { return independent_read(*file, access, settings.independent_reads(), one); });
  };
  return counted(access, &Statistics::independent_reads, transfer).bytes_read;
}

int64_t FileTransfers::write_all(Sequence& sequence, const View& view, int64_t position, const Source& from,
                                 std::optional<Error> problem) {
  exchange::FileAccess access;
  if (!problem) problem = attempt([&] { access = access_of(view, position, from); });
  if (!problem) problem = drain_few();
  const auto transfer = [&](Statistics& one) {
    recorded(access, [&] { write_together(sequence, access, problem, one); });
    one.bytes_written = access.bytes();
  };
  return counted(access, &Statistics::collective_writes, transfer).bytes_written;
}

int64_t FileTransfers::read_all(Sequence& sequence, const View& view, int64_t position, const Destination& to,
                                std::optional<Error> problem) {
  exchange::FileAccess access;
  if (!problem) problem = attempt([&] { access = access_of(view, position, to); });
  if (!problem) problem = drain_few();
  const auto transfer = [&](Statistics& one) {
    one.bytes_read = read_together(sequence, access, problem, one);
  };
  return counted(access, &Statistics::collective_reads, transfer).bytes_read;
}

// The other tasks write or read. This task may do either, because both fail after the first reduction.
void FileTransfers::fail_all(Sequence& sequence, const Error& problem) {
  IoCounters counters;
  collective_call(sequence.comm().job_end(), "transfer", [&] {
    sequence.transfers.write(target(), {}, settings.collective_writes(), problem, counters);
  });
}

Statistics FileTransfers::statistics() const {
  const std::lock_guard lock(mutex_);
  return statistics_;
}

template <class Byte>
exchange::FileAccess FileTransfers::access_of(const View& view, int64_t position,
                                              const MemoryOf<Byte>& memory) const {
  constexpr bool writes = std::is_const_v<Byte>;
  require_position(position);
  if (writes ? !mode_.write : !mode_.read)
    throw Error(Code::wrong_mode, "'" + path_ + "' is not open for " + (writes ? "writing" : "reading"));
  return access_to(view, position, memory, path_);
}

void FileTransfers::write_together(Sequence& sequence, const exchange::FileAccess& access,
                                   const std::optional<Error>& problem, IoCounters& counters) {
  const exchange::CollectiveOptions how = settings.collective_writes();
  const auto drain = [&] {
    drain_all(sequence);
    held_.replace(access);  // if another sequence drains
  };
  collective_call(sequence.comm().job_end(), "write",
                  [&] { sequence.transfers.write(target(drain), access, how, problem, counters); });
}

int64_t FileTransfers::read_together(Sequence& sequence, const exchange::FileAccess& access,
                                     const std::optional<Error>& problem, IoCounters& counters) {
  const exchange::CollectiveOptions how = settings.collective_reads();
  const auto drain = [&] { drain_all(sequence); };
  return collective_call(sequence.comm().job_end(), "read", [&] {
    return sequence.transfers.read(target(drain), access, how, problem, counters);
  });
}

exchange::CollectiveFile FileTransfers::target(std::function<void()> drain) const {
  exchange::CollectiveFile result = target();
  result.holds = !held_.is_empty();
  result.drain = std::move(drain);
  return result;
}

// Holds the bytes of a write. Returns false if it must not wait. If there is no memory left, writes the held
// bytes first.
bool FileTransfers::hold(const exchange::FileAccess& access) {
  if (!settings.holds(access)) return false;
  if (held_.add(access)) return true;
  drain_alone();
  return held_.add(access);
}

// Runs write(), which writes a batch of held bytes, and records those of a failed write.
template <class Write>
void FileTransfers::drain(const exchange::HeldExtents* batch, Write write) {
  Statistics one;
  const auto failed = attempt([&] { write(one); });
  if (batch) {
    if (failed)
      batch->for_each([&](int64_t offset, int64_t length) { unwritten_.add(offset, length, *failed); });
    held_.finish();
  }
  {
    const std::lock_guard lock(mutex_);
    statistics_.add(one);
  }
  if (failed) throw *failed;
}

void FileTransfers::drain_alone() {
  const exchange::HeldExtents* const batch = held_.take();
  if (batch)
    drain(batch, [&](IoCounters& counters) {
      independent_write(*file, batch->access(), settings.independent_writes(), counters);
    });
}

// Writes held bytes if they are few, so that collective calls need not drain them. Returns the error.
std::optional<Error> FileTransfers::drain_few() {
  if (held_.is_empty() || held_.count() >= exchange::extents_worth_an_exchange) return std::nullopt;
  return attempt([&] { drain_alone(); });
}

void FileTransfers::drain_all(Sequence& sequence) {
  const exchange::HeldExtents* const batch = held_.take();
  exchange::FileAccess access;
  const auto problem = attempt([&] {
    if (batch) access = batch->access();
  });
  drain(batch, [&](IoCounters& counters) {
    collective_call(sequence.comm().job_end(), "write", [&] {
      sequence.transfers.write(target(), access, settings.collective_writes(), problem, counters);
    });
  });
}

// Runs transfer(counters) and returns its counters. Adds these to the counters of the task, even if it
// throws.
template <class Transfer>
Statistics FileTransfers::counted(const exchange::FileAccess& access, int64_t Statistics::*calls,
                                  Transfer transfer) {
  Statistics one;
  one.*calls = 1;
  if (access.filetype) one.pieces = access.pieces();
  const auto failed = attempt([&] { transfer(one); });
  {
    const std::lock_guard lock(mutex_);
    statistics_.add(one);
  }
  if (failed) throw *failed;
  return one;
}

// Runs write(). Records the bytes of a failed write, any part of which may be written.
template <class Write>
void FileTransfers::recorded(const exchange::FileAccess& access, Write write) {
  const auto failed = attempt(write);
  // The call has written nothing if any task passed invalid arguments.
  const bool refused = failed && failed->code() == Code::invalid_argument;
  if (!refused) failed ? unwritten_.add(access, *failed) : unwritten_.remove(access);
  if (failed) throw *failed;
}

void limit_transfers(Comm& comm, Store& store, const Hints& hints, std::shared_ptr<File>& file,
                     std::optional<Error>& problem) {
  std::shared_ptr<WriteSlots> slots;
  const auto count = static_cast<int32_t>(std::min<int64_t>(hints.io_tasks, INT32_MAX));
  attempt(problem, [&] { slots = exchange::share_slots(comm, store, count); });
  if (file) file = throttled(std::move(file), std::move(slots));
}

}  // namespace sheaf::mpiio
