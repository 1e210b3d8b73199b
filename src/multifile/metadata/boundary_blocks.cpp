#include "multifile/metadata/boundary_blocks.hpp"

#include <algorithm>
#include <utility>

#include "comm/agree.hpp"
#include "storage/beside.hpp"
#include "storage/store.hpp"

namespace sheaf::multifile {

void BoundaryBlocks::set(const JournalKey& key, int64_t unit, int64_t data_start, int64_t skip,
                         std::vector<BoundaryRow> rows) {
  close();
  key_ = key;
  header_ = {key.identity, key.ntasks, key.hosts.mine, unit, data_start, skip};
  rows_ = std::move(rows);
  end();
  if (unit == 0 || skip == 0) return;
  in_use_ = true;
  std::vector<layout::BoundaryExtent> ranges;
  for (const BoundaryRow& row : rows_) ranges.push_back({row.where.begin, row.where.end, row.where.from, 0});
  map_ = layout::BoundaryMap(unit, data_start, skip, std::move(ranges));
  own_.shift = format::edges_shift(header_);
}

// Opens the boundary file and writes its header and rows before any bytes of boundary blocks are written. All
// tasks of the host write the same header. Readers ignore rows left by an earlier file of that name, because
// the hash of each row includes the identity of its physical file.
File& BoundaryBlocks::file() {
  if (own_.file) return *own_.file;
  if (announces_ && key_.has_identity()) announce_hosts(store_, path_, key_.header());
  const std::string name = format::edges_name(place_beside(store_, path_), header_.host);
  bool made = false;
  auto file = make_or_open_beside(store_, name, path_, made);
  std::array<std::byte, format::edges_header_size> head;
  const size_t found = made ? 0 : file->read_at(head, 0);
  if (found > 0 && !format::begins_as_edges(std::span(head).first(found)))
    throw file_error(Code::foreign, name, "is not what Sheaf keeps beside '" + path_ + "', but another file");
  if (const auto wanted = format::encode(header_); found < head.size() || head != wanted)
    file->write_at(wanted, 0);
  for (const BoundaryRow& row : rows_) copy_earlier(row, *file);
  if (earlier_) file->sync();  // a row promises readers that the copied bytes are stored
  for (const BoundaryRow& row : rows_)
    file->write_at(format::encode(row.where, header_, row.task), format::edges_row_offset(row.task));
  own_.file = std::move(file);
  was_open_ = true;
  return *own_.file;
}

void BoundaryBlocks::copy_earlier(const BoundaryRow& row, File& to) {
  if (row.before == 0) return;
  std::vector<std::byte> bytes;
  map_.for_each_part(row.where.begin + row.where.from * header_.skip, row.before,
                     [&](int64_t at, int64_t length, const auto& part) {
                       if (!part.is_boundary) return true;
                       bytes.resize(static_cast<size_t>(length));
                       if (earlier_->read_at(bytes, at) != bytes.size())
                         throw file_error(Code::io, path_,
                                          "bytes at offset " + std::to_string(at) + " are missing");
                       to.write_at(bytes, at + own_.shift);
                       return true;
                     });
}

void BoundaryBlocks::sync() {
  if (!own_.file) return;
  own_.file->sync();
  if (!named_) store_.sync_name(own_.file->path());
  named_ = true;
}

void BoundaryBlocks::remove() {
  close();
  if (was_open_)
    attempt([&] { store_.remove(format::edges_name(place_beside(store_, path_), header_.host)); });
}

void BoundaryBlocks::close() {
  if (const auto file = std::exchange(own_.file, nullptr)) attempt([&] { file->close(); });
  named_ = false;
}

void BoundaryFile::write_at(std::span<const std::byte> data, int64_t offset) {
  boundary_blocks_->map().for_each_part(
      offset, std::ssize(data), [&](int64_t at, int64_t length, const auto& part) {
        const auto piece = data.subspan(static_cast<size_t>(at - offset), static_cast<size_t>(length));
        part.is_boundary ? boundary_blocks_->write(piece, at) : inner().write_at(piece, at);
        return true;
      });
}

void BoundaryFile::write_pieces(std::span<const Piece<const std::byte>> pieces) {
  const auto has_no_boundary_block = [&](const Piece<const std::byte>& piece) {
    const auto part = boundary_blocks_->map().part_at(piece.offset);
    return !part.is_boundary && piece.end() <= part.end;
  };
  std::ranges::all_of(pieces, has_no_boundary_block) ? inner().write_pieces(pieces)
                                                     : File::write_pieces(pieces);
}

size_t BoundaryFile::read_at(std::span<std::byte> data, int64_t offset) {
  if (!boundary_blocks_->is_made()) return inner().read_at(data, offset);
  size_t done = 0;
  boundary_blocks_->map().for_each_part(
      offset, std::ssize(data), [&](int64_t at, int64_t length, const auto& part) {
        const auto piece = data.subspan(static_cast<size_t>(at - offset), static_cast<size_t>(length));
        const size_t got = part.is_boundary ? boundary_blocks_->read(piece, at) : inner().read_at(piece, at);
        done += got;
        return got == piece.size();
      });
  return done;
}

FileDescriptor BoundaryFile::descriptor(DescriptorKind kind) {
  if (!boundary_blocks_->in_use() || kind == DescriptorKind::reader) return inner().descriptor(kind);
  if (kind == DescriptorKind::file) return {};
  throw file_error(
      Code::unsupported, path(),
      "is written by several hosts that share parts of it, which a descriptor cannot keep apart: "
      "write with the library's calls or its stream, or give each host a physical file "
      "(files=node)");
}

std::shared_ptr<File> boundary_file(std::shared_ptr<File> file,
                                    std::shared_ptr<BoundaryBlocks> boundary_blocks) {
  if (!boundary_blocks) return file;
  return std::make_shared<BoundaryFile>(std::move(file), std::move(boundary_blocks));
}

}  // namespace sheaf::multifile
