#include "multifile/journal_file.hpp"

#include <array>
#include <cerrno>
#include <chrono>
#include <span>
#include <thread>

#include "comm/agree.hpp"
#include "layout/chunk_layout.hpp"
#include "storage/beside.hpp"

namespace sheaf {

namespace {

constexpr int most_tries = 20;
constexpr std::chrono::milliseconds pause{1};

using Head = std::array<std::byte, format::journal_header_size>;

std::span<const std::byte> read_head(File& file, Head& head) {
  return std::span(head).first(file.read_at(head, 0));
}

}  // namespace

JournalKey JournalKey::of(const format::Header& h, const std::optional<format::Extension>& extension) {
  JournalKey key;
  if (extension) key.identity = extension->identity;
  key.ntasks = h.ntasks;
  key.nfiles = h.nfiles;
  key.filenumber = h.filenumber;
  key.fsblksize = h.fsblksize;
  return key;
}

format::JournalHeader JournalKey::header() const {
  return {identity, ntasks, nfiles, filenumber, fsblksize, layout::data_start(ntasks, fsblksize)};
}

int64_t JournalKey::pointer_offset() const {
  format::Header h;
  h.ntasks = ntasks;
  return h.pointer_offset();
}

namespace {

// Opens the journal, or makes it; null if somebody else was faster in that, or in removing it.
std::shared_ptr<File> open_or_make(Store& store, const std::string& name, const std::string& physical_file) {
  try {
    return open_beside(store, name, physical_file);
  } catch (const Error& e) {
    if (e.code() != Code::not_found) throw;
  }
  try {
    return store.open(name, Access::fresh);
  } catch (const Error& e) {
    if (e.errno_value() != EEXIST) throw;
  }
  return nullptr;
}

}  // namespace

OpenedJournal open_journal(Store& store, const std::string& physical_file,
                           const format::JournalHeader& header) {
  const std::string name = format::journal_name(physical_file);
  OpenedJournal journal;
  for (int tries = 1; !journal.file; ++tries) {
    journal.file = open_or_make(store, name, physical_file);
    if (journal.file) break;
    if (tries == most_tries) throw os_error("cannot create", name, EEXIST);
    if (tries > 1)
      std::this_thread::sleep_for(pause);  // it comes and goes, or is a striped file in the making
  }
  const auto wanted = format::encode(header);
  Head head;
  const auto found = read_head(*journal.file, head);
  if (found.size() == wanted.size() && head == wanted) return journal;
  if (!found.empty()) {
    if (!format::begins_as_journal(found))
      throw file_error(Code::foreign, name, "is no journal, but another file");
    format::decode_journal_header(found, name);  // throws for one of another version
  }
  journal.file->write_at(wanted, 0);
  journal.changed = true;
  return journal;
}

void require_unfinished(File& data, int64_t pointer_offset, const format::Pointer& before) {
  std::array<std::byte, format::pointer_size> found{};
  data.read_at(found, pointer_offset);
  // Of another byte order the number is another one, but no less 0 or not.
  const int64_t varheader = format::decode_pointer(found, native_order).varheader;
  if (varheader == 0 || varheader == before.varheader) return;
  throw file_error(Code::foreign, data.path(),
                   "was made complete by somebody else (`sheaf repair`?) while this program is writing it: "
                   "what was recorded until "
                   "then is in it, and nothing more can be written");
}

void remove_journal(Store& store, const std::string& physical_file,
                    const std::optional<format::Identity>& identity) {
  attempt([&] {
    const std::string name = format::journal_name(physical_file);
    const auto file = open_beside(store, name, physical_file);
    Head head;
    const auto found = read_head(*file, head);
    const auto own = found.empty() ? std::nullopt : format::decode_journal_header(found, name);
    const bool ours =
        found.empty() || (identity ? own && own->identity == *identity : format::begins_as_journal(found));
    file->close();
    if (ours) store.remove(name);
  });
}

}  // namespace sheaf
