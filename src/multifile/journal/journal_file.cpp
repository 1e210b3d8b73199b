#include "multifile/journal/journal_file.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "comm/agree.hpp"
#include "format/edges.hpp"
#include "storage/beside.hpp"
#include "storage/retries.hpp"
#include "storage/store.hpp"

namespace sheaf::multifile {

std::vector<std::byte> read_journal_head(File& file) {
  std::vector<std::byte> head(format::journal_header_size);
  head.resize(file.read_at(head, 0));
  return head;
}

namespace {

// Returns the header if it is complete. Throws if the file is no journal.
std::optional<format::JournalHeader> require_journal(std::span<const std::byte> head,
                                                     const std::string& name) {
  if (head.empty()) return std::nullopt;
  if (!format::begins_as_journal(head))
    throw file_error(Code::foreign, name, "is no journal, but another file");
  return format::decode_journal_header(head, name);  // throws for other versions
}

}  // namespace

std::string place_of_journals(Store& store, const std::string& physical_file) {
  const std::string place = place_beside(store, physical_file);
  if (place == physical_file || store.status(format::journal_name(place)).exists) return place;
  return store.status(format::journal_name(physical_file)).exists ? physical_file : place;
}

// Only the task that creates NAME.journal writes it, in one request. If the file stays empty for too long,
// other tasks write the same bytes, because readers need them to find the journals of the hosts.
void announce_hosts(Store& store, const std::string& physical_file, format::JournalHeader header) {
  const std::string name = format::journal_name(place_beside(store, physical_file));
  bool made = false;
  std::optional<format::JournalHeader> found;
  const auto file = with_retries(creator_timeout, [&](bool last) -> std::shared_ptr<File> {
    auto opened = make_or_open_beside(store, name, physical_file, made);
    if (!made) found = require_journal(read_journal_head(*opened), name);
    return made || found || last ? opened : nullptr;
  });
  if (found && found->identity != header.identity)
    throw file_error(Code::foreign, name,
                     "is the journal of another file, and could not be removed when this one was made");
  if (found) return file->close();
  header.host = format::no_journal_host;
  const auto problem = attempt([&] {
    file->write_at(format::encode(header), 0);
    file->sync();
    file->close();
  });
  if (!problem) return;
  // A complete header may have been written by another task after a timeout, and must not be removed.
  attempt([&] {
    const auto there = read_journal_head(*store.open(name, Access::read));
    if (made && std::ssize(there) < format::journal_header_size) store.remove(name);
  });
  throw *problem;
}

std::shared_ptr<File> open_journal(Store& store, const std::string& physical_file,
                                   const format::JournalHeader& header, bool& changed) {
  if (header.hosts > 1) announce_hosts(store, physical_file, header);
  const std::string place = place_beside(store, physical_file);
  const std::string name =
      header.hosts > 1 ? format::journal_name(place, header.host) : format::journal_name(place);
  auto file = make_or_open_beside(store, name, physical_file, changed);
  const auto bytes = read_journal_head(*file);
  const auto found = require_journal(bytes, name);
  format::JournalHeader wanted = header;
  wanted.taken_over = found ? found->taken_over : std::ssize(bytes) == format::journal_header_size;
  if (found == wanted) return file;
  wanted.taken_over |= found.has_value();
  file->write_at(format::encode(wanted), 0);
  changed = true;
  return file;
}

void note_journal_gap(Store& store, const std::string& physical_file) {
  attempt([&] { make_beside(store, format::journal_gap_name(place_beside(store, physical_file)))->close(); });
}

void remove_journal_gap(Store& store, const std::string& physical_file) {
  attempt([&] {
    const std::string name = format::journal_gap_name(place_beside(store, physical_file));
    const FileStatus found = store.status(name);
    if (found.exists && found.size == 0 && !found.is_directory && !found.is_special) store.remove(name);
  });
}

void require_unfinished(File& data, int64_t pointer_offset, const format::Pointer& before) {
  std::array<std::byte, format::pointer_size> found{};
  data.read_at(found, pointer_offset);
  // The file may have the other byte order. This changes the value, but not whether it is 0.
  const int64_t varheader = format::decode_pointer(found, native_order).varheader;
  if (varheader == 0 || varheader == before.varheader) return;
  throw file_error(Code::foreign, data.path(),
                   "was made complete by somebody else (`sheaf repair`?) while this program is writing it: "
                   "what was recorded until "
                   "then is in it, and nothing more can be written");
}

namespace {

// Returns true if the file is empty, a journal, or a file of boundary blocks. If `identity` is given, the
// file must have it.
bool is_ours(std::span<const std::byte> head, const std::string& name,
             const std::optional<format::Identity>& identity) {
  if (head.empty()) return true;
  if (!format::begins_as_edges(head) && !format::begins_as_journal(head)) return false;
  if (!identity) return true;
  if (const auto boundary_blocks = format::decode_edges_header(head, name))
    return boundary_blocks->identity == *identity;
  const auto journal = format::decode_journal_header(head, name);
  return journal && journal->identity == *identity;
}

// Removes the file `name` if is_ours() accepts it. If the file is a journal, first calls `before` with the
// number of hosts in its header.
void remove_one(Store& store, const std::string& name, const std::string& physical_file,
                const std::optional<format::Identity>& identity,
                const std::function<void(int32_t hosts)>& before = {}) {
  const auto file = open_beside(store, name, physical_file);
  const auto found = read_journal_head(*file);
  file->close();
  if (!is_ours(found, name, identity)) return;
  if (before)
    if (const auto journal = format::decode_journal_header(found, name)) before(journal->hosts);
  store.remove(name);
}

using NameOfHost = std::string (*)(std::string_view physical_file, int32_t host);

// Removes the files of all hosts. NAME.journal, which is needed to find them, is removed last.
void remove_beside(Store& store, const std::string& physical_file,
                   const std::optional<format::Identity>& identity, int32_t hosts_of_writers,
                   std::initializer_list<NameOfHost> names) {
  attempt([&] {
    const std::string place = place_of_journals(store, physical_file);
    remove_one(store, format::journal_name(place), physical_file, identity, [&](int32_t hosts) {
      for (int32_t host = 0; hosts > 1 && host < hosts; ++host)
        for (const NameOfHost name : names)
          attempt([&] { remove_one(store, name(place, host), physical_file, identity); });
      hosts_of_writers = std::max(hosts_of_writers, hosts);
    });
  });
  if (hosts_of_writers > 1)
    attempt([&] { store.remove(format::journal_gap_name(place_beside(store, physical_file))); });
}

}  // namespace

void remove_earlier_journals(Store& store, const std::string& physical_file, int32_t hosts) {
  if (store.status(format::journal_name(place_of_journals(store, physical_file))).exists)
    remove_leftovers(store, physical_file, {}, hosts);
}

void remove_journal(Store& store, const std::string& physical_file,
                    const std::optional<format::Identity>& identity, int32_t hosts_of_writers) {
  remove_beside(store, physical_file, identity, hosts_of_writers, {format::journal_name});
}

void remove_leftovers(Store& store, const std::string& physical_file,
                      const std::optional<format::Identity>& identity, int32_t hosts_of_writers) {
  remove_beside(store, physical_file, identity, hosts_of_writers, {format::journal_name, format::edges_name});
}

}  // namespace sheaf::multifile
