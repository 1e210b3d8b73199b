#include "multifile/parallel_writer.hpp"

#include <algorithm>
#include <thread>

#include "layout/placement.hpp"
#include "multifile/file_table.hpp"
#include "multifile/new_file.hpp"
#include "multifile/leaders.hpp"
#include "multifile/throttle.hpp"

namespace sheaf {

namespace {

// Physical files that the writers of one node are given by files=auto: enough that two that run at the same time
// rarely meet at one inode (docs/tuning.md, "How many physical files").
int64_t files_per_node() { return 4 * int64_t{std::max(1u, std::thread::hardware_concurrency())}; }

std::string name_of(const ParallelWriteRequest& request, int32_t number) {
  return number > 0 && request.name_of ? request.name_of(number) : format::physical_name(request.path, number);
}

}  // namespace

ParallelWriter::ParallelWriter(Store& store, std::unique_ptr<Comm> comm, ParallelWriteRequest request,
                               const OpenMode& mode)
    : store_(&store), comm_(std::move(comm)) {
  facts_.userdata_order = mode.userdata_order;
  facts_.keyval = mode.keyval == format::KeyvalMode::inline_;
  facts_.durable = mode.durable;
  facts_.named = request.name_of != nullptr;
  choose_files(request, mode);
  auto slots = share_slots(*comm_, store, mode.io_tasks);
  try {
    int64_t aligned = 0;
    if (const auto plan = plan_of(mode.collective, true, local().size()))
      collecting_ = std::make_unique<Collecting>(Collecting{*plan, nullptr, nullptr});
    auto opened = open_file(request, aligned);
    if (local().size() > 1) opened->expect_company();
    if (collecting_) {
      collecting_->file->throttle(std::move(slots));
    } else {
      opened = throttled(std::move(opened), std::move(slots));
    }
    const bool streams_hold = !collecting_ || collecting_->plan.merge;
    stream_.bind(std::move(opened), streams_hold ? OpenMode::buffer_in_bytes(mode.buffer_bytes, facts_.fsblksize) : 0);
    CollectiveGroup group;
    const auto problem = form_groups(request.chunk_size, aligned, group);
    lay_out(aligned, request.path, problem);
    begin_collective(std::move(group));
  } catch (...) {
    if (facts_.created) store.remove(name_of(request, facts_.filenumber));
    throw;
  }
}

void ParallelWriter::choose_files(ParallelWriteRequest& request, const OpenMode& mode) {
  if (request.filenumber < 0 && mode.file_policy == FilePolicy::table) {
    const FilePlace place = read_file_table(*comm_, *store_, mode.table);
    request.filenumber = place.filenumber;
    request.nfiles = place.nfiles;
    request.local = place.nfiles > 1 ? comm_->split(place.filenumber, task()) : nullptr;
  }
  if (request.filenumber >= 0) {
    facts_.filenumber = request.filenumber;
    facts_.nfiles = request.nfiles;
    if (facts_.nfiles > 1) local_ = std::move(request.local);
    return;
  }
  FilePolicy policy = mode.file_policy;
  if (policy == FilePolicy::caller && request.nfiles > 0) {
    policy = FilePolicy::fixed;
    facts_.nfiles = request.nfiles;
  } else if (policy == FilePolicy::fixed) {
    facts_.nfiles = mode.files;
  } else if (policy == FilePolicy::automatic) {
    facts_.nfiles = static_cast<int32_t>(std::min<int64_t>(files_per_node() * comm_->node_count(), ntasks()));
    policy = FilePolicy::fixed;
  } else if (policy == FilePolicy::per_node) {
    local_ = comm_->split_by_node();
  } else {
    int64_t given[2] = {request.local != nullptr, request.local == nullptr};
    agree(*comm_, std::nullopt, given);
    if (given[0] && given[1])
      throw Error(Code::mismatch, "'" + std::string(request.path) + "': some tasks named a local communicator and some did not");
    local_ = std::move(request.local);
    policy = local_ ? FilePolicy::per_node : FilePolicy::fixed;
  }

  if (policy == FilePolicy::per_node) return number_local_groups();
  if (facts_.nfiles > ntasks())
    throw Error(Code::invalid_argument, "'" + std::string(request.path) + "': " + std::to_string(facts_.nfiles) +
                                            " physical files for " + std::to_string(ntasks()) + " tasks");
  if (facts_.nfiles == 1) return;
  facts_.blockwise = true;
  facts_.filenumber = layout::place_blockwise(task(), ntasks(), facts_.nfiles).file;
  local_ = facts_.nfiles == ntasks() ? self_comm() : comm_->split(facts_.filenumber, task());
}

// Groups are numbered in the order of the global ranks of their first tasks.
void ParallelWriter::number_local_groups() {
  int64_t number = local_->rank() == 0;
  int64_t groups = number;
  comm_->prefix_sum(std::span(&number, 1));
  comm_->all_sum(std::span(&groups, 1));
  local_->broadcast(std::as_writable_bytes(std::span(&number, 1)), 0);
  facts_.filenumber = static_cast<int32_t>(number);
  facts_.nfiles = static_cast<int32_t>(groups);
  // A single file has no mapping: its readers take the rank for the local rank, whatever order the group has.
  if (groups == 1) local_.reset();
}

// The first task of each file creates it without truncating; only when every task has its file open does anything
// change on disk.
std::shared_ptr<File> ParallelWriter::open_file(const ParallelWriteRequest& request, int64_t& aligned) {
  std::shared_ptr<File> file;
  std::optional<Error> problem;
  const bool root = local().rank() == 0;
  if (root) {
    problem = attempt([&] {
      const std::string name = name_of(request, facts_.filenumber);
      const bool existed = store_->status(name).exists;
      file = store_->open(name, Access::create);
      facts_.created = !existed;
      facts_.fsblksize = choose_block_size(*file, request.fsblksize);
    });
  }
  local().broadcast(std::as_writable_bytes(std::span(&facts_.fsblksize, 1)), 0);
  if (!problem && facts_.fsblksize > 0) {
    problem = attempt([&] {
      if (request.chunk_size < 0)
        throw Error(Code::invalid_argument, "'" + std::string(request.path) + "': chunk size " +
                                                std::to_string(request.chunk_size) + " of task " +
                                                std::to_string(task()) + " is negative");
      if (collecting_) {
        file = collecting_->file =
            std::make_shared<CollectedFile>(*store_, name_of(request, facts_.filenumber), std::move(file));
      } else if (!root) {
        file = store_->open(name_of(request, facts_.filenumber), Access::write);
      }
      aligned = layout::aligned_chunk(request.chunk_size, facts_.fsblksize);
    });
  }
  agree(*comm_, problem);
  return file;
}

// Collective over the tasks of the file: who collects, and how large the chunks are. Collectors open the file, before
// anything changes in it. What fails is returned on all tasks of the file.
std::optional<Error> ParallelWriter::form_groups(int64_t request, int64_t& chunk_size, CollectiveGroup& group) {
  if (!collecting_) return std::nullopt;
  return attempt([&] {
    group = make_groups(local(), request, facts_.fsblksize, collecting_->plan);
    chunk_size = group.chunk_size;
    if (!group.members) return;  // the first task has its file open
    agree(local(), attempt([&] {
            if (group.collectors) collecting_->file->real();
          }));
  });
}

// Local, but for the memory of the messages, which all tasks must have.
void ParallelWriter::begin_collective(CollectiveGroup group) {
  if (!collecting_) return;
  const auto problem = attempt([&] {
    collecting_->writer = std::make_unique<CollectiveWriter>(local(), std::move(group), collecting_->plan, stream_, collecting_->file);
  });
  agree(*comm_, problem);
}

// Collective over all tasks: places the chunks and writes META1. `problem`: the same on all tasks of a file.
void ParallelWriter::lay_out(int64_t chunk_size, std::string_view base, std::optional<Error> problem) {
  layout::ChunkGeometry geometry;
  if (!problem) problem = attempt([&] {
    const PrefixedSum sum = prefixed_sum(local(), chunk_size);
    const int64_t begin = layout::data_start(local().size(), facts_.fsblksize);
    must_fit(checked_add(begin, sum.total), "the multifile");
    geometry = {begin + sum.before, sum.total, chunk_size};
  });
  // The tasks of a file have all failed or none has: the sums are the same for them.
  if (!problem) problem = attempt([&] { write_metadata(chunk_size, base); });
  agree(*comm_, problem);
  stream_.load(geometry, {});
}

void ParallelWriter::write_metadata(int64_t chunk_size, std::string_view base) {
  std::optional<Error> problem;
  format::Header head;
  if (local().rank() == 0) {
    problem = attempt([&] {
      head = header();
      head.set_name(base);
      empty(file());
      MetadataWriter(file(), head).write_header();
    });
  }
  // Slices may be written only behind the truncation; after a failure this broadcast keeps everyone in step.
  int64_t ready = !problem;
  local().broadcast(std::as_writable_bytes(std::span(&ready, 1)), 0);
  if (problem) throw *problem;
  if (!ready) return;

  Leaders leaders(local());
  const int64_t row[2] = {task(), chunk_size};
  const std::vector<int64_t> rows = leaders.gather(std::span<const int64_t>(row));
  if (!leaders.is_leader()) return;
  std::vector<int64_t> ranks(leaders.count());
  std::vector<int64_t> sizes(leaders.count());
  for (size_t t = 0; t < leaders.count(); ++t) {
    ranks[t] = rows[2 * t];
    sizes[t] = rows[2 * t + 1];
  }
  const format::Header h = header();
  MetadataWriter(file(), h).write_ranks_and_sizes(leaders.first(), ranks, sizes);
}

format::Header ParallelWriter::header() const {
  format::Header h;
  h.userdata_order = facts_.userdata_order;
  h.fsblksize = facts_.fsblksize;
  h.ntasks = local_ ? local_->size() : comm_->size();
  h.nfiles = facts_.nfiles;
  h.filenumber = facts_.filenumber;
  if (facts_.keyval) h.flag1 = format::Header::flag_of(format::KeyvalMode::inline_);
  return h;
}

std::string ParallelWriter::base_name() {
  if (facts_.named) return std::string(MetadataReader(file()).header().name());
  const std::string& own = path();
  return own.substr(0, own.size() - format::physical_name("", facts_.filenumber).size());
}

void ParallelWriter::select(int64_t task_number) const { check_own_task(task_number, task(), path()); }

void ParallelWriter::resize_chunks(int64_t chunk_size) {
  int64_t aligned = 0;
  std::string base;
  const auto problem = attempt([&] {
    base = base_name();
    if (chunk_size < 0)
      throw Error(Code::invalid_argument, "chunk size " + std::to_string(chunk_size) + " is negative");
    stream_.flush();
    if (stream_.blocks().count() > 1 || stream_.bytes_written() > 0)
      throw Error(Code::wrong_mode, "'" + path() + "': chunk sizes can change only before anything is written");
    aligned = layout::aligned_chunk(chunk_size, facts_.fsblksize);
  });
  agree(*comm_, problem);
  CollectiveGroup group;
  if (collecting_) {
    collecting_->writer.reset();
    collecting_->file->hold(0, 0);
  }
  const auto unformed = form_groups(chunk_size, aligned, group);
  lay_out(aligned, base, unformed);
  begin_collective(std::move(group));
}

void ParallelWriter::discard() {
  if (facts_.created) store_->remove(path());
}

void ParallelWriter::close() {
  try {
    finish();
  } catch (...) {
    if (stream_.handle()) stream_.handle()->close();
    throw;
  }
}

// Order on disk: data, then block table and mapping, then the pointer that makes the file complete.
void ParallelWriter::finish() {
  TaskBlocks blocks;
  auto problem = collective() ? collective()->finish() : std::nullopt;
  if (collecting_) collecting_->writer.reset();
  if (!problem) problem = attempt([&] {
    blocks = stream_.park();
    if (const auto handle = stream_.release_handle()) handle->close();
    if (facts_.durable) file().sync();
  });

  int64_t maxblocks = blocks.count();
  local().all_max(std::span(&maxblocks, 1));
  format::Pointer p;
  if (!problem) {
    problem = attempt([&] {
      p.maxblocks = static_cast<int32_t>(maxblocks);
      const auto rounds = checked_mul(maxblocks, stream_.geometry().skip);
      const int64_t begin = layout::data_start(local().size(), facts_.fsblksize);
      p.varheader = must_fit(rounds ? checked_add(begin, *rounds) : rounds, "the multifile");
    });
  }
  // Everybody learns where file 0 keeps the mapping.
  const bool lead = facts_.filenumber == 0;
  int64_t values[3] = {lead ? p.varheader : 0, lead ? p.maxblocks : 0, lead ? local().size() : 0};
  agree(*comm_, problem, values);

  problem = attempt([&] { write_block_tables(p, blocks); });
  if (facts_.nfiles > 1) {
    const auto second = attempt([&] {
      write_mapping({static_cast<int32_t>(values[1]), values[0]}, static_cast<int32_t>(values[2]));
    });
    if (!problem) problem = second;
  }
  // What the operating system says late, at the close, must be known before the file is called complete.
  const bool completes = local().rank() == 0;
  if (!completes && !problem) problem = attempt([&] { file().close(); });
  agree(*comm_, problem);

  problem = attempt([&] {
    if (!completes) return;
    const format::Header h = header();
    MetadataWriter(file(), h).write_pointer(p);
    if (facts_.durable) file().sync();
    file().close();
  });
  agree(*comm_, problem);
}

void ParallelWriter::write_block_tables(const format::Pointer& p, const TaskBlocks& blocks) {
  Leaders leaders(local());
  Gathered all;
  if (blocks.count() == 1) {
    all = leaders.gather_any(std::as_bytes(std::span(&blocks.high, 1)));
  } else {
    std::vector<int64_t> sizes(*blocks.finished);
    sizes.push_back(blocks.high);
    all = leaders.gather_any(std::as_bytes(std::span(sizes)));
  }
  if (!leaders.is_leader()) return;

  const std::vector<int64_t> offsets = all.offsets();
  std::vector<int64_t> counts(leaders.count());
  for (size_t t = 0; t < counts.size(); ++t) counts[t] = all.sizes[t] / 8;
  const auto size_of = [&](size_t t, int64_t block) {
    return load<int64_t>(all.bytes.data() + offsets[t] + 8 * block, native_order);
  };
  const format::Header h = header();
  MetadataWriter writer(file(), h);
  write_block_table(writer, p, leaders.first(), counts, size_of, 0);
  if (facts_.durable) file().sync();
}

void ParallelWriter::write_mapping(const format::Pointer& lead, int32_t lead_ntasks) {
  std::vector<layout::Placement> entries;
  if (facts_.blockwise) {
    // Everybody can compute the mapping: the leaders write it without having to ask.
    const int group = leader_group(ntasks());
    if (task() % group != 0) return;
    for (int t = task(); t < std::min(task() + group, ntasks()); ++t)
      entries.push_back(layout::place_blockwise(t, ntasks(), facts_.nfiles));
  } else {
    Leaders leaders(*comm_);
    const layout::Placement mine{facts_.filenumber, local().rank()};
    entries = leaders.gather(std::span(&mine, 1));
    if (!leaders.is_leader()) return;
  }
  const bool own = facts_.filenumber == 0;
  const std::shared_ptr<File> other = own ? nullptr : store_->open(base_name(), Access::write);
  File& target = own ? file() : *other;
  format::Header h = header();
  h.ntasks = lead_ntasks;
  MetadataWriter writer(target, h);
  if (task() == 0) writer.write_mapping_size(lead, ntasks());
  writer.write_mapping(lead, task(), entries);
  if (facts_.durable) target.sync();
  if (other) other->close();
}

}  // namespace sheaf
