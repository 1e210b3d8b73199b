#include "set/serial_writer.hpp"

#include <algorithm>

#include "stream/file_checks.hpp"

namespace sheaf {

namespace {

void check(const SerialWriteRequest& request) {
  const std::string where = " ('" + request.path + "')";
  if (request.chunk_sizes.size() != request.globalranks.size())
    throw Error(Code::invalid_argument, "as many global ranks as chunk sizes are needed" + where);
  if (request.chunk_sizes.size() > INT32_MAX)
    throw Error(Code::invalid_argument, "more than 2^31-1 tasks" + where);
  for (size_t t = 0; t < request.chunk_sizes.size(); ++t)
    if (request.chunk_sizes[t] < 0)
      throw Error(Code::invalid_argument, "chunk size " + std::to_string(request.chunk_sizes[t]) +
                                              " of task " + std::to_string(t) + " is negative" + where);
}

}  // namespace

// Opens without truncating: a name that turns out to be unusable has lost nothing.
NewFile SerialWriter::open_for_writing(Store& store, const SerialWriteRequest& request) {
  check(request);
  format::physical_name(request.path, 0);
  return create_file(store, request.path, request.stored_name.empty() ? request.path : request.stored_name,
                     Naming::given);
}

SerialWriter::SerialWriter(Store& store, const SerialWriteRequest& request, const OpenMode& mode)
    : SerialWriter(store, request, mode, open_for_writing(store, request)) {}

SerialWriter::SerialWriter(Store& store, const SerialWriteRequest& request, const OpenMode& mode,
                           const NewFile& opened)
    : durable_(mode.durable), extension_(mode.extension()) {
  File& file = *opened.file;
  try {
    header_.fsblksize = choose_block_size(file, request.fsblksize);
    header_.userdata_order = mode.userdata_order;
    header_.ntasks = static_cast<int32_t>(request.chunk_sizes.size());
    header_.filenumber = 1;  // what serial writers of the format have always stored
    if (mode.keyval == format::KeyvalMode::inline_) header_.flag1 = format::Header::flag_of(mode.keyval);
    header_.set_name(request.stored_name.empty() ? request.path : request.stored_name);
    chunk_sizes_.assign(request.chunk_sizes.begin(), request.chunk_sizes.end());
    globalranks_.assign(request.globalranks.begin(), request.globalranks.end());
    if (!request.keep_sizes)
      for (int64_t& size : chunk_sizes_) size = layout::aligned_chunk(size, header_.fsblksize);
    layout_ = layout::lay_out(chunk_sizes_, header_.fsblksize);
    if (!format::extensible(header_.name()) && !mode.compression.on()) extension_.reset();
    for (size_t t = 0; t < chunk_sizes_.size(); ++t) tasks_.push_back(TaskBlocks::with_sums(piece()));
    header_.compressed = mode.compression.on();
    if (mode.compression.on()) {
      compressed_ =
          std::make_unique<CompressedWriter>(stream_, codec::with_threads(mode.compression, 1), request.path);
      compressed_tasks_.resize(tasks_.size());
    }

    empty(file);
    if (opened.existed) remove_leftovers(store, request.path);
    MetadataWriter writer(file, header_);
    writer.write_header(extension_);
    writer.write_ranks_and_sizes(0, globalranks_, chunk_sizes_);
  } catch (...) {
    if (!opened.existed) store.remove(request.path);
    throw;
  }
  stream_.bind(opened.file, OpenMode::buffer_in_bytes(mode.buffer_bytes, header_.fsblksize));
  stream_.keep_journal(store, mode.journal, mode.durable);
  stream_.know_file(JournalKey::of(header_, extension_));
  stream_.load(geometry(0), TaskBlocks::with_sums(piece()), 0);
  if (compressed_) compressed_->load({}, 0, geometry(0));
}

layout::ChunkGeometry SerialWriter::geometry(int64_t task) const {
  const auto t = static_cast<size_t>(task);
  if (t >= chunk_sizes_.size()) return {};  // a multifile without tasks
  return {layout_.starts[t], layout_.skip, chunk_sizes_[t]};
}

void SerialWriter::select(int64_t task) {
  if (task < 0 || task >= ntasks())
    throw Error(Code::out_of_range, "'" + path() + "': there is no task " + std::to_string(task) + " of " +
                                        std::to_string(ntasks()));
  if (task == task_) return;
  if (compressed_) compressed_tasks_[static_cast<size_t>(task_)] = compressed_->park();
  park();
  if (stream_.keeps_journal()) {
    unreported_.resize(tasks_.size());
    unreported_[static_cast<size_t>(task_)] = true;
  }
  task_ = task;
  stream_.load(geometry(task), std::move(tasks_[static_cast<size_t>(task)]), task);
  if (compressed_)
    compressed_->load(std::move(compressed_tasks_[static_cast<size_t>(task)]), task, geometry(task));
}

void SerialWriter::park() {
  TaskBlocks& parked = tasks_[static_cast<size_t>(task_)] = stream_.park();
  if (parked.new_overruns().empty()) return;
  const layout::ChunkGeometry chunks = geometry(task_);
  for (int64_t t = 0; t < ntasks(); ++t)
    if (const layout::ChunkGeometry other = geometry(t); t != task_)
      overruns_.look({task_, 0, chunks, parked}, {t, 0, other, tasks_[static_cast<size_t>(t)]});
  parked.see_overruns();
}

SerialWriter::Sums SerialWriter::take_sums() {
  Sums sums;
  for (int64_t t = 0; t < ntasks(); ++t)
    sums.push_back(tasks_[static_cast<size_t>(t)].take_sums(file(), geometry(t)));
  return sums;
}

// Where the program wrote behind a chunk itself.
std::optional<Error> SerialWriter::look_for_losses(const Sums& sums) {
  return attempt([&] {
    for (size_t t = 0; t < tasks_.size(); ++t) {
      const layout::ChunkGeometry chunks = geometry(static_cast<int64_t>(t));
      const WrittenTask written{static_cast<int64_t>(t), 0, chunks, tasks_[t], sums[t]};
      require_tails(written, path());
      overruns_.check(file(), written);
    }
  });
}

void SerialWriter::commit() {
  if (compressed_ && ntasks() > 0)
    flush_frames(*compressed_, compressed_tasks_, static_cast<size_t>(task_),
                 [&](size_t t) { select(static_cast<int64_t>(t)); });
  if (!unreported_.empty()) {
    stream_.flush();
    if (durable_) stream_.sync();
    for (size_t t = 0; t < tasks_.size(); ++t)
      if (unreported_[t] && static_cast<int64_t>(t) != task_)
        stream_.report_parked(tasks_[t], static_cast<int64_t>(t));
    unreported_.clear();
  }
  stream_.commit();
}

const TaskBlocks& SerialWriter::blocks_of(int64_t task) {
  if (task == task_) return stream().blocks();
  const auto t = static_cast<size_t>(task);
  return compressed_ ? compressed_tasks_[t].blocks : tasks_[t];
}

void SerialWriter::close() {
  try {
    finish();
  } catch (...) {
    if (stream_.handle()) stream_.handle()->close();
    throw;
  }
}

void SerialWriter::finish() {
  for (int64_t t = 0; compressed_ && t < ntasks(); ++t) {
    select(t);
    compressed_->finish();
  }
  if (ntasks() > 0) {
    const auto handle = stream_.release_handle();
    park();
    if (handle) handle->close();
  }
  File& file = stream_.file();
  if (durable_) stream_.sync();
  stream_.require_nothing_lost();

  format::Pointer p;
  std::vector<int64_t> counts;
  counts.reserve(tasks_.size());
  for (const TaskBlocks& t : tasks_) {
    counts.push_back(t.count());
    p.maxblocks = std::max(p.maxblocks, static_cast<int32_t>(t.count()));
  }
  const auto rounds = checked_mul(p.maxblocks, layout_.skip);
  p.varheader = must_fit(rounds ? checked_add(layout_.data_start, *rounds) : rounds, "the multifile");

  require_unfinished(file, header_.pointer_offset());
  MetadataWriter writer(file, header_);
  write_block_table(
      writer, p, 0, counts, [&](size_t t, int64_t block) { return tasks_[t].size_of(block); }, 0);
  writer.write_mapping_size(p, 0);
  const Sums sums = take_sums();
  if (extension_ && extension_->checksums()) write_trailer(p, sums);
  const auto losses = look_for_losses(sums);
  if (durable_) file.sync();
  writer.write_pointer(p);
  if (durable_) file.sync();
  if (stream_.journal()) stream_.journal()->close();
  file.close();
  if (stream_.keeps_journal()) remove_journal(stream_.store(), file.path(), stream_.journal_key().identity);
  if (losses) throw *losses;  // what else there is can be read
}

void SerialWriter::write_trailer(const format::Pointer& p, const Sums& sums) {
  int64_t all = 0;
  for (const auto& own : sums) all += std::ssize(own);
  const format::Trailer plan = plan_trailer(header_, p, extension_->identity, all, 0);
  TrailerWriter writer(stream_.file(), header_, plan, extension_->piece);
  writer.begin_groups(0, ntasks(), 0);
  for (const auto& own : sums) writer.add_sums(std::as_bytes(std::span(own)));
  writer.end_groups();
  writer.write_footer();
}

}  // namespace sheaf
