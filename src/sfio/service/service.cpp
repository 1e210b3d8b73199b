#include "sfio/service/service.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "comm/agree.hpp"
#include "exchange/pieces/access_list.hpp"
#include "storage/posix/beneath.hpp"

namespace sheaf::sfio {

Service::Service(Store& store, std::string root, int64_t largest)
    : confined_(root.empty() ? nullptr : store.beneath(std::move(root))),
      files_(confined_ ? *confined_ : store),
      largest_(largest) {}

size_t Service::handle(std::span<const std::byte> message, std::vector<std::byte>& answer,
                       int32_t& answer_tag) {
  const auto decoded = decode(message);
  if (!decoded)
    throw Error(Code::damaged, "a message of " + std::to_string(message.size()) + " bytes is no request");
  const Request& request = decoded->request;
  answer_tag = request.answer_tag;
  Answer head;
  size_t behind = 0;  // bytes that follow the head
  const auto failed = attempt([&] {
    if (!request.places.empty()) {
      const BorrowedMemory* const memory = borrow(request.loan);
      if (!memory) {
        head.out_of_reach = 1;
      } else if (request.kind == RequestKind::read) {
        head = read_aside(request, *memory);
      } else {
        head = carry_out(request, runs_of(request, *memory));
      }
      return;
    }
    MemoryRun memory = run_of(decoded->data);
    if (request.kind == RequestKind::read) {
      behind = static_cast<size_t>(bytes_asked(request));
      if (answer.size() < sizeof head + behind) answer.resize(sizeof head + behind);
      memory = run_of(std::span(answer).subspan(sizeof head, behind));
    }
    head = carry_out(request, {&memory, 1});
  });
  if (failed) head = answer_of(*failed);
  const bool with_data = head.code == 0 && behind > 0;
  const auto used = with_data ? sizeof head + behind : static_cast<size_t>(head.used());
  if (answer.size() < used) answer.resize(used);
  std::memcpy(answer.data(), &head, std::min(used, sizeof head));
  return used;
}

Answer Service::carry_out(const Request& request, std::span<const MemoryRun> memory) {
  ++counts_.requests;
  files_.take_left();  // forgets those of earlier requests
  const ErrorCounts before = files_.errors();
  Answer answer;
  const auto failed = attempt([&] { answer = dispatch(request, memory); });
  if (failed) {
    answer = answer_of(*failed);
    answer.values = {files_.take_left(), 1, files_.errors() != before};
  }
  return answer;
}

// Reads into a buffer of the listener and copies to the lent memory afterwards. If the disk takes so long
// that the task gives up and revokes the memory in order to reuse it, copies nothing.
Answer Service::read_aside(const Request& request, const BorrowedMemory& memory) {
  const std::vector<MemoryRun> runs = runs_of(request, memory);
  const auto room = aside(bytes_of(runs));
  const MemoryRun whole = run_of(room);
  Answer answer = carry_out(request, {&whole, 1});
  if (answer.code != 0) return answer;
  if (memory.is_lent(request.loan)) {
    scatter(room, runs);
  } else {
    answer = {};
    answer.out_of_reach = 1;
  }
  return answer;
}

std::span<std::byte> Service::aside(int64_t bytes) {
  const auto length = static_cast<size_t>(bytes);
  if (aside_.size() < length) aside_.resize(length);
  return std::span(aside_).first(length);
}

const BorrowedMemory* Service::borrow(const LoanFacts& facts) {
  std::erase_if(borrowed_, [](const Borrowed& one) { return !one.memory->is_lent(one.facts); });
  const auto known = std::ranges::find(borrowed_, facts, &Borrowed::facts);
  if (known != borrowed_.end()) return known->memory.get();
  auto memory = BorrowedMemory::map(facts);
  if (!memory) return nullptr;
  if (borrowed_.size() == max_borrowed) borrowed_.pop_front();
  return borrowed_.emplace_back(facts, std::move(memory)).memory.get();
}

// Throws damaged if the places are outside the memory or do not match the bytes of the extents.
std::vector<MemoryRun> Service::runs_of(const Request& request, const BorrowedMemory& memory) const {
  std::vector<MemoryRun> runs;
  runs.reserve(request.places.size());
  const int64_t size = std::ssize(memory.bytes());
  int64_t total = 0;
  for (const LentRun& place : request.places) {
    const bool sound = place.offset >= 0 && place.length > 0 && place.stride >= 0 && place.count > 0 &&
                       place.count <= largest_ / place.length &&
                       (place.count == 1 || place.stride <= size / (place.count - 1)) &&
                       place.offset <= size - place.length - (place.count - 1) * place.stride;
    total += sound ? place.length * place.count : 0;
    if (!sound || total > largest_)
      throw Error(Code::damaged, "a request for " + std::to_string(place.count) + " pieces of " +
                                     std::to_string(place.length) + " bytes at " +
                                     std::to_string(place.offset) + " in lent memory of " +
                                     std::to_string(size) + " bytes");
    runs.push_back({memory.bytes().data() + place.offset, place.length, place.stride, place.count});
  }
  if (const int64_t asked = bytes_asked(request); asked != total)
    throw Error(Code::damaged,
                "a request for " + std::to_string(asked) + " bytes with places for " + std::to_string(total));
  return runs;
}

Answer Service::dispatch(const Request& request, std::span<const MemoryRun> memory) {
  switch (request.kind) {
    case RequestKind::close: {
      const auto subfile = files_.release(request.handle);
      std::erase_if(held_, [&](const ClientLock& held) { return held.handle == request.handle; });
      if (files_.empty()) borrowed_.clear();
      files_.close(subfile, request.values[0], request.values[1] == 0);
      return {.values = {files_.take_left()}};
    }
    case RequestKind::write:
      write(request, memory);
      return {};
    case RequestKind::read:
      return {.values = {read(request, memory)}};
    case RequestKind::lock:
    case RequestKind::lock_shared:
      return {.values = {lock(request, request.kind == RequestKind::lock)}};
    case RequestKind::unlock:
      unlock(request);
      return {};
    case RequestKind::errors:
      return {.values = files_.take_errors()};
    case RequestKind::disconnect:
      ended_ = true;
      return {};
    default:
      return files_.dispatch(request);
  }
}

void Service::write(const Request& request, std::span<const MemoryRun> memory) {
  ++counts_.transfers;
  RunCursor cursor(memory);
  for (const SubfileExtents& section : request.sections) {
    Subfile& subfile = files_.writable(section.handle);
    std::vector<Piece<const std::byte>> pieces;
    pieces.reserve(section.extents.size());
    int64_t end = -1;
    for (const Extent& extent : section.extents) {
      if (extent.offset != end) ++counts_.disk_requests;
      end = extent.offset;
      const bool there =
          extent.offset >= 0 && extent.length >= 0 &&
          cursor.next(extent.length, [&](std::span<std::byte> bytes) {
            const auto goes_on = [&](const auto& last) {
              return last.end() == end && last.memory.data() + last.memory.size() == bytes.data();
            };
            if (!pieces.empty() && goes_on(pieces.back())) {
              pieces.back().memory = {pieces.back().memory.data(),
                                      pieces.back().memory.size() + bytes.size()};
            } else {
              pieces.push_back({end, bytes});
            }
            end += std::ssize(bytes);
          });
      if (!there)
        throw file_error(Code::damaged, subfile.path,
                         "a write request holds fewer bytes than its extents say");
    }
    files_.counted(Counted::write, [&] {
      if (pieces.size() == 1) return subfile.file->write_at(pieces[0].memory, pieces[0].offset);
      exchange::write_pieces(*subfile.file, std::move(pieces));
    });
  }
}

// Returns the bytes of a read, or of any transfer of lent memory.
int64_t Service::bytes_asked(const Request& request) const {
  int64_t total = 0;
  for (const SubfileExtents& section : request.sections)
    for (const Extent& extent : section.extents) {
      if (extent.offset < 0 || extent.length < 0 || extent.length > largest_ - total)
        throw Error(Code::invalid_argument, "a request for more than " + std::to_string(largest_) + " bytes");
      total += extent.length;
    }
  return total;
}

// Reads the extents of a request. Bytes beyond the ends of the subfiles read as zero; returns the number of
// these bytes.
int64_t Service::read(const Request& request, std::span<const MemoryRun> memory) {
  ++counts_.transfers;
  const int64_t total = bytes_asked(request);
  if (bytes_of(memory) != total)
    throw Error(Code::damaged, "a read request for " + std::to_string(total) + " bytes with room for " +
                                   std::to_string(bytes_of(memory)));
  const bool in_one = memory.size() == 1 && memory[0].count == 1;
  const auto room = in_one ? std::span(memory[0].at, static_cast<size_t>(total)) : aside(total);
  int64_t missing = 0;
  auto rest = room;
  for (const SubfileExtents& section : request.sections) {
    Subfile& subfile = files_.at(section.handle);
    for (const Extent& extent : section.extents) {
      const auto piece = rest.first(static_cast<size_t>(extent.length));
      rest = rest.subspan(piece.size());
      ++counts_.disk_requests;
      const size_t got =
          files_.counted(Counted::read, [&] { return subfile.file->read_at(piece, extent.offset); });
      std::ranges::fill(piece.subspan(got), std::byte{});
      missing += std::ssize(piece) - static_cast<int64_t>(got);
    }
  }
  if (!in_one) scatter(room, memory);
  return missing;
}

}  // namespace sheaf::sfio
