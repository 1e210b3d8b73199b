#include "multifile/parallel_reader.hpp"

#include "multifile/leaders.hpp"

namespace sheaf {

using format::Header;
using format::Pointer;
using layout::Placement;

namespace {

void broadcast(Comm& comm, TravellingHeader& facts) { comm.broadcast(std::as_writable_bytes(std::span(&facts, 1)), 0); }

}  // namespace

ParallelReader::ParallelReader(Store& store, std::unique_ptr<Comm> comm, const std::string& path,
                               const OpenMode& mode)
    : comm_(std::move(comm)) {
  stream_.set_max_buffer(mode.buffer_bytes);
  TravellingHeader facts = read_lead(store, path);
  Header header;
  Pointer pointer;
  unpack(facts, header, pointer);
  facts_.nfiles = header.nfiles;
  const bool is_set = header.leads_set();
  Placement place{0, task()};
  if (is_set) {
    place = find_place(store, path, facts);
    local_ = comm_->split(place.file, place.local_rank);
  }
  open_file(store, is_set ? format::physical_name(path, place.file) : path, facts, place);
  unpack(facts, header, pointer);
  facts_ = facts_of(header);

  layout::ChunkGeometry geometry;
  geometry.size = read_row(header, pointer);
  const auto problem = attempt([&] {
    PrefixedSum sum;
    const auto overflow = attempt([&] { sum = prefixed_sum(local(), geometry.size); });
    const MetadataReader checker(*file_, header);
    if (overflow) checker.damaged(overflow->what());
    checker.check_pointer(pointer, sum.total);
    geometry.start = layout::data_start(header.ntasks, header.fsblksize) + sum.before;
    geometry.skip = sum.total;
    for (size_t b = 0; b < sizes_.size(); ++b)
      checker.check_block(pointer, geometry, place.local_rank, static_cast<int64_t>(b), sizes_[b]);
  });
  agree(*comm_, problem);
  stream_.load(*file_, geometry, {sizes_.data(), 1, static_cast<int64_t>(sizes_.size())}, {});
}

// Rank 0 reads the head of the multifile for all.
TravellingHeader ParallelReader::read_lead(Store& store, const std::string& path) {
  TravellingHeader facts{};
  const auto problem = attempt([&] {
    if (task() != 0) return;
    file_ = store.open(path, Access::read);
    MetadataReader reader(*file_);
    const Pointer p = reader.read_pointer();
    const int64_t tasks = reader.header().leads_set() ? reader.read_mapping_size(p) : reader.header().ntasks;
    if (tasks != ntasks())
      throw Error(Code::out_of_range, "'" + path + "' holds " + std::to_string(tasks) + " tasks, but " +
                                          std::to_string(ntasks()) + " tasks opened it; use as many, or open it serially");
    facts = pack(reader.header(), p);
  });
  agree(*comm_, problem);
  broadcast(*comm_, facts);
  return facts;
}

// Leaders read slices of the mapping in file 0 and tell every task where its stream is.
Placement ParallelReader::find_place(Store& store, const std::string& path, const TravellingHeader& lead) {
  Leaders leaders(*comm_);
  Gathered pieces;
  auto problem = attempt([&] {
    if (!leaders.is_leader()) return;
    Header header;
    Pointer p;
    unpack(lead, header, p);
    const auto file = task() == 0 ? file_ : store.open(path, Access::read);
    MetadataReader reader(*file, header);
    std::vector<Placement> entries(leaders.count());
    reader.read_mapping(p, leaders.first(), entries);
    const auto bytes = std::as_bytes(std::span(entries));
    pieces.bytes.assign(bytes.begin(), bytes.end());
    pieces.sizes.assign(leaders.count(), sizeof(Placement));
  });
  if (problem) pieces = {{}, std::vector<int64_t>(leaders.count(), 0)};
  const std::vector<std::byte> mine = leaders.scatter(pieces);
  agree(*comm_, problem);
  Placement place;
  std::memcpy(&place, mine.data(), sizeof place);
  return place;
}

// The first task of each physical file reads its head for the others; all open it.
void ParallelReader::open_file(Store& store, const std::string& name, TravellingHeader& facts, Placement place) {
  std::optional<Error> problem;
  if (local().rank() == 0) {
    problem = attempt([&] {
      if (!file_ || file_->path() != name) file_ = store.open(name, Access::read);
      if (!local_) return;  // a single file: the facts of the lead are its own
      MetadataReader reader(*file_);
      facts = pack(reader.header(), reader.read_pointer());
      const Header& h = reader.header();
      if (h.nfiles != facts_.nfiles || h.filenumber != place.file || h.ntasks != local().size())
        reader.damaged("does not belong to its set: file " + std::to_string(h.filenumber) + " of " +
                       std::to_string(h.nfiles) + " with " + std::to_string(h.ntasks) + " tasks, where the mapping has " +
                       "file " + std::to_string(place.file) + " of " + std::to_string(facts_.nfiles) + " with " +
                       std::to_string(local().size()) + " tasks");
    });
  }
  if (local_) broadcast(local(), facts);
  if (!problem) {
    problem = attempt([&] {
      if (!file_ || file_->path() != name) file_ = store.open(name, Access::read);
      if (local().rank() != place.local_rank)
        throw file_error(Code::damaged, name, "the mapping of the set leaves out or repeats a task of this file");
    });
  }
  agree(*comm_, problem);
}

// This task's row of the arrays: fills sizes_ and returns the chunk size.
int64_t ParallelReader::read_row(const Header& header, const Pointer& p) {
  Leaders leaders(local());
  Gathered pieces;
  const auto problem = attempt([&] {
    if (!leaders.is_leader()) return;
    MetadataReader reader(*file_, header);
    const size_t n = leaders.count();
    std::vector<int64_t> chunks(n);
    std::vector<int64_t> counts(n);
    std::vector<int64_t> round_sizes(n);
    reader.read_chunk_sizes(leaders.first(), chunks);
    reader.read_block_counts(p, leaders.first(), counts);
    for (size_t t = 0; t < n; ++t) pieces.sizes.push_back(8 * (1 + counts[t]));
    const std::vector<int64_t> offsets = pieces.offsets();
    pieces.bytes.resize(static_cast<size_t>(offsets.back()));
    const auto put = [&](size_t t, int64_t at, int64_t value) {
      store<int64_t>(pieces.bytes.data() + offsets[t] + 8 * at, value, native_order);
    };
    for (size_t t = 0; t < n; ++t) put(t, 0, chunks[t]);
    for (int64_t round = 0; round < p.maxblocks; ++round) {
      reader.read_block_sizes(p, round, leaders.first(), round_sizes);
      for (size_t t = 0; t < n; ++t)
        if (round < counts[t]) put(t, 1 + round, round_sizes[t]);
    }
  });
  if (problem) pieces = {{}, std::vector<int64_t>(leaders.count(), 0)};
  const std::vector<std::byte> row = leaders.scatter(pieces);
  agree(*comm_, problem);
  sizes_.resize(row.size() / 8 - 1);
  std::memcpy(sizes_.data(), row.data() + 8, row.size() - 8);
  return load<int64_t>(row.data(), native_order);
}

void ParallelReader::select(int64_t task_number) const { check_own_task(task_number, task(), path()); }

StdioHandle& ParallelReader::share_handle(bool with_stream) {
  if (!handle_) {
    auto handle = std::make_unique<StdioHandle>(path(), false, with_stream);
    stream_.attach(handle.get());
    handle_ = std::move(handle);
  }
  return *handle_;
}

void ParallelReader::close() {
  const auto problem = attempt([&] {
    stream_.attach(nullptr);
    if (handle_) std::exchange(handle_, nullptr)->close();
    file_->close();
  });
  agree(*comm_, problem);
}

}  // namespace sheaf
