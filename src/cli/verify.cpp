// cli/verify: implements `sheaf verify`. Prints one line per physical file, its findings, and a summary.
#include <fmt/format.h>

#include "base/printable.hpp"
#include "cli/commands.hpp"
#include "cli/json/json.hpp"
#include "cli/terminal.hpp"
#include "sfio/striped_store.hpp"
#include "streams/verify/verify_set.hpp"

namespace sheaf::cli {

using multifile::FileReport;
using multifile::Finding;
using streams::SetReport;

namespace {

void print(const FileReport& f, const std::string& state) {
  fmt::print("{}: {}\n", printable(f.path), state);
  for (const Finding& finding : f.findings) fmt::print("  {}\n", printable(finding.message));
  for (const std::string& note : f.notes) fmt::print("  note: {}\n", printable(note));
}

void print(const SetReport& checked) {
  if (checked.multifile)
    for (const FileReport& f : checked.multifile->files)
      print(f, f.findings.empty() ? fmt::format("ok, {} tasks, {} bytes{}", f.ntasks, f.data_bytes,
                                                f.checksums ? ", checksums right" : "")
                                  : multifile::name_of(f.state));
  if (const auto& f = checked.containers)
    print(*f, fmt::format("{}, {} streams in containers", f->findings.empty() ? "ok" : "damaged", f->ntasks));
}

Json findings_of(const FileReport& f) {
  Json findings = Json::array();
  for (const Finding& finding : f.findings)
    findings.push_back({{"state", multifile::name_of(finding.state)}, {"message", finding.message}});
  return findings;
}

Json json_of(const multifile::VerifyReport& report) {
  Json files = Json::array();
  for (const FileReport& f : report.files)
    files.push_back({{"path", f.path},
                     {"state", multifile::name_of(f.state)},
                     {"ntasks", f.ntasks},
                     {"data_bytes", f.data_bytes},
                     {"checksums", f.checksums},
                     {"findings", findings_of(f)},
                     {"notes", f.notes}});
  return files;
}

Json json_of(const std::string& path, const SetReport& checked) {
  Json all = {{"path", path}, {"ok", checked.ok()}};
  if (checked.multifile) all["files"] = json_of(*checked.multifile);
  if (checked.containers) {
    all["containers"] = true;
    all["findings"] = findings_of(*checked.containers);
    all["notes"] = checked.containers->notes;
  }
  return all;
}

}  // namespace

int verify(const VerifyOptions& options) {
  raise_descriptor_limit();
  Json all = Json::array();
  size_t bad = 0;
  for (const std::string& path : options.paths) {
    TerminalProgress progress("verify");
    const SetReport checked = streams::verify_set(sfio::any_store(), path, !options.metadata_only, progress);
    bad += !checked.ok();
    if (options.json)
      all.push_back(json_of(path, checked));
    else
      print(checked);
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
