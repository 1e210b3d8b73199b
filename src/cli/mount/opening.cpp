#include "cli/mount/opening.hpp"

#include <unistd.h>

#include <cstdio>
#include <filesystem>

#include "base/printable.hpp"
#include "container/container_names.hpp"
#include "journal/lease.hpp"
#include "metadata/task_names.hpp"
#include "mount/named_files.hpp"
#include "mount/task_streams.hpp"
#include "stripedfile/striped_store.hpp"

namespace sheaf::cli {

namespace {

namespace fs = std::filesystem;

using Sources = std::vector<std::shared_ptr<mount::Streams>>;

std::shared_ptr<mount::Streams> named_files(const std::string& path) {
  auto streams = NamedStreams::open(posix_store(), path);
  for (const NamedStreams::Origin& origin : streams->origins())
    if (!origin.damage.empty())
      std::fprintf(stderr, "'%s': %s\n", printable(origin.path).c_str(), printable(origin.damage).c_str());
  return std::make_shared<mount::NamedFiles>(path, std::move(streams));
}

// The tasks of a multifile, unless they are among the streams of the set: what is in containers is newer than
// a task of that name.
Sources sources_of(const std::string& path, Checking checking, bool with_named) {
  Sources found;
  // Containers are files of the operating system, also where multifiles are striped ones.
  const bool containers = !path.starts_with("sfio:") && has_containers(posix_store(), path);
  if (!set_of_container(path) && (any_store().status(path).exists || (with_named && !containers))) {
    Multifile multifile = load_multifile(any_store(), path, checking);
    if (!multifile.closed())
      std::fprintf(
          stderr,
          "'%s' was not closed: what its tasks had flushed, and chunks they had completed, is shown (%s)\n",
          printable(path).c_str(), advice_on_unclosed(any_store(), path).c_str());
    auto names = read_task_names(multifile).names;
    if (names.empty() || (with_named && !containers))
      found.push_back(std::make_shared<mount::TaskStreams>(std::move(multifile), std::move(names)));
  }
  if (containers && with_named) found.push_back(named_files(path));
  return found;
}

// A file whose owner, mode and time those of the streams are.
std::string file_behind(const std::string& path) {
  if (path.starts_with("sfio:") || any_store().status(path).exists) return path;
  const auto containers = containers_of(posix_store(), path);
  return containers.empty() ? fs::path(path).parent_path().string() : containers.front();
}

FileSystem open_to_write(const std::string& path, const MountWords& words) {
  if (path.starts_with("sfio:") || set_of_container(path))
    throw Error(Code::invalid_argument,
                "'" + path + "': streams are written beside a multifile that is a plain file, or none yet");
  FileSystem system{mount::Tree({}), {}, nullptr, {}, {}, words.foreground};
  std::vector<mount::Tree::Multifile> multifiles;
  if (any_store().status(path).exists)
    for (auto& streams : sources_of(path, words.checking, false)) {
      multifiles.push_back({path, std::move(streams)});
      system.looks.push_back(look_of(path));
    }
  system.tree = mount::Tree(std::move(multifiles));
  system.live = std::make_unique<mount::LiveSet>(ContainerSet::open(posix_store(), path), mount::Tree::root);
  system.beside = fs::path(path).parent_path();
  const mode_t mask = umask(0);
  umask(mask);
  system.live_look = look_of(file_behind(path));
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
          has("ignore-checksums") ? Checking::off : Checking::on};
}

FileSystem open_multifiles(const std::vector<std::string>& paths, const MountWords& words) {
  if (words.write) return open_to_write(paths.front(), words);
  std::vector<mount::Tree::Multifile> multifiles;
  std::vector<Look> looks;
  for (const std::string& path : paths) {
    const Sources sources = sources_of(path, words.checking, true);
    for (const auto& streams : sources) {
      multifiles.push_back({fs::path(path).filename(), streams, streams != sources.front()});
      looks.push_back(look_of(file_behind(path)));
    }
  }
  return {mount::Tree(std::move(multifiles)), std::move(looks), nullptr, {}, {}, words.foreground};
}

}  // namespace sheaf::cli
