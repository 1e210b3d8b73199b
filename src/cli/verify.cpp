// cli/verify: one line per physical file, the findings below it, and a summary.
#include <fmt/format.h>

#include <optional>

#include "base/printable.hpp"
#include "cli/commands.hpp"
#include "cli/json.hpp"
#include "cli/named.hpp"
#include "cli/terminal.hpp"
#include "stripedfile/striped_store.hpp"
#include "tools/verify.hpp"

namespace sheaf::cli {

namespace {

// Of one path: a multifile, containers, or both.
struct Checked {
  std::optional<VerifyReport> multifile;
  std::optional<ContainerReport> containers;

  bool ok() const { return (!multifile || multifile->ok()) && (!containers || containers->findings.empty()); }
};

Checked check(const std::string& path, bool with_data) {
  Checked checked;
  const bool has_containers = is_container_set(path);
  if (!has_containers || !is_containers_alone(path)) {
    TerminalProgress progress("verify");
    checked.multifile = sheaf::verify(any_store(), path, with_data, progress);
  }
  if (has_containers) checked.containers = verify_containers(path, with_data);
  return checked;
}

void print(const std::string& path, const ContainerReport& report) {
  fmt::print("{}: {}, {} streams in containers\n", printable(path),
             report.findings.empty() ? "ok" : "damaged", report.streams);
  for (const std::string& finding : report.findings) fmt::print("  {}\n", printable(finding));
  for (const std::string& note : report.notes) fmt::print("  note: {}\n", printable(note));
}

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
  return files;
}

Json json_of(const std::string& path, const Checked& checked) {
  Json all = {{"path", path}, {"ok", checked.ok()}};
  if (checked.multifile) all["files"] = json_of(*checked.multifile);
  if (checked.containers) {
    all["containers"] = true;
    Json& findings = all["findings"] = Json::array();
    for (const std::string& finding : checked.containers->findings)
      findings.push_back({{"state", "damaged"}, {"message", finding}});
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
    const Checked checked = check(path, !options.metadata_only);
    bad += !checked.ok();
    if (options.json) {
      all.push_back(json_of(path, checked));
      continue;
    }
    if (checked.multifile) print(*checked.multifile);
    if (checked.containers) print(path, *checked.containers);
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
