#include "stripedfile/service.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "comm/agree.hpp"
#include "exchange/access_list.hpp"

namespace sheaf::sfio {

Service::Service(Store& store, std::string root, int64_t largest) : store_(store), root_(std::move(root)), largest_(largest) {}

// What clients have not closed stays as it is on disk: written, and marked as open.
Service::~Service() = default;

size_t Service::handle(std::span<const std::byte> message, std::vector<std::byte>& answer, int32_t& answer_tag) {
  const auto decoded = decode(message);
  if (!decoded) throw Error(Code::damaged, "a message of " + std::to_string(message.size()) + " bytes is no request");
  answer_tag = decoded->request.answer_tag;
  ++counts_.requests;
  if (answer.size() < sizeof(Answer)) answer.resize(sizeof(Answer));
  Answer head;
  if (const auto failed = attempt([&] { head = dispatch(*decoded, answer); })) head = answer_of(*failed);
  const bool with_data = head.code == 0 && decoded->request.kind == Kind::read;
  const auto used = static_cast<size_t>(with_data ? static_cast<int64_t>(sizeof head) + head.values[1] : head.used());
  std::memcpy(answer.data(), &head, with_data ? sizeof head : used);
  return used;
}

Answer Service::dispatch(const Decoded& decoded, std::vector<std::byte>& data) {
  const Request& request = decoded.request;
  Answer answer;
  switch (request.kind) {
    case Kind::look:
      return look(root_ + request.path);
    case Kind::open:
      return open(request);
    case Kind::commit: {
      Subfile& subfile = writable(request.handle);
      subfile.identity.complete = true;
      keep_identity(subfile.path, subfile.identity, Access::write);
      break;
    }
    case Kind::size: {
      const FileStatus status = subfile_of(request.handle).file->status();
      answer.values = {status.size, status.block_size, status.allocated};
      break;
    }
    case Kind::resize: {
      Subfile& subfile = writable(request.handle);
      subfile.size_at_close = 0;
      counted(Counted::ftruncate, [&] { subfile.file->resize(request.values[0]); });
      break;
    }
    case Kind::sync:
      counted(Counted::write, [&] { subfile_of(request.handle).file->sync(); });
      break;
    case Kind::close:
      close(request);
      break;
    case Kind::write:
      write(decoded);
      break;
    case Kind::read:
      answer.values[0] = read(request, data);
      for (const Section& section : request.sections)
        for (const Extent& extent : section.extents) answer.values[1] += extent.length;
      break;
    case Kind::remove:
      return remove(root_ + request.path);
    case Kind::rename:
      rename(root_ + request.path, root_ + request.more);
      break;
    case Kind::lock:
    case Kind::lock_shared:
      answer.values[0] = lock(request, request.kind == Kind::lock);
      break;
    case Kind::unlock:
      unlock(request);
      break;
    case Kind::errors:
      answer.values = std::exchange(errors_, {});
      break;
    case Kind::bye:
      ended_ = true;
      break;
  }
  return answer;
}

Service::Subfile& Service::subfile_of(int64_t handle) {
  const auto found = handles_.find(handle);
  if (found == handles_.end())
    throw Error(Code::invalid_argument, "there is no open subfile with handle " + std::to_string(handle));
  return *found->second;
}

// For a change: from now on the subfile counts as written since its last close.
Service::Subfile& Service::writable(int64_t handle) {
  Subfile& subfile = subfile_of(handle);
  if (!subfile.writable) throw file_error(Code::wrong_mode, subfile.path, "is open for reading only");
  if (subfile.identity.size != format::StripeIdentity::open_size) {
    subfile.identity.size = format::StripeIdentity::open_size;
    keep_identity(subfile.path, subfile.identity, Access::write);
  }
  return subfile;
}

void Service::write(const Decoded& decoded) {
  ++counts_.transfers;
  std::span<const std::byte> data = decoded.data;
  for (const Section& section : decoded.request.sections) {
    Subfile& subfile = writable(section.handle);
    std::vector<exchange::Piece<const std::byte>> pieces;
    pieces.reserve(section.extents.size());
    for (const Extent& extent : section.extents) {
      if (extent.offset < 0 || extent.length < 0 || extent.length > std::ssize(data))
        throw file_error(Code::damaged, subfile.path, "a write request holds fewer bytes than its extents say");
      const auto bytes = data.first(static_cast<size_t>(extent.length));
      data = data.subspan(bytes.size());
      if (!pieces.empty() && pieces.back().end() == extent.offset) {
        pieces.back().memory = {pieces.back().memory.data(), pieces.back().memory.size() + bytes.size()};
      } else {
        pieces.push_back({extent.offset, bytes});
      }
    }
    counts_.disk_requests += std::ssize(pieces);
    counted(Counted::write, [&] {
      if (pieces.size() == 1) return subfile.file->write_at(pieces[0].memory, pieces[0].offset);
      exchange::write_pieces(*subfile.file, std::move(pieces));
    });
  }
}

// The bytes that lie behind the ends of the subfiles read as zero; returns how many those are.
int64_t Service::read(const Request& request, std::vector<std::byte>& data) {
  ++counts_.transfers;
  int64_t total = 0;
  for (const Section& section : request.sections)
    for (const Extent& extent : section.extents) {
      if (extent.offset < 0 || extent.length < 0 || extent.length > largest_ - total)
        throw Error(Code::invalid_argument, "a read request for more than " + std::to_string(largest_) + " bytes");
      total += extent.length;
    }
  const size_t needed = sizeof(Answer) + static_cast<size_t>(total);
  if (data.size() < needed) data.resize(needed);
  int64_t missing = 0;
  auto room = std::span(data).subspan(sizeof(Answer), static_cast<size_t>(total));
  for (const Section& section : request.sections) {
    Subfile& subfile = subfile_of(section.handle);
    for (const Extent& extent : section.extents) {
      const auto piece = room.first(static_cast<size_t>(extent.length));
      room = room.subspan(piece.size());
      ++counts_.disk_requests;
      const size_t got = counted(Counted::read, [&] { return subfile.file->read_at(piece, extent.offset); });
      std::ranges::fill(piece.subspan(got), std::byte{});
      missing += std::ssize(piece) - static_cast<int64_t>(got);
    }
  }
  return missing;
}

}  // namespace sheaf::sfio
