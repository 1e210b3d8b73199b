// cli/repair: `sheaf repair`, one line per physical file and what could not be known.
#include "multifile/repair.hpp"

#include <fmt/format.h>

#include "cli/commands.hpp"
#include "cli/json.hpp"
#include "cli/terminal.hpp"
#include "stripedfile/striped_store.hpp"

namespace sheaf::cli {

namespace {

const char* explain(RepairSource source) {
  switch (source) {
    case RepairSource::complete:
      return "complete, nothing to do";
    case RepairSource::journal:
      return "recovered from its journal";
    case RepairSource::nothing:
      return "no task had anything to recover";
    case RepairSource::table:
      return "its block table was there, but not the pointer to it";
    case RepairSource::holes:
      return "recovered from the holes of the file";
  }
  return "";
}

Json json_of(const RepairReport& report, const RepairOptions& options) {
  Json files = Json::array();
  for (const RepairedFile& f : report.files)
    files.push_back({{"path", f.path},
                     {"source", name_of(f.source)},
                     {"ntasks", f.ntasks},
                     {"blocks", f.blocks},
                     {"data_bytes", f.data_bytes},
                     {"unknown", f.unknown}});
  return {{"path", report.path},
          {"was_complete", report.was_complete()},
          {"dry_run", options.request.dry_run},
          {"copy", options.request.copy_to},
          {"files", files}};
}

}  // namespace

int repair(const RepairOptions& options) {
  raise_descriptor_limit();
  catch_signals();
  TerminalProgress progress("repair");
  const RepairReport report = sheaf::repair(any_store(), options.path, options.request, progress);
  if (options.json) {
    fmt::print("{}\n", text_of(json_of(report, options), 1));
    return 0;
  }
  for (const RepairedFile& f : report.files) {
    fmt::print("{}: {}; {} tasks, {} bytes\n", f.path, explain(f.source), f.ntasks, f.data_bytes);
    for (const std::string& what : f.unknown) fmt::print("  not known: {}\n", what);
  }
  if (options.request.dry_run) {
    fmt::print("nothing was changed\n");
  } else if (!options.request.copy_to.empty()) {
    fmt::print("{}: a complete copy\n", options.request.copy_to);
  } else if (!report.was_complete()) {
    fmt::print("{}: complete now\n", report.path);
  }
  return 0;
}

}  // namespace sheaf::cli
