#include "sfio/service/protocol.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "base/error.hpp"
#include "comm/messages.hpp"
#include "layout/extent_code.hpp"
#include "sfio/service/constants.hpp"

namespace sheaf::sfio {

namespace {

constexpr uint32_t magic = 0x32494653;  // "SFI2"

// Appends the parts of a message. A list is preceded by its length.
class MessageWriter {
 public:
  template <class T>
  bool part(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    return append(&value, sizeof value);
  }
  template <class List>
  bool list(const List& list) {
    return part(std::ssize(list)) && append(list.data(), list.size() * sizeof *list.data());
  }
  template <class List, class Each>
  bool list_of(const List& list, Each each) {
    return part(std::ssize(list)) && std::ranges::all_of(list, each);
  }
  // Appends the code of a list of extents or runs.
  template <class List>
  bool extents(const List& list) {
    layout::append_list(bytes_, layout::encode_extents(list));
    return true;
  }
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  bool append(const void* from, size_t bytes) {
    const auto* const at = static_cast<const std::byte*>(from);
    bytes_.insert(bytes_.end(), at, at + bytes);
    return true;
  }
  std::vector<std::byte> bytes_;
};

// Extracts the parts of a message. Every call returns true if the message had enough bytes.
class MessageReader {
 public:
  explicit MessageReader(std::span<const std::byte> bytes) : rest_(bytes) {}

  template <class T>
  bool part(T& value) {
    return copy(&value, sizeof value);
  }
  template <class List>
  bool list(List& list) {
    const auto size = static_cast<int64_t>(sizeof *list.data());
    int64_t count = 0;
    if (!part(count) || count < 0 || count > std::ssize(rest_) / size) return false;
    list.resize(static_cast<size_t>(count));
    return copy(list.data(), list.size() * sizeof *list.data());
  }
  // Extracts a list. Allocates memory for the elements found, not for the number that the message claims.
  template <class List, class Each>
  bool list_of(List& list, Each each) {
    int64_t count = 0;
    if (!part(count) || count < 0) return false;
    while (count > 0 && each(list.emplace_back())) --count;
    return count == 0;
  }
  // Extract extents and runs. The message may have max_extents extents in all.
  bool extents(std::vector<Extent>& extents) {
    const bool valid = decoded(
        [&](std::span<const std::byte> code) { extents = layout::decode_extents(code, extents_left_); });
    extents_left_ -= std::ssize(extents);
    return valid;
  }
  bool extents(std::vector<LentRun>& runs) {
    return decoded([&](std::span<const std::byte> code) { runs = layout::decode_runs(code); });
  }
  std::span<const std::byte> rest() const { return rest_; }

 private:
  template <class Decode>
  bool decoded(Decode decode) {
    try {
      decode(layout::take_list(rest_));
      return true;
    } catch (const Error&) {  // std::bad_alloc leaves sfio::decode()
      return false;
    }
  }
  bool copy(void* to, size_t bytes) {
    if (bytes > rest_.size()) return false;
    if (bytes > 0) std::memcpy(to, rest_.data(), bytes);
    rest_ = rest_.subspan(bytes);
    return true;
  }
  std::span<const std::byte> rest_;
  int64_t extents_left_ = max_extents;
};

// Writes or reads the parts of a request, in wire order.
template <class Archive, class AnyRequest>
bool parts_of(Archive& archive, AnyRequest& request) {
  const auto section = [&](auto& one) { return archive.part(one.handle) && archive.extents(one.extents); };
  return archive.part(request.kind) && archive.part(request.answer_tag) && archive.part(request.handle) &&
         archive.part(request.values) && archive.list(request.path) && archive.list(request.more) &&
         archive.list_of(request.sections, section) && archive.extents(request.places) &&
         (request.places.empty() || archive.part(request.loan));
}

}  // namespace

std::vector<std::byte> encode(const Request& request) {
  MessageWriter out;
  out.part(magic);
  parts_of(out, request);
  return out.take();
}

std::optional<Decoded> decode(std::span<const std::byte> message) {
  Decoded decoded;
  MessageReader in(message);
  uint32_t found = 0;
  if (!in.part(found) || found != magic || !parts_of(in, decoded.request)) return std::nullopt;
  if (decoded.request.kind < RequestKind::status || decoded.request.kind > RequestKind::disconnect)
    return std::nullopt;
  if (decoded.request.answer_tag < 0 || decoded.request.answer_tag > Messages::highest_tag)
    return std::nullopt;
  decoded.data = in.rest();
  return decoded;
}

void Answer::set_text(std::string_view words) {
  text_length = static_cast<int32_t>(std::min(words.size(), text.size()));
  std::memcpy(text.data(), words.data(), static_cast<size_t>(text_length));
}

Answer answer_of(const Error& error) {
  Answer answer{.code = static_cast<int32_t>(error.code()), .errno_value = error.errno_value()};
  answer.set_text(error.what());
  return answer;
}

}  // namespace sheaf::sfio
