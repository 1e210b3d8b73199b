#include "support/hosts_world.hpp"

#include <cerrno>

#include "base/error.hpp"

namespace sheaf::test {

void ServedFile::Seen::require_handle() {
  if (!file_.removed || file_.remover == host_ || options_.coherence != Coherence::close_to_open) return;
  ++counts_.stale_handles;
  throw os_error("cannot use", "a file that was removed on another host", ESTALE);
}

size_t ServedFile::Seen::read(std::span<std::byte> data, int64_t offset) {
  require_handle();
  ++counts_.server_reads;
  return file_.bytes.read(data, offset);
}

void ServedFile::Seen::write(std::span<const std::byte> data, int64_t offset) {
  require_handle();
  ++counts_.server_writes;
  file_.bytes.write(data, offset);
  ++file_.change;
}

void ServedFile::Seen::resize(int64_t size) {
  require_handle();
  file_.bytes.resize(size);
  ++file_.change;
}

ServedFile::Seen& SimulatedHosts::World::seen_by(int host, ServedFile& file) {
  auto& seen = file.seen[host];
  if (!seen) seen = std::make_unique<ServedFile::Seen>(file, host, options, counts);
  return *seen;
}

SimulatedHosts::World::Served SimulatedHosts::World::find(int host, const std::string& path, bool anew) {
  HostNames& names = names_[host];
  const bool may_err = has_caches() && !anew;
  if (const auto known = names.known.find(path); known != names.known.end()) {
    const bool is_stale = known->second->removed;
    names.known.erase(known);
    if (is_stale && may_err && options.names_get_stale) {
      ++counts.stale_handles;
      throw os_error("cannot use", path, ESTALE);
    }
  }
  const auto missed = names.missed.erase(path) > 0;
  const auto found = files.find(path);
  if (found == files.end()) {
    names.missed.insert(path);
    return nullptr;
  }
  if (missed && may_err && options.absence_is_kept) return nullptr;
  names.known[path] = found->second;
  return found->second;
}

SimulatedHosts::World::Served SimulatedHosts::World::make(int host, const std::string& path) {
  auto file = std::make_shared<ServedFile>(options, counts, clock);
  files[path] = names_[host].known[path] = file;
  names_[host].missed.erase(path);
  return file;
}

SimulatedHosts::World::Served SimulatedHosts::World::at_server(const std::string& path,
                                                               const char* doing) const {
  if (directories.contains(path)) throw os_error(doing, path, EISDIR);
  const auto found = files.find(path);
  if (found == files.end()) throw os_error(doing, path, ENOENT);
  return found->second;
}

void SimulatedHosts::World::drop(int host, const Served& file) {
  file->removed = true;
  file->bytes.removed = true;
  file->remover = host;
}

void SimulatedHosts::World::remove(int host, const std::string& path) {
  drop(host, at_server(path, "cannot remove"));
  files.erase(path);
  names_[host].known.erase(path);
}

void SimulatedHosts::World::rename(int host, const std::string& from, const std::string& to) {
  auto file = at_server(from, "cannot rename");
  if (directories.contains(to)) throw os_error("cannot rename to '" + to + "' the file", from, EISDIR);
  if (from == to) return;
  if (const auto old = files.find(to); old != files.end()) drop(host, old->second);
  files.erase(from);
  files[to] = file;
  names_[host].known[to] = file;
  names_[host].missed.erase(to);
}

}  // namespace sheaf::test
