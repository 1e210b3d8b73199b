#include "journal/lease.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "base/random.hpp"
#include "base/setting.hpp"
#include "comm/agree.hpp"
#include "comm/host_name.hpp"
#include "format/header.hpp"
#include "journal/constants.hpp"
#include "process/process_identity.hpp"
#include "storage/beside.hpp"
#include "storage/store.hpp"

namespace sheaf {

namespace {

// The byte that a holder locks, where files can be locked.
RangeLock try_lock(File& file, bool exclusive) { return file.lock(0, 1, exclusive, Barred::refuse); }

std::optional<format::Lease> read_lease(File& file) {
  std::array<std::byte, format::lease_size> bytes;
  return format::decode_lease(std::span(bytes).first(file.read_at(bytes, 0)));
}

format::Lease lease_of_this_process() {
  const ProcessIdentity me = this_process();
  return {.id = random_number(), .host = host_name(), .boot = me.boot, .pid = me.pid, .started = me.started};
}

// Where the lease of the multifile can be that `path` is a physical file of: a further file of a set has the
// name of file 0 and a number.
std::vector<std::string> lease_names(const std::string& path) {
  std::vector<std::string> names{format::lease_name(path)};
  const size_t length = format::physical_name("", 1).size();
  const size_t dot = path.size() > length ? path.size() - length : std::string::npos;
  if (dot != std::string::npos && path[dot] == '.' &&
      path.find_first_not_of("0123456789", dot + 1) == std::string::npos)
    names.push_back(format::lease_name(path.substr(0, dot)));
  return names;
}

LeaseView look_at(Store& store, const std::string& name) {
  LeaseView view;
  view.problem = attempt([&] {
    const FileStatus there = store.status(name);
    if (!there.exists || there.is_directory || there.is_special) return;  // a pipe would be waited for
    const auto file = store.open(name, Access::read);
    view.lease = read_lease(*file);
    if (!view.lease) return;
    const auto runs = runs_here({view.lease->boot, view.lease->pid, view.lease->started});
    view.holder = !runs ? Holder::unknown : *runs ? Holder::living : Holder::none;
    if (runs) return;
    bool free = true;
    attempt([&] { free = bool(try_lock(*file, false)); });
    if (!free) view.holder = Holder::living;
  });
  if (view.problem && view.problem->code() == Code::not_found) view.problem.reset();  // it has just gone
  return view;
}

}  // namespace

LeaseTimes lease_times() {
  long long beat = 0, patience = 0;
  const char* const set = setting("SHEAF_LEASE_TIMES");
  if (!set || std::sscanf(set, "%lld,%lld", &beat, &patience) != 2 || beat <= 0 || patience <= 0) return {};
  const std::chrono::milliseconds interval(beat);
  return {std::min(LeaseTimes().begin, interval), interval, std::chrono::milliseconds(patience)};
}

// Used by the thread that beats, and by whoever ends the lease.
struct Lease::Held {
  Held(std::shared_ptr<Store> its_store, const std::string& its_path)
      : store(std::move(its_store)), path(its_path) {}

  const std::shared_ptr<Store> store;
  const std::string path;
  format::Lease lease = lease_of_this_process();
  std::mutex mutex;  // of all below
  bool begun = false;
  std::string name;
  std::shared_ptr<File> file;  // null: another file is in its place, or it cannot be made
  RangeLock lock;              // ends before the file goes
  std::atomic<bool> ended = false;

  bool is_own() const {
    const auto found = read_lease(*file);
    return found && found->id == lease.id;
  }
  void write() const { file->write_at(format::encode(lease), 0); }

  void begin() {
    begun = true;
    const std::string physical_file = place_beside(*store, path);
    name = format::lease_name(physical_file);
    std::shared_ptr<File> made;
    bool is_new = true;
    try {
      made = make_beside(*store, name);
    } catch (const Error& e) {
      if (e.errno_value() != EEXIST) throw;
      is_new = false;
      made = open_beside(*store, name, physical_file);
      if (made->status().size > 0 && !read_lease(*made)) return;  // another file
    }
    file = std::move(made);
    try {
      write();
    } catch (const Error&) {  // a full disk: an empty lease would stay, since is_own() is false of it
      file.reset();
      if (is_new) attempt([&] { store->remove(name); });
      throw;
    }
  }
  void raise() {
    if (!is_own()) return;  // another job writes under this name now
    ++lease.counter;
    write();
    if (!lock) lock = try_lock(*file, true);
  }
  void beat() {
    {
      const std::lock_guard held(mutex);
      if (!begun) {
        begin();
      } else if (file) {
        raise();
      }
    }
    if (ended) remove();
  }
  // By whoever comes last: a call of the thread that hangs is not waited for, and removes the file when it
  // ends.
  void remove() {
    const std::unique_lock held(mutex, std::try_to_lock);
    if (!held || !file) return;
    attempt([&] {
      if (is_own()) store->remove(name);
    });
  }
};

std::unique_ptr<Lease> Lease::take(std::shared_ptr<Store> store, const std::string& path) {
  const LeaseTimes times = lease_times();
  const auto held = std::make_shared<Held>(std::move(store), path);
  auto heartbeat = Heartbeat::start(times.begin, times.beat, [held] { held->beat(); });
  return heartbeat ? std::unique_ptr<Lease>(new Lease(held, std::move(heartbeat))) : nullptr;
}

Lease::~Lease() {
  if (held_->lease.pid != process_number()) return;
  heartbeat_.reset();
  held_->ended = true;
  held_->remove();
}

LeaseView look_at_lease(Store& store, const std::string& path) {
  LeaseView view;
  const std::string place = place_beside(store, path);
  const auto look_by = [&](const std::string& by) {
    for (const std::string& name : lease_names(by))
      if (!view.lease && !view.problem) view = look_at(store, name);
  };
  look_by(place);
  if (place != path) look_by(path);  // a further file of a set may be a link, and file 0 none
  return view;
}

LeaseView watch_lease(Store& store, const std::string& path, const LeaseTimes& times,
                      const std::function<void(const LeaseView&)>& waits) {
  using journal_constants::between_looks;
  LeaseView first = look_at_lease(store, path);
  // That of a dead job stays until the next one has made its own.
  if (!first.lease || first.holder == Holder::none) {
    std::this_thread::sleep_for(times.made());
    first = look_at_lease(store, path);
  }
  const auto until = std::chrono::steady_clock::now() + times.patience;
  LeaseView now = first;
  while (now.holder == Holder::unknown && std::chrono::steady_clock::now() < until) {
    waits(now);
    std::this_thread::sleep_for(between_looks);
    now = look_at_lease(store, path);
    if (now.holder == Holder::unknown && now.lease != first.lease) now.holder = Holder::living;
  }
  if (now.holder == Holder::unknown) now.holder = Holder::none;
  return now;
}

void remove_lease(Store& store, const std::string& path) {
  attempt([&] {
    const std::string name = format::lease_name(place_beside(store, path));
    const auto file = open_beside(store, name, path);
    const bool ours = file->status().size == 0 || read_lease(*file).has_value();
    file->close();
    if (ours) store.remove(name);
  });
}

std::string advice_on_unclosed(Store& store, const std::string& path) {
  const LeaseView view = look_at_lease(store, path);
  if (view.holder == Holder::living) return view.job() + " is writing it";
  if (view.holder == Holder::unknown)
    return view.job() + " is writing it, if that lives still; else `sheaf repair` makes it complete";
  return "`sheaf repair` makes it complete";
}

}  // namespace sheaf
