#include "api/sion/handles/atomic.hpp"

#include "comm/agree.hpp"
#include "creation/output_set.hpp"
#include "creation/temporary_name.hpp"

namespace sheaf::api {

std::unique_ptr<AtomicName> begin_atomic(Comm& comm, const OpenMode& mode, const std::string& path,
                                         Store& store, bool named, const Ownership* ownership) {
  if (!mode.atomic) return nullptr;
  if (named || mode.collective.buddies > 0)
    throw Error(Code::invalid_argument,
                "'" + path + "': 'atomic' cannot be combined with " +
                    (named ? "names of physical files of the caller's" : "buddy copies"));
  agree_with(comm, comm.rank() == 0 ? attempt([&] { require_replaceable(store, path); }) : std::nullopt, 0);
  // The temporary name is of the same length on every task.
  auto name = std::make_unique<AtomicName>(AtomicName{
      path, ownership ? temporary_name(path, ownership->id()) : temporary_name(path), mode.durable});
  comm.broadcast(std::as_writable_bytes(std::span(name->temporary)), 0);
  return name;
}

void finish_atomic(Comm& comm, Store& store, const AtomicName& name, int32_t nfiles, Ownership* ownership) {
  const auto problem = attempt([&] {
    if (ownership) ownership->require_owned(Ownership::Look::at_handle);
    if (comm.rank() == 0) rename_set(store, name.temporary, name.path, nfiles, name.durable);
  });
  agree_with(comm, problem, 0);
}

}  // namespace sheaf::api
