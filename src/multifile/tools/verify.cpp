#include "multifile/tools/verify.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "comm/agree.hpp"
#include "multifile/generation/generation.hpp"
#include "multifile/journal/lease.hpp"
#include "multifile/keyval/keyval_check.hpp"
#include "multifile/metadata/task_rows.hpp"
#include "multifile/tools/constants.hpp"
#include "multifile/tools/verify_data.hpp"

namespace sheaf::multifile {

FileState state_of(Code code) {
  switch (code) {
    case Code::unclosed:
      return FileState::unclosed;
    case Code::not_a_multifile:
    case Code::unsupported:
      return FileState::foreign;
    case Code::not_found:
    case Code::permission:
    case Code::io:
    case Code::no_space:
      return FileState::unreadable;
    default:
      return FileState::damaged;
  }
}

namespace {

void add_finding(FileReport& report, FileState state, std::string message,
                 std::optional<Error> cause = std::nullopt) {
  if (report.findings.size() == tools::max_findings) {
    if (!std::exchange(report.more, true))
      report.notes.push_back("there are more findings than these " + std::to_string(tools::max_findings));
    return;
  }
  if (report.findings.empty()) report.state = state;
  report.findings.push_back({state, std::move(message), std::move(cause)});
}

void add_finding(FileReport& report, const std::string& text) {
  add_finding(report, FileState::damaged, "'" + report.path + "': " + text);
}

// Runs a check and turns each Error into a finding. Other exceptions, such as those of `progress`, reach the
// caller.
template <class Check>
void guarded(FileReport& report, Check check) {
  try {
    check();
  } catch (const Error& error) {
    add_finding(report, state_of(error.code()), error.what(), error);
  }
}

// Reports blocks that extend beyond their chunks. Such blocks are legal in files without key-value records,
// but two tasks may have written to the same bytes.
void look_for_overruns(const PhysicalFile& f, FileReport& report) {
  int64_t overruns = 0;
  int64_t first_task = 0;
  FileRows rows(f);
  for (int64_t t = 0; t < f.header.ntasks; ++t) {
    const TaskRow& row = rows.at(t);
    for (const auto [block, bytes] : row.sizes.used())
      if (bytes > row.geometry.size && overruns++ == 0) first_task = t;
  }
  for (const layout::CutBlock& block : f.table->cut_blocks())
    add_finding(report, "task " + std::to_string(block.entry % f.header.ntasks) +
                            " wrote beyond its chunk: of the " + std::to_string(block.stored) +
                            " bytes of its block " + std::to_string(block.entry / f.header.ntasks) +
                            " only the first " + std::to_string(block.own) +
                            " are read; behind them lie data of another task, which it may have overwritten, "
                            "or tables");
  if (overruns == 0) return;
  const std::string text = std::to_string(overruns) +
                           " block(s) are larger than their chunk, the first one of task " +
                           std::to_string(first_task) + ": the bytes behind lie in the chunk of another task";
  if (f.header.keyval() == format::KeyvalMode::inline_)
    add_finding(report, text + ", which a key-value file may not have");
  else
    report.notes.push_back(text);
}

// Reports journal damage despite which all streams can be read. Loading the file fails for damage that hides
// a part of a stream.
void look_for_journal_damage(Store& store, const PhysicalFile& f, FileReport& report) {
  const auto journal = JournalReader::open(store, report.path, f.header, *f.extension);
  if (!journal) return;
  journal->max_blocks();
  const JournalDamage& found = journal->damage();
  for (const std::string& name : found.headers)
    add_finding(report, "the header of '" + name + "' is damaged");
  if (found.corrected > 0)
    add_finding(report, std::to_string(found.corrected) +
                            " record(s) of its journal had a wrong bit; they can be read all the same");
}

// Describes the source of the contents of an unclosed file.
const char* knowledge_of(format::TableSource source) {
  return source == format::TableSource::journal ? "its journal tells what is there"
         : source == format::TableSource::none
             ? "there is no journal, since no task had flushed anything or completed a chunk"
             : "its tables are complete, but nothing points to them";
}

void check_file(Store& store, const PhysicalFile& f, FileReport& report) {
  if (!f.pointer.complete())
    add_finding(report, FileState::unclosed,
                "'" + report.path + "': was never closed; " + knowledge_of(f.pointer.source) + " (" +
                    advice_on_unclosed(store, report.path) + ")");
  if (!f.pointer.complete() && f.extension) look_for_journal_damage(store, f, report);
  report.ntasks = f.header.ntasks;
  report.checksums = f.table->has_sums();
  report.data_bytes = f.table->data_bytes();
  const int64_t mode = f.header.flag1 >> 32;
  if (f.header.version >= 5 && mode != 0 && mode != 50 && mode != 51)
    add_finding(report, "unknown key-value mode " + std::to_string(mode));
  if (f.header.compressed && !f.header.encoded)
    report.notes.emplace_back(
        "compressed, with the magic of plain files, as once usual: programs that know only those take its "
        "frames for data "
        "(`sheaf defrag` writes a file that they refuse)");
  if (f.header.guessed)
    report.notes.push_back("was repaired without knowing all of it: where " +
                           std::to_string(f.extension ? f.extension->guessed_ends : 0) +
                           " chunk(s) end was guessed, so streams may hold zeros that no task wrote, or lack "
                           "data");
  if (f.header.ntasks == 0) report.notes.emplace_back("the multifile has no tasks");
  look_for_overruns(f, report);
}

// Loads and checks a file, and adds its report. Reduces `max_held` by the memory of the file's tables.
// Returns nothing if the file cannot be loaded.
std::optional<PhysicalFile> load(Store& store, const std::string& path, VerifyReport& report,
                                 int64_t& max_held) {
  FileReport& file = report.files.emplace_back();
  file.path = path;
  std::optional<PhysicalFile> loaded;
  guarded(file, [&] {
    loaded = load_physical_file(store, path, Checking::on, max_held);
    max_held -= loaded->table->bytes_held();
    check_file(store, *loaded, file);
  });
  return loaded;
}

// Checks that the mapping of the set fits the files that could be loaded. Handles tasks_at_once tasks at a
// time; one bit per task records whether the mapping has named it.
void check_mapping(const std::vector<std::optional<PhysicalFile>>& files, const Multifile& multifile,
                   FileReport& report) {
  std::vector<int64_t> begins{0};  // number of tasks in preceding files
  for (const auto& file : files) begins.push_back(begins.back() + (file ? file->header.ntasks : 0));
  std::vector<bool> named;
  for (int64_t from = 0; from == 0 || from < begins.back(); from += tools::tasks_at_once) {
    named.assign(static_cast<size_t>(std::clamp<int64_t>(begins.back() - from, 0, tools::tasks_at_once)),
                 false);
    for_each_place(multifile, [&](int64_t first, std::span<const layout::Placement> places) {
      for (size_t i = 0; i < places.size() && report.findings.size() <= tools::max_wrong_entries; ++i) {
        const auto [file, local_rank] = places[i];
        const auto k = static_cast<size_t>(file);
        if (!files[k]) continue;
        const auto text = [&, local = local_rank, number = file] {
          return "the mapping sends task " + std::to_string(first + static_cast<int64_t>(i)) + " to task " +
                 std::to_string(local) + " of file " + std::to_string(number);
        };
        const int64_t at = begins[k] + local_rank - from;
        if (local_rank >= files[k]->header.ntasks) {
          if (from == 0)
            add_finding(report, text() + ", which has only " + std::to_string(files[k]->header.ntasks));
        } else if (at >= 0 && at < std::ssize(named)) {
          if (named[static_cast<size_t>(at)]) add_finding(report, text() + ", as another task before");
          named[static_cast<size_t>(at)] = true;
        }
      }
    });
    if (report.findings.size() > tools::max_wrong_entries) return;
  }
}

void check_set(Store& store, const std::string& path, std::vector<std::optional<PhysicalFile>>& files,
               VerifyReport& report, Multifile& multifile, int64_t max_held) {
  const format::Header lead = files.front()->header;
  guarded(report.files.front(), [&] {
    multifile.set_tasks = files.front()->table->check_mapping();
    if (multifile.set_tasks == 0)
      add_finding(report.files.front(), "a set of several files with an empty mapping");
    for_each_place(multifile, [](int64_t, std::span<const layout::Placement>) {});  // throws if incomplete
  });
  int32_t missing = 0;
  for (int32_t k = 1; k < lead.nfiles && missing < tools::max_missing_files; ++k) {
    files.push_back(load(store, format::physical_name(path, k), report, max_held));
    FileReport& file = report.files.back();
    missing += !files.back();
    if (files.back() && (files.back()->header.nfiles != lead.nfiles || files.back()->header.filenumber != k))
      add_finding(file, "is file " + std::to_string(files.back()->header.filenumber) + " of " +
                            std::to_string(files.back()->header.nfiles) + ", not file " + std::to_string(k) +
                            " of " + std::to_string(lead.nfiles));
    if (files.back() && is_of_another_open(files.front()->extension, files.back()->extension))
      add_finding(file, "was written by another open than '" + path + "': their identities differ");
  }
  if (report.files.front().findings.empty() && missing < tools::max_missing_files)
    check_mapping(files, multifile, report.files.front());
}

}  // namespace

const char* name_of(FileState state) {
  static constexpr const char* names[] = {"complete", "unclosed", "damaged", "unreadable", "foreign"};
  return names[static_cast<size_t>(state)];
}

bool VerifyReport::ok() const {
  return std::ranges::all_of(files, &std::vector<Finding>::empty, &FileReport::findings);
}

namespace {

// Returns the error that readers would throw for the first finding; nullopt without findings.
std::optional<Error> problem_in(const VerifyReport& report) {
  for (const FileReport& file : report.files) {
    if (file.findings.empty()) continue;
    const Finding& first = file.findings.front();
    return first.cause ? *first.cause : Error(Code::damaged, first.message);
  }
  return std::nullopt;
}

// The files that could be loaded, and the report on all files.
struct Loaded {
  VerifyReport report;
  Multifile multifile;
  std::vector<std::optional<PhysicalFile>> files;
};

Loaded load_set(GenerationStore& store, const std::string& path) {
  Loaded loaded{{path, {}}, {}, {}};
  loaded.multifile.path = path;
  int64_t max_held = held_by_tools;
  loaded.files.push_back(load(store, path, loaded.report, max_held));
  const std::optional<PhysicalFile>& lead = loaded.files.front();
  if (!lead) return loaded;
  loaded.multifile.files.push_back(*lead);
  if (!lead->header.leads_set()) return loaded;
  store.expect(lead->extension ? std::optional(lead->extension->identity) : std::nullopt);
  check_set(store, path, loaded.files, loaded.report, loaded.multifile, max_held);
  return loaded;
}

}  // namespace

VerifyReport verify(Store& store, const std::string& path, bool read_data, WorkProgress& progress) {
  GenerationStore generation(store, path);
  Loaded loaded;
  const auto failed = attempt([&] {
    generation.open_multifile([&] {
      loaded = {};  // otherwise a store that shares open files would find them again
      loaded = load_set(generation, path);
      if (const auto problem = problem_in(loaded.report)) throw *problem;  // a commit may be the reason
    });
  });
  if (failed && loaded.report.ok()) throw *failed;
  auto& [report, multifile, files] = loaded;

  int64_t total = 0;
  for (const FileReport& file : report.files) total = saturated_add(total, file.data_bytes);
  if (read_data) progress.begin(total);
  const bool complete = report.ok();
  for (size_t k = 0; read_data && k < files.size(); ++k)
    if (files[k])
      guarded(report.files[k], [&] {
        check_data(*files[k], progress, [&](FileState state, const std::string& message) {
          add_finding(report.files[k], state, message);
        });
      });
  if (!complete) return report;

  multifile.files.clear();
  for (auto& file : files) multifile.files.push_back(std::move(*file));
  const auto for_each_task = [&](auto&& check) {
    for_each_row(multifile, [&](int64_t t, const TaskRow& row) {
      guarded(report.files[static_cast<size_t>(row.place.file)], [&] { check(t, row); });
    });
  };
  guarded(report.files.front(), [&] {
    if (read_data && multifile.compressed())
      for_each_task([&](int64_t t, const TaskRow& row) { check_frames(multifile, t, row); });
    if (has_records(multifile))
      for_each_task([&](int64_t t, const TaskRow& row) {
        for_each_record(multifile, t, row, [](const KeyvalRecord&) {});
      });
  });
  return report;
}

}  // namespace sheaf::multifile
