// cli/repair: implements `sheaf repair`. Prints one line per physical file, and what could not be recovered.
#include "multifile/recover/repair.hpp"
#include "base/printable.hpp"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "cli/commands.hpp"
#include "cli/json/json.hpp"
#include "cli/named/named.hpp"
#include "cli/terminal.hpp"
#include "comm/agree.hpp"
#include "multifile/journal/ownership.hpp"
#include "sfio/striped_store.hpp"
#include "streams/container/container_names.hpp"

namespace sheaf::cli {

using multifile::Holder;
using multifile::LeaseView;
using multifile::Ownership;
using multifile::RepairedFile;
using multifile::RepairReport;
using sfio::any_store;

namespace {

const char* explain(const RepairedFile& file) {
  if (file.source == multifile::RepairSource::complete && !file.unknown.empty()) return "complete";
  static constexpr const char* texts[] = {
      "complete, nothing to do", "recovered from its journal", "no task had anything to recover",
      "its block table was there, but not the pointer to it", "recovered from the holes of the file"};
  return texts[static_cast<size_t>(file.source)];
}

Json json_of(const RepairReport& report, const RepairOptions& options) {
  Json files = Json::array();
  for (const RepairedFile& f : report.files)
    files.push_back({{"path", f.path},
                     {"source", multifile::name_of(f.source)},
                     {"ntasks", f.ntasks},
                     {"blocks", f.blocks},
                     {"data_bytes", f.data_bytes},
                     {"guessed", f.guessed},
                     {"guessed_chunk_ends", f.guessed_ends},
                     {"unknown", f.unknown}});
  return {{"path", report.path},
          {"was_complete", report.was_complete()},
          {"dry_run", options.request.dry_run},
          {"copy", options.request.copy_to},
          {"files", files}};
}

// With --force, returns whether a job holds the lease of the multifile; the repair overrides that lease.
// Without --force, waits to find out whether a living job holds the lease. Throws if one does, else returns
// false.
bool overrides_job(const RepairOptions& options) {
  if (options.force) return multifile::look_at_lease(any_store(), options.path).holder != Holder::none;
  bool told = false;
  const multifile::LeaseTimes times = multifile::lease_times();
  const LeaseView view = multifile::watch_lease(any_store(), options.path, times, [&](const LeaseView& now) {
    if (told || !has_terminal()) return;
    told = true;
    fmt::print(stderr, "'{}': waiting up to {} s to see whether {} is still writing it\n", options.path,
               std::chrono::ceil<std::chrono::seconds>(times.timeout).count(), now.job());
  });
  if (view.holder != Holder::living) return false;
  throw file_error(Code::foreign, options.path,
                   "is being written: " + view.job() +
                       " lives. Repair it when that has ended; what is there now can be read, or "
                       "copied with --copy. (--force repairs it all the same, and the job fails)");
}

// Takes the ownership of a multifile for a repair in place. Returns null, with a message, if there is no
// living job, but a file with the name of the lease exists and cannot be removed.
std::shared_ptr<Ownership> owned(const RepairOptions& options) {
  std::shared_ptr<Ownership> ownership;
  const auto stuck =
      attempt([&] { ownership = Ownership::take(any_store(), options.path, {.steals = true}); });
  if (stuck && (options.force || stuck->code() != Code::foreign)) throw *stuck;
  if (stuck)
    fmt::print(stderr, "'{}' is repaired without a lease: {}\n", printable(options.path), stuck->what());
  return ownership;
}

void print(const RepairReport& report, const RepairOptions& options) {
  for (const RepairedFile& f : report.files) {
    fmt::print("{}: {}; {} tasks, {} bytes\n", printable(f.path), explain(f), f.ntasks, f.data_bytes);
    for (const std::string& what : f.unknown) fmt::print("  not known: {}\n", printable(what));
  }
  if (options.request.dry_run)
    fmt::print("nothing was changed\n");
  else if (!options.request.copy_to.empty())
    fmt::print("{}: a complete copy\n", printable(options.request.copy_to));
  else if (!report.was_complete())
    fmt::print("{}: complete now\n", printable(report.path));
}

}  // namespace

int repair(const RepairOptions& options) {
  if (streams::is_containers_alone(posix_store(), options.path)) return repair_containers(options);
  raise_descriptor_limit();
  const bool in_place = options.request.copy_to.empty() && !options.request.dry_run;
  multifile::RepairRequest request = options.request;
  request.accept_loss = options.force;
  request.replace = options.force;
  if (!options.request.copy_to.empty())
    catch_signals();  // an interrupted repair in place needs no cleanup, because it can be repeated
  TerminalProgress progress("repair");
  auto complete = in_place ? multifile::report_if_complete(any_store(), options.path, request) : std::nullopt;
  std::shared_ptr<Ownership> ownership;
  if (in_place && !complete) {
    request.may_live = overrides_job(options);
    ownership = owned(options);
  }
  const RepairReport report =
      complete ? std::move(*complete) : multifile::repair(any_store(), options.path, request, progress);
  if (options.json)
    fmt::print("{}\n", text_of(json_of(report, options), 1));
  else
    print(report, options);
  return 0;
}

}  // namespace sheaf::cli
