#include "mpiio/file/across_hosts.hpp"

#include "comm/agree.hpp"
#include "exchange/transfer/non_coherent_file.hpp"
#include "mpiio/file/shared_file.hpp"
#include "storage/retries.hpp"

namespace sheaf::mpiio {

void AcrossHosts::require_locks(const std::string& path) const {
  if (excludes()) return;
  const std::string why =
      locks == LockScope::none
          ? "the file system has no locks"
          : "its tasks are on " + std::to_string(hosts) +
                " hosts, and locks of the file system keep out tasks of the same host only";
  throw file_error(Code::unsupported, path,
                   "has no atomic mode: " + why + "; if that is not so, set SHEAF_FS=locks=global");
}

std::optional<Error> AcrossHosts::await_all_before_close(File& file, Comm& comm,
                                                         const SharedMode& mode) const {
  std::optional<Error> problem;
  if (!file.traits().dear_requests) return problem;
  if (mode.write && hosts > 1) attempt(problem, [&] { file.sync(); });
  comm.barrier();
  return problem;
}

std::shared_ptr<File> AcrossHosts::wrap(std::shared_ptr<File> file) const {
  if (!caches() || !file) return file;
  if (DirectIo* const past = file->traits().direct_io) past->know(kind);
  return std::make_shared<exchange::NonCoherentFile>(std::move(file), locks, at_once());
}

AcrossHosts across_hosts(const FileSystemTraits& traits, Comm& comm) {
  return {traits, traits.coherence == Coherence::local ? 1 : comm.node_count()};
}

std::shared_ptr<File> open_first(Store& store, const std::string& path, const SharedMode& mode,
                                 const Striping& wanted, FileSystemTraits& traits) {
  // The file must be created before its traits are queried, because the traits report its stripes.
  const bool made = mode.create && wanted.is_wished() && store.make_in_stripes(path, wanted);
  attempt([&] { traits = store.traits(path); });
  const bool needs_revalidation = traits.coherence == Coherence::close_to_open;
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
