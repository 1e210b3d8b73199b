#include "set/mapped_reader.hpp"

#include <algorithm>

#include "comm/agree.hpp"
#include "metadata/edges_reader.hpp"
#include "metadata/parallel_open.hpp"
#include "storage/patience.hpp"
#include "stream/file_checks.hpp"

namespace sheaf {

using format::Header;
using format::Pointer;

// The head of the first physical file, as process 0 found it.
struct MappedReader::Lead {
  TravellingHeader header;
  int64_t ntasks;
};

namespace {

struct PlaceRequest {
  int64_t row;  // task number
};

}  // namespace

MappedReader::MappedReader(Store& store, std::unique_ptr<Comm> comm, const MappedReadRequest& request,
                           const OpenMode& mode, std::optional<Slicing> appends)
    : store_(&store),
      comm_(std::move(comm)),
      path_(request.path),
      name_of_(request.name_of),
      checking_(mode.checking()) {
  stream_.set_max_buffer(mode.read_buffer());
  const Lead lead = read_lead();
  choose_tasks(request);
  find_places(lead);
  const std::vector<FileShare> share = count_files();
  find_rows(share, appends.value_or(Slicing::groups));
  read_rows(appends.has_value());
  if (!appends) {
    slice_.reset();
    segments_ = {};
  }
  open_own_files();
  positions_.resize(mine_.tasks.size());
  if (facts_.compressed && !appends) plain_.resize(mine_.tasks.size());
  std::optional<Error> problem;
  if (mine_.tasks.empty()) {
    stream_.load(no_task_, {}, {}, {});
  } else {
    problem = attempt([&] { make_current(0); });
  }
  if (facts_.compressed) agree(*comm_, problem);
}

PlainFile& MappedReader::plain_file(size_t index) {
  std::shared_ptr<PlainFile>& plain = plain_[index];
  if (!plain) {
    const MappedTask& t = mine_.tasks[index];
    const StoredTask stored{t.task, t.geometry, facts_.unclosed, sums_of(index)};
    plain = std::make_shared<PlainFile>(
        mine_.files[t.file].file, std::vector{stored},
        [file = mine_.files[t.file].file, stored, sizes = block_sizes(index)](ReadStream& stream, size_t) {
          stream.load(file, stored.geometry, sizes, {}, stored.sums);
        });
  }
  return *plain;
}

// Makes the task the current one of the stream, where it was left. Throws damaged if it is compressed; then
// nothing has changed.
void MappedReader::make_current(size_t index) {
  const MappedTask& t = mine_.tasks[index];
  if (plain_.empty()) {
    stream_.load(mine_.files[t.file].file, t.geometry, block_sizes(index), positions_[index], sums_of(index));
  } else {
    const PlainFile& plain = plain_file(index);
    stream_.load(plain_[index], plain.geometry(0), plain.sizes_of(0), positions_[index]);
  }
}

MappedReader::Lead MappedReader::read_lead() {
  Lead lead{};
  agree(*comm_, attempt([&] {
    if (comm_->rank() != 0) return;
    const auto file = store_->open(path_, Access::read);
    MetadataReader reader(*store_, *file, name_of_);
    reader.set_checking(checking_);
    const Pointer p = reader.read_pointer();
    lead.header = pack(reader.header(), p);
    lead.ntasks = reader.header().leads_set() ? reader.read_mapping_size(p) : reader.header().ntasks;
  }));
  comm_->broadcast(std::as_writable_bytes(std::span(&lead, 1)), 0);
  Header h;
  Pointer p;
  unpack(lead.header, h, p);
  facts_ = facts_of(h);
  facts_.unclosed = !p.complete();
  ntasks_ = lead.ntasks;
  return lead;
}

void MappedReader::choose_tasks(const MappedReadRequest& request) {
  const auto add = [this](int64_t task) {
    mine_.tasks.push_back({task, {0, static_cast<int32_t>(task)}, 0, 0, 0, {}});
  };
  agree(*comm_, attempt([&] {
    if (request.automatic) {
      const int64_t each = ntasks_ / comm_->size();
      const int64_t first = each * comm_->rank();
      const int64_t end = comm_->rank() + 1 == comm_->size() ? ntasks_ : first + each;
      for (int64_t task = first; task < end; ++task) add(task);
    }
    for (const int64_t task : request.tasks) {
      if (task < 0 || task >= ntasks_)
        throw Error(Code::out_of_range, "'" + path_ + "': there is no task " + std::to_string(task) +
                                            "; the multifile holds tasks 0 to " +
                                            std::to_string(ntasks_ - 1));
      add(task);
    }
  }));
}

// Collective. The mapping of a set, in slices of task numbers.
void MappedReader::find_places(const Lead& lead) {
  Header header;
  Pointer p;
  unpack(lead.header, header, p);
  mine_.index();
  if (!header.leads_set()) return;
  RowSlices numbers(*comm_, ntasks_);
  std::vector<PlaceRequest> wanted;
  for (const size_t i : mine_.by_number) wanted.push_back({mine_.tasks[i].task});
  const Gathered asked = numbers.collect(std::span<const PlaceRequest>(wanted));
  static_assert(sizeof(PlaceRequest) == sizeof(layout::Placement));
  Gathered answers;
  const auto problem = attempt([&] {
    if (numbers.count() == 0) return;
    std::vector<layout::Placement> entries(static_cast<size_t>(numbers.count()));
    const auto file = open_patiently(*store_, path_, Access::read);
    MetadataReader reader(*store_, *file, header, name_of_);
    reader.set_checking(checking_);
    if (FileChecks* const checks = reader.checks(p))
      checks->check_mapping(numbers.first(), numbers.count(), ntasks_);
    reader.read_mapping(p, numbers.first(), entries);
    std::vector<layout::Placement> found;
    for (const PlaceRequest& r : records_of<PlaceRequest>(asked))
      found.push_back(entries[static_cast<size_t>(r.row - numbers.first())]);
    const auto bytes = std::as_bytes(std::span(found));
    answers = {{bytes.begin(), bytes.end()}, asked.sizes};
  });
  const std::vector<std::byte> mine = numbers.answer(std::move(answers));
  agree(*comm_, problem);
  for (size_t k = 0; k < mine_.by_number.size(); ++k)
    std::memcpy(&mine_.tasks[mine_.by_number[k]].place, mine.data() + k * sizeof(layout::Placement),
                sizeof(layout::Placement));
  mine_.index();
}

// Collective. Every process reads the heads of its share of the physical files.
std::vector<FileShare> MappedReader::count_files() {
  const bool set = facts_.nfiles > 1 && facts_.filenumber == 0;
  const int64_t files = set ? facts_.nfiles : 1;
  const auto border = [&](int64_t rank) { return static_cast<int32_t>(files * rank / comm_->size()); };
  std::vector<FileShare> share;
  int64_t unclosed = facts_.unclosed;
  const auto problem = attempt([&] {
    for (int32_t k = border(comm_->rank()); k < border(comm_->rank() + 1); ++k) {
      const auto file = open_patiently(*store_, name_of(k), Access::read, patience_with_members);
      MetadataReader reader(*store_, *file, name_of_);
      reader.set_checking(checking_);
      const Header& h = reader.header();
      unclosed |= !reader.read_pointer().complete();
      if (set && (h.nfiles != facts_.nfiles || h.filenumber != k))
        reader.damaged("is file " + std::to_string(h.filenumber) + " of " + std::to_string(h.nfiles) +
                       ", not file " + std::to_string(k) + " of the set '" + path_ + "' of " +
                       std::to_string(facts_.nfiles));
      share.push_back({k, h.ntasks});
    }
  });
  agree(*comm_, problem, std::span(&unclosed, 1));
  facts_.unclosed = unclosed;
  return share;
}

void MappedReader::find_rows(std::span<const FileShare> share, Slicing slicing) {
  int64_t rows = 0;
  for (const FileShare& f : share) rows += f.tasks;
  comm_->all_sum(std::span(&rows, 1));
  rows_ = std::make_unique<RowSlices>(*comm_, rows, slicing);
  const bool set = facts_.nfiles > 1 && facts_.filenumber == 0;
  mine_.find_rows(*comm_, set ? facts_.nfiles : 1, share, *rows_, segments_, [](int32_t, int64_t) {});
  agree(*comm_, attempt([&] {
    for (const MappedTask& t : mine_.tasks)
      if (t.place.local_rank >= t.file_tasks)
        throw file_error(Code::damaged, path_,
                         "the mapping sends task " + std::to_string(t.task) + " to task " +
                             std::to_string(t.place.local_rank) + " of file " + std::to_string(t.place.file) +
                             ", which has only " + std::to_string(t.file_tasks));
  }));
}

// All processes open the files of their tasks.
void MappedReader::open_own_files() {
  agree(*comm_, attempt([&] {
    for (MappedFile& f : mine_.files) {
      f.file = open_patiently(*store_, name_of(f.number), Access::read);
      if (facts_.unclosed) f.file = with_edges(*store_, std::move(f.file));
    }
    if (mine_.files.empty()) no_task_ = open_patiently(*store_, path_, Access::read);
  }));
}

BlockSizes MappedReader::block_sizes(size_t index) const {
  return {block_sizes_.data() + sizes_[index].first, 1, sizes_[index].second};
}

SumsPlace MappedReader::sums_of(size_t index) const {
  return {sums_[index].at, sums_[index].piece, mine_.tasks[index].place.local_rank};
}

FileFacts MappedReader::facts_of_task(size_t index) const {
  FileFacts facts = facts_;
  if (mine_.tasks.empty()) return facts;
  const MappedFile& file = mine_.files[mine_.tasks[index].file];
  if (facts.nfiles > 1 && facts.filenumber == 0) facts.filenumber = file.number;
  if (file.fsblksize > 0) facts.fsblksize = file.fsblksize;
  return facts;
}

void MappedReader::select(int64_t task_number) {
  const size_t next = mine_.find(task_number, path_);
  if (next == current_) return;
  if (!plain_.empty()) plain_file(next);
  const size_t from = mine_.tasks[current_].file;
  const size_t to = mine_.tasks[next].file;
  positions_[current_] = stream_.park();
  const auto go_on = [&] {
    current_ = next;
    make_current(next);
  };
  if (from == to) return go_on();
  auto shared = stream_.release_handle();
  const bool sharing = shared != nullptr;
  const bool with_stream = sharing && shared->stream();
  mine_.files[from].handle = std::move(shared);
  go_on();
  if (!sharing) return;
  if (auto& own = mine_.files[to].handle) {
    stream_.attach(std::move(own));
  } else {
    stream_.share(with_stream);
  }
}

OpenTask MappedReader::open_task(size_t index) {
  const MappedTask& t = mine_.tasks[index];
  if (!plain_.empty()) {
    const PlainFile& plain = plain_file(index);
    return {t.task,
            facts_of_task(index),
            plain_[index],
            plain.geometry(0),
            plain.sizes_of(0).all(),
            index == current_ ? stream_.park() : positions_[index]};
  }
  return {t.task,        facts_of_task(index),     mine_.files[t.file].file,
          t.geometry,    block_sizes(index).all(), index == current_ ? stream_.park() : positions_[index],
          sums_of(index)};
}

std::vector<layout::Placement> MappedReader::read_mapping() {
  std::vector<layout::Placement> entries(static_cast<size_t>(ntasks_));
  const auto file = store_->open(path_, Access::read);
  MetadataReader reader(*store_, *file, name_of_);
  reader.set_checking(checking_);
  if (reader.header().leads_set()) {
    const Pointer p = reader.read_pointer();
    if (FileChecks* const checks = reader.checks(p)) checks->check_mapping(0, ntasks_, ntasks_);
    reader.read_mapping(p, 0, entries);
  } else {
    for (size_t t = 0; t < entries.size(); ++t) entries[t].local_rank = static_cast<int32_t>(t);
  }
  return entries;
}

void MappedReader::close() {
  agree(*comm_, attempt([&] {
    if (const auto handle = stream_.release_handle()) handle->close();
    for (MappedFile& f : mine_.files) {
      if (f.handle) f.handle->close();
      f.file->close();
    }
  }));
}

}  // namespace sheaf
