// Writes copies of closed physical files. Only the first task of each group reads, sends and stores data.
#include <algorithm>
#include <cstdio>
#include <utility>

#include "base/bytes.hpp"
#include "base/extent.hpp"
#include "base/warnings.hpp"
#include "comm/rounds.hpp"
#include "multifile/buddy/buddy.hpp"
#include "multifile/buddy/constants.hpp"
#include "multifile/buddy/table.hpp"
#include "multifile/create/new_file.hpp"

namespace sheaf::multifile {

using buddy::Table;

std::string buddy_name(const std::string& base, int level) {
  char suffix[32];
  std::snprintf(suffix, sizeof suffix, "_BUDDY_%02d", level);
  return base + suffix;
}

std::optional<Error> buddy::move_pieces(Comm& comm, int64_t steps, const PeerExtents& from,
                                        const PeerExtents& to) {
  std::vector<std::byte> out[2], in[2];
  std::optional<Error> unread;
  const auto unwritten = in_rounds(
      comm, steps,
      [&](int64_t k) {
        StepMessages step;
        if (k < std::ssize(from.pieces)) {
          const Extent& piece = from.pieces[static_cast<size_t>(k)];
          auto& memory = out[k % 2];
          memory.resize(static_cast<size_t>(piece.length));
          attempt(unread, [&] {
            if (from.file->read_at(memory, piece.offset) < memory.size())
              throw file_error(Code::damaged, from.file->path(), "has become shorter while it was copied");
          });
          if (is_zero(memory)) memory.clear();
          step.outgoing.push_back({from.peer, memory});
        }
        if (k < std::ssize(to.pieces)) {
          in[k % 2].resize(static_cast<size_t>(to.pieces[static_cast<size_t>(k)].length));
          step.incoming.push_back({to.peer, in[k % 2]});
        }
        return step;
      },
      [&](int64_t k, const std::vector<int64_t>& received) {
        if (to.file && !received.empty() && received[0] > 0)
          to.file->write_at(std::span(in[k % 2]).first(static_cast<size_t>(received[0])),
                            to.pieces[static_cast<size_t>(k)].offset);
      });
  return unread ? unread : unwritten;
}

namespace {

// Returns the used extents of the data area, which begins at `offset`. Each fits into a message.
std::vector<Extent> pieces_of(const Table& table, int64_t offset) {
  std::vector<Extent> found;
  const auto n = static_cast<size_t>(table.facts.header.ntasks);
  for (size_t i = 0; i < table.sizes.size(); ++i) {
    const int64_t all = static_cast<int64_t>(i / n) < table.counts[i % n] ? table.sizes[i] : 0;
    for (int64_t done = 0; done < all;) {
      const bool joins =
          !found.empty() && found.back().end() == offset + done && found.back().length < buddy::message_bytes;
      if (!joins) found.push_back({offset + done, 0});
      const int64_t more = std::min(all - done, buddy::message_bytes - found.back().length);
      found.back().length += more;
      done += more;
    }
    offset += table.chunks[i % n];
  }
  return found;
}

// Sends the table of this group to group `to` and returns the table of group `from`. Collective over `roots`.
Table swap_tables(Comm& roots, Table& own, int to, int from) {
  Table theirs;
  const auto bytes = [](auto& facts) { return std::as_writable_bytes(std::span(&facts, 1)); };
  roots.exchange({{to, bytes(own.facts)}}, {{from, bytes(theirs.facts)}})->finish();
  std::vector<Outgoing> outgoing;
  own.for_each_part([&](auto& part, size_t) { outgoing.push_back({to, std::as_bytes(std::span(part))}); });
  std::vector<Incoming> incoming;
  theirs.for_each_part([&](auto& part, size_t length) {
    part.resize(length);
    incoming.push_back({from, std::as_writable_bytes(std::span(part))});
  });
  roots.exchange(std::move(outgoing), std::move(incoming))->finish();
  return theirs;
}

// Changes the table of a file into the table of its copy `level`: inserts dummy tasks, which represent the
// members of the storing group, before the tasks of the file.
void add_dummies(Table& table, const Table& own, int level, std::span<const int64_t> group_sizes) {
  format::Header& h = table.facts.header;
  const size_t dummies = own.ranks.size();
  const std::vector<int64_t> sizes = std::exchange(table.sizes, {});
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (i % table.ranks.size() == 0) table.sizes.insert(table.sizes.end(), dummies, 0);
    table.sizes.push_back(sizes[i]);
  }
  table.ranks.insert(table.ranks.begin(), dummies, 0);
  std::ranges::transform(own.ranks, table.ranks.begin(), [](int64_t rank) { return -(rank + 1); });
  table.chunks.insert(table.chunks.begin(), dummies, 0);
  table.counts.insert(table.counts.begin(), dummies, 1);
  for (layout::Placement& entry : table.mapping) {
    const int stored_by = ((entry.file - level - 1) % h.nfiles + h.nfiles) % h.nfiles;
    entry.local_rank += static_cast<int32_t>(group_sizes[static_cast<size_t>(stored_by)]);
  }
  h.ntasks += static_cast<int32_t>(dummies);
  const layout::FileLayout layout = layout::lay_out(table.chunks, h.fsblksize);
  table.facts.pointer.varheader = layout.data_start + table.facts.pointer.maxblocks * layout.skip;
  if (table.facts.extension) table.facts.extension->flags = format::flag_checksums;
}

// Creates the file of a copy. Returns null and adds a warning if a foreign file has the name.
std::shared_ptr<File> create_copy(Store& store, const std::string& name, const std::string& original) {
  try {
    return create_file(store, name, name, original).file;
  } catch (const Error& e) {
    if (e.code() != Code::foreign) throw;
    add_warning(std::string("a buddy copy is not made: ") + e.what());
    return nullptr;
  }
}

// Sends copies of the file of this group to other groups, and stores copies for other groups. Used by the
// first tasks of the groups.
class BuddyWriter {
 public:
  // Reads the metadata of the file `path`. Collective over `roots`.
  BuddyWriter(Store& store, Comm& roots, const std::string& path, std::string base)
      : store_(store),
        roots_(roots),
        base_(std::move(base)),
        group_sizes_(static_cast<size_t>(roots.size())) {
    const auto unread = attempt([&] {
      file_ = store.open(path, Access::read);
      MetadataReader reader(*file_);
      own_ = buddy::read_table(reader);
    });
    group_sizes_[static_cast<size_t>(roots.rank())] = own_.facts.header.ntasks;
    roots.all_sum(group_sizes_);
    agree(roots, unread);
  }

  // Makes copy `level` of every file. Collective over the roots.
  void copy(int level) {
    const int groups = roots_.size();
    const int shift = (level + 1) % groups;
    const int to = (roots_.rank() - shift + groups) % groups;
    const int from = (roots_.rank() + shift) % groups;
    Table table = swap_tables(roots_, own_, to, from);
    std::shared_ptr<File> target;  // null: this copy is not made
    agree(roots_, attempt([&] {
            target =
                create_copy(store_, format::physical_name(buddy_name(base_, level), from), file_->path());
            if (target) empty(store_, *target);
          }));
    const format::Header& own_header = own_.facts.header;
    const format::Header& header = table.facts.header;
    const auto sent = pieces_of(own_, layout::data_start(own_header.ntasks, own_header.fsblksize));
    const auto stored =
        pieces_of(table, layout::data_start(int64_t{own_header.ntasks} + header.ntasks, header.fsblksize));
    int64_t steps = std::ssize(sent);
    roots_.all_max(std::span(&steps, 1));
    agree(roots_, buddy::move_pieces(roots_, steps, {file_.get(), to, sent}, {target.get(), from, stored}));
    agree(roots_, attempt([&] {
            if (!target) return;
            add_dummies(table, own_, level, group_sizes_);
            buddy::write_table(*target, table);
            target->close();
          }));
  }

 private:
  Store& store_;
  Comm& roots_;
  const std::string base_;
  std::shared_ptr<File> file_;
  Table own_;                         // of file_
  std::vector<int64_t> group_sizes_;  // tasks of each group
};

}  // namespace

void write_buddies(Store& store, Comm& all, int32_t number, const std::string& path, const std::string& base,
                   int levels) {
  const std::unique_ptr<Comm> roots = all.split(number < 0 ? -1 : 0, number);
  agree(all, attempt([&] {
          if (!roots) return;
          BuddyWriter writer(store, *roots, path, base);
          for (int level = 0; level < levels; ++level) writer.copy(level);
        }));
}

}  // namespace sheaf::multifile
