#include "cli/mount/opening.hpp"

#include <unistd.h>

#include <cstdio>
#include <filesystem>

#include "base/printable.hpp"
#include "sfio/striped_store.hpp"
#include "storage/decorators/nearby_reads.hpp"
#include "storage/store.hpp"
#include "streams/container/container_names.hpp"
#include "streams/mount/sources.hpp"

namespace sheaf::cli {

using sfio::any_store;

namespace {

namespace fs = std::filesystem;

void tell(const std::string& path, const std::string& what) {
  std::fprintf(stderr, "'%s': %s\n", printable(path).c_str(), printable(what).c_str());
}

MountedFileSystem open_to_write(const std::string& path, const MountWords& words) {
  if (path.starts_with("sfio:") || streams::set_of_container(path))
    throw Error(Code::invalid_argument,
                "'" + path + "': streams are written beside a multifile that is a plain file, or none yet");
  MountedFileSystem system{mount::Tree({}),   {},     nullptr, {}, {}, words.foreground,
                           words.allow_other, nullptr};
  if (any_store().status(path).exists) {
    const auto sources = mount::sources_of(any_store(), path, words.checking, false, tell);
    system.looks.resize(sources.size(), look_of(path));
    system.tree = mount::tree_of(sources);
  }
  system.live = std::make_unique<mount::LiveSet>(
      streams::ContainerSet::open(posix_store(), path, {}, words.checking), mount::Tree::root);
  system.beside = fs::path(path).parent_path();
  const mode_t mask = umask(0);
  umask(mask);
  system.live_look = look_of(mount::file_behind(any_store(), path));
  system.live_look.owner = getuid();
  system.live_look.group = getgid();
  system.live_look.folder_mode = 0777 & ~mask;
  return system;
}

}  // namespace

MountWords mount_words(const std::string& text) {
  const std::string within = "," + text + ",";
  const auto has = [&](const char* word) {
    return within.find("," + std::string(word) + ",") != within.npos;
  };
  return {has("foreground"), has("allow-other"), has("write"),
          has("ignore-checksums") ? multifile::Checking::off : multifile::Checking::on};
}

MountedFileSystem open_multifiles(const std::vector<std::string>& paths, const MountWords& words) {
  if (words.write) return open_to_write(paths.front(), words);
  const auto reads = std::make_shared<NearbyReads>();
  std::vector<mount::StreamSource> all;
  std::vector<MountAttributes> looks;
  for (const std::string& path : paths) {
    const auto sources = mount::sources_of(any_store(), path, words.checking, true, tell);
    for (const mount::StreamSource& source : sources) source.streams->read_ahead(*reads);
    all.insert(all.end(), sources.begin(), sources.end());
    looks.resize(all.size(), look_of(mount::file_behind(any_store(), path)));
  }
  return {mount::tree_of(all), std::move(looks),  nullptr, {}, {},
          words.foreground,    words.allow_other, nullptr};
}

}  // namespace sheaf::cli
