// Opens a multifile for writing in one process.
#include <algorithm>
#include <ranges>

#include "multifile/create/file_table.hpp"
#include "multifile/writer/open_to_write.hpp"
#include "multifile/writer/placed_open.hpp"

namespace sheaf::multifile {

namespace {

// Places the tasks by a table of physical files.
std::vector<layout::Placement> place_by_table(OpenedSet& set, const OpenMode& mode) {
  const std::vector<int32_t> files = read_whole_file_table(set.store(), mode.table, set.ntasks);
  set.facts.nfiles = files.empty() ? 1 : std::ranges::max(files) + 1;
  if (set.facts.nfiles > 1 && !set.placed->ranks_are_task_numbers())
    throw Error(Code::invalid_argument,
                "'" + set.path + "': files=@TABLE needs the global ranks 0 to " +
                    std::to_string(set.ntasks - 1) +
                    ", in this order: they tell which task is which if the multifile is never closed");
  std::vector<layout::Placement> places;
  std::vector<int32_t> tasks_of(static_cast<size_t>(set.facts.nfiles));
  for (const int32_t file : files) places.push_back({file, tasks_of[static_cast<size_t>(file)]++});
  return places;
}

// Assigns the tasks of the only process to files. The process counts as one host that writes its tasks in
// turn. The per-host policies and `automatic` therefore give it one file.
std::vector<layout::Placement> place_alone(OpenedSet& set, int32_t nfiles, const OpenMode& mode) {
  if (mode.file_policy == FilePolicy::table) return place_by_table(set, mode);
  set.facts.nfiles = mode.file_policy == FilePolicy::fixed    ? mode.files
                     : mode.file_policy == FilePolicy::caller ? nfiles
                                                              : 1;
  if (set.facts.nfiles > 1) require_tasks_for_files(set);
  std::vector<layout::Placement> places;
  places.reserve(static_cast<size_t>(set.ntasks));
  for (int64_t t = 0; t < set.ntasks; ++t)
    places.push_back(
        layout::place_blockwise(static_cast<int32_t>(t), static_cast<int32_t>(set.ntasks), set.facts.nfiles));
  return places;
}

}  // namespace

OpenedSet open_serial(Store& store, const SerialWriteRequest& request, const OpenMode& mode) {
  OpenedSet set = begin_set(store, self_comm(), request.path, nullptr, mode);
  set.placed = std::make_unique<PlacedTables>();
  const auto& ranks = set.placed->globalranks.emplace(request.globalranks.begin(), request.globalranks.end());
  if (request.chunk_sizes.size() != ranks.size())
    throw Error(Code::invalid_argument,
                "as many global ranks as chunk sizes are needed ('" + set.path + "')");
  set.ntasks = std::ssize(ranks);
  set.facts.filenumber = 1;
  const std::vector<layout::Placement> places = place_alone(set, request.nfiles, mode);
  std::vector<MappedWriteTask> tasks;
  tasks.reserve(places.size());
  for (size_t t = 0; t < places.size(); ++t) tasks.push_back({ranks[t], request.chunk_sizes[t], places[t]});
  open_placed(set,
              {.path = request.path,
               .nfiles = set.facts.nfiles,
               .fsblksize = request.fsblksize,
               .tasks = tasks,
               .stored_name = request.stored_name,
               .keep_sizes = request.keep_sizes},
              mode);
  return set;
}

}  // namespace sheaf::multifile
