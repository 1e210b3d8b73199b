#include "multifile/recover/repair.hpp"

#include <algorithm>
#include <utility>

#include "comm/agree.hpp"
#include "multifile/create/commit.hpp"
#include "multifile/create/output_set.hpp"
#include "multifile/journal/journal_file.hpp"
#include "multifile/options/open_mode.hpp"
#include "multifile/recover/unclosed_file.hpp"
#include "storage/beside.hpp"

namespace sheaf::multifile {

const char* name_of(RepairSource source) {
  static constexpr const char* names[] = {"complete", "journal", "nothing", "table", "holes"};
  return names[static_cast<size_t>(source)];
}

bool RepairReport::was_complete() const {
  return std::ranges::all_of(files, [](const RepairedFile& f) { return f.source == RepairSource::complete; });
}

namespace {

// Returns the identity of the first file of the set that has one; else a new one.
format::Identity identity_of(Store& store, const std::string& path, int32_t nfiles) {
  for (int32_t k = 0; k < nfiles; ++k) {
    const auto file = store.open(format::physical_name(path, k), Access::read);
    if (const auto extension = MetadataReader(*file).extension()) return extension->identity;
  }
  return new_identity();
}

// Completes the file in place. Then removes its journals and boundary files.
void repair_in_place(Store& store, UnclosedFile& file, WorkProgress& progress) {
  const std::string& name = file.report().path;
  if (!file.is_complete() || file.report().guessed) {
    const auto target = store.open(name, Access::write);
    file.complete(*target, false, progress);
    target->close();
  }
  if (const auto& extension = file.extension()) {
    remove_leftovers(store, name, extension->identity);
    remove_journal_gap(store, name);
  }
}

}  // namespace

RepairReport repair(Store& store, const std::string& path, const RepairRequest& asked,
                    WorkProgress& progress) {
  RepairRequest request = asked;
  const bool copies = !request.copy_to.empty() && !request.dry_run;
  const bool in_place = request.copy_to.empty() && !request.dry_run;
  RepairReport report{path, {}};
  int32_t nfiles = 1;
  std::optional<format::Extension> of_lead;
  if (in_place) finish_commit(store, path);
  GenerationStore generation(store, path);
  generation.open_multifile([&] {
    const auto lead = generation.open(path, Access::read);
    MetadataReader reader(*lead);
    nfiles = reader.header().leads_set() ? reader.header().nfiles : 1;
    of_lead = reader.extension();
  });
  request.identity = of_lead ? of_lead->identity : identity_of(generation, path, nfiles);
  bool guessed = false;
  OutputSet outputs(store, request.replace ? OutputSet::Existing::replaced : OutputSet::Existing::refused);
  if (copies) {
    outputs.check(request.copy_to);
    outputs.own(request.copy_to);
  }
  // Readers open file 0 first, so it is completed last.
  for (int32_t k = nfiles - 1; k >= 0; --k) {
    UnclosedFile file(generation, format::physical_name(path, k), request);
    const std::string& name = file.report().path;
    if (is_of_another_open(of_lead, file.extension()))
      throw file_error(Code::damaged, name,
                       "was written by another open than '" + path +
                           "': their identities differ, and files of two programs are not made into one "
                           "multifile. It can be repaired and read alone, by its own name");
    guessed |= file.report().guessed;
    if (guessed && k == 0) file.guess_set();
    if (copies) {
      const std::string copy = format::physical_name(request.copy_to, k);
      const auto target = outputs.add(copy, name);
      progress.begin_output(k, copy);
      file.complete(*target, true, progress);
      target->close();
    } else if (in_place) {
      repair_in_place(store, file, progress);
    }
    report.files.push_back(file.report());
    file.close();
  }
  if (copies) outputs.commit();
  std::ranges::reverse(report.files);
  return report;
}

namespace {

// Returns true if journals, a lease or boundary blocks exist beside the file, or if the names cannot be
// listed.
bool may_have_neighbours(Store& store, const std::string& path) {
  const size_t name = path.rfind('/') + 1;
  const std::string begin = path.substr(name) + ".";
  const std::vector<std::string> names = store.names_in(path.substr(0, name));
  return names.empty() || std::ranges::any_of(names, [&](const std::string& other) {
           return other.starts_with(begin) &&
                  other.find_first_not_of("0123456789", begin.size()) != other.npos;
         });
}

}  // namespace

std::optional<RepairReport> report_if_complete(Store& store, const std::string& path, RepairRequest request) {
  std::optional<RepairReport> report;
  attempt([&] {
    if (may_have_neighbours(store, path) || may_have_neighbours(store, place_beside(store, path))) return;
    if (!MetadataReader(*store.open(path, Access::read)).read_pointer().complete()) return;
    request.dry_run = true;
    WorkProgress quiet;
    RepairReport found = repair(store, path, request, quiet);
    const bool is_known =
        std::ranges::all_of(found.files, [](const RepairedFile& f) { return f.unknown.empty(); });
    if (found.was_complete() && is_known) report = std::move(found);
  });
  return report;
}

}  // namespace sheaf::multifile
