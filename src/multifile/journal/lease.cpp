#include "multifile/journal/lease.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <span>
#include <thread>
#include <vector>

#include "base/assert.hpp"
#include "base/os/deadline.hpp"
#include "base/setting.hpp"
#include "comm/agree.hpp"
#include "format/header.hpp"
#include "multifile/journal/constants.hpp"
#include "storage/beside.hpp"
#include "storage/store.hpp"

namespace sheaf::multifile {

namespace {

// Returns the possible names of the lease of the multifile with the physical file `path`. A further file of a
// set has the name of file 0 followed by a number.
std::vector<std::string> lease_names(const std::string& path) {
  std::vector<std::string> names{format::lease_name(path)};
  const size_t length = format::physical_name("", 1).size();
  const size_t dot = path.size() > length ? path.size() - length : std::string::npos;
  if (dot != std::string::npos && path[dot] == '.' &&
      path.find_first_not_of("0123456789", dot + 1) == std::string::npos)
    names.push_back(format::lease_name(path.substr(0, dot)));
  return names;
}

}  // namespace

bool is_of(const format::Lease& lease, const ProcessIdentity& process) {
  return lease.started != 0 && !lease.boot.empty() &&
         ProcessIdentity{lease.boot, lease.pid, lease.started} == process;
}

std::optional<format::Lease> read_lease(File& file) {
  std::array<std::byte, format::lease_size> bytes;
  return format::decode_lease(std::span(bytes).first(file.read_at(bytes, 0)));
}

std::string LeaseView::age() const {
  if (!lease || lease->since == 0) return {};
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const int64_t seconds = std::chrono::floor<std::chrono::seconds>(now).count() - lease->since;
  return ", since " + std::to_string(std::max<int64_t>(0, seconds)) + " s";
}

LeaseView look_at_lease_file(Store& store, const std::string& name) {
  LeaseView view;
  view.problem = attempt([&] {
    const FileStatus there = store.status(name);
    view.exists = there.exists;
    if (!there.exists || there.is_directory || there.is_special) return;  // opening a pipe would block
    const auto file = store.open(name, Access::read);
    view.lease = read_lease(*file);
    if (!view.lease) {
      if (file->status().size == 0) view.holder = Holder::unknown;
      return;
    }
    const auto runs = runs_here({view.lease->boot, view.lease->pid, view.lease->started});
    view.holder = !runs ? Holder::unknown : *runs ? Holder::living : Holder::none;
    if (runs) return;
    bool free = true;
    attempt([&] { free = bool(file->lock(0, 1, false, OnConflict::refusal)); });
    if (!free) view.holder = Holder::living;
  });
  if (view.problem && view.problem->code() == Code::not_found) return {};  // removed since the status call
  return view;
}

LeaseTimes lease_times() {
  long long beat = 0, timeout = 0;
  const char* const set = setting("SHEAF_LEASE_TIMES");
  if (!set || std::sscanf(set, "%lld,%lld", &beat, &timeout) != 2 || beat <= 0 || timeout <= 0) return {};
  constexpr long long max = 1'000'000'000;  // eleven days, more than any job waits
  return {std::chrono::milliseconds(std::min(beat, max)), std::chrono::milliseconds(std::min(timeout, max))};
}

LeaseView look_at_lease(Store& store, const std::string& path) {
  LeaseView view;
  const std::string place = place_beside(store, path);
  const auto look_by = [&](const std::string& by) {
    for (const std::string& name : lease_names(by))
      if (!view.lease && !view.problem && view.holder == Holder::none) view = look_at_lease_file(store, name);
  };
  look_by(place);
  if (place != path) look_by(path);  // a further file of a set may be a link while file 0 is not
  return view;
}

LeaseView watch_lease(Store& store, const std::string& path, const LeaseTimes& times,
                      const std::function<void(const LeaseView&)>& waits) {
  SHEAF_ASSERT(waits && times.timeout.count() > 0);
  const LeaseView first = look_at_lease(store, path);
  const Deadline deadline(times.timeout);
  LeaseView now = first;
  while (now.holder == Holder::unknown && !deadline.expired()) {
    waits(now);
    std::this_thread::sleep_for(journal_constants::check_interval);
    now = look_at_lease(store, path);
    if (now.holder == Holder::unknown && now.lease != first.lease) now.holder = Holder::living;
  }
  // The file may be empty while its job writes it.
  if (now.holder == Holder::living && !now.lease) now.lease = first.lease;
  if (now.holder == Holder::unknown) now.holder = Holder::none;
  return now;
}

std::string advice_on_unclosed(Store& store, const std::string& path) {
  const LeaseView view = look_at_lease(store, path);
  if (view.holder == Holder::living) return view.job() + " is writing it";
  if (view.holder == Holder::unknown)
    return view.job() + " is writing it, if that lives still; else `sheaf repair` makes it complete";
  return "`sheaf repair` makes it complete";
}

}  // namespace sheaf::multifile
