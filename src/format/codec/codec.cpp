#include "format/codec/codec.hpp"

#include <algorithm>
#include <string>

#include "base/assert.hpp"
#include "base/error.hpp"

namespace sheaf::codec {

extern const Method zstd_method, lz4_method, gzip_method;  // each defined in its own file

std::span<const Method* const> methods() {
  static constexpr const Method* all[] = {&zstd_method, &lz4_method, &gzip_method};
  return all;
}

namespace {

template <class Field>
const Method* method_with(Field Method::*field, Field value) {
  const auto found = std::ranges::find(methods(), value, field);
  return found == methods().end() ? nullptr : *found;
}

}  // namespace

const Method* find(Codec codec) { return method_with(&Method::codec, codec); }
const Method* find(std::string_view name) { return method_with(&Method::name, name); }

std::string problem_with(Codec codec) {
  if (codec == Codec::none) return {};
  const Method* const method = find(codec);
  if (!method)
    return "compressed by codec " + std::to_string(static_cast<int>(codec)) +
           ", which is not known: use a newer version of the library";
  std::string problem;
  if (method->load)
    method->load(problem);
  else
    problem = "this build of Sheaf was made without it";
  if (problem.empty()) return {};
  return "compressed with " + std::string(method->name) + ", which cannot be used: " + problem;
}

void require_known(Codec codec, std::string_view path) {
  if (codec != Codec::none && !find(codec)) require(codec, path);
}

void require(Codec codec, std::string_view path) {
  if (const std::string problem = problem_with(codec); !problem.empty())
    throw file_error(Code::unsupported, path, problem);
}

std::string_view name_of(Codec codec) {
  if (codec == Codec::none) return "none";
  const Method* const method = find(codec);
  return method ? method->name : "unknown";
}

size_t Compressor::compress(std::span<const std::byte> data, std::span<std::byte> out) {
  SHEAF_ASSERT(!method_ || out.size() >= bound(method_->codec, data.size()));
  return method_ && method_->compress ? method_->compress(state_, level_, data, out) : 0;
}

bool Decompressor::decompress(Codec codec, std::span<const std::byte> data, std::span<std::byte> out) {
  if (!method_ || method_->codec != codec) {
    method_ = find(codec);
    state_.reset();
  }
  return method_ && method_->decompress && method_->decompress(state_, data, out);
}

}  // namespace sheaf::codec
