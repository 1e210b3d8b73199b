#include "stripedfile/service/protocol.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>

namespace sheaf::sfio {

namespace {

constexpr uint32_t magic = 0x4f494653;  // "SFIO"

class Writer {
 public:
  template <class T>
  void put(T value) {
    static_assert(std::is_trivially_copyable_v<T>);
    append(&value, sizeof value);
  }
  void put_text(const std::string& text) {
    put(std::ssize(text));
    append(text.data(), text.size());
  }
  template <class T>
  void put_list(const std::vector<T>& list) {
    put(std::ssize(list));
    append(list.data(), list.size() * sizeof(T));
  }
  void append(const void* from, size_t bytes) {
    const auto* const at = static_cast<const std::byte*>(from);
    bytes_.insert(bytes_.end(), at, at + bytes);
  }
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

// Every get() says whether the bytes were there.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : rest_(bytes) {}

  template <class T>
  bool get(T& value) {
    return copy(&value, sizeof value);
  }
  bool get_text(std::string& text) {
    int64_t length = 0;
    if (!get(length) || length < 0 || length > std::ssize(rest_)) return false;
    text.resize(static_cast<size_t>(length));
    return copy(text.data(), text.size());
  }
  template <class T>
  bool get_list(std::vector<T>& list) {
    int64_t count = 0;
    if (!get(count) || count < 0 || count > std::ssize(rest_) / static_cast<int64_t>(sizeof(T))) return false;
    list.resize(static_cast<size_t>(count));
    return copy(list.data(), list.size() * sizeof(T));
  }
  std::span<const std::byte> rest() const { return rest_; }

 private:
  bool copy(void* to, size_t bytes) {
    if (bytes > rest_.size()) return false;
    if (bytes > 0) std::memcpy(to, rest_.data(), bytes);
    rest_ = rest_.subspan(bytes);
    return true;
  }
  std::span<const std::byte> rest_;
};

}  // namespace

std::vector<std::byte> encode(const Request& request) {
  Writer out;
  out.put(magic);
  out.put(request.kind);
  out.put(request.answer_tag);
  out.put(request.handle);
  out.put(request.values);
  out.put_text(request.path);
  out.put_text(request.more);
  out.put(std::ssize(request.sections));
  for (const Section& section : request.sections) {
    out.put(section.handle);
    out.put_list(section.extents);
  }
  out.put_list(request.places);
  if (!request.places.empty()) out.put(request.loan);
  return out.take();
}

std::optional<Decoded> decode(std::span<const std::byte> message) {
  Decoded decoded;
  Request& request = decoded.request;
  Reader in(message);
  uint32_t found = 0;
  int64_t sections = 0;
  if (!in.get(found) || found != magic || !in.get(request.kind) || !in.get(request.answer_tag) ||
      !in.get(request.handle) || !in.get(request.values) || !in.get_text(request.path) ||
      !in.get_text(request.more) || !in.get(sections))
    return std::nullopt;
  if (request.kind < Kind::look || request.kind > Kind::bye) return std::nullopt;
  for (; sections > 0; --sections) {
    Section& section = request.sections.emplace_back();
    if (!in.get(section.handle) || !in.get_list(section.extents)) return std::nullopt;
  }
  if (sections < 0 || !in.get_list(request.places)) return std::nullopt;
  if (!request.places.empty() && !in.get(request.loan)) return std::nullopt;
  decoded.data = in.rest();
  return decoded;
}

void Answer::set_text(std::string_view words) {
  text_length = static_cast<int32_t>(std::min(words.size(), text.size()));
  std::memcpy(text.data(), words.data(), static_cast<size_t>(text_length));
}

Answer answer_of(const Error& error) {
  Answer answer;
  answer.code = static_cast<int32_t>(error.code());
  answer.errno_value = error.errno_value();
  answer.set_text(error.what());
  return answer;
}

}  // namespace sheaf::sfio
