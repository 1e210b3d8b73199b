#include "multifile/metadata/boundary_blocks_reader.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "format/edges.hpp"
#include "format/journal.hpp"
#include "layout/slices.hpp"
#include "multifile/journal/journal_file.hpp"
#include "multifile/metadata/boundary_blocks.hpp"
#include "multifile/metadata/constants.hpp"
#include "multifile/metadata/metadata_io.hpp"
#include "storage/beside.hpp"
#include "storage/decorators/few_descriptors.hpp"
#include "storage/decorators/forwarding_file.hpp"
#include "storage/store.hpp"

namespace sheaf::multifile {

namespace {

class RejoinedFile final : public ForwardingFile {
 public:
  RejoinedFile(std::shared_ptr<File> inner, layout::BoundaryMap map, std::vector<HostBoundaryFile> hosts)
      : ForwardingFile(std::move(inner)), map_(std::move(map)), hosts_(std::move(hosts)) {}

  // Returns a size that includes boundary blocks beyond the end of the physical file.
  FileStatus status() override {
    FileStatus found = inner().status();
    for (const HostBoundaryFile& host : hosts_)
      found.size = std::max(found.size, host.file->status().size - host.shift);
    return found;
  }
  // Reads bytes that are stored in no file as zeros, up to the size that status() returns.
  size_t read_at(std::span<std::byte> data, int64_t offset) override {
    const int64_t length = std::clamp<int64_t>(status().size - offset, 0, std::ssize(data));
    map_.for_each_part(offset, length, [&](int64_t at, int64_t bytes, const auto& part) {
      const auto piece = data.subspan(static_cast<size_t>(at - offset), static_cast<size_t>(bytes));
      const size_t got = part.is_boundary
                             ? hosts_[part.place].file->read_at(piece, at + hosts_[part.place].shift)
                             : inner().read_at(piece, at);
      std::ranges::fill(piece.subspan(got), std::byte{});
      return true;
    });
    return static_cast<size_t>(length);
  }
  int64_t next(Space space, int64_t offset) override {
    const int64_t size = status().size;
    return space == Space::data ? std::min(offset, size) : std::max(offset, size);
  }
  FileDescriptor descriptor(DescriptorKind kind) override {
    if (kind == DescriptorKind::file) return {};
    throw file_error(Code::unsupported, path(),
                     "was never closed, and parts of it are in other files, which a descriptor cannot show; "
                     "`sheaf repair` it first");
  }
  void close() override {
    for (const HostBoundaryFile& host : hosts_) host.file->close();
    inner().close();
  }

 private:
  const layout::BoundaryMap map_;
  const std::vector<HostBoundaryFile> hosts_;
};

// Returns the number of hosts that write the file according to its journal, or 0 if it has no journal or only
// one host.
int32_t hosts_of(Store& store, const std::string& place, const format::Identity& identity) {
  const std::string name = format::journal_name(place);
  if (const FileStatus found = store.status(name); !found.exists || found.is_directory) return 0;
  std::array<std::byte, format::journal_header_size> head;
  const auto journal = open_one_of_many(store, name);
  const size_t found = journal->read_at(head, 0);
  journal->close();
  const auto header = format::decode_journal_header(std::span(head).first(found), name);
  return header && header->identity == identity && header->hosts > 1 ? header->hosts : 0;
}

// Adds the runs of the tasks that have written on this host.
void add_runs(const format::EdgesHeader& header, File& file, size_t place,
              std::vector<layout::BoundaryExtent>& runs) {
  using EdgesRowBytes = std::array<std::byte, format::edges_row_size>;
  layout::for_each_slice<EdgesRowBytes>(
      0, header.ntasks, metadata_constants::boundary_rows_at_once,
      [&](int64_t task, std::span<EdgesRowBytes> rows) {
        std::ranges::fill(rows, EdgesRowBytes{});
        file.read_at(std::as_writable_bytes(rows), format::edges_row_offset(task));
        for (const EdgesRowBytes& bytes : rows)
          if (const auto row = format::decode_edges_row(bytes, header, task++))
            runs.push_back({row->begin, row->end, row->from, place});
      });
}

}  // namespace

std::shared_ptr<File> with_boundary_blocks(Store& store, std::shared_ptr<File> file,
                                           layout::BoundaryMap* where) {
  MetadataReader reader(*file);
  const auto extension = reader.extension();
  if (!extension) return file;
  const format::Identity& identity = extension->identity;
  std::optional<format::EdgesHeader> layout;
  std::vector<HostBoundaryFile> hosts;
  std::vector<layout::BoundaryExtent> runs;
  const std::string place = place_of_journals(store, file->path());
  const int32_t count = hosts_of(store, place, identity);
  for (int32_t host = 0; host < count; ++host) {
    const std::string name = format::edges_name(place, host);
    if (!store.status(name).exists) continue;
    auto beside = open_one_of_many(store, name);
    std::array<std::byte, format::edges_header_size> head;
    const auto found = format::decode_edges_header(std::span(head).first(beside->read_at(head, 0)), name);
    if (!found || found->identity != identity || found->host != host ||
        found->ntasks != reader.header().ntasks)
      continue;
    layout = *found;
    add_runs(*layout, *beside, hosts.size(), runs);
    hosts.push_back({std::move(beside), format::edges_shift(*layout)});
  }
  if (runs.empty()) return file;
  layout::BoundaryMap map(layout->unit, layout->data_start, layout->skip, std::move(runs));
  if (where) *where = map;
  return std::make_shared<RejoinedFile>(std::move(file), std::move(map), std::move(hosts));
}

void copy_boundary_blocks(File& boundary_file, const layout::BoundaryMap& map, File& target, int64_t offset,
                          int64_t length) {
  constexpr int64_t at_once = metadata_constants::boundary_blocks_copied_at_once;
  std::vector<std::byte> bytes;
  map.for_each_part(offset, length, [&](int64_t at, int64_t part_length, const auto& part) {
    for (int64_t done = 0; part.is_boundary && done < part_length; done += at_once) {
      bytes.resize(static_cast<size_t>(std::min(at_once, part_length - done)));
      bytes.resize(boundary_file.read_at(bytes, at + done));
      target.write_at(bytes, at + done);
    }
    return true;
  });
}

}  // namespace sheaf::multifile
