#include "multifile/verify.hpp"

#include <algorithm>
#include <mutex>
#include <optional>

#include "comm/agree.hpp"
#include "multifile/file_checks.hpp"
#include "multifile/keyval_check.hpp"
#include "multifile/work_threads.hpp"

namespace sheaf {

namespace {

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

void add_finding(FileReport& report, FileState state, std::string message) {
  if (report.findings.empty()) report.state = state;
  report.findings.push_back({state, std::move(message)});
}

void add_finding(FileReport& report, const std::string& text) {
  add_finding(report, FileState::damaged, "'" + report.path + "': " + text);
}

// Runs a check; what it throws becomes a finding. Errors of the caller's own (from `progress`) pass.
template <class Check>
void guarded(FileReport& report, Check check) {
  try {
    check();
  } catch (const Error& error) {
    add_finding(report, state_of(error.code()), error.what());
  }
}

// Blocks that go beyond their chunks: legal, but two tasks have written to the same place.
void look_for_overruns(const PhysicalFile& f, FileReport& report) {
  int64_t overruns = 0;
  int64_t first_task = 0;
  for (int64_t t = 0; t < f.header.ntasks; ++t) {
    const BlockSizes sizes = f.sizes_of(t);
    for (int64_t b = 0; b < sizes.count; ++b)
      if (sizes[b] > f.chunk_sizes[static_cast<size_t>(t)] && overruns++ == 0) first_task = t;
  }
  if (overruns == 0) return;
  const std::string text = std::to_string(overruns) +
                           " block(s) are larger than their chunk, the first one of task " +
                           std::to_string(first_task) + ": the bytes behind lie in the chunk of another task";
  if (f.header.keyval() == format::KeyvalMode::inline_)
    add_finding(report, text + ", which a key-value file may not have");
  else
    report.notes.push_back(text);
}

void check_file(const PhysicalFile& f, FileReport& report) {
  if (!f.pointer.complete())
    add_finding(report, FileState::unclosed,
                "'" + report.path + "': was never closed; its journal tells what is there (`sheaf repair` makes it complete)");
  report.ntasks = f.header.ntasks;
  report.checksums = !f.sums.empty() || (f.header.ntasks == 0 && f.extension && f.extension->checksums());
  for (int64_t t = 0; t < f.header.ntasks; ++t) report.data_bytes += f.sizes_of(t).total();
  const int64_t mode = f.header.flag1 >> 32;
  if (f.header.version >= 5 && mode != 0 && mode != 50 && mode != 51)
    add_finding(report, "unknown key-value mode " + std::to_string(mode));
  if (f.header.ntasks == 0) report.notes.emplace_back("the multifile has no tasks");
  look_for_overruns(f, report);
}

std::optional<PhysicalFile> load(Store& store, const std::string& path, VerifyReport& report) {
  FileReport& file = report.files.emplace_back();
  file.path = path;
  std::optional<PhysicalFile> loaded;
  guarded(file, [&] {
    loaded = load_physical_file(store, path);
    check_file(*loaded, file);
  });
  return loaded;
}

// The mapping of the set against the files that could be loaded.
void check_mapping(const std::vector<std::optional<PhysicalFile>>& files,
                   const std::vector<layout::Placement>& mapping, FileReport& report) {
  if (mapping.empty()) add_finding(report, "a set of several files with an empty mapping");
  std::vector<std::vector<bool>> named(files.size());
  for (size_t k = 0; k < files.size(); ++k)
    if (files[k]) named[k].resize(static_cast<size_t>(files[k]->header.ntasks));
  for (size_t t = 0; t < mapping.size(); ++t) {
    const auto [file, local_rank] = mapping[t];
    const auto k = static_cast<size_t>(file);
    if (!files[k]) continue;
    const std::string text = "the mapping sends task " + std::to_string(t) + " to task " +
                             std::to_string(local_rank) + " of file " + std::to_string(file);
    if (local_rank >= files[k]->header.ntasks)
      add_finding(report, text + ", which has only " + std::to_string(files[k]->header.ntasks));
    else if (named[k][static_cast<size_t>(local_rank)])
      add_finding(report, text + ", as another task before");
    else
      named[k][static_cast<size_t>(local_rank)] = true;
    if (report.findings.size() > 20) return;
  }
}

void check_set(Store& store, const std::string& path, std::vector<std::optional<PhysicalFile>>& files,
               VerifyReport& report, Multifile& multifile) {
  const format::Header lead = files.front()->header;
  guarded(report.files.front(), [&] {
    MetadataReader reader(store, *files.front()->file, lead);
    const format::Pointer p = files.front()->pointer;
    const int64_t entries = reader.read_mapping_size(p);
    if (FileChecks* const checks = reader.checks(p)) checks->check_mapping(0, entries, entries);
    multifile.mapping.resize(static_cast<size_t>(entries));
    reader.read_mapping(p, 0, multifile.mapping);
  });
  constexpr int32_t most_missing = 20;
  int32_t missing = 0;
  for (int32_t k = 1; k < lead.nfiles && missing < most_missing; ++k) {
    files.push_back(load(store, format::physical_name(path, k), report));
    FileReport& file = report.files.back();
    missing += !files.back();
    if (files.back() && (files.back()->header.nfiles != lead.nfiles || files.back()->header.filenumber != k))
      add_finding(file, "is file " + std::to_string(files.back()->header.filenumber) + " of " +
                            std::to_string(files.back()->header.nfiles) + ", not file " + std::to_string(k) +
                            " of " + std::to_string(lead.nfiles));
    if (files.back() && files.front()->extension && files.back()->extension &&
        files.back()->extension->identity != files.front()->extension->identity)
      file.notes.push_back("was written by another open than '" + path + "': their identities differ");
  }
  if (report.files.front().findings.empty() && missing < most_missing)
    check_mapping(files, multifile.mapping, report.files.front());
}

// Bytes of one task that can be read and, where there are checksums, match them. What is wrong is reported with `say`.
template <class Say>
void read_task(const PhysicalFile& f, int64_t task, std::span<std::byte> buffer, WorkProgress& progress, Say&& say) {
  const layout::ChunkGeometry g = f.geometry(task);
  const BlockSizes sizes = f.sizes_of(task);
  ReadStream places;  // of the checksums
  places.load(f.file, g, sizes, {}, f.sums_of(task));
  for (int64_t b = 0; b < sizes.count; ++b) {
    places.seek_block(b, 0);
    const int64_t checked = places.checked_size(b);
    for (int64_t at = 0; at < sizes[b];) {
      const int64_t end = at < checked ? checked : sizes[b];
      const auto piece = buffer.first(static_cast<size_t>(std::min(end - at, std::ssize(buffer))));
      size_t got = 0;
      const auto failed = attempt([&] { got = f.file->read_at(piece, g.offset(b) + at); });
      if (failed) say(state_of(failed->code()), failed->what());
      if (got < piece.size())
        return say(FileState::damaged, "'" + f.path() + "': data of task " + std::to_string(task) + " at offset " +
                                           std::to_string(g.offset(b) + at) + " cannot be read");
      const auto check = [&](std::span<const std::byte> part, int64_t from) {
        return attempt([&] { check_pieces(*f.file, places.sums_at(b, from), places.piece(), part, {task, b, from}); });
      };
      const auto unlike = at < checked ? check(piece, at) : std::nullopt;
      if (unlike && unlike->code() != Code::damaged) {
        say(state_of(unlike->code()), unlike->what());
      } else if (unlike) {
        for (size_t done = 0; done < piece.size(); done += places.piece()) {  // which ones?
          const auto part = piece.subspan(done, std::min<size_t>(places.piece(), piece.size() - done));
          if (const auto wrong = check(part, at + static_cast<int64_t>(done))) say(state_of(wrong->code()), wrong->what());
        }
      }
      at += std::ssize(piece);
      progress.advance(std::ssize(piece));
    }
  }
}

// On all cores: tasks are dealt out in shares of neighbours.
void read_everything(const PhysicalFile& f, FileReport& report, WorkProgress& progress) {
  constexpr size_t most_findings = 100;
  constexpr int64_t buffer_bytes = 1 << 20;  // so that it is in the cache when it is checked; a multiple of all pieces but the largest
  const int64_t at_once = f.extension ? std::max<int64_t>(buffer_bytes, f.extension->piece) : buffer_bytes;
  const int64_t piece = f.extension && f.extension->piece > 0 ? f.extension->piece : 1;
  const int64_t share = std::max<int64_t>(1, f.header.ntasks / 256);
  std::mutex mutex;
  const auto say = [&](FileState state, const std::string& message) {
    const std::lock_guard lock(mutex);
    if (report.findings.size() < most_findings) add_finding(report, state, message);
  };
  on_threads(
      (f.header.ntasks + share - 1) / share, progress, [&](int64_t i) { return i * share; },
      [&](int64_t, int64_t first, WorkProgress& shared) {
        std::vector<std::byte> buffer(static_cast<size_t>(at_once / piece * piece));
        for (int64_t t = first; t < std::min<int64_t>(first + share, f.header.ntasks); ++t) read_task(f, t, buffer, shared, say);
      });
  if (f.sums.empty()) return;
  guarded(report, [&] {
    MetadataReader reader(*f.file, f.header);
    for (int64_t task = 0; task < f.header.ntasks; task += format::group_tasks)
      reader.checks(f.pointer)->read_sums(task, std::min<int64_t>(format::group_tasks, f.header.ntasks - task));
  });
}

// Every frame of a task, or as far as the first that is damaged.
void decompress(const Multifile& m, int64_t task) {
  if (!m.file_of(task).header.compressed) return;
  ReadStream stream;
  stream.set_max_buffer(0);
  load_stream(stream, m, task);
  std::vector<std::byte> buffer(static_cast<size_t>(std::min<int64_t>(stream.sizes().total(), 4 << 20)));
  while (!buffer.empty() && stream.read(buffer) == buffer.size()) {}
}

}  // namespace

const char* name_of(FileState state) {
  switch (state) {
    case FileState::complete:
      return "complete";
    case FileState::unclosed:
      return "unclosed";
    case FileState::damaged:
      return "damaged";
    case FileState::unreadable:
      return "unreadable";
    case FileState::foreign:
      return "foreign";
  }
  return "unknown";
}

bool VerifyReport::ok() const {
  return std::all_of(files.begin(), files.end(), [](const FileReport& f) { return f.findings.empty(); });
}

VerifyReport verify(Store& store, const std::string& path, bool read_data, WorkProgress& progress) {
  VerifyReport report;
  report.path = path;
  Multifile multifile;
  multifile.path = path;
  std::vector<std::optional<PhysicalFile>> files;
  files.push_back(load(store, path, report));
  if (files.front() && files.front()->header.leads_set()) check_set(store, path, files, report, multifile);

  int64_t total = 0;
  for (const FileReport& file : report.files) total = checked_add(total, file.data_bytes).value_or(INT64_MAX);
  if (read_data) progress.begin(total);
  const bool complete = report.ok();
  for (size_t k = 0; read_data && k < files.size(); ++k)
    if (files[k]) read_everything(*files[k], report.files[k], progress);
  if (!complete) return report;

  for (auto& file : files) multifile.files.push_back(std::move(*file));
  for (int64_t t = 0; read_data && t < multifile.ntasks(); ++t)
    guarded(report.files[static_cast<size_t>(multifile.place(t).file)], [&] { decompress(multifile, t); });
  for (int64_t t = 0; t < multifile.ntasks(); ++t)
    guarded(report.files[static_cast<size_t>(multifile.place(t).file)],
            [&] { for_each_record(multifile, t, [](const KeyvalRecord&) {}); });
  return report;
}

}  // namespace sheaf
