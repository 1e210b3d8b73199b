#include "multifile/recover/leftovers.hpp"

#include "comm/agree.hpp"
#include "multifile/create/commit.hpp"
#include "multifile/journal/journal_file.hpp"
#include "multifile/journal/ownership.hpp"
#include "multifile/metadata/metadata_io.hpp"
#include "storage/store.hpp"

namespace sheaf::multifile {

namespace {

// Determines the state from the file and all members of its set that were not renamed yet.
void look_into(Store& store, Leftover& leftover) {
  const auto problem = attempt([&] {
    for (int32_t k = 0; k < leftover.nfiles; ++k) {
      const std::string name = format::physical_name(leftover.temporary, k);
      if (k > 0 && !store.status(name).exists && store.status(format::physical_name(leftover.path, k)).exists)
        continue;
      const auto file = store.open(name, Access::read);
      MetadataReader reader(*file);
      if (reader.header().leads_set()) leftover.nfiles = reader.header().nfiles;
      reader.read_pointer();
    }
  });
  leftover.state = !problem                            ? LeftoverState::complete
                   : problem->code() == Code::unclosed ? LeftoverState::unclosed
                                                       : LeftoverState::damaged;
}

// Returns the number in the temporary name of a leftover.
uint64_t number_of(const Leftover& leftover) {
  return format::parse_temporary_name(leftover.temporary).value().number;
}

// Returns the living job that writes the leftover; empty if none is known. Its lease is beside the final name
// and contains the number of the temporary name. Earlier versions made a lease beside the temporary name.
std::string writer_of(Store& store, const Leftover& leftover) {
  const LeaseView own = look_at_lease(store, leftover.path);
  if (own.holder == Holder::living && own.lease && own.lease->id == number_of(leftover)) return own.job();
  const LeaseView earlier = look_at_lease(store, leftover.temporary);
  return earlier.holder == Holder::living ? earlier.job() : std::string();
}

}  // namespace

const char* name_of(LeftoverState state) {
  static constexpr const char* names[] = {"complete", "unclosed", "damaged"};
  return names[static_cast<size_t>(state)];
}

std::vector<Leftover> find_leftovers(Store& store, const std::string& directory,
                                     const std::vector<std::string>& names) {
  const std::string front = directory.empty() || directory.ends_with('/') ? directory : directory + "/";
  std::vector<Leftover> found;
  for (const std::string& name : names) {
    const auto parsed = format::parse_temporary_name(name);
    if (!parsed) continue;
    Leftover leftover;
    leftover.temporary = front + name;
    leftover.path = front + parsed->target;
    for (const std::string& other : names)
      if (other == name || other.starts_with(name + ".")) leftover.files.push_back(front + other);
    look_into(store, leftover);
    attempt([&] {
      const auto record = find_commit_record(store, leftover.path);
      leftover.committed = record && record->number == parsed->number;
    });
    found.push_back(std::move(leftover));
  }
  for (Leftover& leftover : found) leftover.writer = writer_of(store, leftover);
  return found;
}

namespace {

// Takes over the leases of the dead job; the destructor releases them. Only earlier versions made a lease
// beside the temporary name.
struct OwnershipOfLeftover {
  OwnershipOfLeftover(Store& store, const Leftover& leftover, bool writes) {
    const LeaseView found = look_at_lease(store, leftover.path);
    const bool is_of_leftover = found.lease && found.lease->id == number_of(leftover);
    if (writes || is_of_leftover)
      of_name =
          Ownership::take(store, leftover.path, {.reopens = false, .advice = "wait until that has ended"});
    if (look_at_lease(store, leftover.temporary).lease)
      of_temporary = Ownership::take(store, leftover.temporary, {.steals = true, .reopens = false});
  }
  std::shared_ptr<Ownership> of_name, of_temporary;
};

}  // namespace

void remove_leftover(Store& store, const Leftover& leftover) {
  if (leftover.committed)
    throw file_error(
        Code::invalid_argument, leftover.temporary,
        "is the generation under '" + leftover.path + "': its commit has begun, and can be finished");
  const OwnershipOfLeftover ownership(store, leftover, false);
  // Physical file 0 identifies the leftover, so it is removed last.
  for (const std::string& file : leftover.files)
    if (file != leftover.temporary && file != format::lease_name(leftover.temporary)) store.remove(file);
  store.remove(leftover.temporary);
}

void finish_leftover(Store& store, const Leftover& leftover) {
  if (leftover.state != LeftoverState::complete)
    throw file_error(
        leftover.state == LeftoverState::unclosed ? Code::unclosed : Code::damaged, leftover.temporary,
        leftover.state == LeftoverState::unclosed ? "was never closed: `sheaf repair` it first"
                                                  : "is not a whole multifile: it can only be removed");
  const OwnershipOfLeftover ownership(store, leftover, true);
  // The multifile is complete and its job has ended, so its journals are no longer needed.
  for (int32_t k = 0; k < leftover.nfiles; ++k)
    remove_leftovers(store, format::physical_name(leftover.temporary, k));
  commit_set(store, leftover.temporary, leftover.path, leftover.nfiles, true);
}

}  // namespace sheaf::multifile
