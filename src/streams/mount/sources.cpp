#include "streams/mount/sources.hpp"

#include <filesystem>

#include "multifile/journal/lease.hpp"
#include "multifile/metadata/task_names.hpp"
#include "storage/store.hpp"
#include "streams/container/container_names.hpp"
#include "streams/mount/multifile_streams.hpp"
#include "streams/mount/named_files.hpp"

namespace sheaf::mount {

namespace {

namespace fs = std::filesystem;

bool is_remote(const std::string& path) { return path.starts_with("sfio:"); }

std::shared_ptr<Streams> named_files(const std::string& path, multifile::Checking checking,
                                     const Tell& tell) {
  auto named = streams::NamedStreams::open(posix_store(), path, false, checking);
  for (const streams::SetSource& source : named->sources)
    if (!source.damage.empty()) tell(source.path, source.damage);
  return std::make_shared<NamedFiles>(path, std::move(named));
}

}  // namespace

std::vector<StreamSource> sources_of(Store& store, const std::string& path, multifile::Checking checking,
                                     bool containers, const Tell& tell) {
  std::vector<StreamSource> found;
  const auto add = [&](std::shared_ptr<Streams> source) {
    found.push_back({path, std::move(source), !found.empty()});
  };
  const bool contained = !is_remote(path) && streams::has_containers(posix_store(), path);
  if (!streams::set_of_container(path) && (store.status(path).exists || (containers && !contained))) {
    multifile::Multifile opened = multifile::load_multifile(store, path, checking);
    if (!opened.closed())
      tell(path, "was not closed: what its tasks had flushed, and chunks they had completed, is shown (" +
                     multifile::advice_on_unclosed(store, path) + ")");
    auto names = multifile::read_task_names(opened).names;
    if (names.empty() || (containers && !contained))
      add(std::make_shared<MultifileStreams>(std::move(opened), std::move(names)));
  }
  if (contained && containers) add(named_files(path, checking, tell));
  return found;
}

Tree tree_of(const std::vector<StreamSource>& sources) {
  std::vector<Tree::TreeMultifile> multifiles;
  for (const StreamSource& source : sources)
    multifiles.push_back({fs::path(source.path).filename(), source.streams, source.joins});
  return Tree(std::move(multifiles));
}

std::string file_behind(Store& store, const std::string& path) {
  if (is_remote(path) || store.status(path).exists) return path;
  const auto containers = streams::containers_of(posix_store(), path);
  return containers.empty() ? fs::path(path).parent_path().string() : containers.front();
}

}  // namespace sheaf::mount
