#include "streams/container/container_names.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>

#include "base/error.hpp"
#include "base/os/host_name.hpp"
#include "base/os/process_identity.hpp"
#include "format/extension.hpp"
#include "storage/store.hpp"
#include "streams/container/constants.hpp"

namespace sheaf::streams {

using namespace container_constants;

namespace {

constexpr std::string_view container_mark = ".container.";
constexpr std::string_view mark_aside = ".torn.";

std::string directory_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? std::string() : slash == 0 ? "/" : path.substr(0, slash);
}

bool is_spelling_of(Store& store, const std::string& one, const std::string& other) {
  if (store.place_of(one) == store.place_of(other)) return true;
  if (one.substr(one.rfind('/') + 1) != other.substr(other.rfind('/') + 1)) return false;
  const auto folder = [&](const std::string& path) {
    const std::string directory = directory_of(path);
    return store.status(directory.empty() ? "." : directory);
  };
  const FileStatus here = folder(one), there = folder(other);
  return here.exists && here.number != 0 && here.number == there.number && here.device == there.device;
}

}  // namespace

std::string container_host_name(const std::string& memory_directory) {
  std::string name = host_name().substr(0, max_of_name);
  std::ranges::replace_if(
      name, [](unsigned char c) { return !std::isalnum(c) && c != '-' && c != '.' && c != '_'; }, '-');
  // Process namespaces that mount their own file system in memory see different device numbers.
  const FileStatus memory = posix_store().status(memory_directory);
  const std::string boot = this_process().boot;
  const std::string what = boot.substr(0, boot.find('/')) + "\n" + std::to_string(memory.device) + "\n" +
                           std::to_string(own_user());
  std::array<char, 9> digits;
  std::snprintf(digits.data(), digits.size(), "%08x",
                static_cast<unsigned>(format::hash_of(std::as_bytes(std::span(what))) & 0xffffffffu));
  return name + "-" + digits.data();
}

std::string container_name(std::string_view set, std::string_view host) {
  return std::string(set) + std::string(container_mark) + std::string(host);
}

std::string name_aside(Store& store, const std::string& set, const std::string& container) {
  const std::string name =
      set + std::string(mark_aside) + container.substr(set.size() + container_mark.size());
  for (int count = 0;; ++count) {
    const std::string tried = count == 0 ? name : name + "." + std::to_string(count);
    if (!store.status(tried).exists) return tried;
  }
}

std::optional<std::string> set_of_container(std::string_view path) {
  const size_t at = path.rfind(container_mark);
  if (at == std::string_view::npos || at == 0 || path[at - 1] == '/' ||
      path.find('/', at) != std::string_view::npos || at + container_mark.size() == path.size())
    return std::nullopt;
  return std::string(path.substr(0, at));
}

SetFiles files_of(Store& store, const std::string& set) {
  const size_t slash = set.rfind('/');
  const std::string folder = slash == std::string::npos ? "" : set.substr(0, slash + 1);
  const std::string last = set.substr(folder.size());
  const std::string begin = last + std::string(container_mark);
  SetFiles found;
  try {
    for (const std::string& name : store.names_in(directory_of(set))) {
      if (name == last) found.multifile = true;
      if (name.starts_with(begin) && name.size() > begin.size()) found.containers.push_back(folder + name);
    }
  } catch (const Error& e) {
    if (e.code() != Code::not_found) throw;
  }
  std::ranges::sort(found.containers);
  return found;
}

std::vector<std::string> containers_of(Store& store, const std::string& set) {
  return files_of(store, set).containers;
}

bool is_same_name(Store& store, const std::string& one, const std::string& other) {
  for (const std::string& a : {one, store.target_of(one)})
    for (const std::string& b : {other, store.target_of(other)})
      if (is_spelling_of(store, a, b)) return true;
  return false;
}

bool has_containers(Store& store, const std::string& path) {
  return (set_of_container(path) && store.status(path).exists) || !containers_of(store, path).empty();
}

bool is_container_set(Store& store, const std::string& path) {
  try {
    return has_containers(store, path);
  } catch (const Error&) {
    return false;
  }
}

bool is_containers_alone(Store& store, const std::string& path) {
  return is_container_set(store, path) && (set_of_container(path) || !store.status(path).exists);
}

}  // namespace sheaf::streams
