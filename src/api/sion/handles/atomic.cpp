#include "api/sion/handles/atomic.hpp"

#include "comm/agree.hpp"
#include "multifile/create/commit.hpp"
#include "multifile/create/output_set.hpp"

namespace sheaf::api {

using multifile::Ownership;

std::unique_ptr<AtomicName> begin_atomic(Comm& comm, const multifile::OpenMode& mode, const std::string& path,
                                         Store& store, bool named, const Ownership* ownership) {
  if (!mode.atomic) return nullptr;
  if (named || mode.collective.buddies > 0)
    throw Error(Code::invalid_argument,
                "'" + path + "': '" + (mode.is_async() ? "async" : "atomic") + "' cannot be combined with " +
                    (named ? "names of physical files of the caller's" : "buddy copies"));
  auto name = std::make_unique<AtomicName>(AtomicName{path, "", mode.durable});
  agree_with(comm,
             comm.rank() == 0 ? attempt([&] {
               multifile::require_replaceable(store, path);
               // Queued saves in the background may share an ownership.
               const bool is_shared = mode.is_async() && mode.async.pending == multifile::WhilePending::queue;
               name->temporary = ownership && !is_shared
                                     ? multifile::temporary_name(store, path, ownership->id())
                                     : multifile::new_temporary_name(store, path);
             })
                              : std::nullopt,
             0);
  int64_t length = std::ssize(name->temporary);
  comm.broadcast(std::as_writable_bytes(std::span(&length, 1)), 0);
  name->temporary.resize(static_cast<size_t>(length));
  comm.broadcast(std::as_writable_bytes(std::span(name->temporary)), 0);
  return name;
}

void finish_atomic(Comm& comm, Store& store, const AtomicName& name, int32_t nfiles, Ownership* ownership) {
  const auto problem = attempt([&] {
    if (ownership) ownership->require_owned(Ownership::LeaseCheck::handle);
    if (comm.rank() == 0) multifile::commit_set(store, name.temporary, name.path, nfiles, name.durable);
  });
  agree_with(comm, problem, 0);
}

}  // namespace sheaf::api
