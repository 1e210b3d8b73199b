// cli/verify: one line per physical file, the findings below it, and a summary.
#include <fmt/format.h>

#include "base/printable.hpp"
#include "cli/commands.hpp"
#include "cli/json.hpp"
#include "cli/terminal.hpp"
#include "stripedfile/striped_store.hpp"
#include "tools/verify.hpp"

namespace sheaf::cli {

namespace {

void print(const VerifyReport& report) {
  for (const FileReport& f : report.files) {
    if (f.findings.empty())
      fmt::print("{}: ok, {} tasks, {} bytes{}\n", printable(f.path), f.ntasks, f.data_bytes,
                 f.checksums ? ", checksums right" : "");
    else
      fmt::print("{}: {}\n", printable(f.path), name_of(f.state));
    for (const Finding& finding : f.findings) fmt::print("  {}\n", printable(finding.message));
    for (const std::string& note : f.notes) fmt::print("  note: {}\n", printable(note));
  }
}

Json json_of(const VerifyReport& report) {
  Json files = Json::array();
  for (const FileReport& f : report.files) {
    Json findings = Json::array();
    for (const Finding& finding : f.findings)
      findings.push_back({{"state", name_of(finding.state)}, {"message", finding.message}});
    files.push_back({{"path", f.path},
                     {"state", name_of(f.state)},
                     {"ntasks", f.ntasks},
                     {"data_bytes", f.data_bytes},
                     {"checksums", f.checksums},
                     {"findings", findings},
                     {"notes", f.notes}});
  }
  return {{"path", report.path}, {"ok", report.ok()}, {"files", files}};
}

}  // namespace

int verify(const VerifyOptions& options) {
  raise_descriptor_limit();
  Json all = Json::array();
  size_t bad = 0;
  for (const std::string& path : options.paths) {
    TerminalProgress progress("verify");
    const VerifyReport report = sheaf::verify(any_store(), path, !options.metadata_only, progress);
    bad += !report.ok();
    if (options.json)
      all.push_back(json_of(report));
    else
      print(report);
  }
  const size_t count = options.paths.size();
  if (options.json)
    fmt::print("{}\n", text_of({{"ok", bad == 0}, {"multifiles", all}}, 1));
  else
    fmt::print("{} multifile{} checked, {}\n", count, count == 1 ? "" : "s",
               bad == 0 ? std::string("nothing wrong") : fmt::format("{} bad", bad));
  return bad == 0 ? 0 : 1;
}

}  // namespace sheaf::cli
