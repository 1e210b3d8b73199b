#include "multifile/create/new_file.hpp"

#include <array>
#include <cerrno>
#include <span>

#include "base/error.hpp"
#include "comm/agree.hpp"
#include "format/commit_record.hpp"
#include "format/header.hpp"
#include "multifile/create/commit.hpp"
#include "storage/beside.hpp"
#include "storage/retries.hpp"
#include "storage/store.hpp"

namespace sheaf::multifile {

namespace {

// Creates the file. Returns null if the name exists. Makes a single call, because a check beforehand would
// take an additional message to a server.
std::shared_ptr<File> make(Store& store, const std::string& path) {
  try {
    return make_beside(store, path);
  } catch (const Error& e) {
    if (e.errno_value() != EEXIST) throw;
  }
  return nullptr;
}

NewFile open_given(Store& store, const std::string& path) {
  try {
    return {store.open(path, Access::write), true, {}, {}};
  } catch (const Error& e) {
    if (e.code() != Code::not_found) throw;
  }
  // The name does not exist or is a dangling link, whose target is created.
  return {open_with_retries(store, path, Access::create), false, {}, {}};
}

NewFile open_placed(Store& store, const std::string& path, const std::string& neighbour) {
  auto file = open_beside(store, path, neighbour);
  std::array<std::byte, 16> head;
  const auto found = std::span(head).first(file->read_at(head, 0));
  if (found.empty() || format::begins_as_multifile(found)) return {std::move(file), true, {}, {}};
  file->close();
  throw file_error(Code::foreign, path,
                   "is no multifile and is not overwritten; move it away, or write under another name");
}

// Renames the existing file `found` and creates a new one in its place. Returns `found` if it cannot be
// renamed.
NewFile set_aside(Store& store, const std::string& path, NewFile found) {
  const std::string target = store.target_of(path);
  const std::string aside = new_temporary_name(store, path);
  try {
    store.rename(target, aside);
  } catch (const Error&) {
    return found;  // a directory in which only owners may rename files
  }
  try {
    found.file->close();
    found = {make_beside(store, target), true, target, aside};
    store.copy_attributes(target, aside, ReplaceState::done);
    if (path != target) found.file = store.open(path, Access::write);
    return found;
  } catch (const Error&) {
    store.rename(aside, target);
    throw;
  }
}

}  // namespace

void empty(Store& store, File& file) {
  const int64_t size = file.status().size;
  if (size == 0) return;
  std::optional<format::CommitRecord> record;
  if (size == format::commit_record_size) attempt([&] { record = read_commit_record(file); });
  file.resize(0);
  if (record) discard_generation(store, file.path(), *record);
}

void remove_set_aside(Store& store, const std::string& replaced, const std::string& aside) {
  std::optional<format::CommitRecord> record;
  attempt([&] { record = find_commit_record(store, aside); });
  attempt([&] { store.remove(aside); });
  if (record) discard_generation(store, replaced, *record);
}

NewFile create_file(Store& store, const std::string& path, const std::string& later,
                    const std::string& neighbour, OldFile old) {
  const std::string& beside = neighbour.empty() && format::parse_temporary_name(path) ? later : neighbour;
  NewFile made{make(store, path), false, {}, {}};
  if (!made.file) made = beside.empty() ? open_given(store, path) : open_placed(store, path, beside);
  if (made.existed && old == OldFile::set_aside) made = set_aside(store, path, std::move(made));
  if (later != path) store.copy_attributes(path, later, ReplaceState::begun);
  return made;
}

}  // namespace sheaf::multifile
