#include "multifile/journal/ownership.hpp"

#include <atomic>
#include <cerrno>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "base/os/host_name.hpp"
#include "base/os/process_identity.hpp"
#include "base/os/random.hpp"
#include "base/warnings.hpp"
#include "comm/agree.hpp"
#include "multifile/journal/constants.hpp"
#include "storage/beside.hpp"

namespace sheaf::multifile {

namespace {

// Bytes of a lease that are locked.
constexpr int64_t owner_byte = 0;    // locked by the owner
constexpr int64_t removal_byte = 1;  // locked by a program that is about to remove the lease

RangeLock try_lock(File& file, int64_t byte) { return file.lock(byte, 1, true, OnConflict::refusal); }

format::Lease lease_of_this_process() {
  const ProcessIdentity me = this_process();
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return {.id = random_number(),
          .host = host_name(),
          .boot = me.boot,
          .pid = me.pid,
          .started = me.started,
          .since = std::chrono::floor<std::chrono::seconds>(now).count()};
}

}  // namespace

// State of an Ownership, which the heartbeat thread shares.
struct Ownership::OwnershipState {
  OwnershipState(std::shared_ptr<Store> its_store, const std::string& path)
      : store(std::move(its_store)), own{.path = path, .name = {}, .id = lease.id} {}

  const std::shared_ptr<Store> store;
  format::Lease lease = lease_of_this_process();
  WritingRight::LeaseReference own;
  bool took_over = false;
  std::shared_ptr<File> file;
  std::shared_ptr<WritingRight> right;
  std::atomic<bool> ended = false;

  std::mutex mutex;  // guards the following members
  RangeLock lock;    // released before the file is closed

  // Creates the lease. Returns false if the name exists.
  bool create() {
    std::shared_ptr<File> made;
    try {
      made = make_beside(*store, own.name);
    } catch (const Error& e) {
      if (e.errno_value() == EEXIST) return false;
      throw;
    }
    const auto problem = attempt([&] {
      made->write_at(format::encode(lease), 0);
      own.is_local = store->traits_of(*made).is_local();
      if (!own.is_local) publish_by_close(*made);
    });
    if (problem) {
      attempt([&] { store->remove(own.name); });
      throw *problem;
    }
    file = made;
    right = std::make_shared<WritingRight>(*store, own, std::move(made));
    return true;
  }

  // Returns true if a lease of a different open may be taken over. Sets `warning` if the user should know
  // about the takeover.
  bool may_take_over(const LeaseView& view, const OwnershipRequest& request, std::string& warning) const {
    const std::string who = view.lease ? view.job() : "a program that is about to write it";
    const auto taken_over = [&](const std::string& why) {
      warning = "'" + own.path + "' is taken over from " + who + ", " + why +
                ": if that goes on, its next flush or close fails";
      return true;
    };
    if (request.reopens && view.lease && is_of(*view.lease, this_process())) {
      warning = "'" + own.path +
                "' is opened for writing although this process has not closed it: the handle that was opened "
                "before loses it, and fails at its next flush or close";
      return true;
    }
    if (view.holder != Holder::none && request.steals) return taken_over("as was asked for");
    if (view.holder != Holder::unknown) return view.holder == Holder::none;
    const LeaseTimes times = lease_times();
    const LeaseView later = watch_lease(*store, own.path, times, request.waits);
    if (later.holder == Holder::living) return false;
    return !later.exists || taken_over("which has given no sign of life for " +
                                       std::to_string(times.timeout.count() / 1000) + " s");
  }

  // Removes the lease of a former owner, unless a different program removes it first.
  void take_away(const std::optional<format::Lease>& judged) const {
    try {
      const auto there = open_beside(*store, own.name, own.path);
      RangeLock barrier;
      const auto without_locks = attempt([&] { barrier = try_lock(*there, removal_byte); });
      if (!barrier && !without_locks) return std::this_thread::sleep_for(journal_constants::between_takers);
      const auto found = read_lease(*there);
      const bool is_judged = found.has_value() == judged.has_value() && (!found || found->id == judged->id);
      if (there->status().links > 0 && is_judged) store->remove(own.name);
    } catch (const Error& e) {
      if (e.code() != Code::not_found) throw;
    }
  }

  void raise() {
    if (!right->holds(LeaseCheck::name)) return;
    ++lease.counter;
    file->write_at(format::encode(lease), 0);
    if (!own.is_local) publish_by_close(*file);
    if (!lock) lock = try_lock(*file, owner_byte);
  }

  void beat() {
    {
      const std::lock_guard held(mutex);
      if (!ended) raise();
    }
    if (ended) remove();
  }

  // Removes the lease. If the heartbeat thread holds the mutex, possibly in a hanging call, that thread
  // removes the lease afterwards.
  void remove() {
    const std::unique_lock held(mutex, std::try_to_lock);
    if (!held || !file) return;
    attempt([&] {
      lock = {};
      RangeLock barrier;
      bool is_taken_away = false;  // a different program is removing the lease
      if (own.is_local)
        attempt([&] {
          barrier = try_lock(*file, removal_byte);
          is_taken_away = !barrier;
        });
      const bool removes = !is_taken_away && right->holds(LeaseCheck::handle);
      if (!own.is_local) file->close();  // clients of a server keep a removed file while it is open
      if (removes) store->remove(own.name);
    });
    file.reset();
  }

  // Removes the lease that keeps create() from making one, if it may be taken over. Returns the error with
  // which the open must fail, if any. Throws an error after which take() continues without a lease.
  std::optional<Error> make_way(const OwnershipRequest& request, bool is_last) {
    const LeaseView view = look_at_lease_file(*store, own.name);
    if (view.problem) throw *view.problem;
    if (!view.exists) {
      if (is_last) throw file_error(Code::foreign, own.name, "is a link that leads nowhere");
      return std::nullopt;
    }
    if (!view.lease && view.holder == Holder::none)
      throw file_error(Code::foreign, own.name, "is no lease, but another file");
    std::string warning;
    if (is_last || !may_take_over(view, request, warning))
      return file_error(Code::foreign, own.path,
                        "is being written by " + (view.lease ? view.job() : std::string("another program")) +
                            view.age() + ", and nothing was changed; " + request.advice);
    took_over = true;
    const auto left = attempt([&] { take_away(view.lease); });
    if (left) {
      // An owner that gave no sign of life during the watch counts as dead.
      const bool is_dead = view.holder == Holder::none || (view.holder == Holder::unknown && !request.steals);
      if (is_dead) throw *left;
    } else if (!warning.empty()) {
      add_warning(warning);
    }
    return left;
  }
};

std::shared_ptr<Ownership> Ownership::take(std::shared_ptr<Store> store, const std::string& path,
                                           const OwnershipRequest& request) {
  const auto held = std::make_shared<OwnershipState>(std::move(store), path);
  std::optional<Error> refused;
  const auto problem = attempt([&] {
    held->own.name = format::lease_name(place_beside(*held->store, path));
    for (int tries = 0; !refused && !held->create(); ++tries)
      refused = held->make_way(request, tries == journal_constants::max_takes);
  });
  if (refused) throw *refused;
  if (problem) {
    if (problem->errno_value() == ENOMEM) throw *problem;  // a living owner may exist
    if (problem->code() != Code::not_found)
      add_warning("'" + path + "' is written without a lease (" + problem->what() +
                  "): no other program is kept from writing it at the same time");
    return nullptr;
  }
  const LeaseTimes times = lease_times();
  auto heartbeat = Heartbeat::start(times.beat, times.beat, [held] { held->beat(); });
  return std::shared_ptr<Ownership>(new Ownership(held, std::move(heartbeat)));
}

std::shared_ptr<Ownership> Ownership::take(Store& store, const std::string& path,
                                           const OwnershipRequest& request) {
  return take(std::shared_ptr<Store>(std::shared_ptr<Store>(), &store), path, request);
}

Ownership::~Ownership() {
  if (held_->lease.pid != process_number()) return;
  heartbeat_.reset();
  held_->ended = true;
  held_->remove();
}

uint64_t Ownership::id() const { return held_->lease.id; }
bool Ownership::took_over() const { return held_->took_over; }
bool Ownership::is_local() const { return held_->own.is_local; }
const std::shared_ptr<WritingRight>& Ownership::right() const { return held_->right; }

}  // namespace sheaf::multifile
