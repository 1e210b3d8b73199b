#include "mpiio/file/across_hosts.hpp"

#include "comm/agree.hpp"
#include "mpiio/file/shared_file.hpp"
#include "storage/retries.hpp"

namespace sheaf::mpiio {

VisibilityPolicy across_hosts(const FileSystemTraits& traits, Comm& comm) {
  return {traits, traits.is_local() ? 1 : comm.node_count()};
}

void require_locks(const VisibilityPolicy& policy, const std::string& path) {
  if (policy.excludes()) return;
  const std::string why =
      policy.locks == LockScope::none
          ? "the file system has no locks"
          : "its tasks are on " + std::to_string(policy.hosts) +
                " hosts, and locks of the file system keep out tasks of the same host only";
  throw file_error(Code::unsupported, path,
                   "has no atomic mode: " + why + "; if that is not so, set SHEAF_FS=locks=global");
}

std::shared_ptr<exchange::NonCoherentFile> wrap(const VisibilityPolicy& policy, std::shared_ptr<File>& file) {
  if (!file || !policy.has_own_caches()) return nullptr;
  file->know(policy.kind);
  auto wrapped = std::make_shared<exchange::NonCoherentFile>(std::move(file), policy);
  file = wrapped;
  return wrapped;
}

std::optional<Error> await_all_before_close(File& file, Comm& comm, bool syncs) {
  std::optional<Error> problem;
  if (!file.traits().dear_requests) return problem;
  if (syncs) attempt(problem, [&] { file.sync(); });
  comm.barrier();
  return problem;
}

std::shared_ptr<File> open_first(Store& store, const std::string& path, const SharedMode& mode,
                                 const Striping& wanted, FileSystemTraits& traits) {
  // The file must be created before its traits are queried, because the traits report its stripes.
  const bool made = mode.create && wanted.is_wished() && store.make_in_stripes(path, wanted);
  attempt([&] { traits = store.traits(path); });
  const bool needs_revalidation = traits.needs_revalidation();
  const Access how = made          ? Access::write
                     : mode.create ? (mode.exclusive ? Access::fresh : Access::create)
                     : mode.write  ? Access::write
                                   : Access::read;
  return needs_revalidation ? open_revalidated(store, path, how,
                                               made ? NameExpectation::existing : NameExpectation::unverified)
                            : store.open(path, how);
}

std::shared_ptr<File> open_next(Store& store, const std::string& path, const SharedMode& mode,
                                bool needs_revalidation) {
  const Access how = mode.write ? Access::write : Access::read;
  return needs_revalidation ? open_revalidated(store, path, how, NameExpectation::existing)
                            : store.open(path, how);
}

}  // namespace sheaf::mpiio
