#include "multifile/create/commit.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <set>

#include "base/error.hpp"
#include "base/os/random.hpp"
#include "comm/agree.hpp"
#include "format/header.hpp"
#include "multifile/create/copy_stream.hpp"
#include "multifile/create/output_set.hpp"
#include "storage/beside.hpp"

namespace sheaf::multifile {

namespace {

// The current content under the name of a multifile.
struct ExistingContent {
  std::optional<format::CommitRecord> record;
  format::Identity identity{};  // zeros: no identity
  int32_t nfiles = 0;           // number of files of the set; 0: no multifile
};

// Examines `path`. The result is empty if the file is missing, or if its record or multifile is damaged. A
// new generation may replace such a file.
ExistingContent look(Store& store, const std::string& path) {
  ExistingContent found;
  attempt([&] {
    const auto file = store.open(path, Access::read);
    std::array<std::byte, format::fixed_size> bytes;
    const auto head = std::span(bytes).first(file->read_at(bytes, 0));
    found.record = format::decode_commit_record(head, path);
    if (found.record) return;
    const format::Header header = format::decode_header(head, path);
    found.nfiles = header.leads_set() ? header.nfiles : 1;
    found.identity = read_identity(*file).value_or(format::Identity{});
  });
  return found;
}

bool names(const ExistingContent& found, const format::CommitRecord& record) {
  return found.record && found.record->number == record.number && found.record->identity == record.identity;
}

// Renames `from` to `target`. If `target` is on a different file system, because a symbolic link led there,
// copies the file and removes `from`.
void rename_or_copy(Store& store, const std::string& from, const std::string& target) {
  try {
    return store.rename(from, target);
  } catch (const Error& error) {
    if (error.errno_value() != EXDEV) throw;
  }
  WorkProgress nobody;
  OutputSet outputs(store, OutputSet::Existing::replaced);
  outputs.act_for_owner();
  const auto source = store.open(from, Access::read);
  const auto copy = outputs.add(target, from);
  const int64_t size = source->status().size;
  RangeCopier copier(*copy, nobody);
  copier.add(*source, 0, 0, size);
  copier.finish();
  if (copy->status().size < size) copy->resize(size);  // the file ends in a hole
  copy->sync();
  copy->close();
  outputs.commit();
  store.remove(from);
}

// Renames `from` to `to`, or to the target of `to` if that is a symbolic link. Does nothing if this or
// another program has already renamed the file.
void move(Store& store, const std::string& from, const std::string& to) {
  const std::string target = store.target_of(to);
  try {
    rename_or_copy(store, from, target);
  } catch (const Error& error) {
    if (error.code() != Code::not_found || store.status(from).exists) throw;
  }
}

// Syncs the directories of the physical files of the set `path`. If a file is a symbolic link, also syncs the
// directory of its target.
void sync_names(Store& store, const std::string& path, int32_t nfiles) {
  std::set<std::string> synced;
  for (int32_t k = 0; k < nfiles; ++k) {
    const std::string name = format::physical_name(path, k);
    for (const std::string& one : {name, store.target_of(name)})
      if (synced.insert(one.substr(0, one.rfind('/') + 1)).second) store.sync_name(one);
  }
}

// Removes files `from` to `to` - 1 of the replaced generation; the new generation has no files with these
// numbers. Ignores errors, because no reader of the new generation opens these files.
void remove_replaced(Store& store, const std::string& path, const format::Identity& replaced, int32_t from,
                     int32_t to) {
  if (replaced == format::Identity{}) return;
  for (int32_t k = from; k < to; ++k)
    attempt([&] {
      const std::string name = format::physical_name(path, k);
      if (!store.status(name).exists || store.target_of(name) != name) return;
      if (read_identity(*store.open(name, Access::read)) == replaced) store.remove(name);
    });
}

// Performs step 2 of docs/format.md, section 20: writes the commit record.
void place_record(Store& store, const std::string& temporary, const std::string& path,
                  const format::CommitRecord& record, bool durable) {
  const std::string name = format::commit_record_name(temporary);
  attempt([&] { store.remove(name); });  // left by a failed call
  const auto file = make_beside(store, name);
  try {
    file->write_at(format::encode(record), 0);
    if (durable) file->sync();
    file->close();
    store.copy_attributes(name, path, ReplaceState::done);
    store.rename(name, store.target_of(path));
  } catch (...) {
    attempt([&] { store.remove(name); });
    throw;
  }
}

// Performs step 3 of docs/format.md, section 20: renames all files except file 0 to their final names.
void rename_files(Store& store, const std::string& temporary, const std::string& path,
                  const format::CommitRecord& record, bool durable) {
  if (durable) sync_names(store, path, record.nfiles);
  for (int32_t k = record.nfiles - 1; k > 0; --k)
    move(store, format::physical_name(temporary, k), format::physical_name(path, k));
  if (durable) sync_names(store, path, record.nfiles);
}

// Performs step 5: renames file 0 to its final name, where it replaces the record.
void rename_lead(Store& store, const std::string& temporary, const std::string& path,
                 const format::CommitRecord& record, bool durable) {
  if (!names(look(store, path), record)) {
    if (!store.status(temporary).exists) return;  // another program has completed the commit
    throw file_error(Code::foreign, path,
                     "was replaced by another program during the commit; the generation that was to get this "
                     "name is called '" +
                         temporary + "' (`sheaf leftovers`)");
  }
  move(store, temporary, path);
  if (durable) sync_names(store, path, 1);
}

// Commits a set without identity, as written by earlier versions of the library. Requires that `path` does
// not exist, because readers cannot detect files of another set.
void name_without_identity(Store& store, const std::string& temporary, const std::string& path,
                           int32_t nfiles, bool durable) {
  if (store.status(path).exists)
    throw file_error(
        Code::invalid_argument, path,
        "cannot be replaced by '" + temporary +
            "', whose files have no identity: readers could combine files of both; move it away");
  for (int32_t k = nfiles - 1; k >= 0; --k)
    move(store, format::physical_name(temporary, k), format::physical_name(path, k));
  if (durable) sync_names(store, path, nfiles);
}

void commit_several(Store& store, const std::string& temporary, const std::string& path, int32_t nfiles,
                    const ExistingContent& old, bool durable) {
  const auto identity = read_identity(*store.open(temporary, Access::read));
  if (!identity) return name_without_identity(store, temporary, path, nfiles, durable);
  const format::CommitRecord record{.nfiles = nfiles,
                                    .identity = *identity,
                                    .number = format::parse_temporary_name(temporary).value().number,
                                    .replaced = old.identity,
                                    .replaced_files = old.nfiles};
  if (!names(old, record)) {
    for (int32_t k = 0; k < nfiles; ++k)
      store.copy_attributes(format::physical_name(temporary, k), format::physical_name(path, k),
                            ReplaceState::done);
    place_record(store, temporary, path, record, durable);
  }
  rename_files(store, temporary, path, record, durable);
  remove_replaced(store, path, record.replaced, nfiles, record.replaced_files);
  rename_lead(store, temporary, path, record, durable);
}

}  // namespace

std::string temporary_name(Store& store, const std::string& path, uint64_t number) {
  return format::physical_name(format::temporary_name(store.target_of(path), number), 0);
}

std::string new_temporary_name(Store& store, const std::string& path) {
  return temporary_name(store, path, random_number());
}

void require_committable(std::string_view stored_name, int32_t nfiles) {
  if (nfiles <= 1 || format::extensible(stored_name)) return;
  throw Error(Code::invalid_argument,
              "'" + std::string(stored_name) + "': 'atomic' with " + std::to_string(nfiles) +
                  " physical files needs a name of at most " + std::to_string(format::max_extended_name) +
                  " bytes, not " + std::to_string(stored_name.size()) +
                  "; use a shorter name or one physical file");
}

void commit_set(Store& store, const std::string& temporary, const std::string& path, int32_t nfiles,
                bool durable) {
  ExistingContent old = look(store, path);
  if (old.record && old.record->number != format::parse_temporary_name(temporary).value().number) {
    const auto lost = attempt([&] { finish_commit(store, path); });
    if (lost && lost->code() != Code::damaged) throw *lost;
    old = look(store, path);
  }
  if (nfiles > 1) return commit_several(store, temporary, path, nfiles, old, durable);
  store.copy_attributes(temporary, path, ReplaceState::done);
  rename_or_copy(store, temporary, store.target_of(path));
  if (durable) sync_names(store, path, 1);
  remove_replaced(store, path, old.identity, 1, old.nfiles);
}

bool finish_commit(Store& store, const std::string& path) {
  const auto record = find_commit_record(store, path);
  if (!record) return false;
  const std::string temporary = temporary_name(store, path, *record);
  if (!store.status(temporary).exists) {
    if (!names(look(store, path), *record)) return true;
    throw file_error(
        Code::damaged, path,
        "is a commit record, and the generation that it names is not there: '" + temporary + "' is missing");
  }
  rename_files(store, temporary, path, *record, true);
  rename_lead(store, temporary, path, *record, true);
  return true;
}

void discard_generation(Store& store, const std::string& path, const format::CommitRecord& record) {
  attempt([&] {
    const std::string temporary = temporary_name(store, path, record);
    for (int32_t k = record.nfiles - 1; k >= 0; --k)
      attempt([&] { store.remove(format::physical_name(temporary, k)); });
  });
}

}  // namespace sheaf::multifile
