// Restores physical files that the task reading them cannot access, from data that another task can access.
#include <algorithm>
#include <vector>

#include "comm/agree.hpp"
#include "comm/reduce.hpp"
#include "comm/rounds.hpp"
#include "multifile/buddy/buddy.hpp"
#include "multifile/buddy/constants.hpp"
#include "multifile/create/output_set.hpp"
#include "multifile/metadata/metadata_io.hpp"

namespace sheaf::multifile {

namespace {

// Runs restore_from_buddies() on one task.
class Restorer {
 public:
  Restorer(Store& store, Comm& all, std::string base, int levels, int64_t nfiles)
      : store_(store), copies_(store, base, levels), all_(all), base_(std::move(base)), nfiles_(nfiles) {}

  void restore(int64_t needed) {
    const bool lacks = needed >= 0 && needed < nfiles_ && !sees(needed);
    if (!any_task(all_, lacks)) return;
    // By file: 1 + the task that lacks the file; 0: none.
    std::vector<int64_t> needers(static_cast<size_t>(nfiles_));
    if (lacks) needers[static_cast<size_t>(needed)] = all_.rank() + 1;
    all_.all_max(needers);
    const std::vector<int64_t> offers = find_offers(needers, needed >= 0);
    for (int64_t file = 0; file < nfiles_; ++file) {
      const auto at = static_cast<size_t>(file);
      if (needers[at] > 0 && offers[at] > 0)
        move(file, static_cast<int>(offers[at] - 1), static_cast<int>(needers[at] - 1));
    }
  }

 private:
  std::string name(int64_t file) const { return format::physical_name(base_, static_cast<int32_t>(file)); }

  // Opens the file, or a view of a copy. Throws if this task can read neither.
  std::shared_ptr<File> open(int64_t file) {
    auto found = copies_.open(name(file), Access::read);
    const format::Header h = MetadataReader(*found).header();
    if (h.filenumber != file || (nfiles_ != 1 && h.nfiles != nfiles_))
      throw file_error(Code::damaged, found->path(), "does not belong to its set");
    return found;
  }
  bool sees(int64_t file) {
    return !attempt([&] { open(file)->close(); });
  }

  // Returns for each file 1 + a task that can access it; 0 if no task needs it or none can. Collective.
  std::vector<int64_t> find_offers(const std::vector<int64_t>& needers, bool reads) {
    std::vector<int64_t> offers(needers.size());
    const auto is_offered = [](int64_t needer, int64_t offer) { return needer == 0 || offer > 0; };
    // First only the tasks that read for others check whether they can access a missing file. The other tasks
    // check only if a file was not found; this is rare if all tasks see the same directory.
    for (const bool asked : {reads, true}) {
      if (std::ranges::equal(needers, offers, is_offered)) break;
      for (size_t f = 0; asked && f < needers.size(); ++f)
        if (!is_offered(needers[f], offers[f]) && sees(static_cast<int64_t>(f))) offers[f] = all_.rank() + 1;
      all_.all_max(offers);
    }
    return offers;
  }

  // Copies a file from task `from` to task `to`, which writes it under a temporary name until it is complete.
  // A failure leaves no file. Collective.
  void move(int64_t file, int from, int to) {
    OutputSet output(store_, OutputSet::Existing::replaced);
    const bool stores = all_.rank() == to;
    std::shared_ptr<File> source, target;
    int64_t size = 0;
    auto problem = attempt([&] {
      if (all_.rank() == from) {
        source = open(file);
        size = source->status().size;
      }
      if (stores) target = output.add(name(file));
    });
    agree(all_, problem, std::span(&size, 1));
    problem = transfer(source.get(), target.get(), from, to, size);
    const auto finished = attempt([&] {
      if (!stores || problem) return;
      target->resize(size);
      target->close();
      output.commit();
    });
    agree(all_, problem ? problem : finished);
  }

  // Copies `size` bytes from `source` on task `from` to `target` on task `to`. Extents that contain only
  // zeros remain holes. Collective.
  std::optional<Error> transfer(File* source, File* target, int from, int to, int64_t size) {
    std::vector<Extent> pieces;
    for (int64_t at = 0; (source || target) && at < size; at += buddy::message_bytes)
      pieces.push_back({at, std::min(buddy::message_bytes, size - at)});
    const std::span<const Extent> none, all(pieces);
    const auto problem =
        buddy::move_pieces(all_, (size + buddy::message_bytes - 1) / buddy::message_bytes,
                           {source, to, source ? all : none}, {target, from, target ? all : none});
    // The storing task must receive errors before it renames the file.
    return attempt([&] { agree(all_, problem); });
  }

  Store& store_;
  BuddyStore copies_;
  Comm& all_;
  const std::string base_;
  const int64_t nfiles_;
};

}  // namespace

void restore_from_buddies(Store& store, Comm& all, const std::string& path, int levels, int64_t nfiles,
                          int64_t needed) {
  Restorer(store, all, path, levels, nfiles).restore(needed);
}

}  // namespace sheaf::multifile
